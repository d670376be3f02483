"""How float32 numbers lie that are split into three bfloat16 (see ``splitting``); imports no compiler."""

from __future__ import annotations

import numpy as np

__all__ = ["COLUMNS", "HALF", "HIGH", "PIECES", "ROWS", "STEP", "split_columns", "steps_of"]

PIECES, ROWS, STEP, COLUMNS = 3, 16, 32, 32
HALF, HIGH = 0x8000, 0xFFFF0000
"""Half of a bfloat16's last place in a float32's bits, and the bits of a bfloat16."""


def steps_of(depth: int) -> int:
    """Steps of 32 in a depth; an empty one is filled up to one."""
    return max(1, -(-depth // STEP))


def split_columns(array: np.ndarray) -> np.ndarray:
    """float32 [depth, columns] as uint16 panels [panels, steps, 3, 16, 32, 2] of bfloat16's bits."""
    depth, columns = array.shape
    steps, panels = steps_of(depth), -(-columns // COLUMNS)
    padded = np.zeros((steps * STEP, panels * COLUMNS), np.float32)
    padded[:depth, :columns] = array
    pieces = np.empty((PIECES, *padded.shape), np.uint16)
    for piece in pieces:
        rounded = (padded.view(np.uint32) + np.uint32(HALF)) & np.uint32(HIGH)
        piece[...] = rounded >> np.uint32(16)
        padded = padded - rounded.view(np.float32)
    split = pieces.reshape(PIECES, steps, STEP // 2, 2, panels, COLUMNS)
    return np.ascontiguousarray(split.transpose(4, 1, 0, 2, 5, 3))
