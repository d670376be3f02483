"""Regions of an image brought to one size (He et al., "Mask R-CNN", section 3: RoIAlign)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..convert import boolean, double, enum, integer, positive
from ..registry import register_extension
from ..rounding import narrow, widen
from ..schema import Arrays, Attrs, Operand, Operator, Option, Output, Types, fail
from ..shapes import check_shape, expect_shape
from ..types import FLOATS, TensorType

MOST_SAMPLES = 4096
"""Most samples of a bin each way that may be asked for."""


@register_extension
class RoiAlign(Operator):
    """Each region of an image divided into ``output_height`` by ``output_width`` bins, and what lies in each bin.

    ``rois`` [r, 4] holds the corners (x1, y1, x2, y2) of each region, times ``spatial_scale`` in elements of the input
    [n, c, h, w], whose centres lie at n + 0.5 with ``half_pixel``, else at n (regions are then at least 1 wide and
    high). ``batch_indices`` [r] says which image each region is of; an index outside is moved to the nearest image.

    A bin is sampled at ``sampling_ratio`` squared places by linear interpolation; 0 takes as many as the bin has
    elements each way, rounded up. ``avg`` is their mean; ``max`` the greatest product of an element with its weight, as
    ONNX has it. A sample farther than one element outside the image is 0. Places are computed in float32 (float64 for
    float64 rois).
    """

    name = "roi_align"
    operands = (
        Operand("input", FLOATS, 4, doc="the images, [n, c, h, w]"),
        Operand("rois", FLOATS, 2, doc="the regions' corners, [r, 4]"),
        Operand("batch_indices", frozenset({"int64", "int32"}), 1, doc="each region's image, [r]"),
    )
    options = (
        Option("mode", enum("avg", "max"), "avg", "what a bin's samples give"),
        Option("half_pixel", boolean, True, "whether an element's centre is half an element from its edge"),
        Option("output_height", positive, 1, "bins from top to bottom"),
        Option("output_width", positive, 1, "bins from left to right"),
        Option(
            "sampling_ratio", integer(0, MOST_SAMPLES), 0, "samples of a bin each way; 0 for as many as it has elements"
        ),
        Option("spatial_scale", double, 1.0, "elements of the input for each unit of rois"),
    )
    outputs = (Output(rank=4),)

    def infer(self, t: Types, a: Attrs) -> Sequence[TensorType]:
        regions = t.rois.shape[0]
        expect_shape("rois", t.rois.shape, (regions, 4), "two corners for each region")
        expect_shape("batch_indices", t.batch_indices.shape, (regions,), "one for each region")
        if 0 in (t.input.shape[0], *t.input.shape[2:]):
            fail("the input is empty, so that no region is in it")
        shape = (regions, t.input.shape[1], a["output_height"], a["output_width"])
        return [TensorType(t.input.dtype, check_shape(shape, zero=True))]

    def evaluate(self, x: Arrays, a: Attrs, out: Sequence[TensorType]) -> Sequence[np.ndarray]:
        images, rois = widen(x.input), np.asarray(x.rois)
        kind = np.float64 if rois.dtype == np.float64 else np.float32
        batch = np.clip(np.asarray(x.batch_indices), 0, images.shape[0] - 1)
        result = np.zeros(out[0].shape)  # type: ignore[type-var]
        with np.errstate(all="ignore"):
            for r, corners in enumerate(rois.astype(kind)):
                image = images[batch[r]]
                rows, columns = (
                    bin_samples(corners[1 - i], corners[3 - i], image.shape[1 + i], a["output_" + side], a)
                    for i, side in enumerate(("height", "width"))
                )
                result[r] = (_mean if a["mode"] == "avg" else _greatest)(image, rows, columns)
        return [narrow(result, out[0])]


Sample = tuple[int, int, float]
"""The lower and the upper element, and the upper one's weight."""
Bins = tuple[float, list[list[Sample]]]
"""Samples of each bin, and those of them that are inside the image."""


def bin_samples(first: np.floating, last: np.floating, size: int, bins: int, a: Attrs) -> Bins:
    """The samples of each bin of a region along an axis.

    Only those inside the image are looked at, which are few however large the region is.
    """
    kind = type(first)
    half = kind(0.5 if a["half_pixel"] else 0.0)
    start, end = first * kind(a["spatial_scale"]) - half, last * kind(a["spatial_scale"]) - half
    length = end - start if a["half_pixel"] else np.maximum(end - start, kind(1))
    step = length / kind(bins)
    count = float(a["sampling_ratio"]) or float(np.ceil(step))
    if not (np.isfinite(step) and np.isfinite(start) and count > 0):
        return 0.0, [[] for _ in range(bins)]
    return count, [_bin(start + kind(p) * step, step, count, size) for p in range(bins)]


def _bin(origin: np.floating, step: np.floating, count: float, size: int) -> list[Sample]:
    kind = type(origin)
    low, high = _inside(float(origin), float(step) / count, size, count)
    places = [origin + (kind(i) + kind(0.5)) * step / kind(count) for i in range(low, high)]
    return [_between(max(float(place), 0.0), size) for place in places if -1 <= place <= size]


def _inside(origin: float, gap: float, size: int, count: float) -> tuple[int, int]:
    """A range of samples that holds all that are inside the image, and few others."""
    if gap == 0:
        return (0, int(count)) if -1 <= origin <= size else (0, 0)
    first, last = sorted(((-2 - origin) / gap, (size + 1 - origin) / gap))
    low = int(min(max(float(np.floor(first)) - 1, 0), count))
    return low, int(min(max(float(np.ceil(last)) + 1, low), count))


def _between(place: float, size: int) -> Sample:
    low = int(place)
    return (size - 1, size - 1, 0.0) if low >= size - 1 else (low, low + 1, place - low)


def _mean(image: np.ndarray, rows: Bins, columns: Bins) -> np.ndarray:
    """Interpolation is linear each way, so that the sum over a bin is a product with weights of rows and columns."""
    down, along = (_weights(bins, size) for (_, bins), size in zip((rows, columns), image.shape[1:]))
    return np.matmul(np.matmul(down, image), along.T) / max(rows[0] * columns[0], 1.0)


def _weights(bins: list[list[Sample]], size: int) -> np.ndarray:
    weights = np.zeros((len(bins), size))
    for p, samples in enumerate(bins):
        for low, high, upper in samples:
            weights[p, low] += 1 - upper
            weights[p, high] += upper
    return weights


def _greatest(image: np.ndarray, rows: Bins, columns: Bins) -> np.ndarray:
    result = np.zeros((image.shape[0], len(rows[1]), len(columns[1])))
    for p, down in enumerate(rows[1]):
        for q, along in enumerate(columns[1]):
            best = [_greatest_product(image, y, x) for y in down for x in along]
            if len(best) < rows[0] * columns[0]:
                best.append(np.zeros(image.shape[0]))
            if best:
                result[:, p, q] = np.max(best, axis=0)
    return result


def _greatest_product(image: np.ndarray, row: Sample, column: Sample) -> np.ndarray:
    """The greatest of a sample's four elements times their weights, of each channel."""
    (y0, y1, v), (x0, x1, u) = row, column
    down, along = np.array([1 - v, v]), np.array([1 - u, u])
    corners = image[:, [[y0], [y1]], [[x0, x1]]]
    return (corners * (down[:, None] * along)).max(axis=(1, 2))
