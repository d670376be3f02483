"""Depthwise convolutions: vectors run over channels where those are neighbours in memory, else over columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..codegen.kernel import Call, KernelBuilder
from ..codegen.lowering import Lowering
from ..codegen.terms import SUFFIX
from ..codegen.tiling import TileShape, pack_panels, products, register_type, strip_shape
from ..views import View
from .conv import Convolution
from .elementwise import decode
from .geometry import with_bias
from .packing import packed_copy
from .product import rounded

UNIT = 10_000.0
"""Nanoseconds of work that are worth a unit of their own."""


def over_channels(c: Convolution) -> bool:
    """Whether :func:`depthwise_channels_call` computes a convolution: one output for each of neighbouring channels."""
    return c.channels == c.outputs == 1 and c.image.strides[1] == 1 and c.places.channels_last


def over_columns(c: Convolution) -> bool:
    """Whether :func:`depthwise_columns_call` computes a convolution: images of one channel, columns side by side."""
    return c.channels == 1 and c.image.strides[4] == 1 and c.window.strides[1] in (1, 2) and not c.places.channels_last


def depthwise_channels_call(c: Convolution, lowering: Lowering) -> Call:
    """Rows of pixels by vectors of channels; a unit is a block of rows for a group of channels."""
    return _Channels(c, lowering).write()


def depthwise_columns_call(c: Convolution, lowering: Lowering) -> Call:
    """Rows of output rows by vectors of columns; a unit is a block of rows of one channel's image."""
    return _Columns(c, lowering).write()


class _Writer:
    """What both kinds share: declarations, the loops over tiles, and the end of each."""

    order = ""
    form = ""
    pitch = 0

    def __init__(self, c: Convolution, tile: TileShape, weights: View) -> None:
        self.c, self.window, self.tile, self.weights = c, c.window, tile, weights
        epilogue = c.places.epilogue
        self.accumulator = register_type(c.dtype)
        self.kernel = KernelBuilder("+".join([epilogue.root.op, *(n.op for n in epilogue.nodes)]))
        self.kernel.source("image", c.image)
        self.kernel.source("weights", weights)
        self.body, self.bias = c.places.declare(self.kernel, self.order.replace("y", "h").replace("x", "w"))
        points = c.batch * c.groups * c.outputs * c.window.outputs[0] * c.window.outputs[1]
        taps = c.window.taps[0] * c.window.taps[1]
        per_vector = (taps * 0.25 + 0.5) * (2 if c.window.strides[1] == 2 and self.form != "vv" else 1)
        self.cost = points * (per_vector / tile.lanes + 0.05 + self.body.cost_of_point())

    def declare(self, values: Mapping[str, int]) -> None:
        w = self.window
        found = dict(values)
        found |= dict(zip(("image_n", "image_g", "image_c", "image_y", "image_x"), self.c.image.strides))
        for axis, letter in enumerate("yx"):
            found |= {f"taps_{letter}": w.taps[axis], f"stride_{letter}": w.strides[axis]}
            found |= {f"dilation_{letter}": w.dilations[axis], f"begin_{letter}": w.begin[axis]}
            found |= {f"input_{letter}": w.inputs[axis], f"output_{letter}": w.outputs[axis]}
        for name, value in found.items():
            self.kernel.parameter(name, value)
        self.kernel.top(f"zero = const_{SUFFIX[self.accumulator]}(0.0)")

    def decode(self, sizes: Mapping[str, int]) -> None:
        kernel = self.kernel
        names = [kernel.parameter(f"size_{name}", size) for name, size in sizes.items()]
        for axis, text in decode(kernel, "u", names).items():
            kernel.line(f"{list(sizes)[axis]} = {text}")

    def scratch(self) -> None:
        size = 8 if self.accumulator == "float64" else 4
        self.kernel.line(f"tile = stack_{(self.tile.rows + 1) * self.pitch * size}()")

    def products(self, **operands: Any) -> str:
        name = self.tile.name(self.form, self.c.dtype, self.weights.dtype, masked=True)
        return products(name, pitch=self.pitch, spare=self.tile.rows * self.pitch, **operands)

    def clear(self, count: str) -> None:
        with self.kernel.block(f"for i in range({count})"):
            self.kernel.line(f"storerw_{SUFFIX[self.accumulator]}(tile, i, zero)")

    def finish_row(self, indices: Mapping[int, str], inner: str, bounds: str, base: str) -> None:
        """Apply the bias and the fused operators to a row of sums, and store it."""
        kernel, epilogue = self.kernel, self.c.places.epilogue
        self.body.start_row(indices)
        known = self.body.hoist(3)
        kernel.line(f"base = {base}")
        with kernel.block(f"for {inner} in range({bounds})"):
            kernel.line(f"total = load_{SUFFIX[self.accumulator]}(tile, base + {inner})")
            names = dict(known)
            value = with_bias(kernel, self.body, self.bias, "total", names, inner)
            value = rounded(kernel, value, epilogue.root.output.dtype)
            epilogue.finish(self.body, value, 3, inner, names)


