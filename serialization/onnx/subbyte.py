"""Elements narrower than a byte, as raw_data packs them: from the lowest bit up, across bytes for 6-bit elements."""

from __future__ import annotations

import numpy as np

__all__ = ["pack", "unpack"]


def unpack(packed: np.ndarray, bits: int, count: int) -> np.ndarray:
    """The first ``count`` elements of ``bits`` (2, 4 or 6) bits each, as uint8 values below ``2**bits``."""
    if bits == 6:
        return _unpack_six(packed, count)
    per_byte = 8 // bits
    elements = np.empty((len(packed), per_byte), np.uint8)
    for place in range(per_byte):
        np.right_shift(packed, place * bits, out=elements[:, place])
    elements &= (1 << bits) - 1
    return elements.reshape(-1)[:count]


def pack(elements: np.ndarray, bits: int) -> np.ndarray:
    """The inverse: uint8 elements, whose upper bits are ignored, side by side; zeros fill up the last byte."""
    per_group, group = (4, 3) if bits == 6 else (8 // bits, 1)
    groups = -(-len(elements) // per_group)
    padded = np.zeros(groups * per_group, np.uint32)
    padded[: len(elements)] = elements & ((1 << bits) - 1)
    words = np.zeros(groups, np.uint32)
    for place in range(per_group):
        words |= padded[place::per_group] << np.uint32(place * bits)
    octets = np.empty((groups, group), np.uint8)
    for place in range(group):
        octets[:, place] = words >> np.uint32(8 * place)
    return octets.reshape(-1)[: (len(elements) * bits + 7) // 8]


def _unpack_six(packed: np.ndarray, count: int) -> np.ndarray:
    groups = -(-len(packed) // 3)
    octets = np.zeros(groups * 3, np.uint32)
    octets[: len(packed)] = packed
    words = octets[0::3] | octets[1::3] << np.uint32(8) | octets[2::3] << np.uint32(16)
    elements = np.empty((groups, 4), np.uint8)
    for place in range(4):
        elements[:, place] = words >> np.uint32(6 * place) & np.uint32(63)
    return elements.reshape(-1)[:count]
