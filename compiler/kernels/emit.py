"""Writing LLVM instructions for one scalar primitive.

An :class:`Emitter` wraps the IR builder of the function being lowered together with what the target CPU can do. It
works on scalars and, lane by lane, on LLVM vectors alike, so that the explicit-vector micro-kernels share the same
arithmetic.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from llvmlite import ir

from basalt.compiler.kernels import types
from basalt.compiler.kernels.processor import Features
from basalt.compiler.kernels.types import Type

__all__ = ["FLOATS", "INTEGERS", "REGISTERS", "Emitter", "Features", "Recipe", "Scalar", "matched"]

I1, I8, I16, I32, I64 = (ir.IntType(width) for width in (1, 8, 16, 32, 64))
F16, F32, F64 = ir.HalfType(), ir.FloatType(), ir.DoubleType()


@dataclass(frozen=True)
class Scalar:
    """A register type: its suffix in primitive names, type in kernels, LLVM type and width in bits."""

    suffix: str
    type: Type
    llvm: ir.Type
    bits: int
    signed: bool = True

    @property
    def floating(self) -> bool:
        return self.suffix[0] == "f"

    @property
    def lowest(self) -> int:
        """Smallest value of an integer type."""
        return -(1 << (self.bits - 1)) if self.signed else 0

    @property
    def highest(self) -> int:
        """Largest value of an integer type."""
        return (1 << (self.bits - self.signed)) - 1


FLOATS = {"f32": Scalar("f32", types.float32, F32, 32), "f64": Scalar("f64", types.float64, F64, 64)}
INTEGERS = {
    f"{sign}{bits}": Scalar(f"{sign}{bits}", getattr(types, f"{name}{bits}"), ir.IntType(bits), bits, sign == "i")
    for bits in (8, 16, 32, 64)
    for sign, name in (("i", "int"), ("u", "uint"))
}
REGISTERS = FLOATS | INTEGERS


def mangled(type_: ir.Type) -> str:
    """The name of `type_` in the names of LLVM's overloaded intrinsics, e.g. ``f32`` or ``v16f32``."""
    if isinstance(type_, ir.VectorType):
        return f"v{type_.count}{mangled(type_.element)}"
    return str(type_.intrinsic_name)


def like(type_: ir.Type, element: ir.Type) -> ir.Type:
    """`element`, or a vector of it with as many lanes as `type_` has."""
    return ir.VectorType(element, type_.count) if isinstance(type_, ir.VectorType) else element


def single(value: float) -> float:
    """`value` rounded to float32; llvmlite refuses float constants that it would have to round."""
    try:
        return float(struct.unpack("f", struct.pack("f", value))[0])
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


class Emitter:
    """Emits instructions at the position of `builder` for a target with `features`."""

    def __init__(self, builder: ir.IRBuilder, features: Features) -> None:
        self.b = builder
        self.features = features

    def constant(self, type_: ir.Type, value: float) -> ir.Constant:
        """`value` as a constant of `type_`, in every lane."""
        element = type_.element if isinstance(type_, ir.VectorType) else type_
        if isinstance(element, ir.IntType):
            exact: float = int(value)
        else:
            exact = single(value) if element == F32 else float(value)
        if isinstance(type_, ir.VectorType):
            return ir.Constant(type_, [exact] * type_.count)
        return ir.Constant(type_, exact)

    def call(
        self, name: str, arguments: Sequence[ir.Value], result: ir.Type | None = None, flags: Sequence[str] = ()
    ) -> ir.Value:
        """Call LLVM's intrinsic `name`, overloaded on its first argument (and on `result`, if that is given)."""
        first = arguments[0].type
        overload = mangled(first) if result is None else f"{mangled(result)}.{mangled(first)}"
        type_ = ir.FunctionType(result or first, [argument.type for argument in arguments])
        return self.b.call(self.declare(f"{name}.{overload}", type_), arguments, fastmath=flags)

    def declare(self, name: str, type_: ir.FunctionType) -> ir.Function:
        """The function `name` of this module, declared if it is new."""
        module = self.b.module
        known = module.globals.get(name)
        return ir.Function(module, type_, name) if known is None else known

    def select_constant(self, condition: ir.Value, value: float, other: ir.Value) -> ir.Value:
        return self.b.select(condition, self.constant(other.type, value), other)


class Recipe(NamedTuple):
    """A primitive: the types of its result and operands, and ``emit(emitter, *operands) -> LLVM value``."""

    result: Type
    operands: tuple[Type, ...]
    emit: Callable[..., ir.Value]


def matched(pattern: re.Pattern[str], name: str) -> re.Match[str]:
    """The parameters in the name of a primitive. KeyError for a name that is none of its family's."""
    match = pattern.fullmatch(name)
    if match is None:
        raise KeyError(name)
    return match
