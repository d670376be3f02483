"""Integer matrix products and convolutions: operands packed for micro-kernels of bytes, then one product."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..codegen.elementwise import elementwise_call
from ..codegen.epilogue import Epilogue
from ..codegen.lowering import Lowering
from ..codegen.registry import template
from ..ir import Node, Value
from ..kernels.target import byte_products, target
from ..views import View
from .byte_packing import (
    GROUP,
    Bounded,
    Packed,
    bounded,
    group_parts,
    pack_panels,
    pack_rows,
    panel_sums,
    panels_array,
    rows_array,
)
from .byte_products import ByteProduct, Excess, ZeroPoint, byte_product_call, group_multiple, panel_columns, row_dtype
from .byte_windows import Windows, pack_windows
from .product import merge_rows
from .root_alone import RootAlone

STEPS = {"quads": 1, "eights": 2}
"""Groups whose products are added up in 16 bits."""
MOST_EXCESS = {"eights": 0.15, "quads": 0.12}
"""The share of groups up to which multiplying what exceeds 16 bits once more is faster than the next form."""


@template("matmul_integer", epilogue=True)
def matmul_integer(node: Node, lowering: Lowering) -> None:
    """A stack of products; rows of all batches are those of one product where there is one right operand."""
    epilogue = lowering.epilogue(node)
    a, b, za, zb = (*epilogue.operand_values, None, None)[:4]
    assert a is not None and b is not None
    *outer, rows, columns = epilogue.shape
    batches = tuple(outer)
    right = right_of(lowering, b)
    form = right.form
    row_zero = zero_point(lowering, za, _moved(a, form), lambda v: _as_rows(v, batches, rows))
    column_zero = zero_point(
        lowering, zb, -128 if b.dtype == "uint8" else 0, lambda v: v.expanded((*batches, 1, columns)).strides
    )
    column_zero = ZeroPoint(column_zero.number, column_zero.view, _without(column_zero.strides, -2))
    if row_dtype(form) == "int16" and not a.is_constant:
        # Rows are packed less their zero points.
        own = zero_point(lowering, za, 0, lambda v: _as_rows(v, a.shape[:-2], rows))
        left, sums = lowering.shared(("byte rows", a, za), lambda: _packed_rows(lowering, a, own))
        sums, row_zero = None if column_zero.is_zero else sums, ZeroPoint(0)
    else:
        left, sums = _left(lowering, a, form, sums=not column_zero.is_zero)
    depth = a.shape[-1]
    seen = left.expanded((*batches, rows, left.shape[-1])).strides[:-1]
    sums_seen = sums.expanded((*batches, rows)).strides if sums is not None else None
    panel = right.panels.expanded((*batches, *right.panels.shape[-4:])).strides[: len(batches) + 1]
    lines = right.sums.expanded((*batches, right.sums.shape[-1])).strides[:-1]
    views = epilogue.views()
    strides = [(*panel[:-1], 0), (*lines, 0), seen, *([sums_seen] if sums_seen else [])]
    strides += [row_zero.strides] if row_zero.view else []
    strides += [(*column_zero.strides[:-1], 0)] if column_zero.view else []
    inner = [0 if columns == 1 else v.strides[-1] for v in views]
    merged_batches, merged_rows, merged = _merged(batches, rows, [*strides, *(v.strides[:-1] for v in views)])
    found = iter(merged)
    right_s, lines_s, left_s = next(found), next(found), next(found)
    sums_s = next(found) if sums_seen else ()
    if row_zero.view:
        row_zero = ZeroPoint(row_zero.number, row_zero.view, next(found))
    if column_zero.view:
        column_zero = ZeroPoint(column_zero.number, column_zero.view, (*next(found)[:-1], column_zero.strides[-1]))
    product = ByteProduct(
        merged_batches, merged_rows, columns, depth, right.panels.shape[-3],
        (left, left_s), (right.panels, (*right_s[:-1], panel[-1])),
        None if sums is None else (sums, sums_s), (right.sums, (*lines_s[:-1], panel_columns())),
        row_zero, column_zero,
        [(*m, i) for m, i in zip(found, inner)],
        form, group_multiple() > 1, right.excess,
    )  # fmt: skip
    lowering.add(byte_product_call(product, epilogue))


def _multiple(form: str) -> int:
    """What the groups of a matrix are filled up to a multiple of."""
    return STEPS.get(form) or group_multiple()


def _moved(value: Value, form: str) -> int:
    """What rows are moved by so that the micro-kernels can read them."""
    return 128 if value.dtype == "int8" and row_dtype(form) == "uint8" else 0


def _packed_rows(lowering: Lowering, value: Value, zero: ZeroPoint) -> Packed:
    view = lowering.read(value)
    *lines, depth = view.shape
    one_tap = replace(view, shape=(*lines, 1, depth), strides=(*view.strides[:-1], 0, view.strides[-1]))
    return pack_rows(lowering, one_tap, "pairs", zero=zero)


def _merged(
    batches: tuple[int, ...], rows: int, strides: Sequence[Sequence[int]]
) -> tuple[tuple[int, ...], int, list[tuple[int, ...]]]:
    """Batches merged into the rows where nothing that belongs to the columns changes along them."""
    return merge_rows(batches, rows, strides, shared=0)


def zero_point(
    lowering: Lowering, value: Value | None, moved: int, strides: Callable[[View], Sequence[int]]
) -> ZeroPoint:
    """A zero point of bytes that were moved by a number: a number itself if that is known."""
    if value is None:
        return ZeroPoint(moved)
    number = lowering.constants.scalar(value)
    if number is not None:
        return ZeroPoint(int(number) + moved)
    view = lowering.read(value)
    if view.shape == (1,):
        view = View(view.buffer, view.dtype, (), (), view.offset)
    return ZeroPoint(moved, view, tuple(strides(view)))


def _as_rows(view: View, batches: tuple[int, ...], rows: int) -> Sequence[int]:
    """The strides of a zero point of rows: a vector [rows], or a tensor [..., rows, 1]."""
    if len(view.shape) == 1:
        return view.expanded((*batches, rows)).strides
    return view.expanded((*batches, rows, 1)).strides[:-1]


def _without(strides: tuple[int, ...], axis: int) -> tuple[int, ...]:
    return tuple(s for i, s in enumerate(strides) if i != axis % len(strides)) if strides else ()


def _left(lowering: Lowering, value: Value, form: str, *, sums: bool) -> tuple[View, View | None]:
    """The operand with rows, and the sums of its rows if they are asked for."""
    if not value.is_constant:
        view = lowering.read(value)
        depth = view.shape[-1]
        if (
            value.dtype == "uint8"
            and not sums
            and depth
            and depth % (GROUP * _multiple(form)) == 0
            and view.strides[-1] == 1
        ):
            return view, None
    return rows_of(lowering, value, "matrix", _one_tap, form, sums=sums, multiple=_multiple(form))


def _one_tap(array: np.ndarray) -> np.ndarray:
    return array[..., None, :]


def rows_of(
    lowering: Lowering,
    value: Value,
    layout: str,
    arrange: Callable[[np.ndarray], np.ndarray],
    form: str,
    *,
    sums: bool,
    multiple: int = 1,
) -> tuple[View, View | None]:
    """An operand that ``arrange`` brings to [..., rows, taps, depth], packed as rows, and the sums of these.

    Each tap's groups are filled up to a ``multiple``.
    """
    if value.is_constant:
        packed = lowering.packed(
            value, ("byte rows", layout, form, multiple), lambda a: rows_array(arrange(a), form, multiple)
        )
        if not sums:
            return packed, None
        key = ("byte row sums", layout, form)
        return packed, lowering.packed(value, key, lambda a: rows_array(arrange(a), form).sum(-1, dtype=np.int32))
    rows, totals = pack_rows(lowering, _arranged(lowering.read_contiguous(value), arrange), form, multiple)
    return rows, totals if sums else None


def _arranged(view: View, arrange: Callable[[np.ndarray], np.ndarray]) -> View:
    """A contiguous view as an array's views are made: by its strides."""
    probe = np.lib.stride_tricks.as_strided(np.empty(1, np.uint8), view.shape, view.strides)
    seen = arrange(probe)
    return View(view.buffer, view.dtype, seen.shape, seen.strides, view.offset)


