"""Matrices of bytes in the order in which micro-kernels read them, with the sums of their lines.

Rows are [..., rows, 4 * groups]: uint8, for which the top bit of int8 is flipped, which adds 128; or int16 as they are,
less their zero point. Columns are int8 panels [..., panels, groups, columns of a panel, 4], each group of which lies as
[2, columns, 2] where pairs are added up; the top bit of uint8 is flipped, which subtracts 128. What is padded is 0.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..codegen.kernel import KernelBuilder
from ..codegen.lowering import Lowering
from ..codegen.terms import SUFFIX
from ..kernels.target import byte_products
from ..views import View
from .byte_products import GROUP, ZeroPoint, panel_columns, row_dtype
from .elementwise import decode

Packed = tuple[View, View]
"""A packed matrix, and the int32 sums of its rows [..., rows] or columns [..., panels * columns of a panel]."""


def groups_of(depth: int, multiple: int = 1) -> int:
    """Groups of four steps, filled up to a multiple; an empty depth is padded to one."""
    return max(1, -(-depth // (GROUP * multiple))) * multiple


def group_parts(form: str) -> int:
    """The parts of a group that lie one after the other in a panel."""
    return 2 if form == "pairs" else 1


def rows_array(array: np.ndarray, form: str, multiple: int = 1) -> np.ndarray:
    """A constant [..., rows, taps, depth] as rows, each tap padded by itself."""
    *lines, taps, depth = array.shape
    padded = np.zeros((*lines, taps, groups_of(depth, multiple) * GROUP), row_dtype(form))
    if padded.dtype == np.uint8 and array.dtype == np.int8:
        array = (array ^ np.int8(-128)).view(np.uint8)
    padded[..., :depth] = array
    return padded.reshape(*lines, -1)


def panels_array(array: np.ndarray, form: str, multiple: int = 1) -> np.ndarray:
    """A constant [..., depth, columns] as panels."""
    flipped = array ^ np.uint8(128) if array.dtype == np.uint8 else array
    *batches, depth, columns = array.shape
    width, parts = panel_columns(), group_parts(form)
    groups, panels = groups_of(depth, multiple), -(-columns // width)
    padded = np.zeros((*batches, groups * GROUP, panels * width), np.int8)
    padded[..., :depth, :columns] = flipped.view(np.int8)
    split = padded.reshape(*batches, groups, parts, GROUP // parts, panels, width)
    rank = len(batches)
    ordered = split.transpose(*range(rank), *(rank + i for i in (3, 0, 1, 4, 2)))
    return np.ascontiguousarray(ordered).reshape(*batches, panels, groups, width, GROUP)


def panel_sums(array: np.ndarray) -> np.ndarray:
    """The sums of the columns of a constant's panels."""
    *batches, depth, columns = array.shape
    panels = -(-columns // panel_columns())
    sums = np.zeros((*batches, panels * panel_columns()), np.int32)
    sums[..., :columns] = array.sum(axis=-2, dtype=np.int32) - (128 * depth if array.dtype == np.uint8 else 0)
    return sums


@dataclass(frozen=True, slots=True)
class Bounded:
    """Panels [panels, groups, columns, 4] for the forms ``quads`` and ``eights``, and what exceeds their bounds.

    ``excess`` [..., columns, 4] are groups, ``places`` says which group of its panel each belongs to, ``marks`` where
    those of each panel begin and the last one's end.
    """

    panels: np.ndarray
    excess: np.ndarray
    places: np.ndarray
    marks: np.ndarray

    @property
    def share(self) -> float:
        """Groups of excess for each group of the panels."""
        return self.places.size / max(1, math.prod(self.panels.shape[:2]))


def bounded(panels: np.ndarray, steps: int) -> Bounded:
    """Panels split for products that are added up in 16 bits over so many groups, which they are a multiple of."""
    count, groups, *_ = panels.shape
    kept = panels.copy()
    runs = kept.reshape(count, groups // steps, steps, *panels.shape[2:])
    at = _exceeding(runs)
    moved = runs[at]
    moved[:, 0] = _clipped(moved[:, 0])
    # A sum that is still too large goes on without its later pairs.
    for q in range(1, steps):
        moved[:, q] *= np.repeat(~_too_large(moved[:, : q + 1]), 2, axis=-1)
    runs[at] = moved
    rest = (panels.reshape(runs.shape)[at] - moved).reshape(-1, *panels.shape[2:])
    panel, place = np.repeat(at[0], steps), (at[1][:, None] * steps + np.arange(steps)).reshape(-1)
    found: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
    while rest.any():
        used = rest.any(axis=(-2, -1))
        panel, place, rest = panel[used], place[used], rest[used]
        part = _clipped(rest)
        found.append((panel, place, part))
        rest = rest - part
    if not found:
        found = [(panel[:0], place[:0], rest[:0])]
    panel, place, excess = (np.concatenate(parts) for parts in zip(*found))
    order = np.argsort(panel, kind="stable")
    marks = np.searchsorted(panel[order], np.arange(count + 1)).astype(np.int32)
    return Bounded(kept, excess[order], place[order].astype(np.int32), marks)


def _exceeding(runs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Which runs of groups [panels, runs, steps, columns, 4] hold sums that are too large."""
    found = [np.nonzero(_too_large(panel).any(axis=(-2, -1)))[0] for panel in runs]
    panel = np.repeat(np.arange(len(runs)), [places.size for places in found])
    return panel, np.concatenate([*found, np.zeros(0, np.int64)])


def _too_large(runs: np.ndarray) -> np.ndarray:
    """Whether pairs of groups [..., steps, columns, 4] are too large when they are added up: [..., columns, 2]."""
    wide = runs.astype(np.int16)
    above, below = np.maximum(wide, 0), np.minimum(wide, 0)
    highest = (above[..., 0::2] + above[..., 1::2]).sum(axis=-3, dtype=np.int16)
    lowest = (below[..., 0::2] + below[..., 1::2]).sum(axis=-3, dtype=np.int16)
    return (highest > 128) | (lowest < -128)


def _clipped(groups: np.ndarray) -> np.ndarray:
    """Groups [..., columns, 4] in which the second number of each pair is as near to 0 as it takes."""
    total = groups[..., 0::2].astype(np.int16) + groups[..., 1::2]
    clipped = groups.copy()
    clipped[..., 1::2] -= (total - np.clip(total, -128, 128)).astype(np.int8)
    return clipped


def pack_rows(lowering: Lowering, view: View, form: str, multiple: int = 1, zero: ZeroPoint | None = None) -> Packed:
    """A matrix [..., rows, taps, depth] copied at run time into rows, each tap padded by itself; a unit is a row.

    What is subtracted, ``zero``, has strides over (..., rows); only int16 holds the difference.
    """
    *lines, taps, depth = view.shape
    padded = groups_of(depth, multiple) * GROUP
    rows = lowering.scratch(row_dtype(form), (*lines, taps * padded))
    sums = lowering.scratch("int32", tuple(lines))
    kernel = KernelBuilder("byte rows")
    strides = _source(kernel, view)
    kernel.target("y", rows)
    kernel.target("s", sums)
    for name, value in (("taps", taps), ("depth", depth), ("padded", padded)):
        kernel.parameter(name, value)
    kept, given = SUFFIX[rows.dtype], SUFFIX[view.dtype]
    moved = _moved(kernel, view.dtype, rows.dtype, zero)
    with kernel.block("for u in range(start, stop)"):
        indices = decode(kernel, "u", [kernel.parameter(f"d{i}", d) for i, d in enumerate(lines)]) if lines else {}
        kernel.line("base = " + (" + ".join(f"{i} * {strides[axis]}" for axis, i in indices.items()) or "0"))
        if zero is not None and zero.view is not None:
            steps = [kernel.integer(f"z_s{i}", s) for i, s in enumerate(zero.strides)]
            at = " + ".join(f"{i} * {steps[axis]}" for axis, i in indices.items()) or "0"
            kernel.line(f"less = add_i16(less_n, cast_{given}_i16(load_{given}(z, {at})))")
        kernel.line("total = const_i32(0)")
        with kernel.block("for t in range(taps)"):
            kernel.line(f"from_t = base + t * {strides[-2]}")
            kernel.line("to_t = (u * taps + t) * padded")
            with kernel.block("for k in range(depth)"):
                kernel.line(f"v = {moved.format(f'from_t + k * {strides[-1]}')}")
                kernel.line(f"total = add_i32(total, cast_{kept}_i32(v))")
                kernel.line(f"store_{kept}(y, to_t + k, v)")
            with kernel.block("for k in range(depth, padded)"):
                kernel.line(f"store_{kept}(y, to_t + k, const_{kept}(0))")
        kernel.line("store_i32(s, u, total)")
    lowering.add(kernel.call(math.prod(lines), view.size * 0.1 + 5.0))
    return rows, sums


def _moved(kernel: KernelBuilder, dtype: str, kept: str, zero: ZeroPoint | None) -> str:
    """The source of an element of rows, given the index of the one that it is made of."""
    if kept == "uint8":
        return "bitxor_u8(load_u8(x, {}), const_u8(128))" if dtype == "int8" else "load_u8(x, {})"
    loaded = f"cast_{SUFFIX[dtype]}_i16(load_{SUFFIX[dtype]}(x, {{}}))"
    if zero is None or zero.is_zero:
        return loaded
    if zero.view is not None:
        kernel.source("z", zero.view)
    kernel.typed_integer("less" if zero.view is None else "less_n", zero.number, "i16")
    return f"sub_i16({loaded}, less)"


def pack_panels(lowering: Lowering, view: View, multiple: int = 1) -> Packed:
    """A matrix [..., depth, columns] copied at run time into panels; a unit is a panel."""
    *batches, depth, columns = view.shape
    width = panel_columns()
    groups, count = groups_of(depth, multiple), -(-columns // width)
    form = byte_products()
    panels = lowering.scratch("int8", (*batches, count, groups, width, GROUP))
    sums = lowering.scratch("int32", (*batches, count * width))
    kernel = KernelBuilder("byte panels")
    strides = _source(kernel, view)
    kernel.target("y", panels)
    kernel.target("s", sums)
    for name, value in (("depth", depth), ("columns", columns), ("groups", groups), ("panels", count)):
        kernel.parameter(name, value)
    with kernel.block("for u in range(start, stop)"):
        kernel.line("m = u // panels")
        kernel.line(f"first = (u - m * panels) * {width}")
        kernel.line(f"inside = min({width}, columns - first)")
        at = _offset(kernel, "m", batches, strides[:-2])
        kernel.line(f"at = {at} + first * {strides[-1]}")
        with kernel.block(f"for j in range({width})"):
            kernel.line(f"storerw_i32(s, u * {width} + j, const_i32(0))")
        with kernel.block("for g in range(groups)"):
            kernel.line(f"k = {GROUP} * g")
            kernel.line(f"to = (u * groups + g) * {width}")
            with kernel.block(f"if k + {GROUP} <= depth"):
                _whole_group(kernel, strides, width, form, flip=view.dtype == "uint8")
            with kernel.block("else"):
                _ragged_group(kernel, strides, width, form, flip=view.dtype == "uint8")
            with kernel.block(f"for j in range(inside, {width})"):
                store_group(kernel, "const_u32(0)", form)
    lowering.add(kernel.call(math.prod(batches) * count, panels.size * 0.15 + 10.0))
    return panels, sums


def _whole_group(kernel: KernelBuilder, strides: Sequence[str], width: int, form: str, *, flip: bool) -> None:
    """Four steps of each column as one word, so that the loop over the columns becomes vector code."""
    with kernel.block("for j in range(inside)"):
        for q in range(GROUP):
            loaded = f"load_u8(x, at + (k + {q}) * {strides[-2]} + j * {strides[-1]})"
            kernel.line(f"v{q} = {f'bitxor_u8({loaded}, const_u8(128))' if flip else loaded}")
        total = "add_i32(add_i32({}, {}), add_i32({}, {}))".format(
            *(f"cast_i8_i32(cast_u8_i8(v{q}))" for q in range(4))
        )
        kernel.line(f"storerw_i32(s, u * {width} + j, add_i32(loadrw_i32(s, u * {width} + j), {total}))")
        words = [f"shl_u32(cast_u8_u32(v{q}), const_u32({8 * q}))" if q else "cast_u8_u32(v0)" for q in range(GROUP)]
        kernel.line("word = bitor_u32(bitor_u32({}, {}), bitor_u32({}, {}))".format(*words))
        store_group(kernel, "word", form)


def store_group(kernel: KernelBuilder, word: str, form: str) -> None:
    """Write the store of a group of a column, ``word``, where a panel's groups are at word ``to``, as column ``j``."""
    if group_parts(form) == 1:
        kernel.line(f"storerw_u32(y, to + j, {word})")
        return
    kernel.line(f"storerw_u16(y, 2 * to + j, cast_u32_u16({word}))")
    kernel.line(f"storerw_u16(y, 2 * to + {panel_columns()} + j, cast_u32_u16(shr_u32({word}, const_u32(16))))")


def _ragged_group(kernel: KernelBuilder, strides: Sequence[str], width: int, form: str, *, flip: bool) -> None:
    with kernel.block("for j in range(inside)"):
        kernel.line(f"total = loadrw_i32(s, u * {width} + j)")
        with kernel.block(f"for q in range({GROUP})"):
            kernel.line("v = const_u8(0)")
            with kernel.block("if k + q < depth"):
                loaded = f"load_u8(x, at + (k + q) * {strides[-2]} + j * {strides[-1]})"
                kernel.line(f"v = {f'bitxor_u8({loaded}, const_u8(128))' if flip else loaded}")
            kernel.line("total = add_i32(total, cast_i8_i32(cast_u8_i8(v)))")
            if group_parts(form) == 1:
                kernel.line(f"storerw_u8(y, (to + j) * {GROUP} + q, v)")
            else:
                kernel.line(f"storerw_u8(y, to * {GROUP} + (q // 2) * {2 * width} + 2 * j + q % 2, v)")
        kernel.line(f"storerw_i32(s, u * {width} + j, total)")


def _source(kernel: KernelBuilder, view: View) -> list[str]:
    kernel.source("x", view)
    return [kernel.integer(f"x_s{i}", s) for i, s in enumerate(view.strides)]


def _offset(kernel: KernelBuilder, number: str, sizes: Sequence[int], strides: Sequence[str]) -> str:
    """Write the split of a flat number over some dimensions; returns the local name of the element's index."""
    if not sizes:
        kernel.line("base = 0")
        return "base"
    indices = decode(kernel, number, [kernel.parameter(f"d{i}", d) for i, d in enumerate(sizes)])
    kernel.line("base = " + " + ".join(f"{i} * {strides[axis]}" for axis, i in indices.items()))
    return "base"