class _Channels(_Writer):
    order = "nyxc"
    form = "vv"

    def __init__(self, c: Convolution, lowering: Lowering) -> None:
        tile = strip_shape(c.dtype, c.window.outputs[1], c.groups)
        self.pitch = max(256, tile.columns)
        super().__init__(c, tile, _channel_panels(c, lowering, tile))
        self.panels = -(-c.groups // tile.columns)
        self.group = min(self.panels, max(1, 256 // tile.columns))
        self.chunks = -(-self.panels // self.group)
        rows = c.batch * self.chunks * c.window.outputs[0]
        self.block = max(1, min(c.window.outputs[0], int(UNIT / (self.cost / rows))))
        self.down = -(-c.window.outputs[0] // self.block)

    def write(self) -> Call:
        kernel, c, tile = self.kernel, self.c, self.tile
        self.scratch()
        values = dict(zip(("weights_p", "weights_y", "weights_x"), self.weights.strides))
        self.declare(values | {"channels": c.groups, "panels": self.panels, "group": self.group, "block": self.block})
        with kernel.block("for u in range(start, stop)"):
            self.decode({"n": c.batch, "p": self.chunks, "b": self.down})
            kernel.line("first_panel = p * group")
            kernel.line("last_panel = min(first_panel + group, panels)")
            kernel.line(f"first = first_panel * {tile.columns}")
            kernel.line(f"last = min(last_panel * {tile.columns}, channels)")
            with kernel.block("for y in range(b * block, min((b + 1) * block, output_y))"):
                kernel.line("top = y * stride_y - begin_y")
                kernel.line("low = max(0, (dilation_y - 1 - top) // dilation_y)")
                kernel.line("high = min(taps_y, (input_y - top + dilation_y - 1) // dilation_y)")
                kernel.line("row = n * image_n + (top + low * dilation_y) * image_y")
                with kernel.block(f"for x in range(0, output_x, {tile.rows})"):
                    kernel.line(f"count = min({tile.rows}, output_x - x)")
                    kernel.line("left = x * stride_x - begin_x")
                    self._sums()
                    with kernel.block("for i in range(count)"):
                        kernel.line("column = x + i")
                        self.finish_row({0: "n", 1: "y", 2: "column"}, "c", "first, last", f"i * {self.pitch} - first")
        return kernel.call(c.batch * self.chunks * self.down, self.cost)

    def _sums(self) -> None:
        kernel, tile = self.kernel, self.tile
        place = f"(q - first_panel) * {tile.columns}"
        mask = ("0", f"channels - q * {tile.columns}", "0")
        height = ("high - low", "dilation_y * image_y", "weights_y")
        weights = "q * weights_p + low * weights_y"
        last = "left + (count - 1) * stride_x + (taps_x - 1) * dilation_x"
        panels = "for q in range(first_panel, last_panel)"
        with kernel.block(f"if low < high and left >= 0 and {last} < input_x"), kernel.block(panels):
            kernel.line(
                self.products(
                    place=place,
                    rows="count",
                    left=("image", f"row + left * image_x + q * {tile.columns}", "stride_x * image_x"),
                    right=("weights", weights),
                    loops=[("taps_x", "dilation_x * image_x", "weights_x"), height],
                    fresh="1",
                    mask=mask,
                )
            )
        with kernel.block("else"):
            self.clear(f"count * {self.pitch}")
            with kernel.block("for kx in range(taps_x)"):
                kernel.line("column = left + kx * dilation_x")
                kernel.line("begin = max(0, (stride_x - 1 - column) // stride_x)")
                kernel.line("end = min(count, (input_x - column + stride_x - 1) // stride_x)")
                kernel.line("at = row + (column + begin * stride_x) * image_x")
                with kernel.block("if begin < end"), kernel.block(panels):
                    kernel.line(
                        self.products(
                            place=f"{place} + begin * {self.pitch}",
                            rows="end - begin",
                            left=("image", f"at + q * {tile.columns}", "stride_x * image_x"),
                            right=("weights", f"{weights} + kx * weights_x"),
                            loops=[height],
                            fresh="0",
                            mask=mask,
                        )
                    )


class _Columns(_Writer):
    order = "ncyx"

    def __init__(self, c: Convolution, lowering: Lowering) -> None:
        self.form = "eb" if c.window.strides[1] == 2 else "vb"
        tile = strip_shape(c.dtype, c.window.outputs[0], c.window.outputs[1])
        self.pitch = tile.columns
        super().__init__(c, tile, c.weights_view(lowering))
        images = c.batch * c.groups * c.outputs
        strips = -(-c.window.outputs[0] // tile.rows)
        self.block = tile.rows * max(1, min(strips, int(UNIT / (self.cost / (images * strips)))))
        self.down = -(-c.window.outputs[0] // self.block)

    def write(self) -> Call:
        kernel, c, tile = self.kernel, self.c, self.tile
        self.scratch()
        names = ("weights_g", "weights_o", "weights_c", "weights_y", "weights_x")
        self.declare(dict(zip(names, self.weights.strides)) | {"outputs": c.outputs, "block": self.block})
        with kernel.block("for u in range(start, stop)"):
            self.decode({"n": c.batch, "g": c.groups, "o": c.outputs, "b": self.down})
            kernel.line("channel = g * outputs + o")
            kernel.line("part = g * weights_g + o * weights_o")
            kernel.line("plane = n * image_n + g * image_g")
            kernel.line("bottom = min((b + 1) * block, output_y)")
            with kernel.block(f"for y in range(b * block, bottom, {tile.rows})"):
                kernel.line(f"count = min({tile.rows}, bottom - y)")
                kernel.line("top = y * stride_y - begin_y")
                with kernel.block(f"for x in range(0, output_x, {tile.columns})"):
                    kernel.line(f"last = min(x + {tile.columns}, output_x)")
                    kernel.line("left = x * stride_x - begin_x")
                    self._sums()
                    with kernel.block("for i in range(count)"):
                        kernel.line("line = y + i")
                        self.finish_row({0: "n", 1: "channel", 2: "line"}, "j", "x, last", f"i * {tile.columns} - x")
        return kernel.call(c.batch * c.groups * c.outputs * self.down, self.cost)

    def _sums(self) -> None:
        kernel = self.kernel
        mask = ("-left", "input_x - left", "dilation_x")
        width = ("taps_x", "dilation_x", "weights_x")
        with kernel.block("if top >= 0 and top + (count - 1) * stride_y + (taps_y - 1) * dilation_y < input_y"):
            kernel.line(
                self.products(
                    place="0",
                    rows="count",
                    left=("image", "plane + top * image_y + left", "stride_y * image_y"),
                    right=("weights", "part"),
                    loops=[("taps_y", "dilation_y * image_y", "weights_y"), width],
                    fresh="1",
                    mask=mask,
                )
            )
        with kernel.block("else"):
            self.clear(f"count * {self.pitch}")
            with kernel.block("for ky in range(taps_y)"):
                kernel.line("line = top + ky * dilation_y")
                kernel.line("begin = max(0, (stride_y - 1 - line) // stride_y)")
                kernel.line("end = min(count, (input_y - line + stride_y - 1) // stride_y)")
                with kernel.block("if begin < end"):
                    kernel.line(
                        self.products(
                            place=f"begin * {self.pitch}",
                            rows="end - begin",
                            left=(
                                "image",
                                "plane + (line + begin * stride_y) * image_y + left",
                                "stride_y * image_y",
                            ),
                            right=("weights", "part + ky * weights_y"),
                            loops=[("1", "0", "0"), width],
                            fresh="0",
                            mask=mask,
                        )
                    )


def _channel_panels(c: Convolution, lowering: Lowering, tile: TileShape) -> View:
    """The filter as [panels, height, width, columns]."""
    if not c.filter.is_constant:
        view = c.weights_view(lowering)
        shape, strides = _taps_first(view.shape, view.strides)
        weights = View(view.buffer, view.dtype, shape, strides, view.offset)
        return packed_copy(lowering, weights, tile, depths=2)

    def pack(array: np.ndarray) -> np.ndarray:
        weights = c.weights_array(array)[:, 0, 0].transpose(1, 2, 0)
        height, width, groups = weights.shape
        return pack_panels(weights.reshape(-1, groups), tile.columns).reshape(-1, height, width, tile.columns)

    return lowering.packed(c.filter, ("depthwise", c.layout, tile.columns), pack)


def _taps_first(*vectors: tuple[int, ...]) -> list[tuple[int, ...]]:
    """[groups, 1, 1, height, width] as [height, width, groups], for a shape and for strides."""
    return [(v[3], v[4], v[0]) for v in vectors]
