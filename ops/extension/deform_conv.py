"""Deformable convolution (Dai et al., "Deformable Convolutional Networks"; with a mask: Zhu et al., version 2)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..convert import integer
from ..dims import Dim, product
from ..registry import register_extension
from ..rounding import narrow, widen
from ..schema import Arrays, Attrs, Operand, Operator, Option, Output, Types, fail
from ..shapes import check_shape, expect_shape, same_dim
from ..spatial import BIAS_DOC, DILATIONS, GROUPS, PADDING, STRIDES, window_outputs
from ..types import FLOATS, TensorType

FAR = float(2**30)
"""Places are moved into this distance of 0; NaN counts as far outside, which is 0."""


@register_extension
class DeformConv(Operator):
    """A 2-D convolution each tap of whose window is moved by an offset of its own at every place of the result.

    Input is [n, c, h, w] and filter [o, c / groups, kh, kw]; the result [n, o, oh, ow] has the sizes of ``conv2d``.
    ``offset`` [n, offset_groups * kh * kw * 2, oh, ow] holds for each offset group (of c / offset_groups channels) and
    tap how far it moves down and right; elements between places are interpolated linearly, outside ones are 0. Each
    sample is multiplied by its element of ``mask`` [n, offset_groups * kh * kw, oh, ow], if there is one.
    """

    name = "deform_conv"
    operands = (
        Operand("input", FLOATS, 4, doc="the input, [n, c, h, w]"),
        Operand("filter", "input", 4, doc="the filter, [o, c / groups, kh, kw]"),
        Operand("offset", "input", 4, doc="how far each tap moves, [n, offset_groups * kh * kw * 2, oh, ow]"),
        Operand("bias", "input", 1, optional=True, doc=BIAS_DOC),
        Operand("mask", "input", 4, optional=True, doc="factors of the taps, [n, offset_groups * kh * kw, oh, ow]"),
    )
    options = (
        PADDING,
        STRIDES,
        DILATIONS,
        GROUPS,
        Option("offset_groups", integer(1, 2**32 - 1), 1, "groups of input channels that have offsets of their own"),
    )
    outputs = (Output(rank=4),)

    def infer(self, t: Types, a: Attrs) -> Sequence[TensorType]:
        batches, channels, *sizes = t.input.shape
        outputs, depth, *window = t.filter.shape
        for name in ("groups", "offset_groups"):
            if isinstance(channels, int) and channels % a[name]:
                fail(f"{channels} input channels cannot be divided into {a[name]} {name}")
        if not same_dim(channels, depth * a["groups"]):
            fail(f"the filter has {depth} input channels, but the input has {channels} in {a['groups']} groups")
        if isinstance(outputs, int) and outputs % a["groups"]:
            fail(f"{outputs} output channels cannot be divided into {a['groups']} groups")
        places = window_outputs(tuple(sizes), tuple(window), a)
        taps = a["offset_groups"] * window[0] * window[1]
        expect_shape("offset", t.offset.shape, (batches, taps * 2, *places), "two for each tap and place")
        if t.mask is not None:
            expect_shape("mask", t.mask.shape, (batches, taps, *places), "one for each tap and place")
        if t.bias is not None:
            expect_shape("bias", t.bias.shape, (outputs,), "the number of output channels")
        return [TensorType(t.input.dtype, check_shape((batches, outputs, *places), zero=True))]

    def operations(self, t: Types, a: Attrs, out: Sequence[TensorType]) -> Dim:
        return 2 * out[0].size * product(t.filter.shape[1:])

    def evaluate(self, x: Arrays, a: Attrs, out: Sequence[TensorType]) -> Sequence[np.ndarray]:
        weights, groups = widen(x.filter), a["groups"]
        shape: Any = out[0].shape
        with np.errstate(all="ignore"):
            columns = self._columns(x, a, shape[2:])
            split = columns.reshape(columns.shape[0], groups, math.prod(weights.shape[1:]), columns.shape[-1])
            result = np.matmul(weights.reshape(groups, weights.shape[0] // groups, split.shape[2]), split)
            result = result.reshape(shape)
            if x.bias is not None:
                result = result + widen(x.bias)[:, None, None]
        return [narrow(result, out[0])]

    def _columns(self, x: Arrays, a: Attrs, places: tuple[int, int]) -> np.ndarray:
        """The samples of every tap: [n, channels, taps, places]."""
        image, groups = np.asarray(x.input), a["offset_groups"]
        batches, channels, *sizes = image.shape
        window = x.filter.shape[2:]
        taps = window[0] * window[1]
        offset = self._computed(x.offset).reshape(batches, groups, taps, 2, *places)
        values = widen(image).reshape(batches, groups, channels // groups, *sizes)
        axes = [self._places(offset[:, :, :, i], places[i], window, i, a) for i in (0, 1)]
        result = np.zeros((batches, groups, channels // groups, taps, *places))
        n, g = np.ogrid[:batches, :groups, :1, :1, :1][:2]
        for rows, v in _neighbours(axes[0], sizes[0]):
            for columns, u in _neighbours(axes[1], sizes[1]):
                inside = (rows >= 0) & (columns >= 0)
                found = values[n, g, :, np.maximum(rows, 0), np.maximum(columns, 0)]
                part = np.where(inside[..., None], found * (v * u)[..., None], 0.0)
                result += np.moveaxis(part, -1, 2)
        if x.mask is not None:
            result *= widen(x.mask).reshape(batches, groups, 1, taps, *places)
        return result.reshape(batches, channels, taps, math.prod(places))

    def _computed(self, x: np.ndarray) -> np.ndarray:
        """Places are computed in float32, of float64 in float64."""
        return x if x.dtype == np.float64 else np.asarray(x).astype(np.float32)

    def _places(self, offset: np.ndarray, count: int, window: Sequence[int], i: int, a: Attrs) -> np.ndarray:
        """Where each tap looks along an axis, for offsets [n, groups, taps, oh, ow]."""
        tap = np.arange(window[0] * window[1]) // window[1] if i == 0 else np.arange(window[0] * window[1]) % window[1]
        first = np.arange(count) * a["strides"][i] - a["padding"][2 * i]
        base = (tap * a["dilations"][i])[:, None, None] + (first[:, None] if i == 0 else first)
        place = base.astype(offset.dtype) + offset
        return np.clip(np.where(np.isnan(place), -FAR, place), -FAR, FAR).astype(offset.dtype)


def _neighbours(place: np.ndarray, size: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """The two elements beside each place (-1 outside) and their weights."""
    low = np.floor(place)
    upper = (place - low).astype(np.float64)
    index = low.astype(np.int64)
    found = [(index, 1 - upper), (index + 1, upper)]
    return [(np.where((k >= 0) & (k < size), k, -1), w) for k, w in found]
