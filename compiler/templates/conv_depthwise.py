"""Depthwise convolutions: each group has one input channel."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..codegen.body import Body
from ..codegen.kernel import Call, KernelBuilder
from ..codegen.lowering import Lowering
from ..codegen.tiling import TileShape, pack_panels, products, strip_shape
from ..ir import Value
from ..views import View
from .conv import Convolution
from .geometry import declare_bias, with_bias
from .packing import packed_copy
from .sliding import Operation, Slide, Step, slides, sliding_call

TAP = 0.25
"""Nanoseconds that a vector of products takes."""


def is_depthwise(c: Convolution) -> bool:
    """Whether :func:`depthwise_call` computes a convolution."""
    if c.channels != 1 or not slides(c.image_of_groups, c.window, c.places):
        return False
    return c.outputs == 1 or not c.places.channels_last


def depthwise_call(c: Convolution, lowering: Lowering) -> Call:
    """The kernel of a depthwise convolution, by micro-kernels that leave sums in memory."""
    if c.places.channels_last:
        weights = channel_panels(c, lowering, strip_shape(c.dtype, c.window.outputs[1], c.groups))
    else:
        weights = c.weights_view(lowering)
    operation = _Products(c.dtype, weights, c.places.bias)
    return sliding_call(Slide(c.image_of_groups, c.window, c.places, operation, c.outputs), TAP)


class _Products(Operation):
    """Sums of products with weights, and a bias."""

    def __init__(self, dtype: str, weights: View, bias: View | None) -> None:
        self.dtype, self.weights, self.bias = dtype, weights, bias
        self.key: Value | None = None

    def source(self, tile: TileShape, form: str, step: Step) -> str:
        assert self.weights is not None
        over_channels = len(self.weights.shape) == 4
        place, pitch, spare = step.sums
        return products(
            tile.name(form + ("v" if over_channels else "b"), self.dtype, self.weights.dtype, masked=True),
            place=place,
            pitch=pitch,
            spare=spare,
            rows=step.rows,
            left=("image", *step.image),
            right=("weights", step.weights),
            loops=step.loops,
            fresh=step.fresh,
            mask=step.mask,
        )

    def declare(self, kernel: KernelBuilder, body: Body, order: str) -> None:
        if self.bias is not None:
            step = 0 if self.bias.shape[0] == 1 else self.bias.strides[0]
            self.key = declare_bias(body, self.bias, [step if letter == "c" else 0 for letter in order])

    def finish(self, kernel: KernelBuilder, body: Body, total: str, known: dict[Value, str], at: str) -> str:
        return with_bias(kernel, body, self.key, total, known, at)


def channel_panels(c: Convolution, lowering: Lowering, tile: TileShape) -> View:
    """The filter as [panels, height, width, columns]."""
    if not c.filter.is_constant:
        view = c.weights_view(lowering)
        weights = replace(view, shape=_taps_first(view.shape), strides=_taps_first(view.strides))
        return packed_copy(lowering, weights, tile, depths=2)

    def pack(array: np.ndarray) -> np.ndarray:
        weights = c.weights_array(array)[:, 0, 0].transpose(1, 2, 0)
        height, width, groups = weights.shape
        return pack_panels(weights.reshape(-1, groups), tile.columns).reshape(-1, height, width, tile.columns)

    return lowering.packed(c.filter, ("depthwise", c.layout, tile.columns), pack)


def _taps_first(sizes: tuple[int, ...]) -> tuple[int, ...]:
    """Sizes or strides of [groups, 1, 1, height, width] as those of [height, width, groups]."""
    return sizes[3], sizes[4], sizes[0]
