"""Data types that the standard allows and ONNX Runtime's CPU provider lacks, as its releases up to 1.32 show.

Exported models go around them by casts to a wider type where that loses nothing, so that they run there too.
"""

from __future__ import annotations

__all__ = ["lacks"]

_HALF = frozenset({"bfloat16"})
_SINGLE_ONLY = _HALF | {"float64"}
_SHORT = _HALF | {"int16", "uint16"}
_UNSIGNED = _HALF | {"uint32", "uint64"}

_GROUPS: tuple[tuple[frozenset[str], str], ...] = (
    (
        _HALF,
        "Abs Neg Ceil Floor Cos Exp Log Reciprocal Round Sin Sqrt Add Sub Mul Div Pow Mod Equal Greater GreaterOrEqual "
        "Less LessOrEqual IsNaN Sigmoid Tanh MaxPool Softmax Tile MatMul Expand RNN GRU LSTM DeformConv CumProd",
    ),
    (
        _SINGLE_ONLY,
        "Erf Tan Elu HardSigmoid HardSwish LeakyRelu Softplus Softsign Conv ConvTranspose AveragePool LpPool "
        "GlobalAveragePool GlobalMaxPool BatchNormalization InstanceNormalization Asin Acos Atan Sinh Cosh Asinh Acosh "
        "Atanh Gelu MaxRoiPool",
    ),
    (_SHORT, "Max Min Clip"),
    (_SHORT | {"bool", "uint64"}, "Where"),
    (_SINGLE_ONLY | {"int32", "int64", "uint32", "uint64"}, "PRelu"),
    (_HALF | {"int16", "int64"}, "Relu"),
    (_SHORT | _UNSIGNED, "ArgMax ArgMin"),
    (
        _UNSIGNED,
        "ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMin ReduceMean ReduceProd ReduceSum "
        "ReduceSumSquare CumSum",
    ),
    (_SHORT | _UNSIGNED | {"int8", "uint8"}, "Trilu"),
    (_SHORT | _UNSIGNED | {"int8", "uint8"}, "TopK"),
    (_SHORT | {"int4", "uint4"}, "Pad"),
    (frozenset({"int4", "uint4"}), "Identity Reshape"),
    (_HALF | {"int32", "int64", "uint32", "uint64"}, "Gemm"),
    (_SHORT | {"bool", "float64", "int64", "uint32", "uint64"}, "Resize"),
    (_SHORT | {"bool", "float64", "int8", "uint8", "int32", "int64", "uint32", "uint64"}, "GridSample"),
)

_LACKS = {operator: dtypes for dtypes, operators in _GROUPS for operator in operators.split()}


def lacks(operator: str) -> frozenset[str]:
    """The data types of an ONNX operator that the provider has no kernel for."""
    return _LACKS.get(operator, frozenset())
