"""The register tiles of products and convolutions: shapes and names, and the panels of operands packed for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from basalt.ops import numpy_dtype
from basalt.ops.types import is_float
from basalt.runtime.memory import aligned_empty

from ..kernels.target import SPLIT, target
from .choices import agree, choose
from .terms import SUFFIX


def register_type(dtype: str) -> str:
    """The data type that elements of a data type are summed up in."""
    if not is_float(dtype):
        return dtype
    return "float64" if dtype == "float64" else "float32"


def lanes_of(dtype: str) -> int:
    """Elements of a data type that are computed in one vector register."""
    return target().lanes(8 * numpy_dtype(register_type(dtype)).itemsize)


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
    lanes = lanes_of(dtype)
    needed = -(-columns // lanes)
    vectors = choose((2, 3, 1), lambda v: -(-needed // v) * _cost_of_row(_most_rows(v), v))
    height = product_rows(rows, vectors)
    if agree(height * vectors >= SPLIT):
        # Rows that are computed for nothing take no longer than waiting for sums that are not split.
        height = max(height, -(-SPLIT // vectors))
    return TileShape(height, vectors, lanes)


def _most_rows(vectors: int) -> int:
    """The rows of a tile whose sums leave registers for the operands, and for their addresses."""
    registers = target().registers
    return min(14 if registers >= 32 else 10, (registers - 1 - vectors) // vectors)


def _cost_of_row(rows: int, vectors: int) -> float:
    """Cycles a step and row: two multiply-adds or two loads each."""
    return max(rows * vectors, rows + vectors) / (2 * rows)


def product_rows(rows: int, vectors: int) -> int:
    """The rows of a product's tile; some tiles have one less, so that hardly any number of rows leaves some empty."""
    most = _most_rows(vectors)

    def cycles(height: int) -> float:
        """Of a step: at least until a sum can be added to again."""
        return max(_cost_of_row(height, vectors) * height, SPLIT / 2) + 0.3

    def cost(height: int) -> float:
        tiles = -(-rows // height)
        missing = tiles * height - rows
        # Among tiles that are as fast, the one that is not missing any rows is the smaller kernel.
        if missing == 0:
            return tiles * cycles(height)
        if missing <= tiles and height > 1:
            return (tiles - missing) * cycles(height) + missing * (cycles(height - 1) + 0.01)
        return (tiles - 1) * cycles(height) + (rows - (tiles - 1) * height) * (cycles(1) + 0.01)

    return choose(range(most, 0, -1), cost, most if rows >= 6 * most else None)


def dot_shape(dtype: str, rows: int) -> TileShape:
    """The block of inner products for a few rows."""
    unit = target()
    lanes = lanes_of(dtype)
    most = 4 if unit.registers >= 32 else 2
    height = tile_rows(rows, most)
    return TileShape(height, 8 if height == 1 and most == 4 else 4, lanes, dot=True)


def strip_shape(dtype: str, rows: int, columns: int) -> TileShape:
    """The tile for windows that slide over rows with one operand's vectors: wide, so that few lanes stay empty."""
    unit = target()
    lanes = lanes_of(dtype)
    needed = -(-columns // lanes)
    vectors = choose((4, 2, 1) if unit.registers >= 32 else (2, 1), lambda v: -(-needed // v) * v)
    return TileShape(tile_rows(rows, min(14, (24 if unit.registers >= 32 else 12) // vectors)), vectors, lanes)


def tile_rows(rows: int, most: int) -> int:
    """The rows of a tile: as many as fit, fewer if that leaves fewer of them empty."""
    best = most if rows >= 6 * most else None
    return choose(range(1, most + 1), lambda r: -(-rows // r) * (max(r, most / 3) + 0.5), best)


def pack_panels(array: np.ndarray, columns: int) -> np.ndarray:
    """[..., depth, n] as panels [..., ceil(n / columns), depth, columns], the last one filled up with zeros."""
    *batches, depth, n = array.shape
    panels = -(-n // columns)
    padded = np.zeros((*batches, depth, panels * columns), array.dtype)
    padded[..., :n] = array
    seen = np.moveaxis(padded.reshape(*batches, depth, panels, columns), -2, -3)
    # A vector that lies across two cache lines takes two loads.
    packed = aligned_empty(seen.nbytes).view(seen.dtype).reshape(seen.shape)
    packed[...] = seen
    return packed


def products(
    name: str,
    *,
    place: str,
    pitch: str | int,
    spare: str | int,
    rows: str,
    left: tuple[str, str, str],
    right: tuple[str, str],
    loops: Sequence[tuple[str, str, str]],
    fresh: str,
    mask: tuple[str, str, str] | None = None,
    sums: str = "tile",
) -> str:
    """The source of a micro-kernel's call (see :mod:`basalt.compiler.kernels.tiles`).

    Args:
        name: the micro-kernel.
        place: the index of the first sum; ``pitch`` leads from row to row, ``spare`` is that of the row to waste.
        pitch: see ``place``.
        spare: see ``place``.
        rows: the number of rows.
        left: the pointer, first index and row stride of the operand with rows.
        right: the pointer and first index of the operand that the rows share.
        loops: up to three loops, innermost first: the count, and the steps of both operands.
        fresh: whether sums are overwritten.
        mask: the columns that may be read: low, high, shift.
        sums: the pointer to the sums.
    """
    filled = [*loops, *[("1", "0", "0")] * (3 - len(loops))]
    operands = [place, pitch, spare, rows, *left, *right, *(x for loop in filled for x in loop), fresh, *(mask or ())]
    return f"{name}({sums}, {', '.join(map(str, operands))})"
