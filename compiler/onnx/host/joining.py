"""Concat, Split, Slice, Where and Equal, for element types that are not compiled: strings, complex numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from basalt.compiler.onnx.host.checks import axes_of, axis_of, integers, real_tensor, tensor
from basalt.compiler.onnx.host.element_types import type_name
from basalt.compiler.onnx.host.registry import HostNode, host_op

_MAX_PARTS = 1 << 16


@host_op("Concat", 1, 4, 11, 13)
def concat(n: HostNode, *inputs: np.ndarray) -> np.ndarray:
    """The inputs joined along ``axis`` (1 if absent at version 1); their other sizes are equal."""
    tensors = [tensor(n, f"inputs {i}", x) for i, x in enumerate(inputs)]
    if not tensors:
        raise n.error("no inputs are given, expected one or more")
    axis = axis_of(n, int(n.attr("axis", 1) if n.version < 4 else n.required("axis")), tensors[0].ndim)
    rests = {(t.ndim, t.shape[:axis], t.shape[axis + 1 :], type_name(t.dtype)) for t in tensors}
    if len(rests) != 1:
        given = ", ".join(f"{type_name(t.dtype)}{t.shape}" for t in tensors[:8])
        raise n.error(f"the inputs are {given}, expected one type, and shapes that differ only on axis {axis}")
    return np.concatenate(tensors, axis)


def _equal_sizes(n: HostNode, size: int, parts: int) -> list[int]:
    """Sizes of ``parts`` equal parts; from version 18 the last may be smaller."""
    if not 1 <= parts <= _MAX_PARTS:
        raise n.error(f"{parts} parts are asked for, expected 1 to {_MAX_PARTS}")
    if size % parts and n.version < 18:
        raise n.error(f"an axis of size {size} does not split into {parts} equal parts")
    step = -(-size // parts)
    return [max(min(step, size - i * step), 0) for i in range(parts)]


@host_op("Split", 1, 2, 11, 13, 18)
def split(n: HostNode, x: np.ndarray, split: np.ndarray | None = None) -> tuple[np.ndarray, ...]:
    """Parts of ``x`` along ``axis``: of the sizes ``split`` (an attribute from 2 to 11) or equal ones."""
    x = tensor(n, "input", x)
    axis = axis_of(n, int(n.attr("axis", 0)), x.ndim)
    size = x.shape[axis]
    attribute: Sequence[int] | None = n.attr("split") if n.version < 13 else None
    if split is not None:
        # At version 1 the schema gives the sizes the type of the input, a float.
        sizes = list(integers(n, "split", real_tensor(n, "split", split).astype(np.int64) if n.version < 2 else split))
    elif attribute is not None:
        sizes = [int(s) for s in attribute]
    else:
        sizes = _equal_sizes(n, size, int(n.attr("num_outputs", n.num_outputs)))
    if min(sizes, default=0) < 0 or sum(sizes) != size:
        raise n.error(f"the parts are of sizes {sizes}, expected sizes that sum up to {size}, axis {axis} of {x.shape}")
    ends = np.cumsum(sizes, dtype=np.int64)
    return tuple(np.take(x, np.arange(e - s, e), axis=axis) for s, e in zip(sizes, ends, strict=True))


@host_op("Slice", 1)
def slice_1(n: HostNode, x: np.ndarray) -> np.ndarray:
    """The part of ``x`` from ``starts`` up to (not including) ``ends`` on ``axes`` (the first ones if absent)."""
    starts = tuple(int(v) for v in n.required("starts"))
    ends = tuple(int(v) for v in n.required("ends"))
    return _slice(n, tensor(n, "data", x), starts, ends, n.attr("axes"), None)


@host_op("Slice", 10, 11, 13)
def slice_tensor(
    n: HostNode,
    x: np.ndarray,
    starts: np.ndarray,
    ends: np.ndarray,
    axes: np.ndarray | None = None,
    steps: np.ndarray | None = None,
) -> np.ndarray:
    """As at version 1, with inputs, and in ``steps``, which may be negative."""
    return _slice(
        n,
        tensor(n, "data", x),
        integers(n, "starts", starts),
        integers(n, "ends", ends),
        None if axes is None else integers(n, "axes", axes),
        None if steps is None else integers(n, "steps", steps),
    )


def _slice(
    n: HostNode,
    x: np.ndarray,
    starts: tuple[int, ...],
    ends: tuple[int, ...],
    axes: Sequence[int] | None,
    steps: tuple[int, ...] | None,
) -> np.ndarray:
    places = tuple(range(len(starts))) if axes is None else tuple(int(a) for a in axes)
    strides = (1,) * len(starts) if steps is None else steps
    if not len(starts) == len(ends) == len(places) == len(strides):
        counts = (len(starts), len(ends), len(places), len(strides))
        raise n.error(f"starts, ends, axes and steps have {counts} elements, expected as many each")
    if 0 in strides:
        raise n.error(f"input 'steps' is {strides}, expected no 0")
    index = [slice(None)] * x.ndim
    for axis, start, end, step in zip(axes_of(n, places, x.ndim), starts, ends, strides, strict=True):
        first, last, _ = slice(start, end, step).indices(x.shape[axis])
        # An end before the first element has no number of its own in a slice.
        index[axis] = slice(first, None if last < 0 else last, step)
        if step < 0 and first < 0:
            index[axis] = slice(0, 0)
    return x[tuple(index)].copy()


@host_op("Where", 9, 16)
def where(n: HostNode, condition: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """``x`` where ``condition`` is true, else ``y``, broadcast."""
    chosen, x, y = tensor(n, "condition", condition), tensor(n, "X", x), tensor(n, "Y", y)
    if x.dtype != y.dtype:
        raise n.error(f"the inputs are of types {type_name(x.dtype)} and {type_name(y.dtype)}, expected one type")
    _broadcast(n, chosen, x, y)
    return np.where(chosen.astype(np.bool_), x, y)


@host_op("Equal", 7, 11, 13, 19)
def equal(n: HostNode, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Whether the elements are equal, broadcast."""
    a, b = tensor(n, "A", a), tensor(n, "B", b)
    if a.dtype != b.dtype:
        raise n.error(f"the inputs are of types {type_name(a.dtype)} and {type_name(b.dtype)}, expected one type")
    _broadcast(n, a, b)
    return np.asarray(a == b, dtype=np.bool_)


def _broadcast(n: HostNode, *inputs: np.ndarray) -> None:
    try:
        np.broadcast_shapes(*(x.shape for x in inputs))
    except ValueError:
        given = ", ".join(str(x.shape) for x in inputs)
        raise n.error(f"the inputs have shapes {given}, expected shapes that broadcast") from None
