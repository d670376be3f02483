"""Arithmetic on two operands; integers wrap around."""

from __future__ import annotations

import numpy as np

from basalt.ops.types import integer_bounds, is_float

from ..node import NodeWriter
from ..registry import exports
from ..tensor import Tensor

_DIRECT = {
    "add": "Add",
    "bitwise_and": "BitwiseAnd",
    "bitwise_or": "BitwiseOr",
    "bitwise_xor": "BitwiseXor",
    "max": "Max",
    "min": "Min",
    "mul": "Mul",
    "sub": "Sub",
}


@exports(*_DIRECT)
def direct(n: NodeWriter) -> Tensor:
    return n.call(_DIRECT[n.node.op], n["a"], n["b"])


@exports("div")
def div(n: NodeWriter) -> Tensor:
    """ONNX leaves open an integer divided by 0 (0 in the core) and the most negative one by -1 (itself)."""
    a, b = n["a"], n["b"]
    if is_float(a.dtype):
        return n.call("Div", a, b)
    safe, zero, minus = safe_divisor(n, b)
    quotient = n.call("Div", a, safe)
    if minus is not None:
        quotient = n.where(minus, n.call("Neg", quotient), quotient)
    return quotient if zero is None else n.where(zero, n.scalar(0, a.dtype), quotient)


def safe_divisor(n: NodeWriter, b: Tensor) -> tuple[Tensor, Tensor | None, Tensor | None]:
    """A divisor with 1 in place of 0 and -1, and where these were (None: nowhere).

    Processors trap where the quotient does not exist, so that an implementation that just divides may crash.
    """
    signed = integer_bounds(b.dtype)[0] < 0
    if b.array is not None and not np.any((b.array == 0) | (signed and b.array == -1)):
        return b, None, None
    one = n.scalar(1, b.dtype)
    zero = n.call("Equal", b, n.scalar(0, b.dtype), wraps=True)
    minus = n.call("Equal", b, n.scalar(-1, b.dtype)) if signed else None
    replaced = zero if minus is None else n.call("Or", zero, minus)
    return n.where(replaced, one, b), zero, minus


@exports("fmod")
def fmod(n: NodeWriter) -> Tensor:
    """The remainder with the dividend's sign."""
    a, b = n["a"], n["b"]
    return n.call("Mod", a, b if is_float(a.dtype) else safe_divisor(n, b)[0], fmod=1)


@exports("mod")
def mod(n: NodeWriter) -> Tensor:
    """The remainder with the divisor's sign, which ONNX has for integers alone."""
    if not is_float(n["a"].dtype):
        return n.call("Mod", n["a"], safe_divisor(n, n["b"])[0], fmod=0)
    a, b = n.widened(n["a"]), n.widened(n["b"])
    rest = n.call("Mod", a, b, fmod=1)
    zero = n.scalar(0.0, a.dtype)
    opposite = n.call("Xor", n.call("Less", rest, zero), n.call("Less", b, zero))
    other = n.call("And", opposite, n.call("Not", n.call("Equal", rest, zero)))
    return n.where(other, n.call("Add", rest, b), rest)


@exports("shift_left")
def shift_left(n: NodeWriter) -> Tensor:
    """ONNX shifts unsigned integers alone, and leaves open shifts by their width and more."""
    bits = _bits(n["a"].dtype)
    result = _shifted(n, n["a"], "LEFT", bits)
    return n.where(_beyond(n, bits), n.scalar(0, result.dtype), result)


@exports("shift_right")
def shift_right(n: NodeWriter) -> Tensor:
    """A negative integer's bits are inverted before and after, so that ones come in from the left."""
    a = n["a"]
    bits = _bits(a.dtype)
    beyond = _beyond(n, bits)
    if integer_bounds(a.dtype)[0] == 0:
        result = _shifted(n, a, "RIGHT", bits)
        return n.where(beyond, n.scalar(0, result.dtype), result)
    minus_one = n.scalar(-1, a.dtype)
    negative = n.call("Less", a, n.scalar(0, a.dtype))
    positive = n.where(negative, n.call("Sub", minus_one, a), a)
    shifted = _shifted(n, positive, "RIGHT", bits)
    kept = n.where(beyond, n.scalar(0, a.dtype), shifted)
    return n.where(negative, n.call("Sub", minus_one, kept), kept)


def _bits(dtype: str) -> int:
    return int(dtype.lstrip("uint"))


def _beyond(n: NodeWriter, bits: int) -> Tensor:
    """Where the shift is by a negative number or by all bits."""
    b = n["b"]
    large = n.call("GreaterOrEqual", b, n.scalar(bits, b.dtype))
    return large if b.dtype.startswith("u") else n.call("Or", large, n.call("Less", b, n.scalar(0, b.dtype)))


def _shifted(n: NodeWriter, a: Tensor, direction: str, bits: int) -> Tensor:
    """Shifted as an unsigned integer of at least as many bits; what a shift by too much gives is left open."""
    unsigned = f"uint{bits}" if bits != 16 else "uint32"
    count = n.cast(n["b"], unsigned)
    small = n.call("Mod", count, n.scalar(bits, unsigned), fmod=0)
    return n.cast(n.call("BitShift", n.cast(a, unsigned), small, direction=direction), a.dtype)
