"""What an operator means: its schema, limits, shape rule, NumPy semantics and scalar expression, in one place each."""

from __future__ import annotations

from . import unary
from .dims import Dim, Shape, SymDim, bind_shape, known, parse_dim, symbol
from .registry import all_operators, get
from .schema import Operator
from .types import TensorType, dtype_name, numpy_dtype

__all__ = [
    "Dim",
    "Operator",
    "Shape",
    "SymDim",
    "TensorType",
    "all_operators",
    "bind_shape",
    "dtype_name",
    "get",
    "known",
    "numpy_dtype",
    "parse_dim",
    "symbol",
    "unary",
]
