"""Pooling that micro-kernels do not do: few columns, long strides, elements that are not neighbours.

Each window's elements are gathered tap by tap into a row of sums (or maxima) that lies in the cache. A row runs over
neighbouring columns, or over channels where those are neighbours in memory. Padding is never read: each tap's loop
covers just the positions where it meets an element.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from basalt.ops.types import integer_bounds, is_float

from ..codegen.kernel import KernelBuilder
from ..codegen.lowering import Lowering
from ..codegen.registry import template
from ..codegen.terms import SUFFIX, register_suffix
from ..ir import Node, Value
from .elementwise import decode
from .geometry import Places, Window, arranged
from .lanes import Windows
from .lines import Planes
from .pool_lanes import pool_lanes_call
from .pool_lines import pool_lines_call
from .pool_sliding import can_slide, elements_met, sliding_pool
from .product import rounded

BLOCK = 512
"""Results that are gathered at once."""
NARROW = 16
"""Columns below which vectors along the width stay mostly empty."""
UNIT = 10_000.0
"""Nanoseconds of work that are worth a unit of their own."""


Known = Mapping[Value, str]


@template("average_pool2d", "l2_pool2d", "max_pool2d", epilogue=True)
def pool(node: Node, lowering: Lowering) -> None:
    """A unit is one row of results: along the width, or the channels of one position."""
    writer = _Pool(node, lowering)
    windows = Windows(writer.image, writer.window, writer.places)
    planes = Planes(writer.image, writer.window, writer.places)
    if call := pool_lanes_call(writer.op, windows, lowering) or pool_lines_call(writer.op, planes, lowering):
        lowering.add(call)
    elif can_slide(writer.image, writer.window, writer.places):
        lowering.add(sliding_pool(writer.op, writer.image, writer.window, writer.places, lowering))
    elif writer.places.channels_last:
        writer.write_channels()
    else:
        writer.write_columns()


class _Pool:
    def __init__(self, node: Node, lowering: Lowering) -> None:
        self.lowering = lowering
        self.epilogue = lowering.epilogue(node)
        root = self.epilogue.root
        self.op, layout = root.op, root.attrs["layout"]
        self.image = arranged(self.epilogue.operand(0), layout, "nchw")
        self.places = Places(self.epilogue, layout)
        sizes = dict(zip(layout, self.epilogue.shape))
        self.batch, self.channels = sizes["n"], sizes["c"]
        self.window = Window.of(
            root.attrs, root.attrs["window_dimensions"], self.image.shape[2:], (sizes["h"], sizes["w"])
        )
        self.register = register_suffix(self.image.dtype)
        self.kernel = KernelBuilder("+".join([self.op, *(n.op for n in self.epilogue.nodes)]))
        self.kernel.source("image", self.image)

    def write_columns(self) -> None:
        """Rows along the width; a unit is a block of rows of one channel's image."""
        kernel, w = self.kernel, self.window
        self._start("nchw")
        images = self.batch * self.channels
        block = max(1, min(w.outputs[0], int(UNIT / (self._cost() / max(1, images * w.outputs[0])))))
        blocks = -(-w.outputs[0] // block)
        kernel.parameter("block", block)
        narrow = self._narrow
        if self.op == "average_pool2d" and not narrow:
            kernel.source("counts", self.lowering.add_constant(elements_met(w, 1).astype(self._float)))
        with kernel.block("for u in range(start, stop)"):
            self._decode({"n": self.batch, "c": self.channels, "b": blocks})
            kernel.line("plane = n * image_n + c * image_c")
            with kernel.block("for y in range(b * block, min((b + 1) * block, output_y))"):
                self._range("y", "y", "1")
                self.body.start_row({0: "n", 1: "c", 2: "y"})
                known = self.body.hoist(3)
                if narrow:
                    self._narrow_row(known)
                else:
                    self._wide_row(known)
        self._add(images * blocks)

    def _narrow_row(self, known: Known) -> None:
        """Few columns: each result is gathered in a register."""
        kernel = self.kernel
        with kernel.block("for x in range(output_x)"):
            self._range("x", "x", "1")
            kernel.line(f"total = {self.identity}")
            with kernel.block("for ky in range(low_y, high_y)"):
                kernel.line("row = plane + (edge_y + ky * dilation_y) * image_y + edge_x * image_x")
                with kernel.block("for kx in range(low_x, high_x)"):
                    kernel.line(f"total = {self._combined('total', 'row + kx * dilation_x * image_x')}")
            self._finish("total", self._count(None, "x"), "x", known)

    def _wide_row(self, known: Known) -> None:
        """Many columns: tap after tap, neighbouring results at once."""
        kernel, w = self.kernel, self.window
        step = kernel.integer("step", w.strides[1] * self.image.strides[3])
        with kernel.block(f"for first in range(0, output_x, {BLOCK})"):
            kernel.line(f"count = min({BLOCK}, output_x - first)")
            self._clear()
            self._range("x", "first", "count")
            with kernel.block("for ky in range(low_y, high_y)"):
                kernel.line("row = plane + (edge_y + ky * dilation_y) * image_y")
                with kernel.block("for kx in range(low_x, high_x)"):
                    kernel.line("column = edge_x + kx * dilation_x")
                    kernel.line("begin = max(0, (stride_x - 1 - column) // stride_x)")
                    kernel.line("end = min(count, (input_x - column + stride_x - 1) // stride_x)")
                    kernel.line("at = row + column * image_x")
                    with kernel.block("for j in range(begin, end)"):
                        self._gather(f"at + j * {step}" if step != "1" else "at + j")
            with kernel.block("for j in range(count)"):
                kernel.line("x = first + j")
                self._finish(f"loadrw_{self.register}(sums, j)", self._count("counts", "x"), "x", known)

    def write_channels(self) -> None:
        """Rows along the channels."""
        kernel, w = self.kernel, self.window
        self._start("nhwc")
        step = kernel.integer("step", self.image.strides[1])
        with kernel.block("for u in range(start, stop)"):
            self._decode({"n": self.batch, "y": w.outputs[0], "x": w.outputs[1]})
            self._range("y", "y", "1")
            self._range("x", "x", "1")
            self.body.start_row({0: "n", 1: "y", 2: "x"})
            known = self.body.hoist(3)
            with kernel.block(f"for first in range(0, channels, {BLOCK})"):
                kernel.line(f"count = min({BLOCK}, channels - first)")
                self._clear()
                with kernel.block("for ky in range(low_y, high_y)"):
                    kernel.line("row = n * image_n + (edge_y + ky * dilation_y) * image_y + first * image_c")
                    with kernel.block("for kx in range(low_x, high_x)"):
                        kernel.line("at = row + (edge_x + kx * dilation_x) * image_x")
                        with kernel.block("for j in range(count)"):
                            self._gather(f"at + j * {step}" if step != "1" else "at + j")
                with kernel.block("for j in range(count)"):
                    kernel.line("c = first + j")
                    self._finish(f"loadrw_{self.register}(sums, j)", self._count(None, "c"), "c", known)
        self._add(self.batch * w.outputs[0] * w.outputs[1])

    @property
    def _narrow(self) -> bool:
        """Whether each result is gathered alone: there are few, or many more taps than any of them meets."""
        return self.window.outputs[1] < NARROW or self.window.taps[1] > self.window.inputs[1] + BLOCK

    @property
    def _float(self) -> type:
        return np.float64 if self.register == "f64" else np.float32

    def _start(self, order: str) -> None:
        kernel, w = self.kernel, self.window
        self.body, _ = self.places.declare(kernel, order)
        values = dict(zip(("image_n", "image_c", "image_y", "image_x"), self.image.strides))
        for axis, letter in enumerate("yx"):
            values |= {f"taps_{letter}": w.taps[axis], f"stride_{letter}": w.strides[axis]}
            values |= {f"dilation_{letter}": w.dilations[axis], f"begin_{letter}": w.begin[axis]}
            values |= {f"input_{letter}": w.inputs[axis], f"output_{letter}": w.outputs[axis]}
        plain = w.dilations == (1, 1) and w.strides in ((1, 1), (2, 2))
        for name, value in (values | {"channels": self.channels}).items():
            if plain and name.startswith(("stride", "dilation")):
                # Known to the compiler, they make the divisions by them shifts.
                kernel.top(f"{name} = {value}")
            else:
                kernel.parameter(name, value)
        kernel.line(f"sums = stack_{BLOCK * 8}()")
        self.identity = self.body.terms.constant(self._identity(), self._register_dtype())

    def _register_dtype(self) -> str:
        return {"float16": "float32", "bfloat16": "float32"}.get(self.image.dtype, self.image.dtype)

    def _identity(self) -> float | int:
        if self.op != "max_pool2d":
            return 0
        dtype = self._register_dtype()
        return -math.inf if is_float(dtype) else 0 if dtype == "bool" else integer_bounds(dtype)[0]

    def _decode(self, sizes: dict[str, int]) -> None:
        names = [self.kernel.parameter(f"size_{name}", size) for name, size in sizes.items()]
        for axis, text in decode(self.kernel, "u", names).items():
            self.kernel.line(f"{list(sizes)[axis]} = {text}")

    def _range(self, axis: str, position: str, count: str) -> None:
        """Write the taps that meet an element at any of ``count`` positions along an axis."""
        line = self.kernel.line
        last = f"edge_{axis}" if count == "1" else f"edge_{axis} + ({count} - 1) * stride_{axis}"
        line(f"edge_{axis} = {position} * stride_{axis} - begin_{axis}")
        line(f"low_{axis} = max(0, (dilation_{axis} - 1 - ({last})) // dilation_{axis})")
        line(f"high_{axis} = min(taps_{axis}, (input_{axis} - edge_{axis} + dilation_{axis} - 1) // dilation_{axis})")

    def _clear(self) -> None:
        with self.kernel.block("for j in range(count)"):
            self.kernel.line(f"storerw_{self.register}(sums, j, {self.identity})")

    def _gather(self, at: str) -> None:
        t = self.register
        self.kernel.line(f"storerw_{t}(sums, j, {self._combined(f'loadrw_{t}(sums, j)', at)})")

    def _combined(self, total: str, at: str) -> str:
        """The source of a running result combined with an element."""
        t = self.register
        value = self.kernel.define(f"load_{SUFFIX[self.image.dtype]}(image, {at})")
        if self.op == "l2_pool2d":
            value = self.kernel.define(f"mul_{t}({value}, {value})")
        return f"{'max' if self.op == 'max_pool2d' else 'add'}_{t}({total}, {value})"

    def _count(self, table: str | None, position: str) -> str:
        """The source of the number of elements that the window at a position holds."""
        t = self.register
        rows = f"cast_i64_{t}(max(high_y - low_y, 0))"
        if table is not None:
            return f"mul_{t}({rows}, load_{t}({table}, {position}))"
        return f"mul_{t}({rows}, cast_i64_{t}(max(high_x - low_x, 0)))"

    def _finish(self, total: str, count: str, variable: str, known: Known) -> None:
        kernel, t = self.kernel, self.register
        total = kernel.define(total)
        if self.op == "average_pool2d":
            total = kernel.define(f"div_{t}({total}, {count})")
        elif self.op == "l2_pool2d":
            total = kernel.define(f"sqrt_{t}({total})")
        value = rounded(kernel, total, self.epilogue.root.output.dtype)
        self.epilogue.finish(self.body, value, 3, variable, known)

    def _cost(self) -> float:
        """Estimated nanoseconds of the whole."""
        points = math.prod(self.epilogue.shape)
        taps = min(self.window.taps[0], self.window.inputs[0]) * min(self.window.taps[1], self.window.inputs[1])
        narrow = not self.places.channels_last and self._narrow
        each = taps * 0.5 + 2.0 if narrow else taps * 0.15 + 0.3
        return points * (each + self.body.cost_of_point())

    def _add(self, units: int) -> None:
        self.lowering.add(self.kernel.call(units, self._cost()))
