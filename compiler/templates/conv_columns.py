"""Convolutions of points whose images and results lie with their columns last: tiles of channels by vectors of pixels.

A panel of pixels is packed, then multiplied with all output channels of a block by the micro-kernel of
:mod:`.conv_windows`, with its operands exchanged: what it takes for pixels are rows of weights.
"""

from __future__ import annotations

import math

from ..codegen.body import Body
from ..codegen.choices import choose
from ..codegen.finishing import Program, program_of
from ..codegen.kernel import Call, KernelBuilder
from ..codegen.lowering import Lowering
from ..codegen.terms import SUFFIX
from ..codegen.tiling import TileShape, lanes_of, register_type
from ..codegen.units import decode
from ..ir import Value
from ..kernels.target import target
from ..views import View
from .conv import Convolution
from .geometry import declare_bias

PANEL = 20_480
"""Most bytes of a packed panel: with the weights' elements it stays in a first-level cache."""
BLOCK = 1 << 14
"""Bytes of sums that are kept from part to part."""
PRODUCTS = 400_000
"""Products of a unit, some ten microseconds: few, so that all threads get as many."""
MOST_UNITS = 64


def columns_call(convolution: Convolution, lowering: Lowering) -> Call | None:
    """The kernel of a convolution, None if this way of computing does not suit it."""
    c, w = convolution, convolution.window
    if target().registers > 16 or register_type(c.dtype) != c.dtype or not w.is_point or c.places.channels_last:
        return None
    height, width = w.outputs
    views = c.places.strides("nchw")
    flat = all(v[2] == v[3] * width or height == 1 for v in (*views, c.image.strides[1:]))
    columns = 2 * lanes_of(c.dtype)
    if not flat or c.image.strides[4] != 1 or height * width < columns or c.outputs < 4:
        return None
    weights = c.weights_view(lowering)
    if weights.strides[2] != 1:
        return None
    writer = _Writer(c, weights)
    return None if writer.program is None else writer.write()


class _Writer:
    """Writes the kernel; a unit is some panels of pixels for a block of output channels."""

    def __init__(self, convolution: Convolution, weights: View) -> None:
        self.c, self.weights = convolution, weights
        c = convolution
        self.pixels = math.prod(c.window.outputs)
        self.suffix = SUFFIX[c.dtype]
        self.bytes = 8 if c.dtype == "float64" else 4
        lanes = lanes_of(c.dtype)
        most = (target().registers - 3) // 2
        rows = choose(range(most, 0, -1), lambda r: -(-c.outputs // r) * (max(2 * r, r + 2.5, 9.5) + 0.8))
        self.tile = TileShape(rows, 2, lanes)
        self.block = BLOCK // (self.tile.columns * self.bytes) // rows * rows
        epilogue = c.places.epilogue
        self.kernel = KernelBuilder("+".join([epilogue.root.op, *(n.op for n in epilogue.nodes)]))
        self.body, self.bias = self._declared()
        self.program: Program | None = program_of(self.kernel, self.body, epilogue.root.output, self.bias, c.dtype)

    def _declared(self) -> tuple[Body, Value | None]:
        bias, places = self.c.places.bias, self.c.places
        body = places.epilogue.declare_over(self.kernel, [(v[0], v[1], v[3]) for v in places.strides("nchw")])
        if bias is None:
            return body, None
        return body, declare_bias(body, bias, (0, 0 if bias.shape[0] == 1 else bias.strides[0], 0))

    def write(self) -> Call:
        kernel, c, tile = self.kernel, self.c, self.tile
        panels, blocks = -(-self.pixels // tile.columns), -(-c.outputs // self.block)
        wanted = max(1, min(MOST_UNITS, c.outputs * c.channels * self.pixels * c.batch * c.groups // PRODUCTS))
        group = max(1, panels * c.batch * c.groups * blocks // wanted)
        sizes = {"n": c.batch, "g": c.groups, "b": blocks, "p": -(-panels // group)}
        self._declare(panels, group)
        with kernel.block("for u in range(start, stop)"):
            names = [kernel.parameter(f"size_{name}", size) for name, size in sizes.items()]
            for axis, text in decode(kernel, "u", names).items():
                kernel.line(f"{list(sizes)[axis]} = {text}")
            kernel.line(f"first_row = b * {self.block}")
            kernel.line(f"rows = min({self.block}, outputs - first_row)")
            kernel.line("channel = g * outputs + first_row")
            kernel.line("plane = n * image_n + g * image_g")
            self.body.start_row({0: "n", 1: "channel"})
            with kernel.block("for q in range(p * group, min(p * group + group, panels))"):
                kernel.line(f"column = q * {tile.columns}")
                with kernel.block("for k in range(0, channels, chunk)"):
                    kernel.line("length = min(chunk, channels - k)")
                    self._pack()
                    self._products()
        points = c.batch * c.groups * c.outputs * self.pixels
        tiles = c.batch * c.groups * panels * -(-c.outputs // tile.rows)
        cost = tiles * tile.nanoseconds(c.channels) + points * self.body.cost_of_point()
        return kernel.call(math.prod(sizes.values()), cost)

    def _declare(self, panels: int, group: int) -> None:
        kernel, c, tile = self.kernel, self.c, self.tile
        kernel.source("image", c.image)
        kernel.source("weights", self.weights)
        most = PANEL // (tile.columns * self.bytes)
        parts = -(-c.channels // most)
        values = dict(zip(("image_n", "image_g", "image_c"), c.image.strides))
        values |= dict(zip(("weights_g", "weights_o"), self.weights.strides))
        values |= {"channels": c.channels, "outputs": c.outputs, "pixels": self.pixels, "panels": panels}
        values |= {"group": group, "chunk": -(-c.channels // parts)}
        for name, value in values.items():
            kernel.parameter(name, value)
        kernel.line(f"block = stack_{BLOCK}()")
        kernel.line(f"packed = stack_{most * tile.columns * self.bytes}()")
        kernel.top(f"zero = const_{self.suffix}(0.0)")

    def _pack(self) -> None:
        """Pixels that do not exist are multiplied as zeros, and never stored."""
        kernel, columns = self.kernel, self.tile.columns
        kernel.line("source = plane + k * image_c + column")
        moved = f"store_{self.suffix}(packed, i * {columns} + j, load_{self.suffix}(image, source + i * image_c + j))"
        kernel.line(f"there = min({columns}, pixels - column)")
        kernel.line("whole = 0")
        with kernel.block(f"if there == {columns}"):
            kernel.line("whole = length")
        with kernel.block("for i in range(whole)"), kernel.block(f"for j in range({columns})"):
            kernel.line(moved)
        with kernel.block("for i in range(whole, length)"):
            with kernel.block("for j in range(there)"):
                kernel.line(moved)
            with kernel.block(f"for j in range(there, {columns})"):
                kernel.line(f"store_{self.suffix}(packed, i * {columns} + j, zero)")

    def _products(self) -> None:
        kernel, tile = self.kernel, self.tile
        assert self.program is not None
        program = self.program.arguments(self.body, "column")
        name = f"windows_{tile.rows}x{tile.vectors}x{tile.lanes}_{self.suffix}_even4{self.program.name}"
        operands = ["block", "weights", "g * weights_g + first_row * weights_o", "weights_o", "1", "k", "length"]
        operands += ["packed", "0", "0", f"(rows + {tile.rows - 1}) // {tile.rows}", "k == 0", "k + length == channels"]
        kernel.line(f"{name}({', '.join([*operands, 'rows', 'pixels - column', *program])})")
