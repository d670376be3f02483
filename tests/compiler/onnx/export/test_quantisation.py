"""Quantisation with one scale, one along an axis, blocks along one axis, and blocks along several."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from basalt.errors import UnsupportedError

from .one_operator import FLOATS, check, numbers

SCALES = ((1, 1, 1), (1, 6, 1), (2, 6, 4), (2, 3, 4), (1, 3, 2), (2, 1, 1))
QUANTISED = ("int8", "uint8", "int32", "uint32", "int4", "uint4")


def scale(dtype: str, *shape: int) -> np.ndarray:
    return np.abs(numbers(dtype, *shape)) + np.asarray(0.1, numbers(dtype).dtype)


@pytest.mark.parametrize("shape", SCALES, ids=str)
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("quantised", QUANTISED)
def test_both_ways(quantised: str, dtype: str, shape: tuple[int, ...]) -> None:
    zero, opset = numbers(quantised, *shape, seed=1), 21 if quantised.endswith("int4") else 17
    again = dtype == "float32"
    operands = [numbers(quantised, 2, 6, 4), scale(dtype, *shape), zero]
    check("dequantize_linear", operands, opset=opset, again=again)
    check("quantize_linear", [numbers(dtype, 2, 6, 4), scale(dtype, *shape), zero], opset=opset, again=again)


@pytest.mark.parametrize("opset", [21, 23, 25])
@pytest.mark.parametrize("quantised", ["int8", "uint4"])
def test_blocks_are_onnx_own_from_21_on(quantised: str, opset: int) -> None:
    operands = [numbers(quantised, 2, 6, 4), scale("float32", 2, 3, 4), numbers(quantised, 2, 3, 4)]
    model = check("dequantize_linear", operands, opset=opset)
    (node,) = [node for node in model.nodes if node.op_type == "DequantizeLinear"]
    assert (node.attributes["axis"].value, node.attributes["block_size"].value) == (1, 2)


@pytest.mark.parametrize("quantised", ["int4", "uint4"])
def test_constants_of_4_bits_are_bytes_before_21(quantised: str) -> None:
    operands = [numbers(quantised, 2, 6), scale("float32", 1, 6), numbers(quantised, 1, 6)]
    model = check("dequantize_linear", operands, constant=("input", "zero_point"))
    assert {t.dtype for t in model.graph.initializers if t.dtype != "int64"} == {quantised.replace("4", "8")}


def test_inputs_and_outputs_of_4_bits_need_21() -> None:
    operands = [np.zeros((2, 2), ml_dtypes.int4), scale("float32", 1, 1), np.zeros((1, 1), ml_dtypes.int4)]
    with pytest.raises(UnsupportedError, match="input 'input': ONNX has int4 from opset 21 on"):
        check("dequantize_linear", operands)
    operands = [numbers("float32", 2, 2), scale("float32", 1, 1), np.zeros((1, 1), ml_dtypes.int4)]
    with pytest.raises(UnsupportedError, match="output 'out0': ONNX has int4 from opset 21 on"):
        check("quantize_linear", operands, constant=("zero_point",))
