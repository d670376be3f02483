"""Products of stacks of matrices, tile by tile: what gemm, matmul and 1 x 1 convolutions share."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..codegen.body import Body
from ..codegen.epilogue import Epilogue
from ..codegen.kernel import Call, KernelBuilder
from ..codegen.terms import SUFFIX
from ..codegen.tiling import TileShape, register_type
from ..ir import Value
from ..views import View, collapse
from .elementwise import decode

DEPTH_BLOCK = 512
"""Products that are summed up in one go: short chains round less, and keep operands in the first-level cache."""
SHORT_BLOCK = 64
UNIT = 20_000.0
"""Nanoseconds of work that one unit should take, if there is enough for all cores."""
READ_COST = 0.03
"""Nanoseconds a byte that is read from beyond the second-level cache."""
CACHE = 1 << 17
"""Bytes of the shared operand that the tiles of one unit's row run through."""


@dataclass(frozen=True)
class Matrix:
    """An operand of a product: its place, and its strides over (batches..., lanes' or rows' dimension, depth).

    ``panels`` says that it is packed for the tile: the second stride is then that from panel to panel.
    """

    view: View
    batches: tuple[int, ...]
    stride: int
    depth: int
    panels: bool = False


@dataclass(frozen=True)
class Product:
    """``result[b, r, c] = sum over k of left[b, r, k] * right[b, k, c]``.

    ``strides`` are those of :meth:`Epilogue.views` over (batches..., rows, columns).
    """

    batches: tuple[int, ...]
    rows: int
    columns: int
    depth: int
    left: Matrix
    right: Matrix
    tile: TileShape
    strides: Sequence[Sequence[int]]


Formula = Callable[[str, dict[Value, str], str], str]
"""Writes the root's value; called with the sum's name, the values that are known, and the innermost loop's variable."""
Root = Callable[[KernelBuilder, Body], Formula]
"""Declares the root's further operands (factors, a bias)."""


def product_call(product: Product, epilogue: Epilogue, root: Root | None = None) -> Call:
    """The kernel of a product; a unit is a block of rows by a few panels of columns."""
    return _Writer(product, epilogue, root).write()


