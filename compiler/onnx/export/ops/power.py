"""Powers: ONNX leaves open what integer powers beyond the range are, where the core wraps around."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from basalt.ops.types import integer_bounds, is_float

from ..node import NodeWriter
from ..registry import exports
from ..tensor import Tensor

_BITS = 64
"""Of an exponent, at most."""


@exports("pow")
def power(n: NodeWriter) -> Tensor:
    a, b = n["a"], n["b"]
    if is_float(a.dtype):
        return n.call("Pow", a, b)
    if b.array is not None and b.array.size == 1 and int(b.array.reshape(-1)[0]) >= 0:
        return _constant_power(n, a, b, int(b.array.reshape(-1)[0]))
    return _any_power(n, a, b)


def _constant_power(n: NodeWriter, a: Tensor, b: Tensor, exponent: int) -> Tensor:
    """By repeated squaring, from 1 in the exponent's shape, which may be of higher rank."""
    if exponent == 0:
        return n.filled(1, a.dtype, n.out[0].shape)
    assert b.array is not None
    result = n.constant(np.ones_like(b.array))
    while exponent:
        if exponent & 1:
            result = n.call("Mul", a, result)
        exponent >>= 1
        if exponent:
            a = n.call("Mul", a, a)
    return result


def _any_power(n: NodeWriter, a: Tensor, b: Tensor) -> Tensor:
    """By a loop over the exponent's bits; a negative exponent gives the reciprocal truncated, 0 but for 1 and -1."""
    wide = "uint64" if a.dtype == "uint64" else "int64"
    base, exponent = n.cast(a, wide), n.cast(b, wide)
    zero, one = n.scalar(0, wide), n.scalar(1, wide)
    size = exponent if wide == "uint64" else n.call("Abs", exponent)
    # All three have the result's shape from the start: a loop must not change it.
    none = n.call("Mul", n.call("Add", base, size), zero)
    powers = _loop(n, [n.call("Add", none, start) for start in (one, base, size)], wide)
    if integer_bounds(b.dtype)[0] == 0:
        return n.cast(powers, a.dtype)
    unit = n.call("Equal", n.call("Abs", base), one)
    vanishes = n.call("And", n.call("Less", exponent, zero), n.call("Not", unit))
    return n.cast(n.where(vanishes, zero, powers), a.dtype)


def _loop(n: NodeWriter, start: Sequence[Tensor], dtype: str) -> Tensor:
    """``result * base ** rest`` for the three tensors of ``start``, a bit of the exponent a turn."""
    shape = n.out[0].shape
    one, two = n.scalar(1, dtype), n.scalar(2, dtype)
    types = [("int64", ()), ("bool", ()), *[(dtype, shape)] * 3]
    with n.writer.body(types) as (body, (_, condition, result, base, rest)):
        odd = n.call("Equal", n.call("Mod", rest, two, fmod=0), one)
        product = n.call("Mul", result, n.where(odd, base, one))
        values = (product, n.call("Mul", base, base), n.call("Div", rest, two))
        body.outputs = [(n.call("Identity", condition), ()), *((v, shape) for v in values)]
    turns = n.scalar(_BITS, "int64")
    results = n.call_all("Loop", turns, n.constant(np.asarray(True)), *start, outputs=3, dtype=dtype, body=body)
    return results[0]
