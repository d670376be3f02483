"""A cursor over an untrusted payload: every length is checked against the bytes that are left before it is believed."""

from __future__ import annotations

import struct
from typing import NoReturn

import numpy as np

from basalt.errors import ModelFormatError

from .arrays import native_view, unpack_nibbles
from .dtypes import DType
from .field_path import FieldPath
from .header import ALIGNMENT, HEADER_SIZE

__all__ = ["PayloadReader"]

_FLOAT64 = struct.Struct("<d")


class PayloadReader:
    """Reads what :class:`~basalt.serialization.PayloadWriter` wrote, method by method.

    ``payload`` holds the bytes after the header: a bytes-like object or a uint8 vector. Arrays are views into it,
    except 4-bit ones, which are unpacked. Every fault raises ModelFormatError with ``source``, the offset from the
    start of the file and the path of the field, which codecs state through :meth:`field`.
    """

    def __init__(self, payload: bytes | bytearray | memoryview | np.ndarray, source: str = "payload") -> None:
        data = payload if isinstance(payload, np.ndarray) else np.frombuffer(payload, np.uint8)
        self._array = data.view()
        self._array.flags.writeable = False
        self._bytes = self._array.data
        self._size = len(self._array)
        self._position = 0
        self._source = source
        self._texts: list[str] = []
        self._path = FieldPath()

    @property
    def position(self) -> int:
        """Offset of the next byte from the start of the payload."""
        return self._position

    @property
    def remaining(self) -> int:
        """Bytes that are left."""
        return self._size - self._position

    def field(self, name: str, key: int | str | None = None) -> FieldPath:
        """Name the field that the ``with`` block reads."""
        return self._path.enter(name, key)

    def fail(self, message: str, position: int | None = None) -> NoReturn:
        """Raise ModelFormatError with the file, the offset (of ``position``, else of the next byte) and the field."""
        offset = HEADER_SIZE + (self._position if position is None else position)
        path = str(self._path)
        raise ModelFormatError(f"{self._source}: byte {offset}{f', in {path}' if path else ''}: {message}")

    def u8(self) -> int:
        """Read one byte."""
        return self._bytes[self._advance(1)]

    def varint(self) -> int:
        """Read an unsigned 64-bit integer; its encoding must be the shortest."""
        start = self._position
        if start < self._size and self._bytes[start] < 0x80:
            self._position = start + 1
            return self._bytes[start]
        value = shift = 0
        while True:
            byte = self._bytes[self._advance(1)]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                break
            shift += 7
            if shift > 63:
                self.fail("an integer takes more than 10 bytes", start)
        if value >= 1 << 64:
            self.fail("an integer exceeds 64 bits", start)
        if byte == 0 and shift:
            self.fail("an integer is not in its shortest form", start)
        return value

    def zigzag(self) -> int:
        """Read a signed 64-bit integer."""
        value = self.varint()
        return value >> 1 if value % 2 == 0 else -(value >> 1) - 1

    def float64(self) -> float:
        """Read an IEEE 754 binary64."""
        return float(_FLOAT64.unpack_from(self._bytes, self._advance(8))[0])

    def blob(self) -> bytes:
        """Read a length and that many bytes (copied)."""
        size = self.varint()
        start = self._advance(size)
        return bytes(self._bytes[start : start + size])

    def text(self) -> str:
        """Read a string; occurrences after the first share one object."""
        start = self._position
        number = self.varint()
        if number > len(self._texts):
            self.fail(f"refers to string {number}, but only {len(self._texts)} came before", start)
        if number:
            return self._texts[number - 1]
        size = self.varint()
        start = self._advance(size)
        try:
            value = str(self._bytes[start : start + size], "utf-8")
        except UnicodeDecodeError as error:
            self.fail(f"a string is not valid UTF-8: {error.reason}", start + error.start)
        self._texts.append(value)
        return value

    def count(self, entry_size: int = 1) -> int:
        """Read the number of entries that follow, each of which takes ``entry_size`` bytes or more."""
        start = self._position
        value = self.varint()
        if value * entry_size > self.remaining:
            self.fail(
                f"claims {value} entries of at least {entry_size} bytes, but {self.remaining} bytes remain", start
            )
        return value

    def align(self) -> None:
        """Skip the zeros up to the next multiple of 64 bytes from the start of the file."""
        size = -(HEADER_SIZE + self._position) % ALIGNMENT
        start = self._advance(size)
        for position in range(start, start + size):
            if self._bytes[position]:
                self.fail(f"padding holds 0x{self._bytes[position]:02X} instead of zero", position)

    def array(self, dtype: DType, shape: tuple[int, ...]) -> np.ndarray:
        """Align, then read the elements of a read-only array in C order, 64-byte aligned if the file's start is."""
        self.align()
        elements = extent = 1
        for dim in shape:
            elements *= dim
            extent *= max(dim, 1)
        if extent * dtype.item_size >= 1 << 63:
            self.fail(f"shape {shape} of {dtype.name} exceeds the address space")
        size = dtype.byte_count(elements)
        start = self._advance(size)
        data = self._array[start : start + size]
        self._check_elements(data, elements, dtype, start)
        if dtype.bits < 8:
            data = unpack_nibbles(data, elements)
        values = native_view(data, dtype).reshape(shape)
        values.flags.writeable = False
        return values

    def rest(self) -> np.ndarray:
        """Align, then read all bytes that are left, as a read-only uint8 vector."""
        self.align()
        start = self._advance(self.remaining)
        return self._array[start:]

    def embedded(self, size: int, alignment: int) -> PayloadReader:
        """Skip zeros up to a multiple of ``alignment`` from the payload's start; a reader of ``size`` bytes there."""
        padding = self._advance(-self._position % alignment)
        if any(self._bytes[padding : self._position]):
            self.fail("padding holds something else than zeros", padding)
        start = self._advance(size)
        return PayloadReader(self._array[start : start + size], f"{self._source}: byte {HEADER_SIZE + start} on")

    def expect_end(self) -> None:
        """Fail unless every byte was read."""
        if self.remaining:
            self.fail(f"bytes left over after the end of the data: {self.remaining}")

    def _check_elements(self, data: np.ndarray, elements: int, dtype: DType, start: int) -> None:
        """Refuse bytes that are no element: NumPy computes nonsense from a bool other than 0 and 1."""
        if dtype.name == "bool" and data.size and data.max() > 1:
            index = int(data.argmax())
            self.fail(f"a bool holds {int(data[index])} instead of 0 or 1", start + index)
        if dtype.bits < 8 and elements % 2 and data[-1] > 0x0F:
            self.fail("the unused half of the last byte is not zero", start + len(data) - 1)

    def _advance(self, size: int) -> int:
        """Step over ``size`` bytes and return where they start."""
        start = self._position
        if size > self._size - start:
            self.fail(f"the data ends too early: {size} more bytes needed, {self._size - start} left")
        self._position = start + size
        return start
