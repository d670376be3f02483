"""The windows of an image of bytes as panels for micro-kernels, four channels at a time."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..codegen.kernel import KernelBuilder
from ..codegen.lowering import Lowering
from ..kernels.target import byte_products
from ..views import View
from .byte_packing import GROUP, Packed, groups_of, store_group
from .byte_products import ZeroPoint, panel_columns


@dataclass(frozen=True)
class Windows:
    """Which windows of an image there are: the convolution's attributes, the window's and the output's sizes."""

    attrs: Mapping[str, Any]
    window: Sequence[int]
    outputs: Sequence[int]


def pack_windows(lowering: Lowering, image: View, zero: ZeroPoint, windows: Windows) -> Packed:
    """The windows of an image [n, c, h, w] as panels [n, groups, panels, taps * channels / 4, columns, 4].

    Places in the padding hold the zero point. The second result are the sums of the columns.
    """
    groups = windows.attrs["groups"]
    words, totals = _channels_last(lowering, image, groups)
    return _Writer(lowering, words, totals, image, zero, windows).write()


def _channels_last(lowering: Lowering, image: View, groups: int) -> Packed:
    """The image as int8 [n, groups, h, w, channels], channels padded to fours with zeros; a unit is a line.

    The second result are the sums over the channels, of which the sums over windows are made.
    """
    batches, channels, height, width = image.shape
    each = channels // groups
    padded = groups_of(each) * GROUP
    result = lowering.scratch("int8", (batches, groups, height, width, padded))
    totals = lowering.scratch("int32", (batches, groups, height, width))
    kernel = KernelBuilder("byte channels last")
    kernel.source("x", image)
    sn, sc, sh, sw = (kernel.integer(f"x_s{i}", s) for i, s in enumerate(image.strides))
    kernel.target("y", result)
    kernel.target("s", totals)
    for name, value in (("groups", groups), ("height", height), ("width", width), ("each", each), ("padded", padded)):
        kernel.parameter(name, value)
    flip = "bitxor_u8({}, const_u8(128))" if image.dtype == "uint8" else "{}"
    with kernel.block("for u in range(start, stop)"):
        kernel.line("q = u // height")
        kernel.line("h = u - q * height")
        kernel.line("n = q // groups")
        kernel.line(f"at = n * {sn} + (q - n * groups) * each * {sc} + h * {sh}")
        with kernel.block("for w in range(width)"):
            kernel.line("storerw_i32(s, u * width + w, const_i32(0))")
        with kernel.block("for c in range(each)"), kernel.block("for w in range(width)"):
            kernel.line(f"v = {flip.format(f'load_u8(x, at + c * {sc} + w * {sw})')}")
            kernel.line("store_u8(y, (u * width + w) * padded + c, v)")
            total = "add_i32(loadrw_i32(s, u * width + w), cast_i8_i32(cast_u8_i8(v)))"
            kernel.line(f"storerw_i32(s, u * width + w, {total})")
        with kernel.block("for c in range(each, padded)"), kernel.block("for w in range(width)"):
            kernel.line("store_u8(y, (u * width + w) * padded + c, const_u8(0))")
    lowering.add(kernel.call(batches * groups * height, result.size * 0.6 + 5.0))
    return result, totals


