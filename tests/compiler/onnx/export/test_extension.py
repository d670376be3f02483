"""Operators beyond the core's standard: products of bytes, sampling, trees."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from basalt.errors import UnsupportedError

from .one_operator import FLOATS, check, numbers

BYTES = ("int8", "uint8")
NARROW = {"float16": 0.1, "bfloat16": 0.5}


@pytest.mark.parametrize("a", BYTES)
@pytest.mark.parametrize("b", BYTES)
def test_products_of_bytes(a: str, b: str) -> None:
    left, right = numbers(a, 3, 4), numbers(b, 4, 5)
    check("matmul_integer", [numbers(a, 2, 3, 4), right])
    check("matmul_integer", [left, right, numbers(a, 1), numbers(b, 5)])
    check("matmul_integer", [left, right, numbers(a, 3), numbers(b, 5)])
    check("matmul_integer", [numbers(a, 2, 3, 4), right, numbers(a, 2, 3, 1), numbers(b)])


@pytest.mark.parametrize("a", BYTES)
@pytest.mark.parametrize("b", BYTES)
def test_convolutions_of_bytes(a: str, b: str) -> None:
    image, filters = numbers(a, 1, 4, 5, 5), numbers(b, 6, 4, 3, 2)
    check("conv_integer", [image, numbers(b, 6, 2, 3, 2)], groups=2, padding=(1, 0, 1, 1))
    check("conv_integer", [image, filters, numbers(a, 1), numbers(b)], strides=(2, 1), padding=(1, 0, 1, 1))
    check("conv_integer", [image, filters, numbers(a), numbers(b, 6)], padding=(1, 0, 1, 1))


@pytest.mark.parametrize("mode", ["linear", "nearest", "cubic"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("opset", [17, 20])
def test_grid_sample(mode: str, padding: str, opset: int) -> None:
    grid = numbers("float32", 2, 3, 2, 2, low=-1.3, high=1.3)
    options: dict[str, Any] = {"mode": mode, "padding_mode": padding, "opset": opset, "tolerance": 1e-4}
    check("grid_sample", [numbers("float32", 2, 3, 4, 5), grid], align_corners=True, **options)
    check("grid_sample", [numbers("float32", 2, 3, 4, 5), grid.astype(np.float16)], **options)


def test_volumes_are_sampled_from_20_on() -> None:
    operands = [numbers("float32", 1, 1, 2, 3, 4), numbers("float32", 1, 2, 2, 2, 3, low=-1, high=1)]
    check("grid_sample", operands, opset=20)
    with pytest.raises(UnsupportedError, match=r"grid_sample \(node 0\): an input of rank 5"):
        check("grid_sample", operands)


@pytest.mark.parametrize("dtype", FLOATS)
def test_regions(dtype: str) -> None:
    rois = np.abs(numbers(dtype, 4, 4)) * numbers(dtype).dtype.type(2)
    images, batches = numbers(dtype, 2, 3, 8, 9), np.array([0, 1, 7, 0])
    shape = {"output_height": 2, "output_width": 3}
    near = NARROW.get(dtype, 1e-4)
    check("roi_align", [images, rois, batches], sampling_ratio=2, tolerance=near, **shape)
    check("roi_align", [images, rois, batches], mode="max", half_pixel=False, tolerance=near, **shape)
    pooled = np.array([[0, 1, 2, 5, 6], [1, 0, 0, 8, 7]]).astype(images.dtype)
    check("max_roi_pool", [images, pooled], tolerance=near, again=dtype == "float32", **shape)


@pytest.mark.parametrize("dtype", FLOATS)
def test_deform_conv(dtype: str) -> None:
    operands = {
        "input": numbers(dtype, 1, 2, 6, 6),
        "filter": numbers(dtype, 3, 2, 3, 3),
        "offset": numbers(dtype, 1, 18, 4, 4, low=-1, high=1),
        "mask": numbers(dtype, 1, 9, 4, 4),
        "bias": numbers(dtype, 3),
    }
    check("deform_conv", operands, opset=19, tolerance={"float16": 0.2, "bfloat16": 1.0}.get(dtype, 1e-4))


def forest(dtype: str) -> dict[str, np.ndarray]:
    """Three trees: one of comparisons, one that looks in a set, one of a leaf alone."""
    ints = {
        "feature": (0, 1, 2, 1),
        "true_child": (1, -1, -2, -3),
        "false_child": (2, -2, -4, -1),
        "leaf_first": (0, 1, 3, 4, 5),
        "leaf_target": (0, 0, 1, 1, 0),
        "roots": (0, 3, -2),
        "member_first": (0, 0, 0, 0, 3),
    }
    return {
        **{name: np.array(values, np.int32) for name, values in ints.items()},
        "threshold": np.array([0.5, -1, 0, 2], dtype),
        "mode": np.array([0, 1, 3, 6], np.uint8),
        "missing_true": np.array([1, 0, 1, 0], np.uint8),
        "leaf_weight": np.array([1, 2, 3, -4, 0.5], np.float32),
        "base": np.array([0.5, 1], np.float32),
        "members": np.array([1, 2, 3], dtype),
    }


@pytest.mark.parametrize("aggregate", ["sum", "average", "min", "max"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("opset", [17, 22])
def test_trees(dtype: str, aggregate: str, opset: int) -> None:
    trees = forest(dtype)
    rows = np.concatenate([numbers(dtype, 20, 3), np.array([[np.nan, 1, 2], [1, np.nan, 3], [0, 2, 1]], dtype)])
    check("tree_ensemble", {"input": rows, **trees}, 2, aggregate=aggregate, constant=tuple(trees), opset=opset)


def single_weights() -> dict[str, np.ndarray]:
    """:func:`forest` with one float64 weight in each leaf."""
    weights = {"leaf_weight": np.array([1, 2, 3.3, -4]), "base": np.array([0.5, 1])}
    places = {"leaf_first": np.arange(5, dtype=np.int32), "leaf_target": np.array([0, 0, 1, 1], np.int32)}
    return {**forest("float64"), **weights, **places}


@pytest.mark.parametrize("aggregate", ["sum", "average", "min", "max"])
def test_trees_of_float64(aggregate: str) -> None:
    trees = single_weights()
    rows = np.concatenate([numbers("float64", 20, 3), np.array([[1, np.nan, 3], [0, 2, 1], [0, 3, 1]])])
    model = check("tree_ensemble", {"input": rows, **trees}, 2, aggregate=aggregate, constant=tuple(trees), opset=21)
    assert model.opset_imports == {"": 21, "ai.onnx.ml": 5}


def test_trees_of_float64_need_21_and_one_weight_a_leaf() -> None:
    trees, rows = single_weights(), numbers("float64", 2, 3)
    with pytest.raises(UnsupportedError, match="float64 weights, which ONNX has from opset 21 on"):
        check("tree_ensemble", {"input": rows, **trees}, 2, constant=tuple(trees), opset=20)
    trees = {**forest("float64"), "leaf_weight": np.array([1, 2, 3, -4, 0.5]), "base": np.array([0.5, 1])}
    with pytest.raises(UnsupportedError, match="whose leaves have other than one weight each"):
        check("tree_ensemble", {"input": rows, **trees}, 2, constant=tuple(trees), opset=21)


def test_trees_that_are_fed_are_refused() -> None:
    trees = forest("float32")
    with pytest.raises(UnsupportedError, match="trees whose threshold is no constant"):
        check(
            "tree_ensemble",
            {"input": numbers("float32", 2, 3), **trees},
            2,
            constant=tuple(name for name in trees if name != "threshold"),
        )


@pytest.mark.parametrize("opset", [17, 20])
@pytest.mark.parametrize(
    ("length", "bins", "parts"), [(8, 5, 2), (7, 4, 2), (8, 3, 2), (6, 7, 2), (2, 2, 2), (6, 4, 1)][:6]
)
def test_real_signals_of_transforms(length: int, bins: int, parts: int, opset: int) -> None:
    """From too few, enough and too many elements of a transform."""
    options = {"inverse": True, "onesided": True, "opset": opset}
    check("dft", [numbers("float32", 2, bins, parts)], length, **options)


@pytest.mark.parametrize("opset", [17, 20])
@pytest.mark.parametrize("options", [{}, {"onesided": True}, {"inverse": True}])
@pytest.mark.parametrize("parts", [1, 2])
def test_transforms(parts: int, options: dict[str, Any], opset: int) -> None:
    # ONNX Runtime's errors are larger than a sum's.
    options = {**options, "opset": opset, "tolerance": 1e-4}
    check("dft", [numbers("float32", 2, 3, 5, parts)], 6, **options)
    if "inverse" not in options:
        check("stft", {"input": numbers("float32", 2, 9, parts)}, 4, 2, **options)
