"""QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear, against the host's operators and equations in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from basalt.compiler.onnx.attributes import code_of_dtype
from basalt.compiler.onnx.host import registry as host
from basalt.compiler.onnx.ops.quantization import QUANTIZED
from basalt.compiler.onnx.tensor import onnx_dtype, onnx_dtype_name
from basalt.errors import BasaltError

from .one_node import allowed, executable, run, versions

FLOATS = ("float32", "float16", "bfloat16")


def on_host(op: str, version: int, *inputs: Any, **attributes: Any) -> np.ndarray:
    """What the operator's NumPy function gives."""
    function = host.find(op, version)
    assert function is not None
    result = function(host.HostNode(op, version, attributes=attributes), *inputs)
    assert isinstance(result, np.ndarray)
    return result


def same(op: str, version: int, *inputs: Any, compiled: bool = False, **attributes: Any) -> np.ndarray:
    found = run(op, version, *inputs, compiled=compiled, **attributes)
    wanted = on_host(op, version, *inputs, **attributes)
    assert found.dtype == wanted.dtype
    assert found.shape == wanted.shape
    np.testing.assert_array_equal(found.astype(np.float64), wanted.astype(np.float64))
    return np.asarray(found)


def quantized_types(op: str, version: int) -> list[str]:
    place = 2 if op == "QuantizeLinear" else 0
    return [t for t in allowed(op, version, place) if t in (*QUANTIZED, "int32")]


def integers(dtype: str, shape: tuple[int, ...], seed: int) -> np.ndarray:
    low, high = QUANTIZED.get(dtype, (-(2**31), 2**31 - 1))
    return np.asarray(np.random.default_rng(seed).integers(low, high + 1, shape)).astype(onnx_dtype(dtype))


def scales(dtype: str, shape: tuple[int, ...], seed: int) -> np.ndarray:
    return np.asarray(np.random.default_rng(seed).uniform(0.25, 2, shape)).astype(onnx_dtype(dtype))


SHAPE = (2, 6, 3)
GRANULARITIES: list[tuple[tuple[int, ...], dict[str, int], int]] = [
    ((), {}, 10),
    ((1,), {}, 10),
    ((6,), {}, 13),
    ((3,), {"axis": -1}, 13),
    ((2, 3, 3), {"axis": 1, "block_size": 2}, 21),
    ((2, 2, 3), {"axis": 1, "block_size": 4}, 21),
    ((2, 6, 2), {"axis": -1, "block_size": 2}, 21),
]


def quantizing() -> list[tuple[int, str, str]]:
    op = "QuantizeLinear"
    return [(v, x, y) for v in versions(op) for x in allowed(op, v) for y in quantized_types(op, v)]


def dequantizing() -> list[tuple[int, str, str]]:
    op = "DequantizeLinear"
    kinds = {v: [t for t in allowed(op, v, 1) if t in FLOATS] for v in versions(op)}
    return [(v, x, s) for v in versions(op) for x in quantized_types(op, v) for s in kinds[v]]


@settings(max_examples=150)
@given(st.sampled_from(quantizing()), st.sampled_from(GRANULARITIES), st.booleans(), st.data())
def test_quantized_as_the_host_does(case: Any, granularity: Any, pointed: bool, data: Any) -> None:
    version, x_dtype, dtype = case
    shape, attributes, since = granularity
    if version < since:
        return
    scale_dtypes = [t for t in allowed("QuantizeLinear", version, 1) if t in (*FLOATS, "int32")]
    scale_dtype = x_dtype if version < 23 and version >= 19 else data.draw(st.sampled_from(scale_dtypes))
    if scale_dtype == "int32":
        scale = np.asarray(np.random.default_rng(1).integers(1, 4, shape)).astype(np.int32)
    else:
        scale = scales(scale_dtype, shape, 1)
    x = np.asarray(np.random.default_rng(0).uniform(-200, 200, SHAPE)).astype(onnx_dtype(x_dtype))
    zero = integers(dtype, shape, 2) if pointed else None
    attributes = dict(attributes)
    if version >= 21 and not pointed:
        attributes["output_dtype"] = code_of_dtype(dtype)
    if version >= 23 and scale_dtype != "int32" and data.draw(st.booleans()):
        attributes["precision"] = code_of_dtype(data.draw(st.sampled_from(FLOATS)))
    same("QuantizeLinear", version, x, scale, *([] if zero is None else [zero]), **attributes)


