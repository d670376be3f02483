"""Convolutions whose images and results lie with their columns last: tiles of channels by vectors of pixels.

A panel of pixels is unfolded: for each tap of each channel, what the pixels meet; or, where neighbouring taps meet
neighbouring elements, each line of the image once. It is then multiplied with all output channels of a block by the
micro-kernel of :mod:`.conv_windows`, with its operands exchanged: what it takes for pixels are rows of weights. Panels
are runs of columns; those of points run on from one row to the next.
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
from ..kernels.sizes import phase_length
from ..kernels.target import target
from ..views import View
from .conv import Convolution
from .geometry import Window, declare_bias

PANEL = 20_480
"""Most bytes of a packed panel: with the weights' elements it stays in a first-level cache."""
BLOCK = 1 << 14
"""Bytes of sums that are kept from part to part."""
PRODUCTS = 400_000
"""Products of a unit, some ten microseconds: few, so that all threads get as many."""
MOST_UNITS = 64
TILES = 1
"""Tiles of rows that are computed together where several panels are packed at once: each row is written elsewhere."""
FEWEST_OUTPUTS = 16
"""Output channels of a group below which unfolding windows would take longer than it saves."""
DEEPEST = 160
"""Products of a result beyond which unfolding takes longer than copying images and results into another order."""
MOST_TAPS = 7
"""Taps of a row whose products are written one after the other, on lines that are packed once for all of them."""
FULL = 0.75
"""The part of a panel's columns that must exist."""


def columns_call(convolution: Convolution, lowering: Lowering) -> Call | None:
    """The kernel of a convolution of points, None if this way of computing does not suit it."""
    c, w = convolution, convolution.window
    if not w.is_point or not _lies_in_columns(c):
        return None
    height, width = w.outputs
    views = c.places.strides("nchw")
    flat = all(v[2] == v[3] * width or height == 1 for v in (*views, c.image.strides[1:]))
    if not flat or height * width < 2 * lanes_of(c.dtype) or c.outputs < 4:
        return None
    return _call(c, (1, height * width), lowering)


