"""Convolutions of many narrow groups whose channels lie last: several groups in one vector."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..codegen.body import Body
from ..codegen.finishing import Formula
from ..codegen.kernel import Call
from ..codegen.lowering import Lowering
from ..codegen.tiling import TileShape, lanes_of, pack_panels
from ..kernels.target import target
from ..views import View
from .conv import Convolution
from .conv_lanes import MOST_TAPS, add_bias, lanes_tile
from .lanes import LanesWriter, Windows

GROUPS = (2, 4, 8)
"""Channels of the groups that micro-kernels know."""


def grouped_call(convolution: Convolution, lowering: Lowering) -> Call | None:
    """The kernel of a convolution whose groups have as many channels as outputs, None if it does not suit it."""
    c = convolution
    if c.groups == 1 or c.channels != c.outputs or c.channels not in GROUPS or not c.filter.is_constant:
        return None
    n, g, k, h, w = range(5)
    shape, strides = c.image.shape, c.image.strides
    if c.channels > lanes_of(c.dtype) // 2 and not _is_better(c):
        return None
    if strides[g] != c.channels * strides[k] or c.window.taps[1] > MOST_TAPS:
        return None
    image = replace(
        c.image,
        shape=(shape[n], shape[g] * shape[k], shape[h], shape[w]),
        strides=(strides[n], strides[k], strides[h], strides[w]),
    )
    windows = Windows(image, c.window, c.places)
    if not windows.suits:
        return None
    writer = _Writer(windows, c, lowering)
    return None if writer.program is None else writer.write()


def _is_better(c: Convolution) -> bool:
    """Whether groups that fill a vector are better computed so than one by one, in tiles of more pixels."""
    return target().registers < 32 and c.channels == lanes_of(c.dtype)


class _Writer(LanesWriter):
    def __init__(self, windows: Windows, convolution: Convolution, lowering: Lowering) -> None:
        self.c, self.lowering = convolution, lowering
        self.operation = f"products{convolution.channels}"
        self.tap *= convolution.channels
        super().__init__(windows, lanes_tile(windows.image.dtype, windows.image.shape[1], windows.window))

    def declare(self, body: Body) -> Formula:
        return add_bias(self.kernel, body, self.c.places.bias, self.suffix)

    def weights(self) -> tuple[str, Sequence[int]]:
        panels = _panels(self.c, self.lowering, self.tile)
        return self.kernel.source("weights", panels), panels.strides[:2]


def _panels(c: Convolution, lowering: Lowering, tile: TileShape) -> View:
    """The filter as [panels, height, channels of a group, width, columns]."""

    def pack(array: np.ndarray) -> np.ndarray:
        # [groups, outputs, channels, height, width]
        weights = c.weights_array(array).transpose(3, 2, 4, 0, 1)
        height, channels, width, groups, outputs = weights.shape
        rows = weights.reshape(height * channels * width, groups * outputs)
        return pack_panels(rows, tile.columns).reshape(-1, height, channels, width, tile.columns)

    return lowering.packed(c.filter, ("grouped", c.layout, c.groups, tile.columns), pack)
