"""Tensors of a model: initialisers and tensor attributes, dense (TensorProto) and sparse (SparseTensorProto)."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from basalt.errors import ModelFormatError, ValidationError

from .element_types import UNDEFINED, element_type_of
from .tensor_data import ArrayData, NoData, TensorData, exact_bits
from .wire_notes import WireNotes

__all__ = ["OnnxSparseTensor", "OnnxTensor"]


@dataclass(slots=True, eq=False)
class OnnxTensor:
    """A dense tensor. ``OnnxTensor.from_array`` makes one; ``array()`` gives its elements.

    ``dtype`` is a name of :data:`.element_types.ELEMENT_TYPES`; ``data`` is where the elements are: in memory, in the
    model's memory map or in an external file.
    """

    name: str
    dtype: str
    dims: tuple[int, ...]
    data: TensorData
    doc_string: str = ""
    metadata_props: dict[str, str] = field(default_factory=dict)
    notes: WireNotes | None = field(default=None, repr=False)
    _array: np.ndarray | None = field(default=None, init=False, repr=False)

    @classmethod
    def from_array(cls, name: str, array: np.ndarray) -> OnnxTensor:
        """A tensor with a copy of ``array``; arrays of objects, text or bytes become string tensors.

        Raises ValidationError if ONNX has no such element type or an element of a string tensor is no text.
        """
        kind = element_type_of(array)
        if kind is None:
            raise ValidationError(f"tensor {name!r}: ONNX has no element type for NumPy's {array.dtype}")
        return cls(name, kind.name, array.shape, ArrayData(array, name))

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.dims)

    def array(self) -> np.ndarray:
        """The elements as a read-only array of shape ``dims``, in NumPy's or ml_dtypes' type.

        Numbers in raw_data and external files are views of the memory map: they cost no memory, may be unaligned, and
        the file must not be changed in place while they live. Elements narrower than a byte are unpacked, one a byte;
        strings are str objects. What needs decoding is decoded at the first call and kept.

        Raises ModelFormatError if the bytes are no such elements (text that is not UTF-8, damaged varints) or the
        external file cannot be had.
        """
        if self._array is None:
            if self.dtype == UNDEFINED:
                raise ModelFormatError(f"tensor {self.name!r} states no data type")
            self._array = self.data.array(self.dtype, self.dims)
        return self._array

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled with its elements: a memory map stays with its process."""
        data = self.data if isinstance(self.data, (ArrayData, NoData)) else ArrayData(self.array(), self.name)
        return OnnxTensor, (self.name, self.dtype, self.dims, data, self.doc_string, self.metadata_props, self.notes)

    def __deepcopy__(self, memo: dict[int, Any]) -> OnnxTensor:
        """A tensor of its own that shares the elements, which nothing changes."""
        return replace(self, metadata_props=dict(self.metadata_props), notes=copy.deepcopy(self.notes, memo))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, OnnxTensor):
            return NotImplemented
        mine = (self.name, self.dtype, self.dims, self.doc_string, self.metadata_props)
        if mine != (other.name, other.dtype, other.dims, other.doc_string, other.metadata_props):
            return False
        return self.dtype == UNDEFINED or exact_bits(self.array()) == exact_bits(other.array())


@dataclass(slots=True)
class OnnxSparseTensor:
    """A tensor that is zero (or "") but for ``values``, a vector of shape (n,).

    ``indices``, int64, are of shape (n,), positions in the flattened tensor, or (n, rank), one index a row. A sparse
    initialiser's name is that of ``values``.
    """

    values: OnnxTensor
    indices: OnnxTensor
    dims: tuple[int, ...]
    notes: WireNotes | None = field(default=None, compare=False, repr=False)

    @property
    def name(self) -> str:
        """The name of ``values``."""
        return self.values.name

    @property
    def dtype(self) -> str:
        """The element type of ``values``."""
        return self.values.dtype

    def array(self) -> np.ndarray:
        """The dense equivalent, a new array of shape ``dims``, which may be far larger than the stored values.

        Raises ModelFormatError for indices that are of another type or shape, outside ``dims``, or not in ascending
        order without duplicates, and for a dense size beyond the address space.
        """
        values, positions = self.values.array(), self._positions()
        dense = self._zeros(values.dtype)
        dense.reshape(-1)[positions] = values
        return dense

    def _zeros(self, dtype: np.dtype) -> np.ndarray:
        try:
            if self.dtype == "string":
                return np.full(self.dims, "", object)
            return np.zeros(self.dims, dtype)
        except (MemoryError, ValueError) as error:
            raise ModelFormatError(f"sparse tensor {self.name!r}: no room for a dense {self.dims}") from error

    def _positions(self) -> np.ndarray:
        label = f"sparse tensor {self.name!r}"
        indices, count, rank = self.indices.array(), self.values.size, len(self.dims)
        if indices.dtype != np.int64 or len(self.values.dims) != 1:
            raise ModelFormatError(f"{label}: values must be a vector and indices int64, not {self.indices.dtype}")
        if indices.shape == (count,):
            limits, columns = [math.prod(self.dims)], indices.reshape(count, 1)
        elif indices.shape == (count, rank):
            limits, columns = list(self.dims), indices
        else:
            raise ModelFormatError(
                f"{label}: indices of shape {indices.shape} for {count} values; expected {(count,)} or {(count, rank)}"
            )
        if ((columns < 0) | (columns >= np.array(limits, np.int64))).any():
            raise ModelFormatError(f"{label}: an index lies outside of {self.dims}")
        positions = columns[:, 0] if indices.ndim == 1 else _flatten(columns, self.dims)
        if (np.diff(positions) <= 0).any():
            raise ModelFormatError(f"{label}: the indices are not in ascending order, each once")
        return positions


def _flatten(rows: np.ndarray, dims: tuple[int, ...]) -> np.ndarray:
    positions = np.zeros(len(rows), np.int64)
    for axis, size in enumerate(dims):
        positions = positions * size + rows[:, axis]
    return positions
