"""The careful path of a call's arguments: exact checks with exact messages, conversions that lose nothing.

Arrays that are exactly as a program wants them never come here: the executor looks at them itself.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from basalt.errors import ValidationError

from .described import TensorSpec
from .dlpack import from_dlpack
from .dtypes import numpy_dtype

__all__ = ["prepare_inputs", "prepare_outputs"]


def prepare_inputs(specs: Sequence[TensorSpec], feeds: Mapping[str, Any]) -> tuple[np.ndarray, ...]:
    """Arrays to compute with, in the order of ``specs``; copies only of what cannot be used in place.

    Raises ValidationError for missing or unknown names, another data type or another shape.
    """
    _check_names("input", specs, feeds, complete=True)
    return tuple(_input(spec, feeds[spec.name]) for spec in specs)


def prepare_outputs(
    specs: Sequence[TensorSpec],
    out: Mapping[str, Any] | None,
    inputs: Sequence[np.ndarray],
    carried: Collection[tuple[int, int]] = (),
) -> tuple[tuple[np.ndarray, ...], tuple[np.ndarray, ...]]:
    """Arrays to write, and arrays to return, which differ where a caller's array overlaps an input or another output.

    ``carried`` are pairs of an output and an input, by number, that may be one array. Outputs that ``out`` does not
    name are allocated. Raises ValidationError for an array in ``out`` that is not of the exact data type and shape, or
    not writeable, C-contiguous, aligned and in native byte order.
    """
    given = {} if out is None else out
    _check_names("output", specs, given, complete=False)
    results = [_output(spec, given[spec.name]) if spec.name in given else _empty(spec) for spec in specs]
    written: list[np.ndarray] = []
    for number, result in enumerate(results):
        clash = any(
            np.may_share_memory(result, other) and not ((number, place) in carried and _same(result, other))
            for place, other in enumerate((*inputs, *written))
        )
        written.append(np.empty_like(result) if clash else result)
    return tuple(written), tuple(results)


def _same(some: np.ndarray, other: np.ndarray) -> bool:
    """Whether two C-contiguous arrays of one type and shape are the same memory."""
    return some.ctypes.data == other.ctypes.data and some.nbytes == other.nbytes


def _check_names(kind: str, specs: Sequence[TensorSpec], given: Any, *, complete: bool) -> None:
    if not isinstance(given, Mapping):
        raise ValidationError(f"{kind}s: {type(given).__name__} given, expected a mapping from names to arrays")
    names = [spec.name for spec in specs]
    unknown = [name for name in given if name not in names]
    missing = [name for name in names if name not in given] if complete else []
    if unknown:
        raise ValidationError(f"no {kind} is named {_listed(unknown)}; the {kind}s are {_listed(names) or 'none'}")
    if missing:
        raise ValidationError(f"{kind} {_listed(missing)} is missing; the {kind}s are {_listed(names)}")


def _listed(names: Sequence[object]) -> str:
    return ", ".join(repr(name) for name in names)


def _empty(spec: TensorSpec) -> np.ndarray:
    return np.empty(spec.shape, numpy_dtype(spec.dtype))


def _input(spec: TensorSpec, value: Any) -> np.ndarray:
    array = _as_array(spec, value)
    _check_type("input", spec, array)
    wanted = numpy_dtype(spec.dtype)
    if not (array.flags.c_contiguous and array.flags.aligned and array.dtype.isnative):
        array = np.array(array, wanted, order="C", copy=True)
    return _of_type(array, wanted)


def _check_type(kind: str, spec: TensorSpec, array: np.ndarray) -> None:
    if array.dtype.newbyteorder("=") != numpy_dtype(spec.dtype):
        raise ValidationError(f"{kind} {spec.name!r}: data type {array.dtype.name} given, expected {spec.dtype}")
    if array.shape != spec.shape:
        raise ValidationError(
            f"{kind} {spec.name!r}: shape {list(array.shape)} given, expected {list(spec.shape)} ({spec.dtype})"
        )


def _output(spec: TensorSpec, array: Any) -> np.ndarray:
    if not isinstance(array, np.ndarray):
        raise ValidationError(f"output {spec.name!r}: {type(array).__name__} given, expected a NumPy array to write to")
    _check_type("output", spec, array)
    for fit, expected in (
        (array.dtype.isnative, "in native byte order"),
        (array.flags.writeable, "writeable"),
        (array.flags.c_contiguous, "C-contiguous"),
        (array.flags.aligned, "aligned"),
    ):
        if not fit:
            raise ValidationError(f"output {spec.name!r}: the array given is not {expected}")
    return _of_type(np.asarray(array), numpy_dtype(spec.dtype))


def _of_type(array: np.ndarray, wanted: np.dtype) -> np.ndarray:
    """The array with the very object ``wanted`` as its data type, by which the executor knows it.

    Equal ones are others in arrays from another process, and where C's long and long long are both int64.
    """
    return array if array.dtype is wanted else array.view(wanted)


def _as_array(spec: TensorSpec, value: Any) -> np.ndarray:
    """``value`` as a plain ndarray. What has no data type of its own (Python numbers, lists of them) is converted."""
    masked = sys.modules.get("numpy.ma")
    if masked is not None and isinstance(value, masked.MaskedArray):
        raise ValidationError(f"input {spec.name!r}: a masked array given, expected a plain one (use .filled())")
    typed = _has_data_type(value)
    try:
        array = np.from_dlpack(value) if not typed and hasattr(value, "__dlpack__") else np.asarray(value)
    except Exception as error:
        array = _of_rare_type(spec, value, error)
    return array if typed or hasattr(value, "__dlpack__") else _convert(spec, value, array)


def _of_rare_type(spec: TensorSpec, value: Any, error: Exception) -> np.ndarray:
    """An array of a data type that NumPy's own ways, which met ``error``, do not know."""
    try:
        array = from_dlpack(value)
    except Exception as other:
        error, array = other, None
    if array is None:
        given = type(value).__name__
        raise ValidationError(f"input {spec.name!r}: {given} given, which is no array: {error}") from error
    return array


