"""What an operator means: its schema, limits, shape rule, NumPy semantics and scalar expression, in one place each."""

from __future__ import annotations

from . import (  # noqa: F401  (importing them registers their operators)
    activation,
    arg,
    binary,
    casting,
    conv,
    indexing,
    joining,
    layout,
    linear_algebra,
    logical,
    normalization,
    pool,
    quantize,
    recurrent,
    reduction,
    resample,
    scan,
    select,
    slicing,
    softmax,
    unary,
)
from .dims import Dim, Shape, SymDim, bind_shape, known, parse_dim, symbol
from .registry import all_operators, extension_operators, get
from .schema import Operator
from .types import TensorType, dtype_name, numpy_dtype

__all__ = [
    "Dim",
    "Operator",
    "Shape",
    "SymDim",
    "TensorType",
    "all_operators",
    "arg",
    "bind_shape",
    "conv",
    "dtype_name",
    "extension_operators",
    "get",
    "known",
    "linear_algebra",
    "normalization",
    "numpy_dtype",
    "parse_dim",
    "pool",
    "recurrent",
    "reduction",
    "resample",
    "softmax",
    "symbol",
]
