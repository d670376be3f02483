"""Windows over channels one by one, where these lie last: from elements to stores in one micro-kernel."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from ..codegen.body import Body
from ..codegen.finishing import Formula, Program, program_of
from ..codegen.kernel import Call, KernelBuilder
from ..codegen.terms import SUFFIX
from ..codegen.tiling import TileShape, register_type
from ..codegen.units import decode
from ..views import View
from .geometry import Places, Window

BLOCK = 1 << 13
UNIT = 2_500.0
"""Nanoseconds of work in a unit: little, so that all threads get as much."""
MOST_UNITS = 64


@dataclass(frozen=True)
class Windows:
    """What slides over what: images [n, channels, height, width]."""

    image: View
    window: Window
    places: Places

    @property
    def suits(self) -> bool:
        """Whether images and results let micro-kernels run over their channels."""
        dtype, w = self.image.dtype, self.window
        if dtype not in ("float32", "float64") or register_type(dtype) != dtype or not self.places.channels_last:
            return False
        return w.dilations[1] == 1 and w.strides[1] <= 2 and self.image.strides[1] == 1


class LanesWriter(ABC):
    """Writes the kernel; a unit is a block of rows."""

    operation = ""
    """The micro-kernels' (see :mod:`basalt.compiler.kernels.channel_tiles`)."""
    tap = 0.25
    """Nanoseconds that a vector takes for an element of a window."""

    def __init__(self, windows: Windows, tile: TileShape) -> None:
        self.image, self.window, self.places = windows.image, windows.window, windows.places
        self.tile = tile
        self.suffix = SUFFIX[self.image.dtype]
        self.batch, self.channels = self.image.shape[:2]
        epilogue = self.places.epilogue
        self.kernel = KernelBuilder("+".join([epilogue.root.op, *(n.op for n in epilogue.nodes)]))
        self.body = epilogue.declare_over(self.kernel, self.places.strides("nhwc"))
        formula = self.declare(self.body)
        self.program: Program | None = program_of(
            self.kernel, self.body, epilogue.root.output, None, self.image.dtype, formula
        )

    @abstractmethod
    def declare(self, body: Body) -> Formula:
        """Declare further operands over (n, y, x, c); returns what makes the root of a result of the micro-kernel."""

    @abstractmethod
    def weights(self) -> tuple[str, Sequence[int]]:
        """The pointer of the weights [panels, height, ...], and their strides over both."""

    def write(self) -> Call:
        """The kernel's call; there must be a program."""
        kernel, tile, (height, _) = self.kernel, self.tile, self.window.outputs
        units = max(1, min(MOST_UNITS, int(self._cost() / UNIT)))
        block = max(1, -(-height * self.batch // units))
        sizes = {"n": self.batch, "b": -(-height // block)}
        self._declare({"block_y": block, "panels": -(-self.channels // tile.columns)})
        with kernel.block("for u in range(start, stop)"):
            names = [kernel.parameter(f"size_{name}", size) for name, size in sizes.items()]
            for axis, text in decode(kernel, "u", names).items():
                kernel.line(f"{list(sizes)[axis]} = {text}")
            with kernel.block("for y in range(b * block_y, min((b + 1) * block_y, output_y))"):
                kernel.line("top = y * stride_y - begin_y")
                kernel.line("low = max(0, (dilation_y - 1 - top) // dilation_y)")
                kernel.line("high = max(low, min(taps_y, (input_y - top + dilation_y - 1) // dilation_y))")
                kernel.line("row = n * image_n + (top + low * dilation_y) * image_y")
                with kernel.block(f"for next_x in range(0, output_x, {tile.rows})"):
                    kernel.line(f"x = max(0, min(next_x, output_x - {tile.rows}))")
                    kernel.line("left = x * stride_x - begin_x")
                    self.body.start_row({0: "n", 1: "y", 2: "x"})
                    self._call()
        return kernel.call(math.prod(sizes.values()), self._cost())

    def _declare(self, values: dict[str, int]) -> None:
        kernel, w = self.kernel, self.window
        kernel.source("image", self.image)
        self.pointer, (panel, line) = self.weights()
        n, _, y, x = self.image.strides
        values |= {"image_n": n, "image_y": y, "image_x": x, "weights_p": panel, "weights_y": line}
        values |= {"channels": self.channels}
        for axis, letter in enumerate("yx"):
            values |= {f"taps_{letter}": w.taps[axis], f"stride_{letter}": w.strides[axis]}
            values |= {f"begin_{letter}": w.begin[axis], f"input_{letter}": w.inputs[axis]}
            values |= {f"output_{letter}": w.outputs[axis]}
        for name, value in values.items():
            kernel.parameter(name, value)
        if w.dilations[0] == 1:
            # Known to the compiler, it makes the divisions by it nothing.
            kernel.top("dilation_y = 1")
        else:
            kernel.parameter("dilation_y", w.dilations[0])
        kernel.line(f"block = stack_{BLOCK}()")

    def _call(self) -> None:
        kernel, tile, w = self.kernel, self.tile, self.window
        assert self.program is not None
        program = self.program.arguments(self.body, "0")
        size = f"{tile.rows}x{tile.vectors}x{tile.lanes}_{self.suffix}_{w.taps[1]}s{w.strides[1]}"
        operands = ["image", "row + left * image_x", "dilation_y * image_y", "image_x"]
        operands += [self.pointer, "low * weights_y", "weights_p", "high - low"]
        operands += ["-left", "input_x - left", f"min({tile.rows}, output_x - x)", "channels"]
        operands += ["panels", "block", *program]
        kernel.line(f"channels_{self.operation}_{size}{self.program.name}({', '.join(operands)})")

    def _cost(self) -> float:
        points = self.batch * self.channels * math.prod(self.window.outputs)
        return points * (math.prod(self.window.taps) * self.tap / self.tile.lanes + self.body.cost_of_point())