@dataclass(frozen=True, slots=True)
class Right:
    """An operand with columns: its panels, the sums of its columns, and how micro-kernels multiply it."""

    panels: View
    sums: View
    form: str
    excess: Excess | None = None


def right_of(lowering: Lowering, value: Value) -> Right:
    """The operand with columns as panels."""
    form = byte_products()
    if not value.is_constant:
        return Right(*pack_panels(lowering, lowering.read(value), _multiple(form)), form)
    key = ("byte panels", panel_columns())
    sums = lowering.packed(value, (*key, "sums"), panel_sums)
    if form == "pairs" and target().bits >= 256 and len(value.shape) == 2:
        found = _bounded(lowering, value, sums)
        if found is not None:
            return found
    layout = (*key, group_parts(form), _multiple(form))
    return Right(lowering.packed(value, layout, lambda a: panels_array(a, form, _multiple(form))), sums, form)


def _bounded(lowering: Lowering, value: Value, sums: View) -> Right | None:
    """A constant matrix that is small enough for products with bytes to be added up in 16 bits, but for few of them."""
    made: dict[str, Bounded] = {}

    def part(form: str, name: str) -> Callable[[np.ndarray], np.ndarray]:
        def make(array: np.ndarray) -> np.ndarray:
            if form not in made:
                steps = STEPS[form]
                made[form] = bounded(panels_array(array, form, steps), steps)
            return np.asarray(getattr(made[form], name))

        return make

    for form, most in MOST_EXCESS.items():
        key = ("byte panels", panel_columns(), form)
        if lowering.constants.derived(value, (*key, "share"), part(form, "share")) <= most:
            names = ("panels", "excess", "places", "marks")
            kept, *rest = (lowering.packed(value, (*key, name), part(form, name)) for name in names)
            return Right(kept, sums, form, Excess(*rest))
    return None


