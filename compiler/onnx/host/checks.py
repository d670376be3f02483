"""Checks of axes, scalars, shapes and indices that the host operators share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from basalt.compiler.onnx.host.element_types import is_float, is_integer, type_name
from basalt.compiler.onnx.host.registry import HostNode

__all__ = [
    "MAX_ELEMENTS",
    "axes_of",
    "axis_of",
    "check_size",
    "checked_indices",
    "integer",
    "integers",
    "number",
    "real_tensor",
    "scalar",
    "tensor",
]

MAX_ELEMENTS = 1 << 33
"""No result may have more elements: a size that a damaged model asks for must not exhaust the machine."""


def tensor(n: HostNode, name: str, value: Any, ranks: Iterable[int] | None = None) -> np.ndarray:
    """``value`` as the array that input ``name`` must be, of one of the ``ranks``."""
    if value is None:
        raise n.error(f"input {name!r} is missing, expected a tensor")
    if not isinstance(value, np.ndarray | np.generic):
        raise n.error(f"input {name!r} is a {type(value).__name__}, expected a tensor")
    array = np.asarray(value)
    if ranks is not None and array.ndim not in tuple(ranks):
        expected = " or ".join(str(rank) for rank in ranks)
        raise n.error(f"input {name!r} has shape {array.shape}, expected rank {expected}")
    return array


def scalar(n: HostNode, name: str, value: Any) -> Any:
    """The only element of an input that must be a scalar or hold one element, as a NumPy scalar (or str)."""
    array = tensor(n, name, value)
    if array.size != 1:
        raise n.error(f"input {name!r} has shape {array.shape}, expected a scalar or one element")
    return array.reshape(-1)[0]


def real_tensor(n: HostNode, name: str, value: Any, ranks: Iterable[int] | None = None) -> np.ndarray:
    """``value`` as a tensor of bool, integers or floating-point numbers."""
    array = tensor(n, name, value, ranks)
    if not (array.dtype == np.bool_ or is_integer(array.dtype) or is_float(array.dtype)):
        raise n.error(f"input {name!r} is of type {type_name(array.dtype)}, expected real numbers")
    return array


def number(n: HostNode, name: str, value: Any) -> float:
    """The only element of an input, a real number."""
    return float(scalar(n, name, real_tensor(n, name, value)))


def integer(n: HostNode, name: str, value: Any) -> int:
    """The only element of an input, a whole number (that a float may hold)."""
    given = scalar(n, name, real_tensor(n, name, value))
    if not np.isfinite(float(given)) or int(given) != given:
        raise n.error(f"input {name!r} is {given}, expected a whole number")
    return int(given)


def axis_of(n: HostNode, axis: int, rank: int, what: str = "attribute 'axis'") -> int:
    """``axis`` counted from the front."""
    if not -rank <= axis < rank:
        raise n.error(f"{what} is {axis}, expected {-rank} to {rank - 1} for rank {rank}")
    return axis + rank if axis < 0 else axis


def axes_of(n: HostNode, axes: Iterable[int], rank: int, what: str = "'axes'") -> tuple[int, ...]:
    """``axes`` counted from the front, none twice."""
    found = tuple(axis_of(n, int(axis), rank, what) for axis in axes)
    if len(set(found)) != len(found):
        raise n.error(f"{what} is {tuple(int(a) for a in axes)}, expected each axis once")
    return found


def integers(n: HostNode, name: str, value: Any) -> tuple[int, ...]:
    """The elements of an integer input of rank 0 or 1."""
    array = tensor(n, name, value, (0, 1))
    if array.dtype.kind not in "iu":
        raise n.error(f"input {name!r} is of type {type_name(array.dtype)}, expected integers")
    return tuple(int(v) for v in array.reshape(-1))


def check_size(n: HostNode, shape: Iterable[int]) -> tuple[int, ...]:
    """``shape`` if its sizes are not negative and the tensor fits in memory's address range."""
    sizes = tuple(int(size) for size in shape)
    elements = 1
    for size in sizes:
        if size < 0:
            raise n.error(f"the result would have shape {sizes}, expected sizes of 0 or more")
        elements *= size
    if elements > MAX_ELEMENTS:
        raise n.error(f"the result would have shape {sizes}, expected at most {MAX_ELEMENTS} elements")
    return sizes


def checked_indices(n: HostNode, name: str, indices: np.ndarray, size: int) -> np.ndarray:
    """``indices`` as int64, counted from the front, all within an axis of ``size`` elements."""
    if indices.dtype.kind not in "iu":
        raise n.error(f"input {name!r} is of type {type_name(indices.dtype)}, expected integers")
    outside = (indices < -size) | (indices >= size) if indices.dtype.kind == "i" else indices >= size
    if outside.any():
        raise n.error(f"input {name!r} holds {indices[outside].flat[0]}, expected {-size} to {size - 1}")
    found = indices.astype(np.int64)
    return np.where(found < 0, found + size, found)
