"""What a node computes, by its operator's NumPy semantics, in arrays that may become constants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from basalt import ops
from basalt.ops import TensorType, numpy_dtype


def evaluate(
    op: str, arrays: Sequence[np.ndarray | None], attrs: Mapping[str, Any], types: Sequence[TensorType]
) -> list[np.ndarray]:
    """The outputs of a node for operands, each an array of its own or a whole view of an operand's memory.

    Raises:
        RuntimeError: if the operator's semantics give other types than its rule; a fault of the operator.
    """
    operator = ops.get(op)
    with np.errstate(all="ignore"):
        results = operator.evaluate(operator.bind(arrays), dict(attrs), types)
    return [_settled(result, t, op) for result, t in zip(results, types, strict=True)]


def _settled(result: np.ndarray, wanted: TensorType, op: str) -> np.ndarray:
    array = np.asarray(result)
    if array.shape != wanted.shape or array.dtype != numpy_dtype(wanted.dtype):
        raise RuntimeError(f"{op} evaluates to {array.dtype}{list(array.shape)}, its rule says {wanted}")
    if not array.flags.c_contiguous:
        return np.ascontiguousarray(array).reshape(array.shape)
    base = array.base
    # A small part of a large array would keep all of it alive.
    return array.copy() if isinstance(base, np.ndarray) and base.nbytes > array.nbytes else array
