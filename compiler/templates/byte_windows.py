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
from .byte_channels import Pixels, channels_last
from .byte_packing import GROUP, Packed, group_parts
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
    return _Writer(lowering, channels_last(lowering, image, groups, zero), image, windows).write()


class _Writer:
    def __init__(self, lowering: Lowering, pixels: Pixels, image: View, windows: Windows) -> None:
        self.lowering, self.windows, self.pixels = lowering, windows, pixels
        self.kernel = KernelBuilder("byte windows")
        self.sizes = image.shape[2:]
        self.fours = pixels.words.shape[1] // GROUP
        self.width = panel_columns()
        self.positions = math.prod(windows.outputs)
        self.count = -(-self.positions // self.width)
        planes = image.shape[0] * windows.attrs["groups"]
        steps = math.prod(windows.window) * self.fours
        self.panels = lowering.scratch(
            "int8", (image.shape[0], windows.attrs["groups"], self.count, steps, self.width, GROUP)
        )
        self.sums = lowering.scratch("int32", (*self.panels.shape[:2], self.count * self.width))
        self.units = planes * self.count

    def write(self) -> Packed:
        kernel, width = self.kernel, self.width
        kernel.line(f"rows = stack_{8 * width}()")
        kernel.line(f"columns = stack_{8 * width}()")
        kernel.line(f"places = stack_{8 * width}()")
        self._declare()
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
            with kernel.block(f"for j in range(inside, {width})"):
                kernel.line("storerw_i64(places, j, behind * length)")
            kernel.line(f"to = u * taps_h * taps_w * length * {width}")
            with kernel.block("for ky in range(taps_h)"), kernel.block("for kx in range(taps_w)"):
                self._tap()
        taps = math.prod(self.windows.window)
        self.lowering.add(kernel.call(self.units, self.panels.size * 0.06 + self.units * taps * 60.0 + 20.0))
        return self.panels, self.sums

    def _declare(self) -> None:
        kernel, a = self.kernel, self.windows.attrs
        kernel.source("x", self.pixels.words)
        kernel.source("totals", self.pixels.totals)
        kernel.target("y", self.panels)
        kernel.target("s", self.sums)
        values = {"height": self.sizes[0], "image_w": self.sizes[1], "behind": self.pixels.totals.shape[0] - 1}
        values |= {"taps_h": self.windows.window[0], "taps_w": self.windows.window[1]}
        values |= {"positions": self.positions, "panels": self.count, "out_w": self.windows.outputs[1]}
        values |= {"stride_h": a["strides"][0], "stride_w": a["strides"][1]}
        values |= {"step_h": a["dilations"][0], "step_w": a["dilations"][1]}
        values |= {"length": self.fours * group_parts(byte_products())}
        values |= {"pad_h": a["padding"][0], "pad_w": a["padding"][2]}
        for name, value in values.items():
            kernel.parameter(name, value)

    def _tap(self) -> None:
        """One place of the window: the pixel that each column finds there, then the channels of these."""
        kernel, width = self.kernel, self.width
        with kernel.block("for j in range(inside)"):
            kernel.line("py = loadrw_i64(rows, j) + ky * step_h")
            kernel.line("px = loadrw_i64(columns, j) + kx * step_w")
            kernel.line("low = min_i64(min_i64(py, px), min_i64(height - 1 - py, image_w - 1 - px))")
            kernel.line("pixel = select_i64(lt_i64(low, 0), behind, (m * height + py) * image_w + px)")
            kernel.line("storerw_i64(places, j, pixel * length)")
            total = f"add_i32(loadrw_i32(s, u * {width} + j), load_i32(totals, pixel))"
            kernel.line(f"storerw_i32(s, u * {width} + j, {total})")
        # Elements are the parts of a group that lie together in a panel.
        bits = 8 * GROUP // group_parts(byte_products())
        kernel.line(f"transpose_{bits}_picked(y, to, {width}, x, places, length, {width})")
        kernel.line(f"to += length * {width}")
