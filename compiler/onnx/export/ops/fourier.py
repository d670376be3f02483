"""Fourier transforms: dft, stft."""

from __future__ import annotations

import numpy as np

from basalt.ops.types import numpy_dtype

from ..node import NodeWriter
from ..registry import exports
from ..tensor import Tensor


@exports("dft")
def dft(n: NodeWriter) -> Tensor:
    length, inverse, onesided = n.attrs["length"], n.attrs["inverse"], n.attrs["onesided"]
    if inverse and onesided:
        return _real_signal(n, length)
    return _halved(n, _transform(n, n["input"], length, inverse), length, onesided)


@exports("stft")
def stft(n: NodeWriter) -> Tensor:
    length, step = (n.scalar(n.attrs[name], "int64") for name in ("length", "step"))
    whole = n.call("STFT", n["input"], step, n.get("window"), length, onesided=0)
    return _halved(n, whole, n.attrs["length"], n.attrs["onesided"])


def _transform(n: NodeWriter, x: Tensor, length: int, inverse: bool) -> Tensor:
    size = n.scalar(length, "int64")
    rank = n.type("input").rank
    if n.opset < 20:
        return n.call("DFT", x, size, axis=rank - 2, inverse=int(inverse), onesided=0)
    return n.call("DFT", x, size, n.scalar(-2, "int64"), inverse=int(inverse), onesided=0)


def _halved(n: NodeWriter, x: Tensor, length: int, onesided: bool) -> Tensor:
    """The first half; DFT's own way is for real signals only."""
    if not onesided:
        return x
    axis = n.out[0].rank - 2
    return n.call("Slice", x, n.ints((0,)), n.ints((length // 2 + 1,)), n.ints((axis,)))


def _real_signal(n: NodeWriter, length: int) -> Tensor:
    """The real part of the inverse of a transform whose second half mirrors the first."""
    x, half, axis = n["input"], length // 2 + 1, n.type("input").rank - 2
    given, parts = n.type("input").shape[-2:]
    front = n.call("Slice", x, n.ints((0,)), n.ints((half,)), n.ints((axis,)))
    missing = half - given if isinstance(given, int) else 0
    if missing > 0 or parts == 1:
        ends = [0] * axis + [max(missing, 0), 2 - parts if isinstance(parts, int) else 0]
        front = n.call("Pad", front, n.ints([0] * (axis + 2) + ends))
    kept = np.ones((half, 2))
    kept[0, 1] = 0
    if length % 2 == 0:
        kept[-1, 1] = 0
    front = n.call("Where", n.constant(kept == 1), front, n.scalar(0.0, n.type("input").dtype))
    if length > 2:
        back = n.ints(tuple(range(length - half, 0, -1)))
        signs = n.constant(np.array([1, -1], numpy_dtype(n.type("input").dtype)))
        front = n.call("Concat", front, n.call("Mul", n.call("Gather", front, back, axis=axis), signs), axis=axis)
    signal = _transform(n, front, length, True)
    return n.call("Slice", signal, n.ints((0,)), n.ints((1,)), n.ints((axis + 1,)))
