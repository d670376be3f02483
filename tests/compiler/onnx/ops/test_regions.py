"""RoiAlign and MaxRoiPool at all versions, against ONNX Runtime and the onnx package's evaluator."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("onnx")

import ml_dtypes

from basalt.errors import ValidationError

from .single import BOTH, check, ort, reference, run

RNG = np.random.default_rng(0)
X = RNG.standard_normal((2, 3, 9, 10)).astype(np.float32)
CORNERS = np.float32(
    [[1, 2, 6, 7.5], [0, 0, 9, 8], [-2, 3, 4, 30], [5, 5, 5, 5], [12, 12, 14, 15], [2.5, 1.49, 7.5, 6.51]]
)
BATCH = np.array([0, 1, 1, 0, 0, 1])


@pytest.mark.parametrize("mode", ["avg", "max"])
@pytest.mark.parametrize("ratio", [0, 2])
def test_roi_align(mode: str, ratio: int) -> None:
    inputs = [X, CORNERS[:4], BATCH[:4]]
    options = {"mode": mode, "sampling_ratio": ratio, "output_height": 3, "output_width": 2, "spatial_scale": 0.5}
    for coordinates in ("half_pixel", "output_half_pixel"):
        named = {**options, "coordinate_transformation_mode": coordinates}
        (expected,) = reference("RoiAlign", 16, inputs, **named)
        check("RoiAlign", (16, 22), inputs, expected, **named, rtol=1e-4, atol=1e-5)
    # Before version 16 there was no shift.
    check("RoiAlign", (10,), inputs, expected, **options, rtol=1e-4, atol=1e-5)
    check("RoiAlign", (10,), inputs, expected, **options, compiled=(True,), symbolic=True, rtol=1e-4, atol=1e-5)


def test_roi_align_refuses() -> None:
    for options in (
        {"mode": "sum"},
        {"coordinate_transformation_mode": "pixel"},
        {"output_height": 0},
        {"sampling_ratio": -1},
    ):
        with pytest.raises(ValidationError):
            run("RoiAlign", 16, [X, CORNERS, BATCH], **options)


@pytest.mark.parametrize("scale", [1.0, 0.5, 0.3])
@pytest.mark.parametrize("shape", [(1, 1), (2, 3), (7, 7)])
def test_max_roi_pool(scale: float, shape: tuple[int, int]) -> None:
    rois = np.concatenate([BATCH[:, None].astype(np.float32), CORNERS], 1)
    options = {"pooled_shape": list(shape), "spatial_scale": scale}
    expected = ort("MaxRoiPool", 1, [X, rois], **options)
    check("MaxRoiPool", (1, 22), [X, rois], expected, **options)
    check("MaxRoiPool", (22,), [X, rois], expected, **options, compiled=(True,), symbolic=True)


@pytest.mark.parametrize("dtype", ["float16", "float64", "bfloat16"])
def test_max_roi_pool_of_other_types(dtype: str) -> None:
    kind = np.dtype(getattr(ml_dtypes, dtype, dtype))
    rois = np.concatenate([BATCH[:, None], np.round(CORNERS)], 1).astype(kind)
    x = X.astype(kind)
    expected = ort("MaxRoiPool", 1, [x.astype(np.float32), rois.astype(np.float32)], pooled_shape=[2, 2])
    versions = (22,) if dtype == "bfloat16" else (1, 22)
    check("MaxRoiPool", versions, [x, rois], expected.astype(kind), pooled_shape=[2, 2], compiled=BOTH)


def test_max_roi_pool_refuses() -> None:
    rois = np.zeros((1, 5), np.float32)
    for inputs, shape in (
        ([X, rois], [2]),
        ([X, rois], [0, 1]),
        ([X, rois[:, :4]], [1, 1]),
        ([X[:, :, :0], rois], [1, 1]),
    ):
        with pytest.raises(ValidationError):
            run("MaxRoiPool", 1, inputs, pooled_shape=shape)
