"""Weights between memory and disk: C order, little-endian, 4-bit elements two a byte with the low half first."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .dtypes import DType, raw_bits
from .header import ALIGNMENT

__all__ = ["aligned_empty", "array_chunks", "native_view", "unpack_nibbles"]


def array_chunks(array: np.ndarray, dtype: DType, buffer: np.ndarray) -> Iterator[np.ndarray]:
    """Yield the bytes of ``array`` as they stand on disk, each piece a slice of ``buffer`` (uint8, reused).

    Copying into one buffer serves every array alike, whatever its strides and byte order, and takes a snapshot: bytes
    that are written are the bytes that were summed, even if another thread changes the weights meanwhile.
    """
    bits = raw_bits(array)
    if dtype.bits < 8:
        yield from _nibble_chunks(bits, buffer)
        return
    staging = buffer.view(np.dtype(f"<u{dtype.item_size}"))
    for block in _blocks(bits, staging.size):
        piece = staging[: block.size]
        np.copyto(piece.reshape(block.shape), block)
        if dtype.name == "bool":
            # NumPy treats every non-zero byte as True, yet the format knows 0 and 1 only.
            np.minimum(piece, 1, out=piece)
        yield piece.view(np.uint8)


def _blocks(array: np.ndarray, limit: int) -> Iterator[np.ndarray]:
    """Split ``array`` along its leading axes into views of at most ``limit`` elements, in C order."""
    if array.size == 0:
        return
    if array.size <= limit:
        yield array
        return
    rows = limit // (array.size // len(array))
    if rows:
        for start in range(0, len(array), rows):
            yield array[start : start + rows]
        return
    for row in array:
        yield from _blocks(row, limit)


def _nibble_chunks(bits: np.ndarray, buffer: np.ndarray) -> Iterator[np.ndarray]:
    half = len(buffer) // 2
    nibbles, packed = buffer[:half], buffer[half:]
    pending = 0
    for block in _blocks(bits, half - 1):
        filled = pending + block.size
        np.bitwise_and(block, 0x0F, out=nibbles[pending:filled].reshape(block.shape))
        pairs = filled // 2
        np.left_shift(nibbles[1 : 2 * pairs : 2], 4, out=packed[:pairs])
        np.bitwise_or(packed[:pairs], nibbles[: 2 * pairs : 2], out=packed[:pairs])
        yield packed[:pairs]
        pending = filled % 2
        if pending:
            nibbles[0] = nibbles[filled - 1]
    if pending:
        yield nibbles[:1]


def unpack_nibbles(packed: np.ndarray, count: int) -> np.ndarray:
    """Spread ``count`` 4-bit elements over one byte each: uint8 values in [0, 16), 64-byte aligned."""
    nibbles = aligned_empty(2 * len(packed))
    np.bitwise_and(packed, 0x0F, out=nibbles[0::2])
    np.right_shift(packed, 4, out=nibbles[1::2])
    return nibbles[:count]


def native_view(data: np.ndarray, dtype: DType) -> np.ndarray:
    """Little-endian bytes as a vector of ``dtype`` in the machine's byte order; a copy only where that differs."""
    stored = data.view(np.dtype(f"<u{dtype.item_size}"))
    return stored.astype(stored.dtype.newbyteorder("="), copy=False).view(dtype.numpy())


def aligned_empty(size: int) -> np.ndarray:
    """An uninitialised uint8 vector whose address is a multiple of 64."""
    room = np.empty(size + ALIGNMENT, np.uint8)
    start = -room.__array_interface__["data"][0] % ALIGNMENT
    return room[start : start + size]
