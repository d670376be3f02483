"""Arithmetic on tensors whose elements are sizes that inputs decide: what folds Shape-Gather-Concat-Reshape chains.

Such a tensor is an object array of ``int | SymDim``. The functions here take the place of core operators' NumPy
semantics for it; an operator that is not listed leaves it to the compiled region to compute with sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from basalt.ops import SymDim
from basalt.ops.dims import dim_max, dim_min

__all__ = ["evaluate_sizes"]

Attrs = Mapping[str, Any]
_INTEGERS = ("int64", "int32")
_LOWEST = -(2**63)


def evaluate_sizes(op: str, arrays: Sequence[np.ndarray | None], attrs: Attrs, dtype: str) -> list[np.ndarray] | None:
    """The outputs of a core operator over sizes, None where they are not known as sizes.

    Args:
        op: the core operator.
        arrays: its operands, object arrays of sizes or integer arrays.
        attrs: its completed attributes.
        dtype: the data type of the first output, which must hold sizes.
    """
    function = _FUNCTIONS.get(op)
    if function is None or (dtype not in _INTEGERS and op not in _COMPARISONS) or any(a is None for a in arrays):
        return None
    try:
        result = function(attrs, *[np.asarray(a).astype(object) for a in arrays if a is not None])
    except _UnknownError:
        return None
    results = result if isinstance(result, list) else [result]
    return [np.asarray(r, dtype=object) for r in results]


class _UnknownError(Exception):
    """The result is no expression of sizes."""


def _binary(function: Callable[[Any, Any], Any]) -> Callable[..., np.ndarray]:
    return lambda attrs, a, b: np.asarray(np.frompyfunc(function, 2, 1)(a, b), dtype=object)


def _divide(a: Any, b: Any) -> Any:
    # Sizes are never negative, so that rounding down is the operator's rounding toward zero.
    if b == 0 or (isinstance(b, int) and b < 0) or _may_be_negative(a):
        raise _UnknownError
    return a // b


def _modulo(a: Any, b: Any) -> Any:
    if not isinstance(b, int) or b <= 0:
        raise _UnknownError
    return a % b


def _clamp(attrs: Attrs, x: np.ndarray) -> np.ndarray:
    low, high = attrs["min_value"], attrs["max_value"]

    def limited(a: Any) -> Any:
        a = a if low <= _LOWEST else dim_max(a, low)
        return a if high >= -_LOWEST - 1 else dim_min(a, high)

    return np.asarray(np.frompyfunc(limited, 1, 1)(x), dtype=object)


def _may_be_negative(a: Any) -> bool:
    if isinstance(a, SymDim):
        return any(c < 0 for c in a.terms.values())
    return a < 0


def _equal(a: Any, b: Any) -> int:
    """Sizes are never negative, so that one is not equal to a negative number whatever it is."""
    if a == b:
        return 1
    if isinstance(a, int) and isinstance(b, int):
        return 0
    size, other = (a, b) if isinstance(a, SymDim) else (b, a)
    if isinstance(other, int) and other < 0 and not _may_be_negative(size):
        return 0
    raise _UnknownError


def _reshape(attrs: Attrs, x: np.ndarray) -> np.ndarray:
    return x.reshape(_static(attrs["new_shape"]))


def _expand(attrs: Attrs, x: np.ndarray) -> np.ndarray:
    return np.broadcast_to(x, _static(attrs["new_shape"]))


def _static(shape: Sequence[Any]) -> tuple[int, ...]:
    if any(not isinstance(d, int) for d in shape):
        raise _UnknownError
    return tuple(shape)


def _index(array: np.ndarray) -> np.ndarray:
    if any(not isinstance(i, int) for i in array.reshape(-1)):
        raise _UnknownError
    return array.astype(np.int64)


def _gather(attrs: Attrs, x: np.ndarray, indices: np.ndarray) -> np.ndarray:
    return np.take(x, _index(indices), attrs["axis"])


def _slice(attrs: Attrs, x: np.ndarray) -> np.ndarray:
    starts, sizes = _static(attrs["starts"]), _static(attrs["sizes"])
    steps = _static(attrs.get("strides") or (1,) * x.ndim)
    return x[tuple(slice(b, b + n, s) for b, n, s in zip(starts, sizes, steps))]


def _concat(attrs: Attrs, *arrays: np.ndarray) -> np.ndarray:
    return np.concatenate(arrays, attrs["axis"])


def _split(attrs: Attrs, x: np.ndarray) -> list[np.ndarray]:
    splits = attrs["splits"]
    places = splits if isinstance(splits, int) else np.cumsum(_static(splits))[:-1]
    return list(np.split(x, places, attrs["axis"]))


def _reduce(function: Callable[..., Any]) -> Callable[..., np.ndarray]:
    def reduce(attrs: Attrs, x: np.ndarray) -> np.ndarray:
        axes = attrs["axes"]
        axes = tuple(range(x.ndim)) if axes is None else tuple(axes)
        return np.asarray(function(x, axis=axes, keepdims=attrs["keep_dimensions"]), dtype=object)

    return reduce


def _where(attrs: Attrs, condition: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.asarray(np.where(_index(condition) != 0, a, b), dtype=object)


_COMPARISONS = frozenset({"equal", "not_equal"})
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "add": _binary(lambda a, b: a + b),
    "sub": _binary(lambda a, b: a - b),
    "mul": _binary(lambda a, b: a * b),
    "div": _binary(_divide),
    "mod": _binary(_modulo),
    "clamp": _clamp,
    "max": _binary(dim_max),
    "min": _binary(dim_min),
    "equal": _binary(_equal),
    "not_equal": _binary(lambda a, b: 1 - _equal(a, b)),
    "neg": lambda attrs, x: -x,
    "identity": lambda attrs, x: x,
    "cast": lambda attrs, x: x,
    "reshape": _reshape,
    "expand": _expand,
    "gather": _gather,
    "slice": _slice,
    "concat": _concat,
    "split": _split,
    "reduce_sum": _reduce(np.sum),
    "reduce_product": _reduce(np.prod),
    "where": _where,
}
