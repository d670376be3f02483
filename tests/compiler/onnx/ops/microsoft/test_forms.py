"""Operators of ONNX Runtime that are like the standard's, and those computed by the host."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

from basalt.errors import BasaltError

from .comparison import agree, basalt_results, interpreted, node_model

RNG = np.random.default_rng(6)


def random(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape).astype(np.float32)


def run(op: str, inputs: list[Any], outputs: int = 1, **attributes: Any) -> list[np.ndarray]:
    with interpreted():
        return basalt_results(node_model(op, inputs, outputs, attributes), inputs)


X = random(2, 3, 4)


@pytest.mark.parametrize(
    ("op", "inputs", "attributes"),
    [
        ("Trilu", [X], {}),
        ("Trilu", [X, np.array(-1)], {"upper": 0}),
        ("GatherND", [X, np.array([[0, 1], [1, 2]])], {}),
        ("GatherND", [X, np.array([[0, 1], [1, 2]], np.int32)], {}),
        ("GridSample", [random(1, 2, 4, 5), random(1, 3, 3, 2)], {"padding_mode": "border"}),
        ("GridSample", [random(1, 2, 4, 5), random(1, 3, 3, 2)], {"mode": "bicubic", "align_corners": 1}),
        ("Range", [np.array(1.0, np.float32), np.array([3.0], np.float32), np.array(0.5, np.float32)], {}),
        ("Range", [np.array([2]), np.array(7)], {}),
        ("Pad", [X, np.array([[1, 0, 2, 0, 1, 0]]), np.array([5.0], np.float32)], {}),
        ("Pad", [X, np.array([0, 1, 2, 0, 1, 1])], {"mode": "reflect"}),
        ("ExpandDims", [X, np.array([-2], np.int32)], {}),
        ("ExpandDims", [X, np.array(0, np.int32)], {}),
        (
            "ConvTransposeWithDynamicPads",
            [random(1, 2, 4, 4), random(2, 3, 3, 3), np.array([1, 0, 1, 1]), random(3)],
            {},
        ),
        ("CDist", [random(3, 4), random(5, 4)], {}),
        ("CDist", [random(3, 4), random(5, 4)], {"metric": "euclidean"}),
        ("Inverse", [random(2, 3, 3)], {}),
        ("NGramRepeatBlock", [np.array([[1, 2, 3, 1, 2], [4, 4, 4, 4, 4]]), random(2, 6)], {"ngram_size": 3}),
        ("NGramRepeatBlock", [np.array([[1, 2, 3, 1, 2]]), random(1, 6)], {"ngram_size": 1}),
    ],
)
def test_against_onnx_runtime(op: str, inputs: list[Any], attributes: dict[str, Any]) -> None:
    agree(op, inputs, attributes=attributes)


def test_unique() -> None:
    agree("Unique", [np.array([2, 1, 1, 3, 4, 3], np.float32)], 3)


@pytest.mark.parametrize("positive", [0, 1])
@pytest.mark.parametrize("dtype", [np.int32, np.uint32, np.int64, np.uint64, np.float32, np.float64])
def test_murmur_hash(dtype: Any, positive: int) -> None:
    attributes = {"positive": positive, "seed": 42}
    agree("MurmurHash3", [np.arange(7).astype(dtype)], attributes=attributes)


def test_murmur_hash_of_text() -> None:
    agree("MurmurHash3", [np.array(["", "a", "ab", "abc", "abcd", "häuser"], object)], attributes={"seed": 1})


@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
def test_crop_and_resize(mode: str) -> None:
    boxes = np.array([[0.1, 0.2, 0.8, 0.9], [0, 0, 1, 1], [-0.5, 0.3, 0.6, 1.4]], np.float32)
    inputs = [random(2, 3, 8, 7), boxes, np.array([0, 1, 1], np.int32), np.array([4, 3], np.int32)]
    agree("CropAndResize", inputs, attributes={"mode": mode, "extrapolation_value": 0.5})


@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
@pytest.mark.parametrize("compiled", [False, True])
def test_nhwc_max_pool(dtype: Any, compiled: bool) -> None:
    x = RNG.integers(0, 100, (1, 6, 5, 3)).astype(dtype)
    attributes = {"kernel_shape": [3, 2], "pads": [1, 0, 1, 1], "strides": [2, 1]}
    agree("NhwcMaxPool", [x], attributes=attributes, compiled=compiled)


def test_maxpool_with_mask() -> None:
    x = random(1, 2, 4, 4)
    mask = np.ones((1, 2, 4, 4), np.int32)
    agree("MaxpoolWithMask", [x, mask], attributes={"kernel_shape": [2, 2], "strides": [2, 2]})
    mask[..., 2:] = 0
    (y,) = run("MaxpoolWithMask", [x, mask], kernel_shape=[2, 2])
    assert np.array_equal(y[..., 2], np.full((1, 2, 3), np.finfo(np.float32).min))


def test_nhwc_convolutions() -> None:
    x, w, b = random(1, 5, 6, 2), random(3, 2, 3, 3), random(3)
    planar = agree(
        "FusedConv", [np.ascontiguousarray(x.transpose(0, 3, 1, 2)), w, b], attributes={"activation": "Relu"}
    )
    (y,) = run("NhwcConv", [x, w, b])
    np.testing.assert_allclose(np.maximum(y, 0), planar[0].transpose(0, 2, 3, 1), rtol=1e-5, atol=1e-5)
    (z,) = run("NhwcFusedConv", [x, w, b, y], activation="Relu")
    np.testing.assert_allclose(z, np.maximum(2 * y, 0), rtol=1e-5, atol=1e-5)


def normalised(x: np.ndarray, groups: int) -> Any:
    parted = x.reshape(*x.shape[:3], groups, -1)
    mean, variance = parted.mean((1, 2, 4), keepdims=True), parted.var((1, 2, 4), keepdims=True)
    return ((parted - mean) / np.sqrt(variance + 1e-5)).reshape(x.shape)


@pytest.mark.parametrize("last", [0, 1])
@pytest.mark.parametrize("activation", [0, 1])
def test_group_norm(activation: int, last: int) -> None:
    x, gamma, beta, skip, bias = random(2, 3, 4, 6), random(6), random(6), random(2, 6), random(6)
    attributes = {"groups": 3, "activation": activation, "channels_last": last}
    for op, total in (("GroupNorm", x), ("SkipGroupNorm", x + skip[:, None, None] + bias)):
        expected = normalised(total, 3) * gamma + beta
        expected = expected / (1 + np.exp(-expected)) if activation else expected
        given = x if last else np.ascontiguousarray(x.transpose(0, 3, 1, 2))
        inputs = [given, gamma, beta, *([skip, bias] if op == "SkipGroupNorm" else [])]
        y, *rest = run(op, inputs, 2 if op == "SkipGroupNorm" else 1, **attributes)
        np.testing.assert_allclose(y if last else y.transpose(0, 2, 3, 1), expected, rtol=1e-4, atol=1e-4)
        if rest:
            np.testing.assert_allclose(rest[0] if last else rest[0].transpose(0, 2, 3, 1), total, rtol=1e-6)


@pytest.mark.parametrize("zero", [False, True])
@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("compiled", [False, True])
def test_gather_block_quantized(bits: int, zero: bool, compiled: bool) -> None:
    table = RNG.integers(0, 256, (10, 32 * bits // 8)).astype(np.uint8)
    scales = random(10, 2)
    points = RNG.integers(0, 256, (10, -(-2 * bits // 8))).astype(np.uint8) if zero else None
    inputs = [table, np.array([[1, -2], [9, 0]]), scales, points]
    attributes = {"bits": bits, "block_size": 16, "quantize_axis": 1, "gather_axis": 0}
    agree("GatherBlockQuantized", inputs, attributes=attributes, constant=[0, 2, 3], compiled=compiled)


@pytest.mark.parametrize(("axis", "blocks"), [(0, 2), (1, 1), (2, 1)])
@pytest.mark.parametrize("dtype", ["int4", "uint4"])
def test_gather_block_quantized_of_four_bits(dtype: str, axis: int, blocks: int) -> None:
    import ml_dtypes

    shape = [3, 32, 32]
    kind = getattr(ml_dtypes, dtype)
    steps = list(shape)
    steps[blocks] //= 16
    table, points = (RNG.integers(0, 8, s).astype(kind) for s in (shape, steps))
    inputs = [table, np.array([[1, -2], [2, 0]]), random(*steps), points]
    attributes = {"block_size": 16, "quantize_axis": blocks, "gather_axis": axis}
    agree("GatherBlockQuantized", inputs, attributes=attributes, constant=[0, 2, 3], opset=21)


@pytest.mark.parametrize("length", [8, 10])
def test_real_transforms(length: int) -> None:
    x = random(2, 3, length)
    (y,) = run("Rfft", [x], signal_ndim=1)
    expected = np.fft.rfft(x)
    np.testing.assert_allclose(y, np.stack([expected.real, expected.imag], -1), rtol=1e-4, atol=1e-5)
    (z,) = run("Irfft", [y], signal_ndim=1)
    np.testing.assert_allclose(z, x, rtol=1e-4, atol=1e-5)
    with pytest.raises(BasaltError, match="one-sided"):
        run("Rfft", [x], signal_ndim=2)


def test_complex_products() -> None:
    a, b = random(3, 4, 2), random(4, 2)
    first, second = a[..., 0] + 1j * a[..., 1], b[..., 0] + 1j * b[..., 1]
    for op, product in (("ComplexMul", first * second), ("ComplexMulConj", first * second.conj())):
        expected = np.stack([product.real, product.imag], -1)
        np.testing.assert_allclose(run(op, [a, b])[0], expected, rtol=1e-4, atol=1e-5)


def test_torch_embedding() -> None:
    table, places = random(5, 3), np.array([[1, 4], [0, 0]])
    assert np.array_equal(run("TorchEmbedding", [table, places])[0], table[places])


@pytest.mark.parametrize(
    ("values", "attributes", "expected"),
    [
        ([1, 2], {}, True),
        ([1, np.nan], {}, False),
        ([1, np.inf], {}, False),
        ([1, np.inf], {"isnan_only": 1}, True),
        ([1, np.nan], {"isinf_only": 1}, True),
    ],
)
def test_is_all_finite(values: list[float], attributes: dict[str, Any], expected: bool) -> None:
    inputs = [np.array([0, 1], np.float32), np.array(values, np.float32)]
    (y,) = run("IsAllFinite", inputs, **attributes)
    assert y.dtype == bool and bool(y) is expected
