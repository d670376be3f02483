"""op_support_limits(): which data types and ranks each operator takes and gives, in the standard's own terms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .dims import MAX_ELEMENTS
from .registry import all_operators
from .schema import MAX_RANK, Operand, Operator, Output
from .types import WEBNN_TYPES, numpy_dtype

MAX_TENSOR_BYTES = MAX_ELEMENTS * max(numpy_dtype(d).itemsize for d in WEBNN_TYPES)
"""The longest tensor in bytes: the standard's largest element count, of the largest data type."""

Limits = dict[str, Any]


def op_support_limits(preferred_input_layout: str = "nhwc") -> Limits:
    """MLOpSupportLimits (the standard's section of that name), with its members' names, as plain dictionaries.

    Args:
        preferred_input_layout: ``nchw`` or ``nhwc``, the layout that convolutions and pooling need not convert.
    """
    limits: Limits = {"preferredInputLayout": preferred_input_layout, "maxTensorByteLength": MAX_TENSOR_BYTES}
    limits |= {name: _limits(WEBNN_TYPES, (0, MAX_RANK)) for name in ("input", "constant", "output")}
    operators = {o.webnn: o for o in all_operators().values() if o.webnn}
    return limits | {name: operator_limits(operators[name]) for name in sorted(operators)}


def operator_limits(operator: Operator) -> Limits:
    """MLTensorLimits of each operand and output of an operator, by camelCase name."""
    values: Sequence[Operand | Output] = (*operator.operands, *operator.outputs)
    return {camel_case(v.name): _limits(data_types(operator, v), rank_range(operator, v)) for v in values}


def data_types(operator: Operator, value: Operand | Output) -> tuple[str, ...]:
    """The data types of the standard that an operand or output may have, in the standard's order."""
    dtypes = value.dtypes
    while isinstance(dtypes, str):
        dtypes = _operand(operator, dtypes).dtypes
    return tuple(d for d in WEBNN_TYPES if d in dtypes)


def rank_range(operator: Operator, value: Operand | Output) -> tuple[int, int]:
    """The least and the greatest rank that an operand or output may have."""
    rank = value.rank
    while isinstance(rank, str):
        rank = _operand(operator, rank).rank
    return (rank, rank) if isinstance(rank, int) else rank


def camel_case(name: str) -> str:
    """``zero_point`` -> ``zeroPoint``."""
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def _operand(operator: Operator, name: str) -> Operand:
    return next(o for o in operator.operands if o.name == name)


def _limits(dtypes: tuple[str, ...], ranks: tuple[int, int]) -> Limits:
    return {"dataTypes": list(dtypes), "rankRange": {"min": ranks[0], "max": ranks[1]}}
