"""Working precision of the NumPy semantics: floats are computed in float64 and rounded once, integers wrap around."""

from __future__ import annotations

import numpy as np

from .casts import cast
from .types import INT4, TensorType, is_float


def widen(x: np.ndarray) -> np.ndarray:
    """A float array in float64; an integer array as it is (4-bit ones, which lack arithmetic, in int8)."""
    x = np.asarray(x)
    if x.dtype.name in INT4:
        return x.astype(np.int8)
    return x.astype(np.float64) if is_float(x.dtype.name) else x


def narrow(x: np.ndarray, output: TensorType) -> np.ndarray:
    """A result rounded to the data type of an output."""
    return cast(np.asarray(x), output.dtype)
