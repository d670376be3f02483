"""Products of float32 matrices by tiles of bfloat16: each number is split into three, whose sum it is.

Where the CPU multiplies tiles of bfloat16 (Intel's AMX), six such products take less time than one of float32, and
their sums are as exact: 24 bits of each number take part, and sums are float32 as ever. The operand with columns must
be a constant, which is split beforehand; rows are split by a kernel of their own, once for all products that read them.
Rows with numbers that pieces cannot stand for (infinities, NaN, more than 3.38e38) are multiplied as they are. What is
less than about 1e-38 counts as 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ..codegen.choices import agree, prefer
from ..codegen.epilogue import Epilogue
from ..codegen.kernel import Call, KernelBuilder
from ..codegen.lowering import Lowering
from ..codegen.tiling import TileShape, lanes_of
from ..codegen.units import even_shares
from ..ir import Value
from ..kernels.split_layout import COLUMNS, PIECES, ROWS, STEP, split_columns, steps_of
from ..kernels.target import matrix_products
from ..views import View
from .packing import matrix_of
from .product import CACHE, MOST_UNITS, READ_COST, Matrix, Product, ProductWriter, Root

HEIGHT = 2 * ROWS
"""Rows that are multiplied at once."""
TILE_TIME = 5.4
"""Nanoseconds of a product of two tiles."""
SPLIT_TIME = 0.25
"""Nanoseconds in which a number is split."""
UNIT = 20_000.0
"""Nanoseconds of work that are worth a unit of their own."""
MOST_PANELS = 4
"""Panels of columns whose sums are collected before the fused operators are applied."""
LEAST_ROWS = 24
LARGEST = 3.38e38
"""What the magnitudes of weights must be below."""


def suits(value: Value, array: Callable[[], np.ndarray], rows: int, tile: TileShape) -> bool:
    """Whether a product is best computed so.

    Args:
        value: the operand with columns.
        array: gives its array [..., depth, columns], if it is a constant.
        rows: the rows of the other operand, of all batches.
        tile: the tile of the product of unsplit numbers.
    """
    if value.dtype != "float32" or not value.is_constant or "bfloat16" not in matrix_products():
        return False
    depth, columns = array().shape[-2:]
    if math.prod(value.shape) != depth * columns or min(depth, columns) < STEP // 2:
        return False
    panels, read = -(-columns // COLUMNS), depth * columns * READ_COST
    split = max(_tiles_time(rows, panels, depth), 1.5 * 4 * read) + rows * depth * SPLIT_TIME
    fused = -(-rows // tile.rows) * -(-columns // tile.columns) * tile.nanoseconds(depth)
    # The products add up in another order, so programs that must give equal bits agree.
    if not agree(prefer(rows >= LEAST_ROWS and split < max(fused, 4 * read), rows)):
        return False
    # Infinite weights are rare; comparisons with NaN do not hold.
    return bool((np.abs(array()) < LARGEST).all())


def _tiles_time(rows: int, panels: int, depth: int) -> float:
    return -(-rows // HEIGHT) * panels * steps_of(depth) * 24 * TILE_TIME


def columns_of(lowering: Lowering, value: Value, layout: str, arrange: Callable[[np.ndarray], np.ndarray]) -> View:
    """A constant, which ``arrange`` brings to [..., depth, columns], as panels of pieces."""

    def pack(array: np.ndarray) -> np.ndarray:
        arranged = arrange(array)
        return split_columns(arranged.reshape(arranged.shape[-2:]))

    return lowering.packed(value, ("split panels", layout), pack)


def split_product_call(lowering: Lowering, product: Product, epilogue: Epilogue, root: Root | None) -> Call:
    """The kernel of a product without batches, whose left operand is contiguous along the depth, and is split first.

    The right operand is of :func:`columns_of`.
    """
    left = product.left
    key = ("split rows", left, product.rows, product.depth)
    pieces, flags = lowering.shared(key, lambda: _split(lowering, left, product))
    return _Writer(product, epilogue, root, pieces, flags).write()


def _split(lowering: Lowering, left: Matrix, product: Product) -> tuple[View, View]:
    """Rows as tiles of pieces, and for each block of 16 a bit for each row that they do not stand for."""
    blocks, steps = -(-product.rows // ROWS), steps_of(product.depth)
    pieces = lowering.scratch("uint16", (blocks, steps, PIECES, ROWS, STEP))
    flags = lowering.scratch("int64", (blocks,))
    kernel = KernelBuilder("split rows")
    kernel.source("left", left.view)
    kernel.target("pieces", pieces)
    kernel.target("flags", flags)
    for name, value in (("rows", product.rows), ("depth", product.depth), ("left_r", left.stride)):
        kernel.parameter(name, value)
    kernel.parameter("size", math.prod(pieces.shape[1:]))
    with kernel.block("for u in range(start, stop)"):
        kernel.line(f"first = u * {ROWS}")
        kernel.line(f"count = min({ROWS}, rows - first)")
        kernel.line("flag = split_rows(pieces, u * size, left, first * left_r, left_r, count, depth)")
        kernel.line("storerw_i64(flags, u, flag)")
    lowering.add(kernel.call(blocks, product.rows * product.depth * SPLIT_TIME))
    return pieces, flags


class _Writer(ProductWriter):
    def __init__(self, product: Product, epilogue: Epilogue, root: Root | None, pieces: View, flags: View) -> None:
        self.steps = steps_of(product.depth)
        super().__init__(product, epilogue, root)
        self.kernel.source("pieces", pieces)
        self.kernel.source("flags", flags)

    def _plan(self) -> None:
        """Blocks of rows and groups of panels that fit the second-level cache together."""
        p = self.product
        self.panels = -(-p.columns // COLUMNS)
        line = self.steps * PIECES * STEP * 2
        bands = -(-p.rows // HEIGHT)
        most = max(1, CACHE // (line * HEIGHT))
        blocks = -(-bands // most)
        work = _tiles_time(p.rows, self.panels, p.depth)
        wanted = max(1, min(MOST_UNITS, int(work / UNIT)))
        self.block = HEIGHT * -(-bands // blocks)
        self.blocks = -(-p.rows // self.block)
        fitting = 2 * CACHE // (line * COLUMNS)
        self.chunk, self.group = even_shares(self.panels, wanted / self.blocks, max(1, min(MOST_PANELS, fitting)))
        self.chunks = -(-self.panels // self.chunk)
        self.units = self.blocks * self.chunks

    def write(self) -> Call:
        kernel, p = self.kernel, self.product
        kernel.line(f"tile = stack_{HEIGHT * MOST_PANELS * COLUMNS * 4}()")
        names = {"rows": p.rows, "columns": p.columns, "depth": p.depth, "panels": self.panels, "steps": self.steps}
        names |= {"group": self.group, "pitch": self.group * COLUMNS, "left_r": p.left.stride}
        names |= {"block": self.block, "chunk": self.chunk, "chunks": self.chunks}
        names |= {"size": self.steps * PIECES * ROWS * STEP, "right_p": self.steps * PIECES * STEP * COLUMNS}
        for name, value in names.items():
            kernel.parameter(name, value)
        kernel.line("amx_configure(16)")
        with kernel.block("for u in range(start, stop)"):
            kernel.line("b = u // chunks")
            kernel.line("g = u - b * chunks")
            kernel.line("end = min((b + 1) * block, rows)")
            kernel.line("end_panel = min((g + 1) * chunk, panels)")
            with kernel.block("for first_panel in range(g * chunk, end_panel, group)"):
                kernel.line("last_panel = min(first_panel + group, end_panel)")
                kernel.line(f"first = first_panel * {COLUMNS}")
                kernel.line(f"last = min(last_panel * {COLUMNS}, columns)")
                with kernel.block(f"for top in range(b * block, end, {HEIGHT})"):
                    kernel.line(f"bottom = min(top + {HEIGHT}, end)")
                    self._sums()
                    self._finish({})
        kernel.line("amx_release()")
        return kernel.call(self.units, self._cost())

    def _sums(self) -> None:
        kernel = self.kernel
        kernel.line(f"at = top // {ROWS}")
        kernel.line(f"following = (bottom - top - 1) // {ROWS}")
        with kernel.block("for panel in range(first_panel, last_panel)"):
            kernel.line(f"to = (panel - first_panel) * {COLUMNS}")
            right = "right, panel * right_p"
            kernel.line(f"amx_split_32(tile, to, pitch, pieces, at * size, following * size, {right}, steps)")
            with kernel.block("for half in range(following + 1)"):
                kernel.line("bits = load_i64(flags, at + half)")
                with kernel.block("if bits != 0"):
                    self._unsplit_rows()

    def _unsplit_rows(self) -> None:
        """Multiply each row whose bit is set once more: what others give does not depend on it."""
        kernel = self.kernel
        with kernel.block(f"for i in range(half * {ROWS}, (half + 1) * {ROWS})"):
            kernel.line("rest = bits // 2")
            with kernel.block("if bits - 2 * rest == 1"):
                left = "left, (top + i) * left_r, left_r, 1"
                kernel.line(f"split_sums(tile, to + i * pitch, pitch, {left}, right, panel * right_p, depth, 1)")
            kernel.line("bits = rest")

    def _cost(self) -> float:
        p = self.product
        moved = p.depth * p.columns * 2 * PIECES * READ_COST
        points = p.rows * p.columns
        return max(_tiles_time(p.rows, self.panels, p.depth), moved) + points * (0.05 + self.body.cost_of_point())


def split_tile() -> TileShape:
    """The shape of the block of sums."""
    lanes = lanes_of("float32")
    return TileShape(HEIGHT, COLUMNS // lanes, lanes)


def rows_matrix(lowering: Lowering, view: View, batches: tuple[int, ...]) -> Matrix:
    """Rows [..., depth, rows] with unit stride along the depth, copied if it is not."""
    if view.strides[-2] != 1 and view.shape[-2] > 1:
        rank = len(view.shape)
        order = [*range(rank - 2), rank - 1, rank - 2]
        view = lowering.contiguous(view.permuted(order)).permuted(order)
    return matrix_of(view, batches)
