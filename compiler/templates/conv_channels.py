"""Convolutions whose vectors run over output channels: any layout, stride, dilation and padding; nothing is gathered.

A unit computes a block of output pixels for a few panels of output channels. Its sums stay in scratch memory; for
each part of the window, the micro-kernel adds the products of a row of pixels with a panel of weights. Where the window
hangs over the input's left or right edge, its columns are added one by one, for the pixels that they meet.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..codegen.kernel import Call, KernelBuilder
from ..codegen.lowering import Lowering
from ..codegen.terms import SUFFIX
from ..codegen.tiling import products, register_type, tile_shape
from ..ir import Value
from .conv import Convolution
from .elementwise import decode
from .geometry import with_bias
from .product import rounded

SCRATCH = 1 << 14
"""Bytes of sums that a unit holds in scratch memory: a third of a first-level cache."""
CHAIN = 512
"""Most products that are summed up in one go."""
UNITS = 12
"""Units below which blocks of pixels are made smaller, so that all cores have work."""

_CHANNELS = ("channels", "image_c", "weights_c")
_WIDTH = ("taps_x", "dilation_x * image_x", "weights_x")
_HEIGHT = ("high - low", "dilation_y * image_y", "weights_y")


def channels_call(convolution: Convolution, lowering: Lowering) -> Call:
    """The kernel of a convolution over output channels."""
    return ChannelsWriter(convolution, lowering).write()


class ChannelsWriter:
    """Writes the kernel of a convolution over output channels; a unit is a block of pixels for a group of panels."""

    def __init__(self, convolution: Convolution, lowering: Lowering) -> None:
        self.c = c = convolution
        self.window = c.window
        self.tile = tile_shape(c.dtype, self.row_length(), c.outputs)
        self.weights = c.panels(lowering, self.tile)
        self.accumulator = register_type(c.dtype)
        self.bytes = 8 if self.accumulator == "float64" else 4
        self.capacity = SCRATCH // self.bytes
        self.order = "nyxc" if c.places.channels_last else "ncyx"
        epilogue = c.places.epilogue
        self.kernel = KernelBuilder("+".join([epilogue.root.op, *(n.op for n in epilogue.nodes)]))
        self._plan()

    def row_length(self) -> int:
        """Pixels that a row of tiles covers."""
        return self.window.outputs[1]

    def _plan(self) -> None:
        """The block of pixels and the group of panels that a unit computes."""
        (height, width), tile, c = self.window.outputs, self.tile, self.c
        self.panels = -(-c.outputs // tile.columns)
        pixels = self.capacity // tile.columns
        self.block_width = width if width <= pixels else pixels // tile.rows * tile.rows
        self.across = -(-width // self.block_width)
        self.block_height = max(1, min(height, pixels // self.block_width)) if self.across == 1 else 1
        stacks = c.batch * c.groups * self.across

        def units(rows: int, group: int) -> int:
            return stacks * -(-height // rows) * -(-self.panels // group)

        while self.block_height > 1 and units(self.block_height, 1) < UNITS:
            self.block_height = -(-self.block_height // 2)
        room = self.capacity // (self.block_height * self.block_width * tile.columns)
        self.group = max(1, min(256 // tile.columns, self.panels, room))
        while self.group > 1 and units(self.block_height, self.group) < UNITS:
            self.group = -(-self.group // 2)
        self.down = -(-height // self.block_height)
        self.groups_of_panels = -(-self.panels // self.group)
        self.units = units(self.block_height, self.group)

    def write(self) -> Call:
        kernel = self.kernel
        kernel.line(f"tile = stack_{SCRATCH + self.tile.columns * self.bytes}()")
        self._declare()
        with kernel.block("for u in range(start, stop)"):
            self._decode()
            kernel.line("first_panel = p * group")
            kernel.line("last_panel = min(first_panel + group, panels)")
            for letter in "yx":
                kernel.line(f"{letter}_begin = b{letter} * block_{letter}")
                kernel.line(f"{letter}_end = min({letter}_begin + block_{letter}, output_{letter})")
            kernel.line("width = x_end - x_begin")
            self._clear("(y_end - y_begin) * width * pitch")
            self._sums()
            self._finish()
        return kernel.call(self.units, self._cost())

    def _clear(self, count: str) -> None:
        with self.kernel.block(f"for i in range({count})"):
            self.kernel.line(f"storerw_{SUFFIX[self.accumulator]}(tile, i, zero)")

    def _declare(self) -> None:
        kernel, c, w = self.kernel, self.c, self.window
        kernel.source("image", c.image)
        kernel.source("weights", self.weights)
        values = dict(zip(("image_n", "image_g", "image_c", "image_y", "image_x"), c.image.strides))
        values |= dict(zip(("weights_g", "weights_p", "weights_y", "weights_x", "weights_c"), self.weights.strides))
        values |= {"channels": c.channels, "outputs": c.outputs, "panels": self.panels, "group": self.group}
        values |= {"pitch": self.group * self.tile.columns}
        for axis, letter in enumerate("yx"):
            values |= {f"taps_{letter}": w.taps[axis], f"stride_{letter}": w.strides[axis]}
            values |= {f"dilation_{letter}": w.dilations[axis], f"begin_{letter}": w.begin[axis]}
            values |= {f"input_{letter}": w.inputs[axis], f"output_{letter}": w.outputs[axis]}
        values |= {"block_y": self.block_height, "block_x": self.block_width}
        values |= {"chain": max(1, min(w.taps[0], CHAIN // max(1, w.taps[1] * c.channels)))}
        for name, value in values.items():
            kernel.parameter(name, value)
        kernel.top(f"zero = const_{SUFFIX[self.accumulator]}(0.0)")
        self.body, self.bias = c.places.declare(kernel, self.order.replace("y", "h").replace("x", "w"))

    def _decode(self) -> None:
        kernel = self.kernel
        sizes = {
            "n": self.c.batch,
            "g": self.c.groups,
            "p": self.groups_of_panels,
            "by": self.down,
            "bx": self.across,
        }
        names = [kernel.parameter(f"size_{name}", size) for name, size in sizes.items()]
        for axis, text in decode(kernel, "u", names).items():
            kernel.line(f"{list(sizes)[axis]} = {text}")

    def _sums(self) -> None:
        """Add every part of the window for every row of pixels."""
        kernel, tile = self.kernel, self.tile
        with kernel.block("for ky in range(0, taps_y, chain)"), kernel.block("for q in range(first_panel, last_panel)"):
            kernel.line("panel = g * weights_g + q * weights_p")
            with kernel.block("for y in range(y_begin, y_end)"):
                kernel.line("top = y * stride_y - begin_y")
                kernel.line("low = max(ky, (dilation_y - 1 - top) // dilation_y)")
                kernel.line("high = min(min(ky + chain, taps_y), (input_y - top + dilation_y - 1) // dilation_y)")
                with kernel.block("if low < high"):
                    kernel.line("row = n * image_n + g * image_g + (top + low * dilation_y) * image_y")
                    kernel.line("part = panel + low * weights_y")
                    with kernel.block(f"for x in range(x_begin, x_end, {tile.rows})"):
                        kernel.line(f"count = min({tile.rows}, x_end - x)")
                        kernel.line("left = x * stride_x - begin_x")
                        kernel.line("pixel = (y - y_begin) * width + x - x_begin")
                        kernel.line(f"place = pixel * pitch + (q - first_panel) * {tile.columns}")
                        self._tile()

    def _length(self, loop: tuple[str, str, str]) -> int:
        return -(self.c.channels if loop is _CHANNELS else self.window.taps[1])

    def _products(self, **operands: Any) -> str:
        name = self.tile.name("bv", self.c.dtype, self.weights.dtype)
        return products(name, pitch="pitch", spare=self.capacity, fresh="0", **operands)

    def _tile(self) -> None:
        """Add the products of a row of pixels: at once, or column by column where some lie outside the input."""
        kernel = self.kernel
        last = "left + (count - 1) * stride_x + (taps_x - 1) * dilation_x"
        with kernel.block(f"if left >= 0 and {last} < input_x"):
            kernel.line(
                self._products(
                    place="place",
                    rows="count",
                    left=("image", "row + left * image_x", "stride_x * image_x"),
                    right=("weights", "part"),
                    # The longer loop inside: what is around it costs as much as a few of its steps.
                    loops=[*sorted((_CHANNELS, _WIDTH), key=self._length), _HEIGHT],
                )
            )
        with kernel.block("else"), kernel.block("for kx in range(taps_x)"):
            kernel.line("column = left + kx * dilation_x")
            kernel.line("begin = max(0, (stride_x - 1 - column) // stride_x)")
            kernel.line("end = min(count, (input_x - column + stride_x - 1) // stride_x)")
            with kernel.block("if begin < end"):
                kernel.line("column += begin * stride_x")
                kernel.line(
                    self._products(
                        place="place + begin * pitch",
                        rows="end - begin",
                        left=("image", "row + column * image_x", "stride_x * image_x"),
                        right=("weights", "part + kx * weights_x"),
                        loops=[_CHANNELS, _HEIGHT],
                    )
                )

    def _finish(self) -> None:
        kernel, tile = self.kernel, self.tile
        kernel.line(f"c_begin = g * outputs + first_panel * {tile.columns}")
        kernel.line(f"c_end = g * outputs + min(last_panel * {tile.columns}, outputs)")
        loops = {"c": "c_begin, c_end", "y": "y_begin, y_end", "x": "x_begin, x_end"}
        outer, inner = self.order[1:-1], self.order[-1]
        depth = kernel._depth
        for letter in outer:
            kernel.line(f"for {letter} in range({loops[letter]}):")
            kernel._depth += 1
        self.body.start_row(dict(enumerate(self.order[:-1])))
        known = self.body.hoist(3)
        with kernel.block(f"for {inner} in range({loops[inner]})"):
            self._point("((y - y_begin) * width + x - x_begin) * pitch + c - c_begin", inner, known)
        kernel._depth = depth

    def _point(self, place: str, inner: str, known: Mapping[Value, str]) -> None:
        """Finish the sum at a place of scratch memory: bias, fused operators, stores."""
        kernel, epilogue = self.kernel, self.c.places.epilogue
        kernel.line(f"total = load_{SUFFIX[self.accumulator]}(tile, {place})")
        names = dict(known)
        value = with_bias(kernel, self.body, self.bias, "total", names, inner)
        epilogue.finish(self.body, rounded(kernel, value, epilogue.root.output.dtype), 3, inner, names)

    def _cost(self) -> float:
        c, (height, width) = self.c, self.window.outputs
        tiles = c.batch * c.groups * height * -(-width // self.tile.rows) * self.panels
        depth = c.channels * self.window.taps[0] * self.window.taps[1]
        points = c.batch * c.groups * c.outputs * height * width
        return tiles * self.tile.nanoseconds(depth) + points * (0.1 + self.body.cost_of_point())
