"""Products of stacks of matrices, tile by tile: what gemm, matmul and 1 x 1 convolutions share."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..codegen.body import Body
from ..codegen.choices import stays
from ..codegen.epilogue import Epilogue
from ..codegen.kernel import Call, KernelBuilder
from ..codegen.terms import SUFFIX
from ..codegen.tiling import TileShape, register_type
from ..ir import Value
from ..views import View, collapse
from .elementwise import decode

DEPTH_BLOCK = 256
"""Products summed up in one go: short chains round less, and a panel's part of that depth fits a first-level cache."""
CACHE = 3 << 18
"""Bytes of an operand that stay in a second-level cache while they are used again."""
READ_COST = 0.03
"""Nanoseconds a byte that is read from beyond the second-level cache."""
UNIT = 10_000.0
"""Nanoseconds of work that are worth a unit of their own."""
FEW_COLUMNS = 16
"""Columns up to which a row of sums is finished without a loop."""
MOST_UNITS = 64
"""Units beyond which finer ones do not spread the work any better."""


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
    from .dot_product import DotProductWriter
    from .tile_product import TileProductWriter

    writer = DotProductWriter if product.tile.dot else TileProductWriter
    return writer(product, epilogue, root).write()


class ProductWriter:
    """What the kernels of products have in common, however they compute the sums."""

    panels: int
    """Panels of columns."""
    group: int
    """Panels that are summed up before their results are finished."""

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
        """Divide the work."""

    def write(self) -> Call:
        """The finished kernel."""
        raise NotImplementedError

    def _declare_batches(self) -> None:
        kernel, p = self.kernel, self.product
        for name, matrix in (("left", p.left), ("right", p.right)):
            for i, stride in enumerate(matrix.batches):
                self._name(f"{name}_b{i}", kernel.integer(f"{name}_b{i}", stride))

    def _name(self, name: str, text: str) -> None:
        if text != name:
            self.kernel.line(f"{name} = {text}")

    def _decode(self) -> dict[int, str]:
        kernel, p = self.kernel, self.product
        kernel.line("q = u // chunks")
        kernel.line("g = u - q * chunks")
        if not p.batches:
            kernel.line("b = q")
            kernel.line("left_at = 0")
            kernel.line("right_at = 0")
            return {}
        kernel.line("s = q // blocks")
        kernel.line("b = q - s * blocks")
        sizes = [kernel.parameter(f"d{i}", d) for i, d in enumerate(p.batches)]
        indices = decode(kernel, "s", sizes)
        for name in ("left", "right"):
            kernel.line(f"{name}_at = " + " + ".join(f"{i} * {name}_b{axis}" for axis, i in indices.items()))
        return indices

    def _finish(self, indices: dict[int, str]) -> None:
        kernel, p = self.kernel, self.product
        axis = len(p.batches)
        with kernel.block("for r in range(top, bottom)"):
            self.body.start_row({**indices, axis: "r"})
            known = self.body.hoist(axis + 1)
            kernel.line("base = (r - top) * pitch - first")
            with kernel.block(f"for j in range({self._columns()})"):
                kernel.line(f"sum = load_{SUFFIX[self.dtype]}(tile, base + j)")
                names = dict(known)
                value = self.root("sum", names, "j") if self.root else "sum"
                value = rounded(kernel, value, self.epilogue.root.output.dtype)
                self.epilogue.finish(self.body, value, axis + 1, "j", names)

    def _columns(self) -> str:
        """The range of columns to finish.

        Few stand in the source, since a loop over them would not fill vectors; not where they are another size for each
        number of rows, as those of operands that are not packed may be.
        """
        p = self.product
        if stays((p.columns,)) and p.right.panels and p.columns <= FEW_COLUMNS and self.panels <= self.group:
            return str(p.columns)
        return "first, last"

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
