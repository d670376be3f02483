"""Where a tensor's elements are stored, and how they become an array."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from basalt.errors import ModelFormatError, ValidationError

from .element_types import ELEMENT_TYPES, ElementType
from .faults import Path, fault, path_text
from .numbers import fixed_array, varint_array
from .subbyte import unpack
from .varints import Buffer
from .wire import Span

__all__ = ["ArrayData", "ExternalData", "FieldData", "NoData", "RawData", "StringData", "TensorData", "exact_bits"]


class TensorData(Protocol):
    """Storage of one tensor's elements."""

    def array(self, dtype: str, dims: tuple[int, ...]) -> np.ndarray:
        """The elements as a read-only array of shape ``dims`` in the NumPy type of ``dtype``."""
        ...


class ArrayData:
    """Elements in memory, given by a caller: copied unless read-only, so that later changes do not reach the tensor."""

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
        self._values = _frozen(values)

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


@dataclass(slots=True, eq=False, repr=False)
class RawData:
    """Little-endian elements in ``[start, stop)`` of a buffer: the file's (raw_data) or that of an external file."""

    buffer: Buffer
    start: int
    stop: int

    def array(self, dtype: str, dims: tuple[int, ...]) -> np.ndarray:
        kind = ELEMENT_TYPES[dtype]
        if self.start == self.stop:
            return _frozen(np.empty(dims, kind.numpy()))
        octets = np.frombuffer(self.buffer, np.uint8, self.stop - self.start, self.start)
        if kind.bits < 8:
            octets = unpack(octets, kind.bits, math.prod(dims))
        elif dtype == "bool" and octets.max() > 1:
            # NumPy takes a byte for True if it is not 0, but assumes that only 0 and 1 occur.
            octets = (octets != 0).view(np.uint8)
        return _frozen(_native(octets, kind).reshape(dims))


def _native(octets: np.ndarray, kind: ElementType) -> np.ndarray:
    """Little-endian bytes as elements in the machine's byte order: a view unless the machine is big-endian."""
    unit = kind.numpy().itemsize // (2 if kind.entries == 2 else 1)
    stored = octets.view(np.dtype(f"<u{unit}"))
    return stored.astype(stored.dtype.newbyteorder("="), copy=False).view(kind.numpy())


@dataclass(slots=True, eq=False, repr=False)
class ExternalData:
    """Elements in another file, which is mapped; ``raw`` is None if the model came without a folder to look in.

    ``entries`` are the key-value pairs of external_data.
    """

    entries: dict[str, str]
    raw: RawData | None
    path: Path

    def array(self, dtype: str, dims: tuple[int, ...]) -> np.ndarray:
        return self.loaded().array(dtype, dims)

    def loaded(self) -> RawData:
        """The mapped bytes. Raises ModelFormatError if the model came without a folder."""
        if self.raw is None:
            raise ModelFormatError(
                f"{path_text(self.path)}: the elements are in the file {self.entries.get('location', '')!r}, but the "
                "model was loaded from memory; load it by its path, or state the folder"
            )
        return self.raw


@dataclass(slots=True, eq=False, repr=False)
class FieldData:
    """Elements in a typed field, "float_data" for example, as pieces of the file; decoded when asked."""

    buffer: Buffer
    field: str
    pieces: list[Any]
    path: Path

    def array(self, dtype: str, dims: tuple[int, ...]) -> np.ndarray:
        kind = ELEMENT_TYPES[dtype]
        if self.field in _FIXED:
            values = fixed_array(self.buffer, self.pieces, _FIXED[self.field]).view(kind.numpy())
        else:
            values = _narrow(varint_array(self.buffer, self.pieces, self.path), kind, math.prod(dims))
        return _frozen(values.reshape(dims))


_FIXED = {"float_data": "<f4", "double_data": "<f8"}


def _narrow(entries: np.ndarray, kind: ElementType, count: int) -> np.ndarray:
    """Entries of an integer field as elements: the low bits count, as in a negative number's sign extension."""
    if kind.name == "bool":
        return entries.astype(np.uint32) != 0
    if kind.per_entry > 1:
        return unpack(entries.astype(np.uint8), kind.bits, count).view(kind.numpy())
    bits = entries.astype(np.dtype(f"u{kind.numpy().itemsize}"))
    if kind.bits < 8:
        bits &= (1 << kind.bits) - 1
    return bits.view(kind.numpy())


@dataclass(slots=True, eq=False, repr=False)
class StringData:
    """Elements of string_data: UTF-8 text in spans of the file."""

    buffer: Buffer
    spans: list[Span]
    path: Path

    def array(self, dtype: str, dims: tuple[int, ...]) -> np.ndarray:
        values = np.empty(len(self.spans), object)
        for index, (start, stop) in enumerate(self.spans):
            try:
                values[index] = self.buffer[start:stop].decode()
            except UnicodeDecodeError as error:
                where: Path = (self.path, "string_data", index)
                raise fault(where, start + error.start, f"the text is no valid UTF-8 ({error.reason})") from None
        return _frozen(values.reshape(dims))


class NoData:
    """Of a tensor without elements, when the file has no field for them."""

    __slots__ = ()

    def array(self, dtype: str, dims: tuple[int, ...]) -> np.ndarray:
        return _frozen(np.empty(dims, ELEMENT_TYPES[dtype].numpy()))


def _frozen(values: np.ndarray) -> np.ndarray:
    values.flags.writeable = False
    return values


def exact_bits(array: np.ndarray) -> object:
    """Something that compares equal for arrays with the same bits: NaN equals itself, 0.0 differs from -0.0."""
    if array.dtype == object:
        return array.tolist()
    return np.ascontiguousarray(array).tobytes()