@template("conv_integer", epilogue=True)
def conv_integer(node: Node, lowering: Lowering) -> None:
    """The filter's matrix times the windows of the input, which are packed as panels; one product a group."""
    epilogue = lowering.epilogue(node)
    batches, outputs, height, width = epilogue.shape
    groups = epilogue.root.attrs["groups"]
    split = (batches, groups, outputs // groups, height * width)
    if epilogue.fits(split):
        _convolve(lowering, epilogue, split)
        return
    result = lowering.scratch("int32", epilogue.shape)
    _convolve(lowering, RootAlone(epilogue, result), split)
    read = [(epilogue.root.output, result), *epilogue.extras]
    lowering.add(elementwise_call(epilogue.nodes, read, epilogue.results, ""))


def _convolve(lowering: Lowering, epilogue: Epilogue, split: tuple[int, ...]) -> None:
    image, weights, zx, zw = (*epilogue.operand_values, None, None)[:4]
    assert image is not None and weights is not None
    attrs, (_, groups, each, positions) = epilogue.root.attrs, split
    row_zero = zero_point(lowering, zw, _moved(weights, byte_products()), lambda v: _of_channels(v, each))
    column_zero = zero_point(lowering, zx, -128 if image.dtype == "uint8" else 0, lambda v: (0, 0, 0))
    form = byte_products()
    arrange = _grouped(groups)
    left, sums = rows_of(lowering, weights, f"filter {groups}", arrange, form, sums=not column_zero.is_zero)
    windows = Windows(attrs, weights.shape[2:], epilogue.shape[2:])
    right, column_sums = pack_windows(lowering, lowering.read(image), column_zero, windows)
    views = [v for v in (view.reshaped(split) for view in epilogue.views()) if v is not None]
    product = ByteProduct(
        split[:2],
        each,
        positions,
        math.prod(weights.shape[1:]),
        right.shape[3],
        (left, (0, *left.strides[:2])),
        (right, right.strides[:3]),
        None if sums is None else (sums, (0, *sums.strides)),
        (column_sums, (*column_sums.strides[:2], panel_columns())),
        row_zero,
        column_zero,
        [tuple(0 if d == 1 else s for d, s in zip(split, v.strides)) for v in views],
        byte_products(),
    )
    lowering.add(byte_product_call(product, epilogue))


def _grouped(groups: int) -> Callable[[np.ndarray], np.ndarray]:
    """A filter [o, c, kh, kw] as [groups, outputs of a group, taps, channels of a group]."""

    def arrange(array: np.ndarray) -> np.ndarray:
        outputs, channels, height, width = array.shape
        split = array.reshape(groups, outputs // groups, channels, height * width)
        return split.transpose(0, 1, 3, 2)

    return arrange


def _of_channels(view: View, each: int) -> tuple[int, ...]:
    step = view.strides[0] if view.shape else 0
    return (0, step * each, step)
