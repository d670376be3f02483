"""Where a tensor's elements are stored, and how they become an array."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from basalt.errors import ValidationError

__all__ = ["ArrayData", "TensorData", "exact_bits"]


class TensorData(Protocol):
    """Storage of one tensor's elements."""

    def array(self, dtype: str, dims: tuple[int, ...]) -> np.ndarray:
        """The elements as a read-only array of shape ``dims`` in the NumPy type of ``dtype``."""
        ...


class ArrayData:
    """Elements in memory, as given by a caller: copied unless read-only, so that later changes do not reach the tensor."""

    __slots__ = ("_values",)

    def __init__(self, array: np.ndarray, name: str = "") -> None:
        """Take ``array``. Raises ValidationError if it holds objects that are no text."""
        if array.dtype.kind in "OUTS":
            values = np.empty(array.shape, object)
            for index, item in enumerate(array.flat):
                values.flat[index] = _text(item, name)
        else:
            copy = True if array.flags.writeable else None
            values = np.array(array, array.dtype.newbyteorder("="), order="C", copy=copy).view()
        values.flags.writeable = False
        self._values = values

    def array(self, dtype: str, dims: tuple[int, ...]) -> np.ndarray:
        return self._values


def _text(item: object, name: str) -> str:
    if isinstance(item, bytes):
        try:
            return item.decode()
        except UnicodeDecodeError as error:
            raise ValidationError(f"tensor {name!r}: {item!r} is no UTF-8 text") from error
    if isinstance(item, str):
        return str(item)
    raise ValidationError(f"tensor {name!r}: an element of a string tensor is a {type(item).__name__}, not text")


def exact_bits(array: np.ndarray) -> object:
    """Something that compares equal for arrays with the same bits: NaN equals itself, 0.0 differs from -0.0."""
    if array.dtype == object:
        return array.tolist()
    return np.ascontiguousarray(array).tobytes()