def _has_data_type(value: Any) -> bool:
    if any(hasattr(value, name) for name in ("__array__", "__array_interface__", "__array_struct__")):
        return True
    try:
        memoryview(value)
    except TypeError:
        return False
    return True


def _convert(spec: TensorSpec, value: Any, array: np.ndarray) -> np.ndarray:
    """Python's numbers, which NumPy read as ``array``, in the input's type, if each of them has its place there."""
    wanted = numpy_dtype(spec.dtype)
    if array.dtype == wanted or array.size == 0:
        return array.astype(wanted, copy=False)
    if array.dtype.kind not in "iuf" or wanted == np.bool_:
        raise _unsafe(spec, array)
    with np.errstate(all="ignore"):
        if array.dtype.kind == "f" and wanted.kind in "iu":
            # NumPy reads whole numbers on both sides of 2**63 as floats.
            array = np.asarray(value, object)
            if not all(type(number) is int for number in array.flat):
                raise _unsafe(spec, np.asarray(value))
        converted = _cast(spec, array, wanted)
        if array.dtype.kind == "f":
            # A fraction may be rounded, as NumPy does for a Python float; a number that only overflows may not.
            same = np.array_equal(np.isfinite(array), np.isfinite(converted.astype(np.float64)))
        else:
            same = np.array_equal(converted.astype(array.dtype), array)
            same = same and np.array_equal(converted < 0, array < 0)
    if not same:
        raise _unsafe(spec, array)
    return converted


def _cast(spec: TensorSpec, array: np.ndarray, wanted: np.dtype) -> np.ndarray:
    try:
        return array.astype(wanted)
    except OverflowError:
        raise _unsafe(spec, array) from None


def _unsafe(spec: TensorSpec, array: np.ndarray) -> ValidationError:
    return ValidationError(
        f"input {spec.name!r}: a value or list read as {array.dtype.name} given, "
        f"which does not convert to {spec.dtype} without loss"
    )
