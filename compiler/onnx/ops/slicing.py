"""Operators that take tensors apart: Slice, Split."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from basalt.ops import Dim
from basalt.ops.dims import ceil_div
from basalt.ops.shapes import text

from ..node import NodeContext
from ..registry import onnx_op
from ..tensor import Tensor
from .ranges import END, clamp, from_front, larger, smaller


class _Window(NamedTuple):
    """What is taken of an axis: ``size`` places from ``start`` on; from its last place back if ``step`` is negative."""

    start: Dim
    size: Dim
    step: int


def _window(size: Dim, start: Dim, end: Dim, step: int) -> _Window:
    """Python's reading of ``start:end:step`` on an axis of a size."""
    first = from_front(start, size)
    if step > 0:
        first = clamp(first, 0, size)
        last = size if isinstance(end, int) and end >= END else clamp(from_front(end, size), 0, size)
        return _Window(first, larger(last - first, 0), step)
    first = size - 1 if isinstance(start, int) and start >= END else clamp(first, -1, size - 1)
    # Positions beyond the front lie beyond it whatever the size.
    last = -1 if isinstance(end, int) and end <= -END else clamp(from_front(end, size), -1, size - 1)
    return _Window(last + 1, larger(first - last, 0), step)


def _sliced(
    n: NodeContext, x: Tensor, starts: Sequence[Dim], ends: Sequence[Dim], axes: Sequence[int], steps: Sequence[int]
) -> Tensor:
    if not len(starts) == len(ends) == len(axes) == len(steps):
        raise n.error(
            f"starts, ends, axes and steps have {len(starts)}, {len(ends)}, {len(axes)} and {len(steps)} values, "
            "expected equal numbers"
        )
    places = [n.axis(a, x.rank, "axes") for a in axes]
    if len(set(places)) != len(places) or 0 in steps:
        raise n.error(f"axes are {list(axes)} and steps {list(steps)}, expected each axis once and no step of 0")
    windows = [_Window(0, d, 1) for d in x.shape]
    for place, start, end, step in zip(places, starts, ends, steps):
        windows[place] = _window(x.shape[place], start, end, step)
    return _take(n, x, windows)


def _take(n: NodeContext, x: Tensor, windows: Sequence[_Window]) -> Tensor:
    backward = [i for i, w in enumerate(windows) if w.step < 0]
    if backward:
        x = _emit_slice(n, x, [w if w.step < 0 else _Window(0, d, 1) for w, d in zip(windows, x.shape)], whole=True)
        x = n.emit("reverse", x, axes=tuple(backward))
        windows = [_Window(0, w.size, -w.step) if w.step < 0 else w for w in windows]
    return _emit_slice(n, x, windows)


def _emit_slice(n: NodeContext, x: Tensor, windows: Sequence[_Window], whole: bool = False) -> Tensor:
    """The windows of a tensor, all places of them if ``whole``."""
    steps = [1 if whole else w.step for w in windows]
    if all(w.start == 0 and w.size == d and s == 1 for w, d, s in zip(windows, x.shape, steps)):
        return x
    return n.emit("slice", x, starts=[w.start for w in windows], sizes=[w.size for w in windows], strides=steps)


@onnx_op("Slice", 1)
def slice_1(n: NodeContext) -> Tensor:
    starts, ends = n.attr("starts"), n.attr("ends")
    axes = n.attr("axes", None) or range(len(starts))
    return _sliced(n, n.tensor(0), starts, ends, axes, [1] * len(starts))


@onnx_op("Slice", 10, 11, 13)
def slice_(n: NodeContext) -> Tensor:
    starts, ends = n.dims(1), n.dims(2)
    axes = n.ints(3) if n.given(3) else range(len(starts))
    steps = n.ints(4) if n.given(4) else [1] * len(starts)
    return _sliced(n, n.tensor(0), starts, ends, axes, steps)


def _part_sizes(n: NodeContext, size: Dim, count: int) -> list[Dim]:
    """Equal parts of an axis; from version 18 the last may be smaller."""
    if n.version < 18:
        if isinstance(size, int) and size % count:
            raise n.error(f"the axis of size {size} has no {count} equal parts")
        return [size // count] * count
    step = ceil_div(size, count)
    if isinstance(size, int):
        return [larger(smaller(step, size - i * step), 0) for i in range(count)]
    return [step] * (count - 1) + [size - (count - 1) * step]


@onnx_op("Split", 1, 2, 11, 13, 18)
def split(n: NodeContext) -> tuple[Tensor, ...]:
    x, given = n.tensor(0), n.attr("axis", 0)
    axis = n.axis(given, x.rank)
    stated: Sequence[Dim] | None = n.attr("split", None) if n.version < 13 else None
    if n.version == 1 and n.given(1):
        stated = [int(v) for v in n.array(1).reshape(-1)]
    elif n.given(1):
        stated = n.dims(1)
    if stated and n.version >= 18 and n.has("num_outputs"):
        raise n.error("has both split and num_outputs, expected one of them")
    count = len(stated) if stated else n.attr("num_outputs", n.num_outputs)
    if count != n.num_outputs:
        raise n.error(f"splits into {count} parts, expected one for each of {n.num_outputs} outputs")
    parts = list(stated) if stated else _part_sizes(n, x.shape[axis], count)
    if any(isinstance(p, int) and p < 0 for p in parts):
        raise n.error(f"split is {text(parts)}, expected no negative sizes")
    return n.emit_all("split", x, splits=tuple(parts), axis=axis)
