"""The register tiles of products and convolutions: their shapes and names, and the panels of operands packed for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..kernels.target import target
from .terms import SUFFIX

SPAN = 256
"""Most columns of a row of tiles that are finished together."""


def register_type(dtype: str) -> str:
    """The data type that products of a data type are summed up in."""
    return "float64" if dtype == "float64" else "float32"


@dataclass(frozen=True, slots=True)
class TileShape:
    """Rows and vectors of a micro-kernel's block of sums, and the lanes of a vector.

    ``dot`` blocks sum along the lanes: each of their vectors is one column.
    """

    rows: int
    vectors: int
    lanes: int
    dot: bool = False

    @property
    def columns(self) -> int:
        return self.vectors if self.dot else self.vectors * self.lanes

    @property
    def span(self) -> int:
        """Tiles side by side that are finished together."""
        return max(1, SPAN // self.columns)

    @property
    def pitch(self) -> int:
        """Columns of scratch memory a row."""
        return self.span * self.columns

    def scratch(self, dtype: str, rows: int | None = None) -> str:
        """The source of scratch memory for some rows (default: a tile's) and the spare one."""
        size = 8 if dtype == "float64" else 4
        return f"stack_{((rows or self.rows) + 1) * self.pitch * size}()"

    def name(self, form: str, row_dtype: str, shared_dtype: str, *, masked: bool = False) -> str:
        """The micro-kernel's name (see :mod:`basalt.compiler.kernels.tiles` and ``dots``)."""
        size = f"{self.rows}x{self.vectors}x{self.lanes}"
        types = "_".join(SUFFIX[d] for d in (row_dtype, shared_dtype, register_type(row_dtype)))
        if self.dot:
            return f"dot_{size}_{types}"
        return f"{'m' if masked else ''}tile_{form}_{size}_{types}"

    def nanoseconds(self, steps: int) -> float:
        """Estimated time of one tile: two fused multiply-adds a cycle at 3 GHz, and its start and end."""
        if self.dot:
            return (max(self.rows * self.vectors / 2, 4) * (steps / self.lanes + 4) + 20) / 3
        return (max(self.rows * self.vectors / 2, 4) * steps + 30) / 3


def tile_shape(dtype: str, rows: int, columns: int) -> TileShape:
    """The tile for a product of some size; its width depends on the columns alone: packed weights fit any rows."""
    unit = target()
    lanes = unit.lanes(64 if register_type(dtype) == "float64" else 32)
    budget = 24 if unit.registers >= 32 else 12
    vectors = _vectors(-(-columns // lanes), (4, 3, 2, 1) if budget == 24 else (2, 3, 1))
    return TileShape(tile_rows(rows, min(14, budget // vectors)), vectors, lanes)


def dot_shape(dtype: str, rows: int) -> TileShape:
    """The block of inner products for a few rows."""
    unit = target()
    lanes = unit.lanes(64 if register_type(dtype) == "float64" else 32)
    most = 4 if unit.registers >= 32 else 2
    height = tile_rows(rows, most)
    return TileShape(height, 8 if height == 1 and most == 4 else 4, lanes, dot=True)


def _vectors(needed: int, choices: Sequence[int]) -> int:
    return min(choices, key=lambda v: -(-needed // v) * v)


def tile_rows(rows: int, most: int) -> int:
    """The rows of a tile: as many as fit, fewer if that leaves fewer of them empty."""
    if rows >= 6 * most:
        return most
    return min(range(1, most + 1), key=lambda r: -(-rows // r) * (max(r, most / 3) + 0.5))


def pack_panels(array: np.ndarray, columns: int) -> np.ndarray:
    """[..., depth, n] as panels [..., ceil(n / columns), depth, columns], the last one filled up with zeros."""
    *batches, depth, n = array.shape
    panels = -(-n // columns)
    padded = np.zeros((*batches, depth, panels * columns), array.dtype)
    padded[..., :n] = array
    return np.ascontiguousarray(np.moveaxis(padded.reshape(*batches, depth, panels, columns), -2, -3))
