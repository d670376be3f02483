"""Quantised operators of ONNX Runtime. A result may be one step off where a sum ends between two steps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

from .comparison import agree, basalt_results, interpreted, node_model

RNG = np.random.default_rng(5)
TYPES = [np.uint8, np.int8]


def codes(dtype: Any, *shape: int) -> np.ndarray:
    bounds = np.iinfo(dtype)
    return RNG.integers(bounds.min, bounds.max + 1, shape).astype(dtype)


def weights(dtype: Any, *shape: int) -> np.ndarray:
    """Codes of 7 bits: ONNX Runtime cuts sums of products of bytes to 16 bits on CPUs without VNNI."""
    return codes(dtype, *shape) // 2


def random(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape).astype(np.float32)


def scale(value: float) -> np.ndarray:
    return np.array(value, np.float32)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("op", ["QLinearAdd", "QLinearMul"])
def test_binary(op: str, dtype: Any, compiled: bool) -> None:
    zeros = [np.array(v, dtype) for v in (3, 5, 100)]
    a, b = codes(dtype, 2, 3, 8), codes(dtype, 3, 8)
    inputs = [a, scale(0.02), zeros[0], b, scale(0.03), zeros[1], scale(0.07), zeros[2]]
    agree(op, inputs, constant=[1, 2, 4, 5, 6, 7], compiled=compiled, atol=1)


def test_binary_without_zero_points() -> None:
    """ONNX Runtime's type inference wants them."""
    a, b = codes(np.uint8, 2, 8), codes(np.uint8, 8)
    inputs = [a, scale(0.02), None, b, scale(0.03), None, scale(0.07)]
    with interpreted():
        (y,) = basalt_results(node_model("QLinearAdd", inputs, 1, {}), inputs)
    expected = np.clip(np.rint((a * 0.02 + b * 0.03) / 0.07), 0, 255)
    assert np.abs(y - expected).max() <= 1


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(("op", "attributes"), [("QLinearSigmoid", {}), ("QLinearLeakyRelu", {"alpha": 0.1})])
def test_unary(op: str, attributes: dict[str, Any], dtype: Any) -> None:
    inputs = [codes(dtype, 4, 32), scale(0.05), np.array(3, dtype), scale(1 / 128), np.array(7, dtype)]
    agree(op, inputs, attributes=attributes, constant=[1, 2, 3, 4], atol=1)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(("opset", "axis"), [(13, -1), (13, 1), (12, 1)])
def test_softmax(opset: int, axis: int, dtype: Any) -> None:
    inputs = [codes(dtype, 2, 3, 5), scale(0.02), np.array(3, dtype), scale(1 / 256), np.array(0, dtype)]
    agree("QLinearSoftmax", inputs, attributes={"opset": opset, "axis": axis}, constant=[1, 2, 3, 4], atol=1)


@pytest.mark.parametrize("dtype", TYPES)
def test_where(dtype: Any) -> None:
    zeros = [np.array(v, dtype) for v in (3, 5, 7)]
    condition = RNG.integers(0, 2, (4, 6)).astype(bool)
    inputs = [condition, codes(dtype, 4, 6), scale(0.1), zeros[0], codes(dtype, 6), scale(0.2), zeros[1]]
    agree("QLinearWhere", [*inputs, scale(0.3), zeros[2]], constant=[2, 3, 5, 6, 7, 8], atol=1)


@pytest.mark.parametrize("dtype", TYPES)
def test_concat(dtype: Any) -> None:
    parts = [codes(dtype, 2, 3), scale(0.1), np.array(3, dtype), codes(dtype, 2, 4), scale(0.2), np.array(5, dtype)]
    inputs = [scale(0.2), np.array(7, dtype), *parts]
    agree("QLinearConcat", inputs, attributes={"axis": 1}, constant=[0, 1, 3, 4, 6, 7], atol=1)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("last", [0, 1])
def test_pools(last: int, dtype: Any) -> None:
    rest = [scale(0.1), np.array(3, dtype), scale(0.07), np.array(5, dtype)]
    x = codes(dtype, 2, 6, 6, 4) if last else codes(dtype, 2, 4, 6, 6)
    options: dict[str, Any] = {"constant": [1, 2, 3, 4], "atol": 1}
    agree("QLinearGlobalAveragePool", [x, *rest], attributes={"channels_last": last}, **options)
    attributes = {"channels_last": last, "kernel_shape": [3, 2], "pads": [1, 0, 1, 1], "strides": [2, 1]}
    agree("QLinearAveragePool", [x, *rest], attributes=attributes, **options)


