"""Regions brought to one size: against sums by hand, sample by sample."""

from __future__ import annotations

import math

import numpy as np
import pytest

from basalt.errors import ValidationError

from ..calling import infer, output


def sample(image: np.ndarray, y: float, x: float) -> list[float]:
    """The four weighted elements of a place; zeros for one farther than an element outside."""
    height, width = image.shape
    if not (-1 <= y <= height and -1 <= x <= width):
        return [0.0] * 4
    y, x = min(max(y, 0.0), height - 1.0), min(max(x, 0.0), width - 1.0)
    y0, x0 = min(int(y), height - 1), min(int(x), width - 1)
    y1, x1 = min(y0 + 1, height - 1), min(x0 + 1, width - 1)
    v, u = y - y0, x - x0
    return [
        (1 - v) * (1 - u) * image[y0, x0], (1 - v) * u * image[y0, x1],
        v * (1 - u) * image[y1, x0], v * u * image[y1, x1],
    ]  # fmt: skip


def naive(image: np.ndarray, roi: list[float], mode: str, half: bool, bins: tuple[int, int], ratio: int) -> np.ndarray:
    shift = 0.5 if half else 0.0
    x1, y1, x2, y2 = (c - shift for c in roi)
    height, width = (y2 - y1, x2 - x1) if half else (max(y2 - y1, 1.0), max(x2 - x1, 1.0))
    steps = height / bins[0], width / bins[1]
    counts = [ratio or math.ceil(s) for s in steps]
    result = np.zeros(bins)
    for p, q in np.ndindex(bins):
        samples = [
            sample(
                image,
                y1 + p * steps[0] + (i + 0.5) * steps[0] / counts[0],
                x1 + q * steps[1] + (j + 0.5) * steps[1] / counts[1],
            )
            for i in range(counts[0])
            for j in range(counts[1])
        ]
        if mode == "avg":
            result[p, q] = sum(map(sum, samples)) / max(1, counts[0] * counts[1])
        else:
            result[p, q] = max((max(s) for s in samples), default=0.0)
    return result


@pytest.mark.parametrize("mode", ["avg", "max"])
@pytest.mark.parametrize("half", [True, False])
@pytest.mark.parametrize(("bins", "ratio"), [((2, 3), 0), ((3, 2), 2), ((1, 1), 1)])
def test_regions(mode: str, half: bool, bins: tuple[int, int], ratio: int) -> None:
    images = np.random.default_rng(0).normal(size=(2, 2, 7, 6)).astype(np.float32)
    rois = [[0.0, 0.0, 5.0, 6.0], [1.25, 2.5, 4.0, 3.0], [-3.5, -2.0, 9.0, 11.0], [4.0, 4.0, 2.0, 2.0]]
    batch = np.array([1, 0, 1, 0], np.int64)
    sizes = {"output_height": bins[0], "output_width": bins[1], "sampling_ratio": ratio}
    got = output("roi_align", images, np.float32(rois), batch, mode=mode, half_pixel=half, **sizes)
    for r, roi in enumerate(rois):
        for c in range(2):
            wanted = naive(images[batch[r], c], roi, mode, half, bins, ratio)
            np.testing.assert_allclose(got[r, c], wanted, atol=1e-5)


def test_scale_and_indices_outside() -> None:
    images = np.stack([np.full((1, 4, 4), 1.0), np.full((1, 4, 4), 5.0)]).astype(np.float32)
    rois = np.float32([[2, 2, 4, 4]] * 3)
    got = output("roi_align", images, rois, np.array([-7, 1, 9], np.int64), spatial_scale=0.5)
    assert got.reshape(-1).tolist() == [1.0, 5.0, 5.0]


def test_regions_without_an_end_take_no_time() -> None:
    images = np.ones((1, 1, 4, 4), np.float32)
    rois = np.float32([[-1e30, -1e30, 1e30, 1e30], [np.nan, 0, 1, 1], [0, 0, np.inf, 1]])
    got = output("roi_align", images, rois, np.zeros(3, np.int64), output_height=2, output_width=2)
    assert np.isfinite(got).all()


@pytest.mark.parametrize(
    ("types", "options", "message"),
    [
        (("float32[1, 2, 3, 3]", "float32[5, 3]", "int64[5]"), {}, "rois has shape"),
        (("float32[1, 2, 3, 3]", "float32[5, 4]", "int64[4]"), {}, "batch_indices has shape"),
        (("float32[1, 2, 3, 3]", "float32[5, 4]", "int64[5]"), {"sampling_ratio": 10**9}, "from 0 to 4096"),
    ],
)
def test_what_is_refused(types: tuple[str, ...], options: dict[str, int], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        infer("roi_align", *types, **options)
    sizes = {"output_height": 2, "output_width": 3}
    assert infer("roi_align", "float32[n, c, h, w]", "float32[r, 4]", "int64[r]", **sizes) == ["float32[r, c, 2, 3]"]