class _Writer:
    def __init__(self, product: Product, epilogue: Epilogue, root: Root | None) -> None:
        self.product, self.epilogue = product, epilogue
        self.kernel = KernelBuilder("+".join([epilogue.root.op, *(n.op for n in epilogue.nodes)]))
        self.dtype = register_type(product.left.view.dtype)
        kernel, p = self.kernel, product
        self.left = kernel.source("left", p.left.view)
        self.right = kernel.source("right", p.right.view)
        self.body = epilogue.declare_over(kernel, p.strides)
        self.root = root(kernel, self.body) if root else None
        self._plan()

    def _plan(self) -> None:
        """How many tiles a unit computes."""
        p, tile = self.product, self.product.tile
        panels = -(-p.columns // tile.columns)
        size = p.right.view.itemsize
        # Few rows read an operand that is not packed once, in the order of its own rows.
        self.once = not p.right.panels and p.rows <= 2 * tile.rows
        fitting = tile.span if self.once else CACHE // max(1, p.depth * tile.columns * size)
        self.group = max(1, min(tile.span, panels, fitting))
        groups, row_tiles = -(-panels // self.group), -(-p.rows // tile.rows)
        per_row = tile.nanoseconds(p.depth) * self.group
        count = max(1, min(row_tiles, int(UNIT / per_row)))
        stacks = math.prod(p.batches) * groups
        while count > 1 and stacks * -(-row_tiles // count) < 32:
            count //= 2
        self.block = count * tile.rows
        self.units = stacks * -(-row_tiles // count)
        self.groups, self.panels = groups, panels

    def write(self) -> Call:
        kernel, p, tile = self.kernel, self.product, self.product.tile
        kernel.line(f"tile = {tile.scratch(self.dtype)}")
        parameter = kernel.parameter
        names = {"rows": p.rows, "columns": p.columns, "depth": p.depth, "group": self.group, "panels": self.panels}
        names |= {"block": self.block, "blocks": -(-p.rows // self.block), "groups": self.groups}
        for name, value in names.items():
            parameter(name, value)
        self._declare_strides()
        with kernel.block("for u in range(start, stop)"):
            indices = self._decode()
            kernel.line("first_panel = g * group")
            kernel.line("last_panel = min(first_panel + group, panels)")
            kernel.line(f"first = first_panel * {tile.columns}")
            kernel.line(f"last = min(last_panel * {tile.columns}, columns)")
            kernel.line("end = min((b + 1) * block, rows)")
            with kernel.block(f"for r in range(b * block, end, {tile.rows})"):
                kernel.line(f"height = min({tile.rows}, end - r)")
                self._tiles()
                self._finish(indices)
        return kernel.call(self.units, self._cost())

    def _declare_strides(self) -> None:
        kernel, p = self.kernel, self.product
        for name, matrix in (("left", p.left), ("right", p.right)):
            for i, stride in enumerate(matrix.batches):
                self._name(f"{name}_b{i}", kernel.integer(f"{name}_b{i}", stride))
        kernel.parameter("left_r", p.left.stride)
        kernel.parameter("right_p", p.right.stride * (1 if p.right.panels else p.tile.columns))
        if p.tile.dot:
            kernel.parameter("right_n", p.right.stride)
        else:
            kernel.parameter("left_k", p.left.depth)
            kernel.parameter("right_k", p.right.depth)
            kernel.parameter("length", SHORT_BLOCK if self.once else DEPTH_BLOCK)

    def _name(self, name: str, text: str) -> None:
        if text != name:
            self.kernel.line(f"{name} = {text}")

    def _decode(self) -> dict[int, str]:
        kernel, p = self.kernel, self.product
        kernel.line("q = u // blocks")
        kernel.line("b = u - q * blocks")
        if not p.batches:
            kernel.line("g = q")
            kernel.line("left_at = 0")
            kernel.line("right_at = 0")
            return {}
        kernel.line("s = q // groups")
        kernel.line("g = q - s * groups")
        sizes = [kernel.parameter(f"d{i}", d) for i, d in enumerate(p.batches)]
        indices = decode(kernel, "s", sizes)
        for name in ("left", "right"):
            kernel.line(f"{name}_at = " + " + ".join(f"{i} * {name}_b{axis}" for axis, i in indices.items()))
        return indices

    def _tiles(self) -> None:
        """The micro-kernel for each panel and each block of the depth."""
        kernel, p, tile = self.kernel, self.product, self.product.tile
        if tile.dot:
            self._dots()
            return
        masked = not p.right.panels
        name = tile.name("bv", p.left.view.dtype, p.right.view.dtype, masked=masked)
        mask = f", 0, columns - panel * {tile.columns}, 0" if masked else ""
        with kernel.block("for k in range(0, max(depth, 1), length)"):
            kernel.line("steps = min(depth - k, length)")
            with kernel.block("for panel in range(first_panel, last_panel)"):
                kernel.line(f"place = (panel - first_panel) * {tile.columns}")
                kernel.line(
                    f"{name}(tile, place, {tile.pitch}, {tile.rows * tile.pitch}, height, "
                    "left, left_at + r * left_r + k * left_k, left_r, "
                    "right, right_at + panel * right_p + k * right_k, "
                    f"steps, left_k, right_k, 1, 0, 0, 1, 0, 0, k == 0{mask})"
                )

    def _dots(self) -> None:
        kernel, p, tile = self.kernel, self.product, self.product.tile
        with kernel.block("for panel in range(first_panel, last_panel)"):
            kernel.line(
                f"{tile.name('', p.left.view.dtype, p.right.view.dtype)}("
                f"tile, (panel - first_panel) * {tile.columns}, {tile.pitch}, "
                f"height, columns - panel * {tile.columns}, "
                "left, left_at + r * left_r, left_r, right, right_at + panel * right_p, right_n, depth)"
            )

    def _finish(self, indices: dict[int, str]) -> None:
        kernel, p = self.kernel, self.product
        axis = len(p.batches)
        with kernel.block("for i in range(height)"):
            kernel.line("row = r + i")
            self.body.start_row({**indices, axis: "row"})
            known = self.body.hoist(axis + 1)
            kernel.line(f"base = i * {p.tile.pitch} - first")
            with kernel.block("for j in range(first, last)"):
                kernel.line(f"sum = load_{SUFFIX[self.dtype]}(tile, base + j)")
                names = dict(known)
                value = self.root("sum", names, "j") if self.root else "sum"
                value = rounded(kernel, value, self.epilogue.root.output.dtype)
                self.epilogue.finish(self.body, value, axis + 1, "j", names)

    def _cost(self) -> float:
        p, tile = self.product, self.product.tile
        tiles = math.prod(p.batches) * -(-p.rows // tile.rows) * self.panels
        points = math.prod(p.batches) * p.rows * p.columns
        moved = (
            math.prod(d for d, s in zip(p.batches, p.right.batches) if s) * p.depth * p.columns * p.right.view.itemsize
        )
        return max(tiles * tile.nanoseconds(p.depth), moved * READ_COST) + points * (0.05 + self.body.cost_of_point())


def rounded(kernel: KernelBuilder, name: str, dtype: str) -> str:
    """Write the rounding of a root's value to its data type, if it is narrower than its register."""
    narrow = {"float16": "round_f16", "bfloat16": "round_bf16"}.get(dtype)
    if narrow is None:
        return name
    result = kernel.temporary("root")
    kernel.line(f"{result} = {narrow}({name})")
    return result


def merge_rows(
    batches: Sequence[int], rows: int, strides: Sequence[Sequence[int]], shared: int
) -> tuple[tuple[int, ...], int, list[tuple[int, ...]]]:
    """Merge batch dimensions with each other, and into the rows where the shared operand does not change along them.

    Args:
        batches: the batch dimensions' sizes.
        rows: the number of rows.
        strides: every operand's strides over (batches..., rows); 0 for the rows of the shared operand.
        shared: the position of the shared operand in ``strides``.

    Returns:
        The batch dimensions and the rows that remain, with the operands' strides over them.
    """
    dims, merged = collapse((*batches, rows), strides)
    if merged[shared][-1]:
        dims, merged = (*dims, 1), [(*m, 0) for m in merged]
    return tuple(dims[:-1]), dims[-1], merged
