"""Rules of products, normalizations and reductions: for each a call that keeps it and one that breaks it."""

from __future__ import annotations

import math

import pytest

from .harness import Call, Rules, check_rule, each_rule

GEMM: Call = {"a": "f32[2, 3]", "b": "f32[3, 4]"}
MATMUL: Call = {"a": "f32[2, 3]", "b": "f32[3, 4]"}
BATCH: Call = {"input": "f32[2, 3, 4]", "mean": "f32[3]", "variance": "f32[3]"}
INSTANCE: Call = {"input": "f32[1, 2, 5, 6]"}
LAYER: Call = {"input": "f32[2, 3, 4]"}
VECTOR: Call = {"input": "f32[2, 3]"}

RULES: list[Rules] = [
    (
        "gemm",
        GEMM,
        [
            ({}, {"a": "i32[2, 3]"}, "a is int32, expected one of float16, float32"),
            ({}, {"b": "f16[3, 4]"}, "b is float16, but must have the data type of a, float32"),
            ({}, {"a": "f32[1, 2, 3]"}, "a has rank 3, expected 2"),
            ({}, {"b": "f32[3]"}, "b has rank 1, expected 2"),
            ({}, {"b": "f32[2, 4]"}, "a has 3 columns, but b has 2 rows; expected equal numbers"),
            (
                {"a": "f32[3, 2]", "a_transpose": True},
                {"a_transpose": True},
                "a has 2 columns transposed, but b has 3 rows",
            ),
            ({"b": "f32[4, 3]", "b_transpose": True}, {"b_transpose": True}, "but b has 4 rows transposed"),
            ({"b_transpose": False}, {"b_transpose": 1}, "b_transpose: expected True or False, got 1"),
            (
                {"c": "f32[2, 1]"},
                {"c": "f32[3, 1]"},
                "c has shape [3, 1], expected one that can be broadcast to [2, 4]",
            ),
            ({"c": "f32[]"}, {"c": "f32[1, 1, 1]"}, "c has rank 3, expected 0 to 2"),
            ({"c": "f32[4]"}, {"c": "f16[4]"}, "c is float16, but must have the data type of a"),
            ({"alpha": 0.5}, {"alpha": math.inf}, "alpha: expected a finite number, got inf"),
            ({"beta": 0.5}, {"beta": "1"}, "beta: expected a number, got '1'"),
        ],
    ),
    (
        "matmul",
        GEMM,
        [
            ({}, {"a": "i64[2, 3]"}, "a is int64, expected one of float16, float32"),
            ({}, {"b": "f16[3, 4]"}, "b is float16, but must have the data type of a"),
            ({}, {"a": "f32[3]"}, "a has rank 1, expected 2 to 8"),
            ({}, {"b": "f32[3]"}, "b has rank 1, expected 2 to 8"),
            ({}, {"b": "f32[4, 3]"}, "a has 3 columns, but b has 4 rows; expected"),
        ],
    ),
    (
        "matmul",
        {},
        [
            (
                {"a": "f32[5, 2, 3]", "b": "f32[1, 3, 4]"},
                {"a": "f32[5, 2, 3]", "b": "f32[4, 3, 4]"},
                "[5] and [4] cannot be broadcast",
            ),
        ],
    ),
    (
        "batch_normalization",
        BATCH,
        [
            ({}, {"input": "i32[2, 3, 4]"}, "input is int32, expected one of float16, float32"),
            ({"axis": 1}, {"axis": 3}, "axis is 3, expected 0 to 2 (rank 3)"),
            ({}, {"mean": "f16[3]"}, "mean is float16, but must have the data type of input"),
            ({}, {"mean": "f32[4]"}, "mean has shape [4], expected [3]"),
            ({}, {"mean": "f32[3, 1]"}, "mean has rank 2, expected 1"),
            ({}, {"variance": "f16[3]"}, "variance is float16, but must"),
            ({}, {"variance": "f32[2]"}, "variance has shape [2], expected [3]"),
            ({"scale": "f32[3]"}, {"scale": "f32[4]"}, "scale has shape [4], expected [3]"),
            ({"scale": "f32[3]"}, {"scale": "f16[3]"}, "scale is float16, but must"),
            ({"bias": "f32[3]"}, {"bias": "f32[4]"}, "bias has shape [4], expected [3]"),
            ({"bias": "f32[3]"}, {"bias": "f16[3]"}, "bias is float16, but must"),
            ({"epsilon": 0}, {"epsilon": math.nan}, "epsilon: expected a finite number, got nan"),
        ],
    ),
    (
        "instance_normalization",
        INSTANCE,
        [
            ({}, {"input": "i32[1, 2, 5, 6]"}, "input is int32, expected one of"),
            ({}, {"input": "f32[2, 5, 6]"}, "input has rank 3, expected 4"),
            ({"scale": "f32[2]"}, {"scale": "f32[6]"}, "scale has shape [6], expected [2]"),
            (
                {"scale": "f32[6]", "layout": "nhwc"},
                {"scale": "f32[2]", "layout": "nhwc"},
                "scale has shape [2], expected [6]",
            ),
            ({"scale": "f32[2]"}, {"scale": "f16[2]"}, "scale is float16, but must"),
            ({"bias": "f32[2]"}, {"bias": "f32[1]"}, "bias has shape [1], expected [2]"),
            ({"bias": "f32[2]"}, {"bias": "f16[2]"}, "bias is float16, but must"),
        ],
    ),
    (
        "layer_normalization",
        LAYER,
        [
            ({}, {"input": "i32[2, 3, 4]"}, "input is int32, expected one of"),
            ({"axes": [2, 0]}, {"axes": [2, 2]}, "axes [2, 2] name an axis twice"),
            ({"axes": [2]}, {"axes": [3]}, "axes is 3, expected 0 to 2"),
            ({"scale": "f32[3, 4]"}, {"scale": "f32[4]"}, "scale has shape [4], expected [3, 4]"),
            (
                {"axes": [2, 0], "scale": "f32[4, 2]"},
                {"axes": [2, 0], "scale": "f32[2, 4]"},
                "scale has shape [2, 4], expected [4, 2]",
            ),
            ({"scale": "f32[3, 4]"}, {"scale": "f16[3, 4]"}, "scale is float16, but must"),
            ({"axes": [], "bias": "f32[]"}, {"axes": [], "bias": "f32[4]"}, "bias has shape [4], expected []"),
            ({"bias": "f32[3, 4]"}, {"bias": "f16[3, 4]"}, "bias is float16, but must"),
        ],
    ),
    (
        "softmax",
        VECTOR,
        [
            ({"axis": 1}, {"axis": 2}, "axis is 2, expected 0 to 1 (rank 2)"),
            ({"axis": 1}, {}, "axis is missing"),
            ({"axis": 0}, {"axis": -1}, "axis: expected an integer from 0"),
        ],
    ),
    (
        "softmax",
        {},
        [
            ({"axis": 0, "input": "f32[2]"}, {"axis": 0, "input": "f32[]"}, "input has rank 0, expected 1 to 8"),
            (
                {"axis": 0, "input": "f16[2]"},
                {"axis": 0, "input": "i8[2]"},
                "input is int8, expected one of float16, float32",
            ),
        ],
    ),
    (
        "reduce_sum",
        VECTOR,
        [
            ({"axes": [1, 0]}, {"axes": [1, 1]}, "axes [1, 1] name an axis twice"),
            ({"axes": [1]}, {"axes": [2]}, "axes is 2, expected 0 to 1"),
            ({"keep_dimensions": True}, {"keep_dimensions": None}, "keep_dimensions: expected True or False"),
        ],
    ),
    (
        "reduce_sum",
        {},
        [
            ({"input": "f32[]", "axes": []}, {"input": "f32[]", "axes": [0]}, "axes is 0, but the operand has rank 0"),
            ({"input": "i64[2]"}, {"input": "i8[2]"}, "input is int8, expected one of float16, float32, int32"),
        ],
    ),
    (
        "reduce_max",
        {},
        [
            ({"input": "u8[2]"}, {"input": "int4[2]"}, "input is int4, expected one of"),
        ],
    ),
    (
        "reduce_min",
        {},
        [
            ({"input": "i64[2]"}, {"input": "bool[2]"}, "input is bool, expected one of"),
        ],
    ),
    (
        "reduce_l1",
        {},
        [
            ({"input": "i64[2]"}, {"input": "i8[2]"}, "input is int8, expected one of float16, float32, int32"),
        ],
    ),
    (
        "reduce_product",
        {},
        [
            ({"input": "i64[2]"}, {"input": "i8[2]"}, "input is int8, expected one of float16, float32, int32"),
        ],
    ),
    (
        "reduce_sum_square",
        {},
        [
            ({"input": "i64[2]"}, {"input": "i8[2]"}, "input is int8, expected one of float16, float32, int32"),
        ],
    ),
    (
        "reduce_l2",
        {},
        [
            ({"input": "f16[2]"}, {"input": "i32[2]"}, "input is int32, expected one of float16, float32"),
        ],
    ),
    (
        "reduce_log_sum",
        {},
        [
            ({"input": "f16[2]"}, {"input": "i32[2]"}, "input is int32, expected one of float16, float32"),
        ],
    ),
    (
        "reduce_log_sum_exp",
        {},
        [
            ({"input": "f16[2]"}, {"input": "i32[2]"}, "input is int32, expected one of float16, float32"),
        ],
    ),
    (
        "reduce_mean",
        {},
        [
            ({"input": "f16[2]"}, {"input": "i32[2]"}, "input is int32, expected one of float16, float32"),
        ],
    ),
    (
        "arg_max",
        VECTOR,
        [
            ({"axis": 1}, {"axis": 2}, "axis is 2, expected 0 to 1 (rank 2)"),
        ],
    ),
    (
        "arg_min",
        VECTOR,
        [
            ({"axis": 1}, {"axis": 0.5}, "axis: expected an integer from 0"),
        ],
    ),
    (
        "arg_max",
        {},
        [
            ({"axis": 0, "input": "u8[2]"}, {"axis": 0, "input": "u8[]"}, "input has rank 0, expected 1 to 8"),
            (
                {"axis": 0, "input": "f32[2, 3]", "output_data_type": "int64"},
                {"axis": 0, "input": "f32[2, 3]", "output_data_type": "uint32"},
                "output_data_type: expected one of int32, int64",
            ),
            ({"axis": 1, "input": "f32[0, 2]"}, {"axis": 0, "input": "f32[0, 2]"}, "axis 0 of the input is empty"),
        ],
    ),
]


@pytest.mark.parametrize(("name", "kept", "broken", "message"), each_rule(RULES))
def test_rule(name: str, kept: Call, broken: Call, message: str) -> None:
    check_rule(name, kept, broken, message)
