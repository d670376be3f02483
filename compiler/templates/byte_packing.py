"""Matrices of bytes in the order in which micro-kernels read them, with the sums of their lines.

Rows are uint8 [..., rows, 4 * groups]; columns are int8 panels [..., panels, groups, columns of a panel, 4]. What is
padded is 0. Bytes of the other signedness have their top bit flipped, which adds or subtracts 128.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..codegen.kernel import KernelBuilder
from ..codegen.lowering import Lowering
from ..views import View
from .byte_products import GROUP, panel_columns
from .elementwise import decode

Packed = tuple[View, View]
"""A packed matrix, and the int32 sums of its rows [..., rows] or columns [..., panels * columns of a panel]."""


def groups_of(depth: int, multiple: int = 1) -> int:
    """Groups of four steps, filled up to a multiple; an empty depth is padded to one."""
    return max(1, -(-depth // (GROUP * multiple))) * multiple


def rows_array(array: np.ndarray, multiple: int = 1) -> np.ndarray:
    """A constant [..., rows, taps, depth] as rows, each tap padded by itself."""
    *lines, taps, depth = array.shape
    flipped = array ^ np.int8(-128) if array.dtype == np.int8 else array
    padded = np.zeros((*lines, taps, groups_of(depth, multiple) * GROUP), np.uint8)
    padded[..., :depth] = flipped.view(np.uint8)
    return padded.reshape(*lines, -1)


def panels_array(array: np.ndarray, multiple: int = 1) -> np.ndarray:
    """A constant [..., depth, columns] as panels."""
    flipped = array ^ np.uint8(128) if array.dtype == np.uint8 else array
    *batches, depth, columns = array.shape
    width = panel_columns()
    groups, panels = groups_of(depth, multiple), -(-columns // width)
    padded = np.zeros((*batches, groups * GROUP, panels * width), np.int8)
    padded[..., :depth, :columns] = flipped.view(np.int8)
    split = padded.reshape(*batches, groups, GROUP, panels, width)
    rank = len(batches)
    return np.ascontiguousarray(split.transpose(*range(rank), rank + 2, rank, rank + 3, rank + 1))


def panel_sums(panels: np.ndarray) -> np.ndarray:
    """The sums of the columns of panels."""
    sums = panels.sum(axis=(-3, -1), dtype=np.int32)
    return sums.reshape(*sums.shape[:-2], -1)


def pack_rows(lowering: Lowering, view: View, multiple: int = 1) -> Packed:
    """A matrix [..., rows, taps, depth] copied at run time into rows, each tap padded by itself; a unit is a row."""
    *lines, taps, depth = view.shape
    padded = groups_of(depth, multiple) * GROUP
    rows = lowering.scratch("uint8", (*lines, taps * padded))
    sums = lowering.scratch("int32", tuple(lines))
    kernel = KernelBuilder("byte rows")
    strides = _source(kernel, view)
    kernel.target("y", rows)
    kernel.target("s", sums)
    for name, value in (("taps", taps), ("depth", depth), ("padded", padded)):
        kernel.parameter(name, value)
    flip = "bitxor_u8({}, const_u8(128))" if view.dtype == "int8" else "{}"
    with kernel.block("for u in range(start, stop)"):
        at = _offset(kernel, "u", lines, strides[:-2])
        kernel.line("total = const_i32(0)")
        with kernel.block("for t in range(taps)"):
            kernel.line(f"from_t = {at} + t * {strides[-2]}")
            kernel.line("to_t = (u * taps + t) * padded")
            with kernel.block("for k in range(depth)"):
                kernel.line(f"v = {flip.format(f'load_u8(x, from_t + k * {strides[-1]})')}")
                kernel.line("total = add_i32(total, cast_u8_i32(v))")
                kernel.line("store_u8(y, to_t + k, v)")
            with kernel.block("for k in range(depth, padded)"):
                kernel.line("store_u8(y, to_t + k, const_u8(0))")
        kernel.line("store_i32(s, u, total)")
    lowering.add(kernel.call(math.prod(lines), view.size * 0.1 + 5.0))
    return rows, sums


def pack_panels(lowering: Lowering, view: View, multiple: int = 1) -> Packed:
    """A matrix [..., depth, columns] copied at run time into panels; a unit is a panel."""
    *batches, depth, columns = view.shape
    width = panel_columns()
    groups, count = groups_of(depth, multiple), -(-columns // width)
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
                _whole_group(kernel, strides, width, flip=view.dtype == "uint8")
            with kernel.block("else"):
                _ragged_group(kernel, strides, width, flip=view.dtype == "uint8")
            with kernel.block(f"for j in range(inside, {width})"):
                kernel.line("storerw_u32(y, to + j, const_u32(0))")
    lowering.add(kernel.call(math.prod(batches) * count, panels.size * 0.15 + 10.0))
    return panels, sums


def _whole_group(kernel: KernelBuilder, strides: Sequence[str], width: int, *, flip: bool) -> None:
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
        joined = "bitor_u32(bitor_u32({}, {}), bitor_u32({}, {}))".format(*words)
        kernel.line(f"storerw_u32(y, to + j, {joined})")


def _ragged_group(kernel: KernelBuilder, strides: Sequence[str], width: int, *, flip: bool) -> None:
    with kernel.block("for j in range(inside)"):
        kernel.line(f"total = loadrw_i32(s, u * {width} + j)")
        with kernel.block(f"for q in range({GROUP})"):
            kernel.line("v = const_u8(0)")
            with kernel.block("if k + q < depth"):
                loaded = f"load_u8(x, at + (k + q) * {strides[-2]} + j * {strides[-1]})"
                kernel.line(f"v = {f'bitxor_u8({loaded}, const_u8(128))' if flip else loaded}")
            kernel.line("total = add_i32(total, cast_i8_i32(cast_u8_i8(v)))")
            kernel.line(f"storerw_u8(y, (to + j) * {GROUP} + q, v)")
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