@settings(max_examples=150)
@given(st.sampled_from(dequantizing()), st.sampled_from(GRANULARITIES), st.booleans(), st.data())
def test_dequantized_as_the_host_does(case: Any, granularity: Any, pointed: bool, data: Any) -> None:
    version, x_dtype, scale_dtype = case
    shape, attributes, since = granularity
    if version < since:
        return
    inputs = [integers(x_dtype, SHAPE, 0), scales(scale_dtype, shape, 1)]
    if pointed:
        inputs.append(integers(x_dtype, shape, 2))
    attributes = dict(attributes)
    if version >= 23 and data.draw(st.booleans()):
        attributes["output_dtype"] = code_of_dtype(data.draw(st.sampled_from(FLOATS)))
    same("DequantizeLinear", version, *inputs, **attributes)


@pytest.mark.parametrize("granularity", GRANULARITIES[::2])
@pytest.mark.parametrize("dtype", ["int8", "uint16", "int4", "uint2"])
def test_there_and_back_compiled(dtype: str, granularity: Any) -> None:
    shape, attributes, _ = granularity
    x = np.asarray(np.random.default_rng(0).uniform(-90, 90, SHAPE)).astype(np.float32)
    scale, zero = scales("float32", shape, 1), integers(dtype, shape, 2)
    y = same("QuantizeLinear", 25, x, scale, zero, compiled=True, **attributes)
    assert onnx_dtype_name(y.dtype) == dtype
    same("DequantizeLinear", 25, y, scale, zero, compiled=True, **attributes)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16"])
def test_halves_go_to_the_even_number_and_ends_are_kept(dtype: str) -> None:
    x = np.array([-0.5, 0.5, 1.5, 2.5, -1e30, 1e30, np.inf, -np.inf], np.float32)
    low, high = QUANTIZED[dtype]
    y = run("QuantizeLinear", 21, x, np.float32(1).reshape(()), np.zeros((), dtype))
    np.testing.assert_array_equal(y, np.clip([0, 0, 2, 2, low, high, high, low], low, high))


def test_without_a_zero_point_the_result_is_uint8() -> None:
    for version in versions("QuantizeLinear"):
        y = run("QuantizeLinear", version, np.array([-3, 3, 300], np.float32), np.array(1, np.float32), compiled=False)
        assert y.dtype == np.uint8
        np.testing.assert_array_equal(y, [0, 3, 255])


SHORT_FLOATS = [
    (version, dtype)
    for version in versions("QuantizeLinear")
    for dtype in allowed("QuantizeLinear", version, 2)
    if "float" in dtype
]


@pytest.mark.parametrize("granularity", [0, 2, 4])
@pytest.mark.parametrize(("version", "dtype"), SHORT_FLOATS)
def test_floats_of_8_bits_and_less(version: int, dtype: str, granularity: int) -> None:
    shape, attributes, since = GRANULARITIES[granularity]
    if version < since:
        return
    x = np.asarray(np.random.default_rng(0).uniform(-20, 20, SHAPE)).astype(np.float32)
    x[0, 0] = [0, np.inf, -1e30]
    scale, zero = scales("float32", shape, 1), np.full(shape, 0.5).astype(onnx_dtype(dtype))
    compiled = version == 28 and granularity == 2
    for point in (zero, np.zeros_like(zero)):
        for saturate in (0, 1):
            y = same("QuantizeLinear", version, x, scale, point, compiled=compiled, saturate=saturate, **attributes)
        same("DequantizeLinear", version, y, scale, point, compiled=compiled, **attributes)
    same("DequantizeLinear", version, y, scale, **attributes)


