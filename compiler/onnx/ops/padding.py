"""Pad: elements added around a tensor, or taken off its ends."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from basalt.ops import Dim
from basalt.ops.dims import known
from basalt.ops.shapes import text

from ..node import NodeContext
from ..registry import onnx_op
from ..tensor import Tensor, carrier, carrier_array
from .positions import require_room
from .ranges import larger, never_above

_CORE = {"constant": "constant", "reflect": "reflection", "edge": "edge"}


def _cropped(n: NodeContext, x: Tensor, pads: list[list[Dim]]) -> Tensor:
    """The tensor without what negative padding takes off; the padding is what is left to add."""
    starts, sizes = [0] * x.rank, list(x.shape)
    for axis, ends in enumerate(pads):
        for end, added in enumerate(ends):
            if isinstance(added, int) and added < 0:
                ends[end] = 0
                sizes[axis] = sizes[axis] + added
                if end == 0:
                    starts[axis] = -added
    if any(isinstance(s, int) and s < 0 for s in sizes):
        raise n.error(f"negative pads take more than there is of the input of shape {text(x.shape)}")
    if tuple(sizes) == tuple(x.shape):
        return x
    return n.emit("slice", x, starts=tuple(starts), sizes=tuple(sizes), strides=(1,) * x.rank)


def _pad(n: NodeContext, x: Tensor, pads: list[list[Dim]], mode: str, value: Tensor | float | int) -> Tensor:
    x = _cropped(n, x, pads)
    if all(p == [0, 0] for p in pads):
        return x
    if mode == "constant" and isinstance(value, Tensor) and value.array is None:
        return _surrounded(n, x, pads, n.reshape(value, (1,) * x.rank))
    if mode != "constant":
        return _continued(n, x, pads, mode)
    number = _carried(value, x) if isinstance(value, Tensor) else value
    return n.emit(
        "pad", x, beginning_padding=[b for b, _ in pads], ending_padding=[e for _, e in pads], mode=mode, value=number
    )


def _carried(value: Tensor, x: Tensor) -> float | int:
    """The only element of a known tensor as the core's attribute has it."""
    assert value.array is not None
    held = carrier_array(value.array.reshape(-1)[:1], value.dtype)[0]
    return float(held) if "float" in carrier(x.dtype) else int(held)


def _surrounded(n: NodeContext, x: Tensor, pads: Sequence[Sequence[Dim]], value: Tensor) -> Tensor:
    """Padding by a value that is only known at run time."""
    for axis, (before, after) in enumerate(pads):
        parts = [(before, False), (x.shape[axis], True), (after, False)]
        rows = [
            x if own else n.expand(value, [*x.shape[:axis], size, *x.shape[axis + 1 :]])
            for size, own in parts
            if own or size != 0
        ]
        x = rows[0] if len(rows) == 1 else n.emit("concat", *rows, axis=axis)
    return x


def _continued(n: NodeContext, x: Tensor, pads: Sequence[Sequence[Dim]], mode: str) -> Tensor:
    """Padding by the tensor's own elements, axis by axis."""
    for axis, (before, after) in enumerate(pads):
        if before == 0 and after == 0:
            continue
        size = x.shape[axis]
        if size == 0:
            raise n.error(f"axis {axis} is empty, so that mode {mode} has nothing to repeat")
        if mode != "edge" and known(size, before, after) and never_above(size, larger(before, after)):
            require_room(n, [size + before + after, *x.shape[:axis], *x.shape[axis + 1 :]])
            places = np.pad(np.arange(*n.static(size)), n.static(before, after), mode=mode)  # type: ignore[call-overload]
            x = n.emit("gather", x, n.constant(places), axis=axis)
            continue
        if mode == "wrap":
            parts = [n.slice(x, axis, size - before, before), x, n.slice(x, axis, 0, after)]
            x = n.emit("concat", *(p for p, c in zip(parts, (before, 1, after)) if c != 0), axis=axis)
            continue
        ends = [[e if i == axis else 0 for i in range(x.rank)] for e in (before, after)]
        x = n.emit("pad", x, beginning_padding=ends[0], ending_padding=ends[1], mode=_CORE[mode])
    return x


def _mode(n: NodeContext) -> str:
    mode = n.attr("mode")
    if mode not in (*_CORE, "wrap"):
        raise n.error(f"mode is {mode!r}, expected one of {', '.join(_CORE)}, wrap")
    return str(mode)


def _paired(n: NodeContext, x: Tensor, amounts: Sequence[Dim], axes: Sequence[int]) -> list[list[Dim]]:
    """The amounts before and after each axis of the tensor; they are given for ``axes``, all befores first."""
    if len(amounts) != 2 * len(axes):
        raise n.error(f"pads has {len(amounts)} values, expected {2 * len(axes)}: two for each axis")
    places = [n.axis(a, x.rank, "axes") for a in axes]
    if len(set(places)) != len(places):
        raise n.error(f"axes are {list(axes)}, expected each once")
    pads: list[list[Dim]] = [[0, 0] for _ in range(x.rank)]
    for i, place in enumerate(places):
        pads[place] = [amounts[i], amounts[i + len(axes)]]
    return pads


@onnx_op("Pad", 1, 2)
def pad_attributes(n: NodeContext) -> Tensor:
    x = n.tensor(0)
    amounts = n.attr("paddings" if n.version == 1 else "pads")
    return _pad(n, x, _paired(n, x, amounts, range(x.rank)), _mode(n), n.attr("value"))


@onnx_op("Pad", 11, 13, 18, 19, 21, 23, 24, 25)
def pad(n: NodeContext) -> Tensor:
    x = n.tensor(0)
    value = n.optional(2)
    if value is not None and value.rank > 1:
        raise n.error(f"constant_value is {value}, expected one element")
    axes = n.ints(3) if n.version >= 18 and n.given(3) else range(x.rank)
    return _pad(n, x, _paired(n, x, n.dims(1), axes), _mode(n), 0 if value is None else value)