def test_reduce_mean() -> None:
    x = codes(np.uint8, 2, 3, 4)
    inputs = [x, scale(0.1), np.array(3, np.uint8), scale(0.07), np.array(5, np.uint8)]
    model = node_model("QLinearReduceMean", inputs, 1, {"axes": [1, -1], "keepdims": 1})
    with interpreted():
        (y,) = basalt_results(model, inputs)
    mean = ((x.astype(np.float32) - 3) * np.float32(0.1)).mean((1, 2), keepdims=True)
    assert np.abs(y.astype(int) - np.clip(np.rint(mean / 0.07) + 5, 0, 255)).max() <= 1


def test_reduce_sum_integer() -> None:
    x = codes(np.int8, 2, 3, 4)
    with interpreted():
        (y,) = basalt_results(node_model("ReduceSumInteger", [x], 1, {"axes": [0, 2], "keepdims": 0}), [x])
    assert y.dtype == np.int32 and np.array_equal(y, x.astype(np.int32).sum((0, 2)))


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.uint16, np.int16])
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_quantize_and_dequantize(axis: Any, dtype: Any) -> None:
    shape = () if axis is None else ((3,), (4,))[axis]
    steps = (RNG.random(shape) * 0.1 + 0.05).astype(np.float32)
    zero = RNG.integers(0, 20, shape).astype(dtype)
    attributes = {} if axis is None else {"axis": axis}
    agree("QuantizeLinear", [random(3, 4) * 4, steps, zero], attributes=attributes, constant=[1, 2])
    agree("DequantizeLinear", [codes(dtype, 3, 4), steps, zero], attributes=attributes, constant=[1, 2])


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("columns", [False, True])
@pytest.mark.parametrize(("left", "right"), [(np.uint8, np.uint8), (np.uint8, np.int8), (np.int8, np.int8)])
def test_matmul_integer_to_float(left: Any, right: Any, columns: bool, compiled: bool) -> None:
    steps = (RNG.random(6) * 0.1).astype(np.float32) if columns else scale(0.03)
    zero = codes(right, 6) if columns else np.array(9, right)
    inputs = [codes(left, 2, 3, 8), weights(right, 8, 6), scale(0.02), steps, np.array(7, left), zero, random(6)]
    agree("MatMulIntegerToFloat", inputs, constant=[1, 2, 3, 4, 5, 6], compiled=compiled, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("dtype", TYPES)
def test_dynamic_quantize_matmul(dtype: Any, compiled: bool) -> None:
    inputs = [random(3, 8), weights(dtype, 8, 6), scale(0.03), np.array(7, dtype), random(6)]
    agree("DynamicQuantizeMatMul", inputs, constant=[1, 2, 3, 4], compiled=compiled, rtol=1e-3, atol=1e-3)
    agree("DynamicQuantizeMatMul", inputs[:3], constant=[1, 2], compiled=compiled, rtol=1e-3, atol=1e-3)


def test_matmul_integer_16() -> None:
    agree("MatMulInteger16", [codes(np.int16, 3, 4) // 8, codes(np.int16, 4, 5) // 8])


@pytest.mark.parametrize("quantised", [False, True])
@pytest.mark.parametrize("columns", [False, True])
def test_qgemm(columns: bool, quantised: bool) -> None:
    steps = (RNG.random(5) * 0.01 + 0.01).astype(np.float32) if columns else scale(0.01)
    zero = codes(np.uint8, 5) if columns else np.array(9, np.uint8)
    addend = RNG.integers(-100, 100, 5).astype(np.int32)
    inputs: list[Any] = [
        codes(np.uint8, 3, 8),
        scale(0.02),
        np.array(3, np.uint8),
        codes(np.uint8, 5, 8),
        steps,
        zero,
        addend,
    ]
    if quantised:
        inputs += [scale(0.05), np.array(100, np.uint8)]
    attributes = {"transB": 1, "alpha": 1.5}
    agree("QGemm", inputs, attributes=attributes, constant=range(1, len(inputs)), atol=1 if quantised else 1e-3)


@pytest.mark.parametrize("causal", [0, 1])
@pytest.mark.parametrize("mask", [None, np.array([3, 5], np.int32)])
def test_qattention(mask: Any, causal: int) -> None:
    inputs = [codes(np.uint8, 2, 5, 8), codes(np.uint8, 8, 24), random(24), scale(0.02), scale(0.01), mask]
    inputs += [np.array(128, np.uint8), np.array(120, np.uint8), random(2, 2, 2, 3, 4) if mask is None else None]
    outputs = 2 if mask is None else 1
    agree(
        "QAttention",
        inputs,
        outputs,
        attributes={"num_heads": 2, "unidirectional": causal},
        constant=[1, 2, 3, 4, 6, 7],
    )


@pytest.mark.parametrize("last", [0, 1])
def test_qlinear_conv(last: int) -> None:
    x = codes(np.uint8, 1, 6, 6, 4) if last else codes(np.uint8, 1, 4, 6, 6)
    inputs = [
        x,
        scale(0.02),
        np.array(100, np.uint8),
        codes(np.uint8, 5, 4, 3, 3),
        scale(0.01),
        np.array(120, np.uint8),
    ]
    inputs += [scale(0.3), np.array(110, np.uint8), RNG.integers(-100, 100, 5).astype(np.int32)]
    agree("QLinearConv", inputs, attributes={"channels_last": last, "pads": [1] * 4}, constant=range(1, 9), atol=1)


@pytest.mark.parametrize("segments", [True, False])
def test_embedding(segments: bool) -> None:
    ids, kinds = (RNG.integers(0, 2, (2, 5)).astype(np.int32) for _ in range(2))
    tables = [codes(np.uint8, rows, 8) for rows in (10, 7, 2)] + [codes(np.uint8, 8) for _ in range(2)]
    steps = [scale(0.01 * (i + 1)) for i in range(5)]
    zeros = [np.array(100 + i, np.uint8) for i in range(5)]
    mask = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], np.int32)
    if not segments:
        kinds = tables[2] = steps[2] = zeros[2] = None  # type: ignore[assignment,call-overload]
    inputs = [ids, kinds, *tables, mask, *steps, *zeros]
    constant = [i for i in range(2, 18) if i != 7]
    agree("QEmbedLayerNormalization", inputs, 2, constant=constant, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("direction", ["forward", "bidirectional"])
@pytest.mark.parametrize("channels", [False, True])
def test_dynamic_quantize_lstm(channels: bool, direction: str) -> None:
    """ONNX Runtime rounds inputs and states to 8 bits on the way, which Basalt does not."""
    ways, hidden, size = (1 if direction == "forward" else 2), 4, 3
    shape = (ways, 4 * hidden) if channels else (ways,)
    matrices = [weights(np.int8, ways, rows, 4 * hidden) for rows in (size, hidden)]
    steps = [(RNG.random(shape) * 0.002 + 0.002).astype(np.float32) for _ in range(2)]
    zeros = [np.zeros(shape, np.int8) for _ in range(2)]
    inputs = [random(5, 2, size), *matrices, random(ways, 8 * hidden) * 0.1, None, None, None, None]
    inputs += [steps[0], zeros[0], steps[1], zeros[1]]
    attributes = {"hidden_size": hidden, "direction": direction}
    constant = [1, 2, 3, 8, 9, 10, 11]
    agree("DynamicQuantizeLSTM", inputs, 3, attributes=attributes, constant=constant, rtol=0.05, atol=0.02)


def test_mul_integer() -> None:
    a, b = codes(np.int8, 3, 4), codes(np.int8, 4)
    inputs = [a, np.array(3, np.int8), b, np.array(-2, np.int8)]
    with interpreted():
        (y,) = basalt_results(node_model("MulInteger", inputs, 1, {}), inputs)
    assert np.array_equal(y, (a.astype(np.int32) - 3) * (b.astype(np.int32) + 2))


@pytest.mark.parametrize("dtype", ["int4", "uint4"])
def test_four_bits(dtype: str) -> None:
    """ONNX Runtime's Python interface takes no such arrays."""
    import ml_dtypes

    kind = getattr(ml_dtypes, dtype)
    zero, step, x = np.array(2).astype(kind), scale(0.5), random(3, 4) * 4
    low, high = (-8, 7) if dtype == "int4" else (0, 15)
    with interpreted():
        (y,) = basalt_results(node_model("QuantizeLinear", [x, step, zero], 1, {}), [x, step, zero])
        assert y.dtype == kind
        assert np.array_equal(y.astype(int), np.clip(np.rint(x / 0.5) + 2, low, high))
        (z,) = basalt_results(node_model("DequantizeLinear", [y, step, zero], 1, {}), [y, step, zero])
    np.testing.assert_allclose(z, (y.astype(np.float32) - 2) * 0.5, rtol=1e-6)
