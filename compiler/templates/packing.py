"""The shared operand of a product, in the order in which tiles read it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from basalt.ops import numpy_dtype

from ..codegen.body import LOAD_COST
from ..codegen.choices import prefer
from ..codegen.kernel import Call, KernelBuilder
from ..codegen.lowering import Lowering
from ..codegen.terms import SUFFIX
from ..codegen.tiling import TileShape, pack_panels
from ..codegen.units import each_unit
from ..ir import Value
from ..views import View
from .product import Matrix

MANY_ROWS = 48
"""Rows from which on a large operand is worth a packed copy at run time."""
ROWS = 16
"""Rows of the depth that are copied to one panel after another."""
LARGE = 1 << 18
DEEP = 192
"""Bytes and rows from which on an operand that is not packed misses caches: its rows lie far apart."""


def packed_constant(
    lowering: Lowering, value: Value, layout: str, arrange: Callable[[np.ndarray], np.ndarray], tile: TileShape
) -> View:
    """A constant as panels [..., panels, depth, columns] of a tile.

    Args:
        lowering: where the constant goes.
        value: the constant.
        layout: a name for what ``arrange`` does.
        arrange: brings the constant's array to [..., depth, columns].
        tile: whose columns a panel has.

    The view may be of a narrower data type that holds the same numbers.
    """

    def pack(array: np.ndarray) -> np.ndarray:
        return pack_panels(arrange(array), tile.columns)

    return lowering.packed(value, ("panels", layout, tile.columns), pack, narrow=True)


def packed_copy(lowering: Lowering, view: View, tile: TileShape, depths: int = 1) -> View:
    """A matrix [..., depth, n] copied at run time into panels [..., panels, depth, columns] of a tile.

    ``depths`` is the number of dimensions that make the depth.
    """
    ahead = len(view.shape) - depths - 1
    batches, depth, n = view.shape[:ahead], view.shape[ahead:-1], view.shape[-1]
    outer, down, along = view.strides[:ahead], view.strides[ahead:-1], view.strides[-1]
    width, full = tile.columns, n // tile.columns
    rest = n - full * width
    target = lowering.scratch(view.dtype, (*batches, full + (rest > 0), *depth, width))
    if along == 1 and depths == 1:
        lowering.add(_rows_to_panels(view, target))
        return target

    def part(first: int, count: int, start: int, columns: int) -> View:
        """Columns of some of the panels."""
        sizes = (*batches, count, *depth, columns)
        return target.sliced((*[0] * ahead, first, *[0] * depths, start), sizes, (1,) * len(sizes))

    if full:
        strides = (*outer, along * width, *down, along)
        lowering.copy(replace(view, shape=(*batches, full, *depth, width), strides=strides), part(0, full, 0, width))
    if rest:
        offset = view.offset + full * width * along
        last = replace(view, shape=(*batches, 1, *depth, rest), strides=(*outer, 0, *down, along), offset=offset)
        lowering.copy(last, part(full, 1, 0, rest))
        # What is left of the last panel is computed with, though never stored.
        filling = part(full, 1, rest, width - rest)
        zero = lowering.add_constant(np.zeros((1,) * len(filling.shape), numpy_dtype(view.dtype)))
        lowering.copy(zero.expanded(filling.shape), filling)
    return target


def _rows_to_panels(view: View, target: View) -> Call:
    """The kernel that copies rows [..., depth, n] of neighbours into panels; a unit is a few rows, read in order."""
    kernel, source, panels = KernelBuilder("pack rows"), view.raw(), target.raw()
    *batches, depth, n = view.shape
    count, _, width = target.shape[-3:]
    suffix = SUFFIX[source.dtype]
    kernel.source("x", source)
    kernel.target("y", panels)
    blocks = -(-depth // ROWS)
    sizes = [kernel.parameter(f"d{i}", size) for i, size in enumerate((*batches, blocks))]
    strides = [kernel.parameter(f"x_b{i}", stride) for i, stride in enumerate(view.strides[:-2])]
    for name, value in {"depth": depth, "n": n, "x_k": view.strides[-2], "panels": count, "full": n // width}.items():
        kernel.parameter(name, value)
    with each_unit(kernel, sizes) as indices:
        kernel.line("at = " + (" + ".join(f"{indices[i]} * {stride}" for i, stride in enumerate(strides)) or "0"))
        # Panels of one batch after another.
        kernel.line(f"to = (u // {sizes[-1]}) * panels * depth * {width}")
        kernel.line(f"first = {indices[len(batches)]} * {ROWS}")
        kernel.line(f"last = min(first + {ROWS}, depth)")
        with kernel.block("for q in range(panels)"):
            with kernel.block("if q < full"), kernel.block("for k in range(first, last)"):
                kernel.line(f"from_ = at + k * x_k + q * {width}")
                kernel.line(f"place = to + (q * depth + k) * {width}")
                with kernel.block(f"for j in range({width})"):
                    kernel.line(f"store_{suffix}(y, place + j, load_{suffix}(x, from_ + j))")
            with kernel.block("else"), kernel.block("for k in range(first, last)"):
                kernel.line(f"from_ = at + k * x_k + q * {width}")
                kernel.line(f"place = to + (q * depth + k) * {width}")
                kernel.line(f"rest = n - q * {width}")
                with kernel.block("for j in range(rest)"):
                    kernel.line(f"store_{suffix}(y, place + j, load_{suffix}(x, from_ + j))")
                # What is left of the last panel is computed with, though never stored.
                with kernel.block(f"for j in range(rest, {width})"):
                    kernel.line(f"store_{suffix}(y, place + j, const_{suffix}(0))")
    return kernel.call(math.prod(batches) * blocks, 2 * math.prod(view.shape) * view.itemsize * LOAD_COST)


def panels_of(view: View, batches: tuple[int, ...]) -> Matrix:
    """Panels as an operand of products over some batches."""
    seen = view.expanded((*batches, *view.shape[-3:]))
    return Matrix(view, seen.strides[:-3], seen.strides[-3], seen.strides[-2], panels=True)


def matrix_of(view: View, batches: tuple[int, ...]) -> Matrix:
    """A matrix [..., depth, columns] as the shared operand of products over some batches, unpacked."""
    seen = view.expanded((*batches, *view.shape[-2:]))
    return Matrix(view, seen.strides[:-2], seen.strides[-1], seen.strides[-2])


def worth_packing(view: View, rows: int) -> bool:
    """Whether a matrix [..., depth, columns] of unit stride is better copied into panels before some rows use it."""
    depth, columns = view.shape[-2:]
    best = rows >= MANY_ROWS and depth >= DEEP and depth * columns * view.itemsize > LARGE
    return prefer(best, rows * depth * columns)
