"""Clip: limits by attributes (1, 6), then by inputs (11, 12, 13)."""

from __future__ import annotations

import math

import numpy as np

from ..node import NodeContext
from ..registry import onnx_op
from ..tensor import Tensor
from .precision import is_float


@onnx_op("Clip", 1, 6)
def clip_by_attributes(n: NodeContext) -> Tensor:
    """Version 6 has the extreme numbers of float32 as default limits, which infinities are brought to."""
    x, low, high = n.tensor(0), n.attr("min"), n.attr("max")
    low, high = -math.inf if low is None else low, math.inf if high is None else high
    with np.errstate(over="ignore"):
        return _limited(n, x, n.scalar(low, like=x), n.scalar(high, like=x))


@onnx_op("Clip", 11, 12, 13)
def clip(n: NodeContext) -> Tensor:
    """A limit that is not given does not limit, infinities included, as in the standard's function body."""
    x = n.tensor(0)
    return _limited(n, x, _limit(n, 1), _limit(n, 2))


def _limit(n: NodeContext, place: int) -> Tensor | None:
    limit = n.optional(place)
    if limit is None:
        return None
    if limit.rank and any(d != 1 for d in n.static(*limit.shape)):
        raise n.error(f"input {n.input_name(place)} is {limit}, expected one number")
    return n.reshape(limit, ())


def _limited(n: NodeContext, x: Tensor, low: Tensor | None, high: Tensor | None) -> Tensor:
    """``min(max(x, low), high)``: the upper limit wins over a greater lower one, and NaN over both."""
    numbers = [None if t is None or t.array is None else t.array.item() for t in (low, high)]
    known = all(t is None or number is not None for t, number in zip((low, high), numbers))
    if known and all(number == number for number in numbers):
        least, most = numbers
        if least is None or most is None or least <= most:
            return n.emit("clamp", x, min_value=_unlimited(least, x, -1), max_value=_unlimited(most, x, 1))
    if low is not None:
        x = n.emit("max", x, low)
    return x if high is None else n.emit("min", x, high)


def _unlimited(number: float | int | None, x: Tensor, sign: int) -> float | int:
    """A limit as the core's clamp takes it; infinite where there is none."""
    if number is None:
        return sign * math.inf
    return float(number) if is_float(x) else int(number)
