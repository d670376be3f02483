"""The greatest elements of regions: by hand, bin by bin."""

from __future__ import annotations

import math

import numpy as np
import pytest

from basalt.errors import ValidationError

from ..calling import infer, output


def naive(image: np.ndarray, roi: list[float], bins: tuple[int, int], scale: float) -> np.ndarray:
    x1, y1, x2, y2 = (math.floor(c * scale + 0.5) if c >= 0 else -math.floor(-c * scale + 0.5) for c in roi)
    height, width = max(y2 - y1 + 1, 1), max(x2 - x1 + 1, 1)
    result = np.zeros(bins)
    for p, q in np.ndindex(bins):
        rows = range(y1 + p * height // bins[0], y1 - (-(p + 1) * height // bins[0]))
        columns = range(x1 + q * width // bins[1], x1 - (-(q + 1) * width // bins[1]))
        found = [image[y, x] for y in rows for x in columns if 0 <= y < image.shape[0] and 0 <= x < image.shape[1]]
        result[p, q] = max(found, default=0.0)
    return result


ROIS = [[0.0, 0.0, 5.0, 6.0], [1.5, 2.5, 4.0, 3.0], [-3.5, -2.0, 9.0, 11.0], [4.0, 4.0, 2.0, 2.0], [9.0, 9.0, 9.0, 9.0]]


@pytest.mark.parametrize("bins", [(1, 1), (2, 3), (4, 8)])
@pytest.mark.parametrize("scale", [1.0, 0.5])
def test_regions(bins: tuple[int, int], scale: float) -> None:
    images = np.random.default_rng(0).normal(size=(2, 2, 7, 6)).astype(np.float32)
    batch = [1, 0, 1, 0, 1]
    rois = np.float32([[b, *roi] for b, roi in zip(batch, ROIS)])
    got = output("max_roi_pool", images, rois, output_height=bins[0], output_width=bins[1], spatial_scale=scale)
    for r, roi in enumerate(ROIS):
        for c in range(2):
            np.testing.assert_array_equal(got[r, c], naive(images[batch[r], c], roi, bins, scale).astype(np.float32))


def test_places_outside() -> None:
    images = np.stack([np.full((1, 3, 3), 1.0), np.full((1, 3, 3), 5.0)]).astype(np.float32)
    rois = np.float32([[-7, 0, 0, 1, 1], [9, 0, 0, 1, 1], [np.nan, np.nan, 0, 2, 2], [0, -1e30, -np.inf, 1e30, np.inf]])
    got = output("max_roi_pool", images, rois)
    assert got.reshape(-1).tolist() == [1.0, 5.0, 1.0, 1.0]
    images[0, 0, 1, 1] = np.nan
    assert np.isnan(output("max_roi_pool", images, rois[:1])).all()


def test_what_is_refused() -> None:
    sizes = {"output_height": 2, "output_width": 3}
    assert infer("max_roi_pool", "float16[n, c, h, w]", "float16[r, 5]", **sizes) == ["float16[r, c, 2, 3]"]
    with pytest.raises(ValidationError, match="rois has shape"):
        infer("max_roi_pool", "float32[1, 2, 3, 3]", "float32[5, 4]")
    with pytest.raises(ValidationError, match="empty"):
        infer("max_roi_pool", "float32[1, 2, 0, 3]", "float32[5, 5]")
