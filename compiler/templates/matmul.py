"""Matrix products: gemm and matmul."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from basalt.ops import TensorType

from ..codegen.body import Body
from ..codegen.choices import agree
from ..codegen.epilogue import Epilogue
from ..codegen.kernel import KernelBuilder
from ..codegen.lowering import Lowering
from ..codegen.registry import template
from ..codegen.terms import SUFFIX
from ..codegen.tiling import TileShape, dot_shape, register_type, tile_shape
from ..ir import Node, Value
from ..views import View
from .packing import matrix_of, packed_constant, packed_copy, panels_of, worth_packing
from .product import Formula, Matrix, Product, Root, merge_rows, product_call
from .split_product import columns_of, rows_matrix, split_product_call, split_tile, suits

FEW_ROWS = 16
"""Rows up to which inner products along a contiguous depth beat a packed copy of the shared operand."""


@dataclass(frozen=True)
class Side:
    """An operand, seen as [..., depth, lines]; ``swapped`` if its last two dimensions are the other way round."""

    value: Value
    swapped: bool

    def array(self, array: np.ndarray) -> np.ndarray:
        return array.swapaxes(-1, -2) if self.swapped else array

    def view(self, lowering: Lowering) -> View:
        view = lowering.read(self.value)
        return swapped(view) if self.swapped else view


def swapped(view: View) -> View:
    """A view with its last two dimensions exchanged."""
    rank = len(view.shape)
    return view.permuted([*range(rank - 2), rank - 1, rank - 2])


@template("matmul", epilogue=True)
def matmul(node: Node, lowering: Lowering) -> None:
    """A stack of matrix products."""
    epilogue = lowering.epilogue(node)
    a, b = epilogue.operand_values
    assert a is not None and b is not None
    lower_product(lowering, epilogue, Side(a, True), Side(b, False), {})


@template("gemm", epilogue=True)
def gemm(node: Node, lowering: Lowering) -> None:
    """``alpha * a * b + beta * c``."""
    epilogue = lowering.epilogue(node)
    a, b = epilogue.operand_values[:2]
    assert a is not None and b is not None
    attrs = epilogue.root.attrs
    lower_product(lowering, epilogue, Side(a, not attrs["a_transpose"]), Side(b, attrs["b_transpose"]), attrs)


def lower_product(lowering: Lowering, epilogue: Epilogue, a: Side, b: Side, attrs: Mapping[str, Any]) -> None:
    """A product of two operands, with what gemm's attributes ask for, if there are any."""
    *outer, rows, columns = epilogue.shape
    batches = tuple(outer)
    dtype = a.value.dtype
    views = epilogue.views()
    if len(epilogue.operand_values) > 2 and epilogue.operand_values[2] is not None:
        views.append(epilogue.operand(2).expanded(epilogue.shape))
    direct = tile_shape(dtype, rows, columns)
    transposes = agree(2 * columns <= direct.lanes and rows > columns and _suits_dots(a, columns, direct))
    if transposes:
        # Too few columns for the lanes of a vector: the transposed product has more.
        a, b, rows, columns = b, a, columns, rows
        views = [swapped(v) for v in views]
    extras = len(epilogue.views())

    def root(strides: Sequence[Sequence[int]]) -> Root | None:
        return _root(attrs, dtype, (views[extras], tuple(strides[extras])) if len(views) > extras else None)

    if _add_split(lowering, epilogue, (a, b), (batches, rows, columns), views, root):
        return
    right, tile = _shared(lowering, b, batches, rows, columns)
    left = _rows(lowering, a, batches, tile)
    strides = [(*left.batches, left.stride), (*right.batches, 0), *(v.strides[:-1] for v in views)]
    merged_batches, merged_rows, merged = merge_rows(batches, rows, strides, shared=1)
    inner = [0 if columns == 1 else v.strides[-1] for v in views]
    product = Product(
        merged_batches,
        merged_rows,
        columns,
        left.view.shape[-2],
        Matrix(left.view, merged[0][:-1], merged[0][-1], left.depth),
        Matrix(right.view, merged[1][:-1], right.stride, right.depth, right.panels),
        tile,
        [(*m, i) for m, i in zip(merged[2:], inner)],
    )
    lowering.add(product_call(product, epilogue, root(product.strides)))