def unfolded_call(convolution: Convolution, lowering: Lowering) -> Call | None:
    """The kernel of a convolution with windows, None if it is better computed in another way.

    That is better where channels are few: neither images nor results are copied into another order.
    """
    c, w = convolution, convolution.window
    if w.is_point or not _lies_in_columns(c) or c.outputs < FEWEST_OUTPUTS:
        return None
    columns = 2 * lanes_of(c.dtype)
    width = w.outputs[1]
    depth = c.channels * math.prod(w.taps)
    if width < FULL * columns * -(-width // columns) or depth > DEEPEST:
        return None
    if w.taps[1] * columns * _bytes(c) > PANEL:
        return None
    return _call(c, w.outputs, lowering)


def _lies_in_columns(c: Convolution) -> bool:
    if target().registers > 16 or register_type(c.dtype) != c.dtype or c.places.channels_last:
        return False
    return c.image.strides[4] == 1 or c.image.shape[4] == 1


def _call(c: Convolution, plane: tuple[int, int], lowering: Lowering) -> Call | None:
    weights = c.rows(lowering)
    if weights is None:
        return None
    writer = _Writer(c, weights, plane)
    return None if writer.program is None else writer.write()


def _phases(w: Window) -> int:
    """The phases in which lines of the image are packed; 0 if they are unfolded for each tap."""
    near = w.dilations[1] == 1 and w.strides[1] in (1, 2)
    return w.strides[1] if near and 2 <= w.taps[1] <= MOST_TAPS else 0


def _bytes(c: Convolution) -> int:
    return 8 if c.dtype == "float64" else 4


class _Writer:
    """Writes the kernel; a unit is some panels of pixels for a block of output channels."""

    def __init__(self, convolution: Convolution, weights: View, plane: tuple[int, int]) -> None:
        self.c, self.weights = convolution, weights
        c = convolution
        self.height, self.width = plane
        self.depth = weights.shape[2]
        self.suffix = SUFFIX[c.dtype]
        self.bytes = _bytes(c)
        lanes = lanes_of(c.dtype)
        most = (target().registers - 3) // 2
        rows = choose(range(most, 0, -1), lambda r: -(-c.outputs // r) * (max(2 * r, r + 2.5, 9.5) + 0.8))
        self.tile = TileShape(rows, 2, lanes)
        self.block = BLOCK // (self.tile.columns * self.bytes) // rows * rows
        self.phases = 0 if self._parts() > 1 else _phases(c.window)
        epilogue = c.places.epilogue
        self.kernel = KernelBuilder("+".join([epilogue.root.op, *(n.op for n in epilogue.nodes)]))
        self.body, self.bias = self._declared()
        self.program: Program | None = program_of(self.kernel, self.body, epilogue.root.output, self.bias, c.dtype)

    def _declared(self) -> tuple[Body, Value | None]:
        """Everything over [n, rows of the plane, output channels, columns]."""
        bias, places = self.c.places.bias, self.c.places
        views = [(n, 0 if self.height == 1 else y, c, x) for n, c, y, x in places.strides("nchw")]
        body = places.epilogue.declare_over(self.kernel, views)
        if bias is None:
            return body, None
        return body, declare_bias(body, bias, (0, 0, 0 if bias.shape[0] == 1 else bias.strides[0], 0))

    def write(self) -> Call:
        kernel, c, tile = self.kernel, self.c, self.tile
        self.across = -(-self.width // tile.columns)
        panels, blocks = self.height * self.across, -(-c.outputs // self.block)
        stacks = c.batch * c.groups
        wanted = max(1, min(MOST_UNITS, c.outputs * self.depth * self.height * self.width * stacks // PRODUCTS))
        group = max(1, panels * stacks * blocks // wanted)
        sizes = {"n": c.batch, "g": c.groups, "b": blocks, "p": -(-panels // group)}
        self.several = PANEL // (self._packed() * self.bytes)
        self._declare(panels, group)
        with kernel.block("for u in range(start, stop)"):
            names = [kernel.parameter(f"size_{name}", size) for name, size in sizes.items()]
            for axis, text in decode(kernel, "u", names).items():
                kernel.line(f"{list(sizes)[axis]} = {text}")
            kernel.line(f"first_row = b * {self.block}")
            kernel.line(f"rows = min({self.block}, outputs - first_row)")
            kernel.line("channel = g * outputs + first_row")
            kernel.line("plane = n * image_n + g * image_g")
            kernel.line("last_q = min(p * group + group, panels)")
            if self.several > 1:
                self._several_panels()
            else:
                self._panel_by_panel()
        points = stacks * c.outputs * self.height * self.width
        tiles = stacks * panels * -(-c.outputs // tile.rows)
        cost = tiles * tile.nanoseconds(self.depth) + points * self.body.cost_of_point()
        return kernel.call(math.prod(sizes.values()), cost)

    def _panel_by_panel(self) -> None:
        """A part of a panel after another, each for all rows of weights."""
        kernel = self.kernel
        with kernel.block("for q in range(p * group, last_q)"):
            self._start_panel()
            self.body.start_row({0: "n", 1: "y", 2: "channel"})
            with kernel.block("for k in range(0, depth, chunk)"):
                kernel.line("length = min(chunk, depth - k)")
                self._pack("0")
                self._products("0", "0", "rows")

    def _several_panels(self) -> None:
        """Some panels together for few rows at a time: results of many rows lie in as many pages of memory."""
        kernel, together = self.kernel, self.tile.rows * TILES
        kernel.line("k = 0")
        kernel.line("length = depth")
        with kernel.block(f"for first_q in range(p * group, last_q, {kernel.parameter('several', self.several)})"):
            kernel.line("next_q = min(first_q + several, last_q)")
            with kernel.block("for q in range(first_q, next_q)"):
                self._start_panel()
                self._pack(f"(q - first_q) * {self._pitch()}")
            with kernel.block(f"for r in range(0, rows, {together})"):
                kernel.line("below = channel + r")
                with kernel.block("for q in range(first_q, next_q)"):
                    self._start_panel()
                    self.body.start_row({0: "n", 1: "y", 2: "below"})
                    self._products(f"(q - first_q) * {self._pitch()}", "r", f"min({together}, rows - r)")

    def _start_panel(self) -> None:
        self.kernel.line("y = q // across")
        self.kernel.line(f"column = (q - y * across) * {self.tile.columns}")

    def _declare(self, panels: int, group: int) -> None:
        kernel, c, w = self.kernel, self.c, self.c.window
        kernel.source("image", c.image)
        kernel.source("weights", self.weights)
        run, parts = self._run(), self._parts()
        values = dict(zip(("image_n", "image_g", "image_c", "image_y"), c.image.strides))
        values |= dict(zip(("weights_g", "weights_o"), self.weights.strides))
        values |= {"depth": self.depth, "outputs": c.outputs, "width": self.width, "panels": panels}
        values |= {"across": self.across, "group": group, "chunk": -(-self.depth // run // parts) * run}
        if not w.is_point:
            for axis, letter in enumerate("yx"):
                values |= {f"taps_{letter}": w.taps[axis], f"stride_{letter}": w.strides[axis]}
                values |= {f"dilation_{letter}": w.dilations[axis], f"begin_{letter}": w.begin[axis]}
                values |= {f"input_{letter}": w.inputs[axis]}
        for name, value in values.items():
            kernel.parameter(name, value)
        kernel.line(f"block = stack_{BLOCK}()")
        kernel.line(f"packed = stack_{PANEL}()")
        if not w.is_point:
            kernel.top(f"zero = const_{self.suffix}(0.0)")

    def _run(self) -> int:
        """Products that are not parted."""
        return 1 if self.c.window.is_point else self.c.window.taps[1]

    def _parts(self) -> int:
        """Parts of a panel that fit a first-level cache one at a time."""
        most = PANEL // (self.tile.columns * self.bytes) // self._run()
        return -(-self.depth // self._run() // most)

    def _line(self) -> int:
        """Elements of a line of the image where its phases are packed."""
        length = phase_length(self.tile.columns, self.tile.lanes, self._run(), self.phases)
        return self.phases * length

    def _packed(self) -> int:
        """Elements of a packed panel."""
        return self.depth // self._run() * self._line() if self.phases else self.depth * self.tile.columns

    def _pitch(self) -> str:
        """The elements from one packed panel to the next."""
        return f"(depth // taps_x) * {self._line()}" if self.phases else f"depth * {self.tile.columns}"

    def _pack(self, first: str) -> None:
        """Pixels that do not exist are multiplied as zeros, and never stored."""
        kernel, columns, w = self.kernel, self.tile.columns, self.c.window
        if w.is_point:
            kernel.line("source = plane + k * image_c + column")
            self._unfold(1, first, "source", "1", "length", "image_c", "0", "0", "width - column")
            return
        kernel.line("line = k // taps_x")
        kernel.line("c = line // taps_y")
        kernel.line("ky = line - c * taps_y")
        kernel.line("left = column * stride_x - begin_x")
        kernel.line("top = y * stride_y - begin_y")
        kernel.line(f"first = {first}")
        line = str(self._line()) if self.phases else f"taps_x * {columns}"
        with kernel.block(f"for at in range(first, first + (length // taps_x) * {line}, {line})"):
            kernel.line("at_y = top + ky * dilation_y")
            outside = kernel.block("if at_y < 0 or at_y >= input_y")
            with outside, kernel.block(f"for i in range(at, at + {line})"):
                kernel.line(f"store_{self.suffix}(packed, i, zero)")
            with kernel.block("else"):
                kernel.line("source = plane + c * image_c + at_y * image_y + left")
                if self.phases:
                    name = f"unfold_{self._line() // self.phases // self.tile.lanes}x{self.tile.lanes}_{self.suffix}"
                    operands = "packed, at, image, source, -left, input_x - left"
                    kernel.line(f"{name}_line{self.phases}({operands})")
                else:
                    edges = ("dilation_x", "dilation_x", "-left", "input_x - left")
                    self._unfold(w.strides[1], "at", "source", "stride_x", "taps_x", *edges)
            kernel.line("ky += 1")
            with kernel.block("if ky == taps_y"):
                kernel.line("ky = 0")
                kernel.line("c += 1")

    def _unfold(self, stride: int, at: str, source: str, *operands: str) -> None:
        tile = self.tile
        name = f"unfold_{tile.vectors}x{tile.lanes}_{self.suffix}_s{stride if stride <= 2 else 0}"
        self.kernel.line(f"{name}(packed, {at}, image, {source}, {', '.join(operands)})")

    def _products(self, panel: str, row: str, rows: str) -> None:
        """The micro-kernel for some rows of weights and a panel, which begins at an index of what is packed."""
        kernel, tile = self.kernel, self.tile
        assert self.program is not None
        program = self.program.arguments(self.body, "column")
        kinds = f"{self.suffix}_{self.suffix}"
        walk = f"even{self._run()}s{self.phases}" if self.phases else "even4"
        name = f"windows_{tile.rows}x{tile.vectors}x{tile.lanes}_{kinds}_{walk}{self.program.name}"
        kernel.line(f"count = {rows}")
        weights = f"g * weights_g + (first_row + {row}) * weights_o"
        operands = ["block", "weights", weights, "weights_o", "1", "k", "length", "packed", panel, "0"]
        operands += [f"(count + {tile.rows - 1}) // {tile.rows}", "k == 0", "k + length == depth"]
        kernel.line(f"{name}({', '.join([*operands, 'count', 'width - column', *program])})")
