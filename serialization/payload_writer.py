"""A payload on its way to disk: small fields as bytes, weights by reference until they are streamed."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NoReturn

import numpy as np

from basalt.errors import ValidationError

from .arrays import array_chunks
from .dtypes import DTYPES, DType, dtype_of
from .field_path import FieldPath, quote
from .header import ALIGNMENT, HEADER_SIZE

__all__ = ["PayloadWriter"]

_CHUNK = 1 << 20
_LARGE_BLOB = 1 << 12


class PayloadWriter:
    """Collects a payload. Its counterpart, method by method, is :class:`~basalt.serialization.PayloadReader`.

    Weights and large byte strings are kept by reference, so that the payload's size is known before anything is
    written and its bytes never exist in memory all at once. Values that the format cannot hold raise ValidationError
    with the path of the field, which codecs state through :meth:`field`.
    """

    def __init__(self) -> None:
        self._segments: list[bytes | bytearray | tuple[np.ndarray, DType]] = []
        self._tail = bytearray()
        self._flushed = 0
        self._texts: dict[str, int] = {}
        self._path = FieldPath()

    @property
    def size(self) -> int:
        """Length of the payload so far, in bytes."""
        return self._flushed + len(self._tail)

    def field(self, name: str, key: int | str | None = None) -> FieldPath:
        """Name the field that the ``with`` block writes."""
        return self._path.enter(name, key)

    def fail(self, message: str) -> NoReturn:
        """Raise ValidationError with the current field's path."""
        path = str(self._path)
        raise ValidationError(f"{path}: {message}" if path else message)

    def u8(self, value: int) -> None:
        """Write one byte."""
        self._tail.append(value)

    def varint(self, value: int) -> None:
        """Write an integer of [0, 2**64), 7 bits a byte, low ones first; the top bit is set on all but the last."""
        if not 0 <= value < 1 << 64:
            self.fail(f"{value} does not fit an unsigned 64-bit integer")
        while value > 0x7F:
            self._tail.append(value & 0x7F | 0x80)
            value >>= 7
        self._tail.append(value)

    def zigzag(self, value: int) -> None:
        """Write an integer of [-2**63, 2**63) as the varint 2n, or -2n - 1 where it is negative."""
        if not -(1 << 63) <= value < 1 << 63:
            self.fail(f"{value} does not fit a signed 64-bit integer")
        self.varint(value << 1 if value >= 0 else -(value << 1) - 1)

    def float64(self, value: float) -> None:
        """Write the 8 bytes of an IEEE 754 binary64, little-endian; NaN keeps its bits."""
        self._tail += struct.pack("<d", value)

    def blob(self, data: bytes) -> None:
        """Write a length and that many bytes."""
        self.varint(len(data))
        if len(data) < _LARGE_BLOB:
            self._tail += data
        else:
            self._append(data, len(data))

    def text(self, value: str) -> None:
        """Write a string: in full (0, length, UTF-8) where it first occurs in the payload, afterwards by its number."""
        if not isinstance(value, str):
            self.fail(f"a str was expected, not {type(value).__name__}")
        known = self._texts.get(value)
        if known is not None:
            self.varint(known)
            return
        try:
            data = value.encode()
        except UnicodeEncodeError as error:
            self.fail(f"{quote(value)} is not valid Unicode: {error.reason} at index {error.start}")
        self._texts[value] = len(self._texts) + 1
        self.varint(0)
        self.blob(data)

    def align(self) -> None:
        """Pad with zeros up to the next multiple of 64 bytes from the start of the file."""
        self._tail += bytes(-(HEADER_SIZE + self.size) % ALIGNMENT)

    def array(self, array: np.ndarray) -> None:
        """Align, then write the elements (not type and shape) in C order; they are read when the file is written."""
        self.align()
        dtype = self.dtype_of(array)
        self._append((array, dtype), dtype.byte_count(array.size))

    def raw(self, data: np.ndarray) -> None:
        """Write a uint8 vector as it is, without a length; it is read when the file is written."""
        self._append((data, DTYPES["uint8"]), len(data))

    def embed(self, other: PayloadWriter, alignment: int) -> None:
        """Pad with zeros up to a multiple of ``alignment`` from the payload's start, then write what ``other`` holds.

        ``alignment`` is a multiple of 64, so that arrays stay aligned.
        """
        self._tail += bytes(-self.size % alignment)
        for segment in (*other._segments, other._tail):
            if isinstance(segment, tuple):
                array, dtype = segment
                self._append(segment, dtype.byte_count(array.size))
            elif segment:
                self._append(segment, len(segment))

    def dtype_of(self, array: np.ndarray) -> DType:
        """The element type of ``array``; fails on what is no array and on types that the format does not know."""
        if not isinstance(array, np.ndarray):
            self.fail(f"a NumPy array was expected, not {type(array).__name__}")
        dtype = dtype_of(array)
        if dtype is None:
            self.fail(f"arrays of data type {array.dtype} cannot be stored")
        return dtype

    def chunks(self) -> Iterator[np.ndarray]:
        """Yield the payload in order as uint8 vectors, each valid until the next one is asked for.

        Weights come in pieces of at most 1 MiB that share one buffer.
        """
        buffer = np.empty(_CHUNK, np.uint8)
        for segment in (*self._segments, self._tail):
            if isinstance(segment, tuple):
                yield from array_chunks(*segment, buffer)
            elif segment:
                yield np.frombuffer(segment, np.uint8)

    def _append(self, segment: bytes | bytearray | tuple[np.ndarray, DType], size: int) -> None:
        if self._tail:
            self._segments.append(self._tail)
            self._flushed += len(self._tail)
            self._tail = bytearray()
        self._segments.append(segment)
        self._flushed += size
