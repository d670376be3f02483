"""The greatest elements of regions of an image (Girshick, "Fast R-CNN", section 2.1: RoI pooling)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..convert import double, positive
from ..layout import concrete
from ..registry import register_extension
from ..rounding import narrow, widen
from ..schema import Arrays, Attrs, Operand, Operator, Option, Output, Types, fail
from ..shapes import check_shape, expect_shape
from ..types import FLOATS, TensorType

FAR = 2.0**30
"""Corners are moved into this distance of 0; NaN counts as 0."""


@register_extension
class MaxRoiPool(Operator):
    """Each region of an image divided into ``output_height`` by ``output_width`` bins, and each bin's greatest element.

    ``rois`` [r, 5] holds the image's number (moved to the nearest if there is none) and the corners (x1, y1, x2, y2) of
    each region of the input [n, c, h, w]. Times ``spatial_scale`` and rounded, halves away from 0, they are its first
    and last elements; a region is at least one element wide and high. A bin holds whatever element it touches, and is
    0 if none of them is inside the image; NaN if one is NaN.
    """

    name = "max_roi_pool"
    operands = (
        Operand("input", FLOATS, 4, doc="the images, [n, c, h, w]"),
        Operand("rois", FLOATS, 2, doc="each region's image and corners, [r, 5]"),
    )
    options = (
        Option("output_height", positive, 1, "bins from top to bottom"),
        Option("output_width", positive, 1, "bins from left to right"),
        Option("spatial_scale", double, 1.0, "elements of the input for each unit of rois"),
    )
    outputs = (Output(rank=4),)

    def infer(self, t: Types, a: Attrs) -> Sequence[TensorType]:
        regions = t.rois.shape[0]
        expect_shape("rois", t.rois.shape, (regions, 5), "an image and two corners for each region")
        if 0 in (t.input.shape[0], *t.input.shape[2:]):
            fail("the input is empty, so that no region is in it")
        shape = (regions, t.input.shape[1], a["output_height"], a["output_width"])
        return [TensorType(t.input.dtype, check_shape(shape, zero=True))]

    def evaluate(self, x: Arrays, a: Attrs, out: Sequence[TensorType]) -> Sequence[np.ndarray]:
        images, rois = widen(x.input), np.asarray(x.rois)
        places = rois.astype(np.float64 if rois.dtype == np.float64 else np.float32)
        result = np.zeros(concrete(out[0].shape))
        sizes = (a["output_height"], a["output_width"])
        for r, region in enumerate(places):
            image = images[int(np.clip(np.nan_to_num(region[0]), 0, images.shape[0] - 1))]
            rows, columns = (
                _bins(region[2 - i], region[4 - i], image.shape[1 + i], count, a["spatial_scale"])
                for i, count in enumerate(sizes)
            )
            for p, down in enumerate(rows):
                for q, along in enumerate(columns):
                    window = image[:, down, along]
                    if window.size:
                        result[r, :, p, q] = window.max(axis=(1, 2))
        return [narrow(result, out[0])]


def _bins(first: np.floating, last: np.floating, size: int, count: int, scale: float) -> list[slice]:
    """The elements that each bin of a region touches along an axis."""
    kind = type(first)
    low, high = _rounded(first * kind(scale)), _rounded(last * kind(scale))
    step = kind(max(high - low + 1, 1)) / kind(count)
    edges = [(int(np.floor(kind(p) * step)), int(np.ceil(kind(p + 1) * step))) for p in range(count)]
    return [slice(min(max(low + a, 0), size), min(max(low + b, 0), size)) for a, b in edges]


def _rounded(place: np.floating) -> int:
    wide = float(np.clip(np.nan_to_num(float(place), nan=0.0), -FAR, FAR))
    return int(np.copysign(np.floor(abs(wide) + 0.5), wide))
