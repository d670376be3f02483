"""Data types, shapes and buffers as callers give them, checked as the standard's operand descriptors are."""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping, Set, Sized
from itertools import islice
from typing import Any

import numpy as np

from basalt.errors import ValidationError

from .dtypes import numpy_dtype

__all__ = ["MAX_DIMENSION", "MAX_RANK", "check_shape", "data_type", "elements_of", "parse_descriptor", "writable_view"]

MAX_DIMENSION = 2**31 - 1
"""The largest dimension and the largest number of elements."""
MAX_RANK = 8

STANDARD_TYPES = ("float32", "float16", "int32", "uint32", "int64", "uint64", "int8", "uint8")

_MEMBERS = ("dataType", "shape", "readable", "writable")


def data_type(value: Any, what: str) -> str:
    """The name of a data type given as a name, a NumPy type or a NumPy dtype.

    Raises:
        ValidationError: starting with ``what``, for anything else.
    """
    name = value
    if not isinstance(value, str) and value is not None:
        try:
            name = np.dtype(value).name
        except (TypeError, ValueError):
            name = None
    try:
        if isinstance(name, str):
            numpy_dtype(name)
            return name
    except ValidationError:
        pass
    raise ValidationError(f"{what}: {value!r} is no data type, expected one of {', '.join(STANDARD_TYPES)}")


def parse_descriptor(first: Any, shape: Any, what: str) -> tuple[str, Any, Mapping[str, Any]]:
    """Data type, unchecked shape and all members of ``({"dataType": ..., "shape": ...})`` or ``(type, shape)``.

    Raises:
        ValidationError: for a missing or unknown member, for both forms at once, and for an unknown data type.
    """
    if not isinstance(first, Mapping):
        if shape is None:
            raise ValidationError(f"{what}: a shape is missing after the data type {first!r}")
        return data_type(first, what), shape, {}
    if shape is not None:
        raise ValidationError(f"{what}: the shape {shape!r} is given beside a descriptor, which holds one")
    unknown = [key for key in first if key not in _MEMBERS]
    if unknown:
        raise ValidationError(f"{what}: a descriptor has no member {unknown[0]!r}; its members are dataType and shape")
    missing = [key for key in _MEMBERS[:2] if key not in first]
    if missing:
        raise ValidationError(f"{what}: the descriptor {dict(first)!r} lacks {missing[0]}")
    return data_type(first["dataType"], what), first["shape"], first


def check_shape(shape: Any, what: str) -> tuple[int, ...]:
    """A shape of known sizes within the standard's limits: dimensions and their product from 1 to 2**31 - 1.

    Raises:
        ValidationError: starting with ``what``, for anything else.
    """
    dims = tuple(check_dimension(d, shape, what) for d in dimensions(shape, what))
    if math.prod(dims) > MAX_DIMENSION:
        raise ValidationError(
            f"{what}: shape {list(dims)} has {math.prod(dims)} elements, expected at most {MAX_DIMENSION}"
        )
    return dims


def dimensions(shape: Any, what: str) -> tuple[Any, ...]:
    """The unchecked dimensions of a shape of at most :data:`MAX_RANK` dimensions."""
    try:
        if isinstance(shape, (str, bytes, Mapping, Set)):
            raise TypeError
        iterator = iter(shape)
    except TypeError:
        raise ValidationError(f"{what}: shape is {shape!r}, expected a sequence of dimensions") from None
    dims = tuple(islice(iterator, MAX_RANK + 1))
    if len(dims) > MAX_RANK:
        rank = len(shape) if isinstance(shape, Sized) else f"more than {MAX_RANK}"
        raise ValidationError(f"{what}: shape {shape!r} has rank {rank}, expected at most {MAX_RANK}")
    return dims


def check_dimension(value: Any, shape: Any, what: str) -> int:
    """One dimension of known size, as an int."""
    size: int | None = None
    if not isinstance(value, (bool, np.bool_)):
        try:
            size = operator.index(value)
        except TypeError:
            size = None
    if size is None or not 1 <= size <= MAX_DIMENSION:
        raise ValidationError(
            f"{what}: shape {shape!r} has dimension {value!r}, expected an integer from 1 to {MAX_DIMENSION}"
        )
    return size


def elements_of(data: Any, dtype: str, shape: tuple[int, ...], what: str) -> np.ndarray:
    """The elements in an array or bytes-like object as an array of the given type and shape, a view where possible.

    An array must have the data type, and the shape or one dimension with as many elements. Bytes (a bytes-like object
    or a uint8 array of whatever shape) must be exactly as many as the elements take, in the machine's byte order.

    Raises:
        ValidationError: starting with ``what``, for any other data.
    """
    array = _as_array(data, what)
    wanted = numpy_dtype(dtype)
    if array.dtype.newbyteorder("=") == wanted:
        if array.shape == shape or (array.ndim == 1 and array.size == math.prod(shape)):
            return array.reshape(shape)
        raise ValidationError(f"{what}: the array has shape {list(array.shape)}, expected {list(shape)}")
    if array.dtype != np.uint8:
        raise ValidationError(f"{what}: the array holds {array.dtype.name}, expected {dtype} or bytes (uint8)")
    length = math.prod(shape) * wanted.itemsize
    if array.nbytes != length:
        raise ValidationError(f"{what}: got {array.nbytes} bytes, expected {length} for {dtype}{list(shape)}")
    return np.ascontiguousarray(array).reshape(-1).view(wanted).reshape(shape)


def writable_view(data: Any, dtype: str, shape: tuple[int, ...], what: str) -> np.ndarray:
    """:func:`elements_of` as a view that can be written through.

    Raises:
        ValidationError: also for read-only data, and for data that no view of this type and shape can be taken of.
    """
    view = elements_of(data, dtype, shape, what)
    if not view.flags.writeable:
        raise ValidationError(f"{what}: the given buffer is read-only")
    if not np.may_share_memory(view, _as_array(data, what)):
        raise ValidationError(f"{what}: the given buffer is not contiguous, so its bytes cannot be written as {dtype}")
    return view


def _as_array(data: Any, what: str) -> np.ndarray:
    if isinstance(data, np.ndarray):
        return data
    if isinstance(data, np.generic) or hasattr(data, "__array__"):
        return np.asarray(data)
    try:
        array = np.asarray(memoryview(data))
    except (TypeError, ValueError, BufferError):
        raise ValidationError(
            f"{what}: got {type(data).__name__}, expected a NumPy array or a bytes-like object"
        ) from None
    return array.view(np.uint8) if array.dtype.kind == "S" else array
