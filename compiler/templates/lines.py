"""Windows over planes one by one, where columns are neighbours: from elements to stores in one micro-kernel."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from ..codegen.body import Body
from ..codegen.finishing import Formula, Program, program_of
from ..codegen.kernel import Call, KernelBuilder
from ..codegen.terms import SUFFIX
from ..codegen.tiling import lanes_of, register_type
from ..views import View
from .geometry import Places, Window

BLOCK = 1 << 9
"""Bytes of the results of a block of rows."""
MOST_TAPS = 7
"""Rows and columns of a window that are written out."""
MOST_STRIDE = 3
ROWS = 4
"""Rows of a block: their sums and a line's elements fit in the registers."""
UNIT = 2_500.0
"""Nanoseconds of work in a unit: little, so that all threads get as much."""
MOST_UNITS = 64


@dataclass(frozen=True)
class Planes:
    """What slides over what: images [n, channels, height, width], each channel with some results."""

    image: View
    window: Window
    places: Places
    results: int = 1

    @property
    def suits(self) -> bool:
        """Whether images and results let micro-kernels run over their columns."""
        dtype, w = self.image.dtype, self.window
        if dtype not in ("float32", "float64") or register_type(dtype) != dtype or self.places.channels_last:
            return False
        small = max(w.taps) <= MOST_TAPS and w.strides[1] <= 2 and w.strides[0] <= MOST_STRIDE
        wide = w.outputs[1] >= lanes_of(dtype)
        return small and wide and w.dilations == (1, 1) and self.image.strides[3] == 1


class LinesWriter(ABC):
    """Writes the kernel; a unit is some planes, or a block of rows of one."""

    operation = ""
    """The micro-kernels' (see :mod:`basalt.compiler.kernels.line_tiles`)."""
    tap = 0.3
    """Nanoseconds that a vector takes for an element of a window."""

    def __init__(self, planes: Planes) -> None:
        self.image, self.window, self.places = planes.image, planes.window, planes.places
        self.results = planes.results
        dtype = self.image.dtype
        self.suffix, self.lanes = SUFFIX[dtype], lanes_of(dtype)
        self.batch, self.channels = self.image.shape[0], self.image.shape[1] * planes.results
        epilogue = self.places.epilogue
        self.kernel = KernelBuilder("+".join([epilogue.root.op, *(n.op for n in epilogue.nodes)]))
        self.body = epilogue.declare_over(self.kernel, self.places.strides("nchw"))
        formula = self.declare(self.body)
        self.program: Program | None = program_of(self.kernel, self.body, epilogue.root.output, None, dtype, formula)
        self.rows = min(self.window.outputs[0], ROWS)

    @abstractmethod
    def declare(self, body: Body) -> Formula:
        """Declare further operands over (n, c, y, x); returns what makes the root of a result of the micro-kernel."""

    @abstractmethod
    def weights(self) -> tuple[str, Sequence[int]]:
        """The pointer of the weights, and their strides over channels of the image and results of each."""

    def write(self) -> Call:
        """The kernel's call; there must be a program."""
        kernel, (height, _) = self.kernel, self.window.outputs
        planes = self.batch * self.channels
        units = max(1, min(MOST_UNITS, int(self._cost() / UNIT)))
        group = max(1, planes // units)
        blocks = min(-(-height // self.rows), max(1, units // planes))
        block = -(-height // (blocks * self.rows)) * self.rows
        sizes = {"p": -(-planes // group), "b": -(-height // block)}
        self._declare({"block_y": block, "group": group, "planes": planes})
        with kernel.block("for u in range(start, stop)"):
            kernel.line(f"p = u // {kernel.parameter('size_b', sizes['b'])}")
            kernel.line("b = u - p * size_b")
            kernel.line("first_y = b * block_y")
            kernel.line("last_y = min(first_y + block_y, output_y)")
            with kernel.block("for plane in range(p * group, min(p * group + group, planes))"):
                kernel.line("n = plane // channels")
                kernel.line("c = plane - n * channels")
                kernel.line("g = c // results")
                self.body.start_row({0: "n", 1: "c", 2: "first_y"})
                self._call()
        return kernel.call(math.prod(sizes.values()), self._cost())

    def _declare(self, values: dict[str, int]) -> None:
        kernel, w = self.kernel, self.window
        kernel.source("image", self.image)
        self.pointer, (channel, result) = self.weights()
        n, c, y, _ = self.image.strides
        values |= {"image_n": n, "image_c": c, "image_y": y, "weights_c": channel, "weights_r": result}
        values |= {"channels": self.channels, "results": self.results}
        for axis, letter in enumerate("yx"):
            values |= {f"begin_{letter}": w.begin[axis], f"input_{letter}": w.inputs[axis]}
            values |= {f"output_{letter}": w.outputs[axis]}
        for name, value in values.items():
            kernel.parameter(name, value)
        kernel.line(f"block = stack_{BLOCK}()")

    def _call(self) -> None:
        kernel, w = self.kernel, self.window
        assert self.program is not None
        program = self.program.arguments(self.body, "0")
        name = f"lines_{self.operation}_{self.rows}x{self.lanes}_{self.suffix}"
        name += f"_{w.taps[0]}x{w.taps[1]}s{w.strides[0]}x{w.strides[1]}{self.program.name}"
        operands = ["image", "n * image_n + g * image_c", "image_y", self.pointer]
        operands += ["g * weights_c + (c - g * results) * weights_r", "output_x", "first_y", "last_y"]
        operands += ["begin_y", "begin_x", "input_y", "input_x", "block", *program]
        kernel.line(f"{name}({', '.join(operands)})")

    def _cost(self) -> float:
        points = self.batch * self.channels * math.prod(self.window.outputs)
        return points * (math.prod(self.window.taps) * self.tap / self.lanes + self.body.cost_of_point())