@pytest.mark.parametrize("dtype", ["int8", "uint16", "float8_e5m2"])
@pytest.mark.parametrize("x_dtype", FLOATS)
def test_scales_that_are_powers_of_two(x_dtype: str, dtype: str) -> None:
    x = np.asarray(np.random.default_rng(0).uniform(-20, 20, SHAPE)).astype(onnx_dtype(x_dtype))
    scale = np.array([0.25, 0.5, 1, 2, 4, 8], np.float32).astype(onnx_dtype("float8_e8m0fnu"))
    y = same("QuantizeLinear", 24, x, scale, np.zeros(6, onnx_dtype(dtype)))
    same("DequantizeLinear", 24, y, scale, output_dtype=code_of_dtype(x_dtype))
    with pytest.raises(BasaltError, match="output_dtype"):
        run("DequantizeLinear", 24, y, scale, compiled=False)


@pytest.mark.parametrize("low", [-3, 0, 1])
@pytest.mark.parametrize("compiled", [False, True])
def test_the_range_of_the_input_decides(low: int, compiled: bool) -> None:
    x = np.random.default_rng(0).uniform(low, low + 5, (3, 4)).astype(np.float32)
    y, scale, zero = run("DynamicQuantizeLinear", 11, x, outputs=3, compiled=compiled)
    high, least = np.float32(max(0, x.max())), np.float32(min(0, x.min()))
    assert scale.dtype == np.float32
    assert scale.shape == zero.shape == ()
    np.testing.assert_allclose(scale, (high - least) / 255, rtol=1e-6)
    assert zero.dtype == y.dtype == np.uint8
    assert zero == np.rint(-least / scale)
    np.testing.assert_array_equal(y, np.clip(np.rint(x / scale) + zero, 0, 255))


def test_a_range_of_nothing_counts_as_one() -> None:
    y, scale, zero = run("DynamicQuantizeLinear", 11, np.zeros((2, 3), np.float32), outputs=3)
    assert not y.any()
    assert zero == 0
    assert scale == np.float32(1) / np.float32(255)


def test_sizes_may_be_symbolic() -> None:
    x, scale, zero = np.ones((2, 3), np.float32), scales("float32", (3,), 0), integers("int8", (3,), 1)
    loaded = executable("QuantizeLinear", 21, [x, scale, zero], known=[1, 2], symbolic=True)
    for rows in (2, 5, 0):
        x = np.random.default_rng(rows).uniform(-90, 90, (rows, 3)).astype(np.float32)
        wanted = on_host("QuantizeLinear", 21, x, scale, zero)
        np.testing.assert_array_equal(loaded.run({"x0": x})["y0"], wanted)


@pytest.mark.parametrize(
    ("version", "shapes", "attributes", "message"),
    [
        (10, [(2, 3), (2,), (2,)], {}, "one number"),
        (13, [(2, 3), (2,), (2,)], {}, "the scale has shape"),
        (13, [(2, 3), (3,), ()], {}, "the zero point has shape"),
        (13, [(2, 3), (3,), (3,)], {"axis": 2}, "axis is 2"),
        (21, [(2, 3), (2, 3), (2, 3)], {"block_size": 2}, "the scale has shape"),
        (21, [(2, 3), (2, 2), (2, 2)], {"block_size": -1}, "block_size is -1"),
        (21, [(2, 3), (), ()], {"output_dtype": 2}, "output_dtype is uint8"),
        (23, [(2, 3), (), ()], {"precision": 2}, "division would be in uint8"),
    ],
)
def test_what_the_standard_does_not_allow_is_refused(
    version: int, shapes: Any, attributes: dict[str, Any], message: str
) -> None:
    x, scale = (np.ones(s, np.float32) for s in shapes[:2])
    with pytest.raises(BasaltError, match=message):
        run("QuantizeLinear", version, x, scale, np.ones(shapes[2], np.int8), compiled=False, **attributes)
