"""Rounding to an integer, also where the CPU has no instruction for it and LLVM would call a library."""

from __future__ import annotations

from basalt.compiler.kernels.lanes import Value, copysign, magnitude, select
from basalt.compiler.kernels.vmath_format import format_of

__all__ = ["ceil", "floor", "rint", "trunc"]


def rint(x: Value) -> Value:
    """The nearest integer, the even one of two."""
    if x.e.features.round:
        return x.call("llvm.rint")
    whole = 2.0 ** format_of(x).fraction
    size = magnitude(x)
    return copysign(select(size < whole, (size + whole) - whole, size), x)


def floor(x: Value) -> Value:
    """The largest integer that is no greater."""
    if x.e.features.round:
        return x.call("llvm.floor")
    nearest = rint(x)
    return copysign(nearest - select(nearest > x, x.lift(1.0), 0.0), x)


def ceil(x: Value) -> Value:
    """The smallest integer that is no less."""
    if x.e.features.round:
        return x.call("llvm.ceil")
    nearest = rint(x)
    return copysign(nearest + select(nearest < x, x.lift(1.0), 0.0), x)


def trunc(x: Value) -> Value:
    """The integer part."""
    if x.e.features.round:
        return x.call("llvm.trunc")
    return copysign(floor(magnitude(x)), x)
