"""Depthwise convolutions whose images and results lie with their channels last, in one micro-kernel."""

from __future__ import annotations

from collections.abc import Sequence

from ..codegen.body import Body
from ..codegen.choices import choose
from ..codegen.finishing import Formula
from ..codegen.kernel import Call, KernelBuilder
from ..codegen.lowering import Lowering
from ..codegen.tiling import TileShape, lanes_of
from ..kernels.target import target
from ..views import View
from .conv import Convolution
from .conv_depthwise import channel_panels
from .geometry import Window, declare_bias
from .lanes import LanesWriter, Windows

MOST_TAPS = 7
"""Columns of a window whose weights are held in registers."""


def lanes_call(convolution: Convolution, lowering: Lowering) -> Call | None:
    """The kernel of a depthwise convolution, None if this way of computing does not suit it."""
    c, w = convolution, convolution.window
    windows = Windows(c.image_of_groups, w, c.places)
    if (c.channels, c.outputs) != (1, 1) or w.taps[1] > MOST_TAPS or not windows.suits:
        return None
    writer = _Writer(windows, c, lowering)
    return None if writer.program is None else writer.write()


class _Writer(LanesWriter):
    operation = "products"

    def __init__(self, windows: Windows, convolution: Convolution, lowering: Lowering) -> None:
        self.c, self.lowering = convolution, lowering
        super().__init__(windows, lanes_tile(convolution.dtype, convolution.groups, convolution.window))

    def declare(self, body: Body) -> Formula:
        return add_bias(self.kernel, body, self.c.places.bias, self.suffix)

    def weights(self) -> tuple[str, Sequence[int]]:
        panels = channel_panels(self.c, self.lowering, self.tile)
        return self.kernel.source("weights", panels), panels.strides[:2]


def add_bias(kernel: KernelBuilder, body: Body, bias: View | None, suffix: str) -> Formula:
    """The sum of what a micro-kernel gives and a bias over (n, y, x, c), which is declared here."""
    if bias is None:
        return lambda total, known: total
    key = declare_bias(body, bias, (0, 0, 0, 0 if bias.shape[0] == 1 else bias.strides[0]))
    return lambda total, known: kernel.define(f"add_{suffix}({total}, {known[key]})")


def lanes_tile(dtype: str, channels: int, window: Window) -> TileShape:
    """Pixels and vectors of channels of a block: sums and a row of weights fit in the registers."""
    lanes = lanes_of(dtype)
    vectors = 2 if target().registers >= 32 and -(-channels // lanes) % 2 == 0 else 1
    room = target().registers - 2 - vectors * window.taps[1]
    most = max(1, min(8, room // vectors))
    width = window.outputs[1]
    rows = choose(range(1, most + 1), lambda r: -(-width // r) * (max(r, most / 2) + 1.0))
    return TileShape(rows, vectors, lanes)