def _suits_dots(a: Side, columns: int, tile: TileShape) -> bool:
    """Whether few columns are better computed as rows: inner products end with sums over lanes, tiles have empty lanes.

    Rows that are not contiguous along the depth become the lanes of tiles then, whatever the depth.
    """
    if not a.swapped:
        return True
    depth = a.value.shape[-1]
    dots = TileShape(min(columns, 4), 8 if columns == 1 else 4, tile.lanes, dot=True)
    blocks = -(-columns // dots.rows)
    return blocks * dots.nanoseconds(depth) / dots.columns < tile.nanoseconds(depth) / tile.rows


def _add_split(
    lowering: Lowering,
    epilogue: Epilogue,
    sides: tuple[Side, Side],
    sizes: tuple[tuple[int, ...], int, int],
    views: Sequence[View],
    root: Callable[[Sequence[Sequence[int]]], Root | None],
) -> bool:
    """Compute the product by tiles of split numbers, if that is best."""
    (a, b), (batches, rows, columns) = sides, sizes
    total = rows * math.prod(batches)
    if not suits(
        b.value, lambda: b.array(lowering.constants.array(b.value)), total, tile_shape("float32", total, columns)
    ):
        return False
    depth = a.value.shape[-1 if a.swapped else -2]
    left = rows_matrix(lowering, a.view(lowering), batches)
    strides = [(*left.batches, left.stride), (*[0] * len(batches), 0), *(v.strides[:-1] for v in views)]
    rest, merged_rows, merged = merge_rows(batches, rows, strides, shared=1)
    if rest:
        return False
    layout = "swapped" if b.swapped else "plain"
    right = columns_of(lowering, b.value, layout, b.array)
    inner = [0 if columns == 1 else v.strides[-1] for v in views]
    rows_of_left = Matrix(left.view, (), merged[0][-1], 1)
    outer = [(*m, i) for m, i in zip(merged[2:], inner)]
    panels = Matrix(right, (), right.strides[0], 1, panels=True)
    product = Product((), merged_rows, columns, depth, rows_of_left, panels, split_tile(), outer)
    lowering.add(split_product_call(lowering, product, epilogue, root(outer)))
    return True


def _shared(
    lowering: Lowering, side: Side, batches: tuple[int, ...], rows: int, columns: int
) -> tuple[Matrix, TileShape]:
    """The operand whose columns are lanes, and the tile that suits how it lies in memory."""
    dtype = side.value.dtype
    if math.prod(side.value.shape[:-2]) == 1:
        # One matrix for all batches, which become rows of one product.
        rows *= math.prod(batches)
    tile = tile_shape(dtype, rows, columns)
    if side.value.is_constant:
        layout = "swapped" if side.swapped else "plain"
        return panels_of(packed_constant(lowering, side.value, layout, side.array, tile), batches), tile
    view = side.view(lowering)
    depth = view.shape[-2]
    is_plain, is_deep = view.strides[-1] == 1 or columns == 1, view.strides[-2] == 1 or depth == 1
    if agree(not is_plain and is_deep and rows <= FEW_ROWS) and is_deep:
        return matrix_of(view, batches), dot_shape(dtype, rows)
    if is_plain and not worth_packing(view, rows):
        return matrix_of(view, batches), tile
    return panels_of(packed_copy(lowering, view, tile), batches), tile


def _rows(lowering: Lowering, side: Side, batches: tuple[int, ...], tile: TileShape) -> Matrix:
    """The operand whose elements are broadcast, or, for inner products, contiguous along the depth."""
    view = side.view(lowering)
    if tile.dot and view.strides[-2] != 1 and view.shape[-2] > 1:
        view = swapped(lowering.contiguous(swapped(view)))
    return matrix_of(view, batches)


def _root(attrs: Mapping[str, Any], dtype: str, addend: tuple[View, tuple[int, ...]] | None) -> Root | None:
    """``alpha * sum + beta * c`` without the factors that are 1."""
    alpha, beta = attrs.get("alpha", 1.0), attrs.get("beta", 1.0)
    if alpha == 1 and addend is None:
        return None
    suffix = SUFFIX[register_type(dtype)]

    def declare(kernel: KernelBuilder, body: Body) -> Formula:
        factor = kernel.real("alpha", alpha, suffix) if alpha != 1 else None
        weight = kernel.real("beta", beta, suffix) if beta != 1 and addend is not None else None
        key = None
        if addend is not None:
            key = Value(TensorType(addend[0].dtype, addend[0].shape))
            body.declare_input(key, *addend)

        def formula(total: str, known: dict[Value, str], variable: str) -> str:
            text = total if factor is None else f"mul_{suffix}({total}, {factor})"
            if key is None:
                return kernel.define(text)
            if key not in known:
                access = body.inputs[key]
                known[key] = body.load(access, access.index(-1, variable))
            other = known[key] if weight is None else f"mul_{suffix}({known[key]}, {weight})"
            return kernel.define(f"add_{suffix}({text}, {other})")

        return formula

    return declare
