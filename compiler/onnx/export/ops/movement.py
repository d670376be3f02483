"""Operators that move elements: shapes, parts, joins, padding."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from basalt.ops import Dim

from ..node import NodeWriter
from ..registry import exports
from ..tensor import Tensor

_LAST, _FIRST = np.iinfo(np.int64).max, np.iinfo(np.int64).min


@exports("reshape")
def reshape(n: NodeWriter) -> Tensor:
    result = n.reshape(n["input"], n.out[0].shape, n.type("input").shape)
    return n.call("Identity", result) if result is n["input"] else result


@exports("transpose")
def transpose(n: NodeWriter) -> Tensor:
    result = n.transpose(n["input"], n.attrs["permutation"])
    return n.call("Identity", result) if result is n["input"] else result


@exports("expand")
def expand(n: NodeWriter) -> Tensor:
    return n.expand(n["input"], n.attrs["new_shape"])


@exports("reverse")
def reverse(n: NodeWriter) -> Tensor:
    axes = n.attrs["axes"]
    if not axes:
        return n.call("Identity", n["input"])
    starts, ends, steps = ([value] * len(axes) for value in (-1, _FIRST, -1))
    return n.call("Slice", n["input"], n.ints(starts), n.ints(ends), n.ints(axes), n.ints(steps))


@exports("slice")
def slice_(n: NodeWriter) -> Tensor:
    shape = n.type("input").shape
    rows = list(zip(shape, n.attrs["starts"], n.attrs["sizes"], n.attrs["strides"]))
    axes = [i for i, (size, start, extent, stride) in enumerate(rows) if (start, extent, stride) != (0, size, 1)]
    if not axes:
        return n.call("Identity", n["input"])
    starts = [rows[i][1] for i in axes]
    ends = [_LAST if rows[i][1] + rows[i][2] == shape[i] else rows[i][1] + rows[i][2] for i in axes]
    steps = [rows[i][3] for i in axes]
    return n.call("Slice", n["input"], n.sizes(starts), n.sizes(ends), n.ints(axes), n.ints(steps))


@exports("split")
def split(n: NodeWriter) -> Sequence[Tensor]:
    axis = n.attrs["axis"]
    sizes: list[Dim] = [t.shape[axis] for t in n.out]
    equal = isinstance(n.attrs["splits"], int) and not all(isinstance(d, int) for d in sizes)
    if equal:
        count = len(sizes) if n.opset >= 18 else None
        return n.call_all("Split", n["input"], outputs=len(sizes), axis=axis, num_outputs=count)
    return n.call_all("Split", n["input"], n.sizes(sizes), outputs=len(sizes), axis=axis)


@exports("concat")
def concat(n: NodeWriter) -> Tensor:
    return n.call("Concat", *n.inputs, axis=n.attrs["axis"])


@exports("triangular")
def triangular(n: NodeWriter) -> Tensor:
    diagonal = n.scalar(n.attrs["diagonal"], "int64")
    return n.call("Trilu", n["input"], diagonal, wraps=True, upper=int(n.attrs["upper"]))


@exports("pad")
def pad(n: NodeWriter) -> Tensor:
    x, mode = n["input"], n.attrs["mode"]
    pads = n.sizes((*n.attrs["beginning_padding"], *n.attrs["ending_padding"]))
    if n.is_constant_of(pads, 0):
        return n.call("Identity", x)
    if mode == "constant":
        return n.call("Pad", x, pads, n.scalar(n.attrs["value"], x.dtype))
    return n.call("Pad", x, pads, mode="edge" if mode == "edge" else "reflect")


@exports("tile")
def tile(n: NodeWriter) -> Tensor:
    return n.call("Tile", n["input"], n.sizes(n.attrs["repetitions"]))


@exports("sizes")
def sizes(n: NodeWriter) -> Tensor:
    return n.call("Identity", n.sizes(n.attrs["dims"]))