class _Writer:
    def __init__(
        self, lowering: Lowering, words: View, totals: View, image: View, zero: ZeroPoint, windows: Windows
    ) -> None:
        self.lowering, self.zero, self.windows = lowering, zero, windows
        self.kernel = KernelBuilder("byte windows")
        batches, groups, *self.sizes, padded = words.shape
        self.fours = padded // GROUP
        self.each = image.shape[1] // groups
        self.width = panel_columns()
        self.positions = math.prod(windows.outputs)
        self.count = -(-self.positions // self.width)
        steps = math.prod(windows.window) * self.fours
        self.words, self.totals = words, totals
        self.panels = lowering.scratch("int8", (batches, groups, self.count, steps, self.width, GROUP))
        self.sums = lowering.scratch("int32", (batches, groups, self.count * self.width))
        self.units = batches * groups * self.count

    def write(self) -> Packed:
        kernel, width = self.kernel, self.width
        kernel.line(f"rows = stack_{8 * width}()")
        kernel.line(f"columns = stack_{8 * width}()")
        kernel.line(f"places = stack_{8 * width}()")
        self._declare()
        byte = "shr_i32(cast_u32_i32(filled), const_i32(24))"
        kernel.line(f"pad_total = mul_i32({byte}, cast_i64_i32(each))")
        with kernel.block("for u in range(start, stop)"):
            kernel.line("m = u // panels")
            kernel.line(f"first = (u - m * panels) * {width}")
            kernel.line(f"inside = min({width}, positions - first)")
            with kernel.block("for j in range(inside)"):
                kernel.line("oy = (first + j) // out_w")
                kernel.line("storerw_i64(rows, j, oy * stride_h - pad_h)")
                kernel.line("storerw_i64(columns, j, (first + j - oy * out_w) * stride_w - pad_w)")
            with kernel.block(f"for j in range({width})"):
                kernel.line(f"storerw_i32(s, u * {width} + j, const_i32(0))")
            kernel.line(f"to = u * taps_h * taps_w * fours * {width}")
            with kernel.block("for ky in range(taps_h)"), kernel.block("for kx in range(taps_w)"):
                self._tap()
        self.lowering.add(kernel.call(self.units, self.panels.size * 0.25 + 20.0))
        return self.panels, self.sums

    def _declare(self) -> None:
        kernel, a = self.kernel, self.windows.attrs
        kernel.source("x", self.words)
        kernel.source("totals", self.totals)
        kernel.target("y", self.panels)
        kernel.target("s", self.sums)
        values = {"height": self.sizes[0], "image_w": self.sizes[1], "fours": self.fours}
        values |= {"taps_h": self.windows.window[0], "taps_w": self.windows.window[1]}
        values |= {"positions": self.positions, "panels": self.count, "out_w": self.windows.outputs[1]}
        values |= {"stride_h": a["strides"][0], "stride_w": a["strides"][1]}
        values |= {"step_h": a["dilations"][0], "step_w": a["dilations"][1]}
        values |= {"each": self.each}
        values |= {"pad_h": a["padding"][0], "pad_w": a["padding"][2]}
        for name, value in values.items():
            kernel.parameter(name, value)
        kernel.typed_integer("last", (1 << (8 * ((self.each - 1) % GROUP + 1))) - 1, "u32")
        if self.zero.view is not None:
            kernel.source("zero", self.zero.view)
            suffix = "u8" if self.zero.view.dtype == "uint8" else "i8"
            kernel.line(f"byte = cast_{suffix}_u32(load_{suffix}(zero, 0))")
            if suffix == "u8":
                kernel.line("byte = bitxor_u32(byte, const_u32(128))")
            kernel.line("filled = mul_u32(bitand_u32(byte, const_u32(255)), const_u32(0x01010101))")
        else:
            kernel.typed_integer("filled", (self.zero.number & 255) * 0x01010101, "u32")

    def _tap(self) -> None:
        """One place of the window: where each column finds it (negative in the padding), then all its channels."""
        kernel, width = self.kernel, self.width
        with kernel.block("for j in range(inside)"):
            kernel.line("py = loadrw_i64(rows, j) + ky * step_h")
            kernel.line("px = loadrw_i64(columns, j) + kx * step_w")
            kernel.line("low = min_i64(min_i64(py, px), min_i64(height - 1 - py, image_w - 1 - px))")
            kernel.line("pixel = select_i64(lt_i64(low, 0), 0, py * image_w + px)")
            kernel.line("storerw_i64(places, j, select_i64(lt_i64(low, 0), -1, pixel * fours))")
            kernel.line("total = load_i32(totals, m * height * image_w + pixel)")
            kernel.line("total = select_i32(lt_i64(low, 0), pad_total, total)")
            kernel.line(f"storerw_i32(s, u * {width} + j, add_i32(loadrw_i32(s, u * {width} + j), total))")
        kernel.line("base = m * height * image_w * fours")
        with kernel.block("for c in range(fours)"):
            kernel.line("pad = select_u32(eq_i64(c, fours - 1), bitand_u32(filled, last), filled)")
            with kernel.block("for j in range(inside)"):
                kernel.line("place = loadrw_i64(places, j)")
                kernel.line("found = load_u32(x, base + c + max_i64(place, 0))")
                kernel.line("word = select_u32(lt_i64(place, 0), pad, found)")
                store_group(kernel, "word", byte_products())
            with kernel.block(f"for j in range(inside, {width})"):
                store_group(kernel, "const_u32(0)", byte_products())
            kernel.line(f"to += {width}")
