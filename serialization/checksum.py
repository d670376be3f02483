"""CRC32C (Castagnoli) of bytes."""

from __future__ import annotations

import google_crc32c
import numpy as np

__all__ = ["extend_crc", "payload_crc"]

_NATIVE = google_crc32c.implementation == "c"
_CHUNK = 1 << 24


def extend_crc(crc: int, data: np.ndarray) -> int:
    """The CRC32C of what ``crc`` covers followed by a uint8 vector, which the native code reads in place."""
    return int(google_crc32c.extend(crc, data if _NATIVE else data.tobytes()))


def payload_crc(payload: np.ndarray) -> int:
    """The CRC32C of a uint8 vector, an unsigned 32-bit value.

    The extension keeps the interpreter's lock, so that other threads get their turn only between two chunks.
    """
    crc = 0
    for start in range(0, len(payload), _CHUNK):
        crc = extend_crc(crc, payload[start : start + _CHUNK])
    return crc
