"""Names, labels, shapes and constants as callers of the builder give them, checked and in canonical form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from basalt.errors import ValidationError
from basalt.ops import Dim, SymDim, TensorType, dtype_name, numpy_dtype, parse_dim
from basalt.ops.convert import cast_number, number
from basalt.ops.dims import product
from basalt.ops.schema import RuleError
from basalt.ops.types import INT4, WEBNN_TYPES
from basalt.runtime.context import BaseContext
from basalt.runtime.descriptors import (
    MAX_DIMENSION,
    check_dimension,
    check_shape,
    data_type,
    dimensions,
    elements_of,
    parse_descriptor,
)
from basalt.runtime.tensor import MLTensor

from .operand import MLOperand

__all__ = ["check_name", "check_standard", "clean_label", "constant_elements", "tensor_elements", "tensor_type"]

_CONSTANT = "constant"


def check_name(name: Any, what: str) -> None:
    """Refuse a name that is not a string or empty."""
    if not isinstance(name, str) or not name:
        raise ValidationError(f"{what}: name is {name!r}, expected a string that is not empty")


def check_standard(dtype: str, what: str) -> None:
    """Refuse a data type that the standard lacks, but for int4 and uint4, which quantisation takes beyond it."""
    if dtype not in WEBNN_TYPES and dtype not in INT4:
        raise ValidationError(
            f"{what}: the data type is {dtype}, expected one of {', '.join(WEBNN_TYPES)}; "
            f"MLGraphBuilder(context, extended=True) takes others"
        )


def clean_label(label: Any, what: str) -> str:
    """A label with what is not printable (controls, direction marks) as escapes: it goes into messages and tables."""
    if not isinstance(label, str):
        raise ValidationError(f"{what}: label is {label!r}, expected a string")
    if label.isprintable():
        return label
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in label)


def tensor_type(first: Any, shape: Any, what: str) -> TensorType:
    """The type that a descriptor, or a data type and a shape, state; dimensions may be names of unknown sizes."""
    dtype, given, _ = parse_descriptor(first, shape, what)
    dims = tuple(_dimension(d, given, what) for d in dimensions(given, what))
    count = product(dims)
    if isinstance(count, int) and count > MAX_DIMENSION:
        raise ValidationError(f"{what}: shape {list(dims)} has {count} elements, expected at most {MAX_DIMENSION}")
    return TensorType(dtype, dims)


def _dimension(value: Any, shape: Any, what: str) -> Dim:
    if isinstance(value, str):
        if not value.strip():
            raise ValidationError(f"{what}: shape {shape!r} has a dimension without a name")
        value = parse_dim(value)
    return value if isinstance(value, SymDim) else check_dimension(value, shape, what)


def tensor_elements(tensor: MLTensor, value: Any, context: BaseContext) -> np.ndarray:
    """The elements of a constant tensor, which nothing changes, in place."""
    if value is not None:
        raise ValidationError(f"{_CONSTANT}: a value is given beside the tensor, which holds its own")
    if tensor.context is not context:
        raise ValidationError(f"{_CONSTANT}: {tensor!r} belongs to another context than the builder")
    data = tensor.data(_CONSTANT)
    if not tensor.constant:
        raise ValidationError(f"{_CONSTANT}: {tensor!r} is no constant tensor; create_constant_tensor makes them")
    return data


def constant_elements(first: Any, value: Any) -> np.ndarray:
    """A copy of an array, a scalar of a data type, or a copy of a descriptor's elements."""
    if isinstance(first, Mapping):
        dtype, given, _ = parse_descriptor(first, None, _CONSTANT)
        shape = check_shape(given, _CONSTANT)
        if value is None:
            raise ValidationError(f"{_CONSTANT}: the descriptor {dict(first)!r} comes without a buffer")
        return _copied(elements_of(value, dtype, shape, _CONSTANT))
    if isinstance(first, MLOperand):
        raise ValidationError(f"{_CONSTANT}: {first!r} is an operand already")
    if _is_array(first):
        if value is not None:
            raise ValidationError(f"{_CONSTANT}: a value is given beside the array, which holds its own")
        return _array_elements(np.asarray(first))
    if value is None:
        raise ValidationError(
            f"{_CONSTANT}: got {first!r} alone, expected an array; a scalar needs its data type: "
            f'{_CONSTANT}("float32", 0.5)'
        )
    return _scalar(first, value)


def _is_array(value: Any) -> bool:
    return isinstance(value, (np.ndarray, np.generic)) or (hasattr(value, "__array__") and not isinstance(value, type))


def _array_elements(array: np.ndarray) -> np.ndarray:
    try:
        dtype = dtype_name(array.dtype.newbyteorder("="))
    except KeyError:
        raise ValidationError(f"{_CONSTANT}: an array of {array.dtype} has no data type of a graph") from None
    shape = check_shape(array.shape, _CONSTANT)
    return _copied(elements_of(array, dtype, shape, _CONSTANT))


def _scalar(first: Any, value: Any) -> np.ndarray:
    dtype = data_type(first, _CONSTANT)
    try:
        return np.asarray(cast_number(number(value), dtype), numpy_dtype(dtype))
    except RuleError as error:
        raise ValidationError(f"{_CONSTANT}: the value of a {dtype} scalar: {error}") from None


def _copied(elements: np.ndarray) -> np.ndarray:
    return np.array(elements, elements.dtype.newbyteorder("="), order="C", copy=True)
