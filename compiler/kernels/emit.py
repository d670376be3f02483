"""Writing LLVM instructions for one scalar primitive, and turning them into a Numba intrinsic.

An :class:`Emitter` wraps the IR builder of the function being lowered together with what the target CPU can do. It
works on scalars and, lane by lane, on LLVM vectors alike, so that the explicit-vector micro-kernels share the same
arithmetic.
"""

from __future__ import annotations

import functools
import inspect
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import llvmlite.binding as llvm
from llvmlite import ir
from numba.core import types
from numba.core.typing import signature
from numba.extending import intrinsic

__all__ = ["FLOATS", "INTEGERS", "REGISTERS", "Emitter", "Features", "Recipe", "Scalar", "build", "features_of"]

I1, I8, I16, I32, I64 = (ir.IntType(width) for width in (1, 8, 16, 32, 64))
F16, F32, F64 = ir.HalfType(), ir.FloatType(), ir.DoubleType()


@dataclass(frozen=True)
class Scalar:
    """A register type: its suffix in primitive names, Numba type, LLVM type and width in bits."""

    suffix: str
    numba: Any
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


class Features(NamedTuple):
    """What the target does in one instruction; everything else is written without it."""

    fma: bool
    half: bool  # float16 <-> float32 conversion
    scale: bool  # multiplication by a power of two, to and from the subnormals
    round: bool  # rounding to an integer

    @staticmethod
    def probe(machine: Any) -> Features:
        """Ask LLVM: an operation that becomes a call is one the target lacks."""
        module = llvm.parse_assembly(_PROBE)
        module.triple = str(machine.triple)
        assembly = str(machine.emit_assembly(module))
        return Features(*(name not in assembly for name in ("fmaf", "extendhfsf2", "ldexpf", "rintf")))


_PROBE = """
declare float @llvm.fma.f32(float, float, float)
declare float @llvm.ldexp.f32.i32(float, i32)
declare float @llvm.rint.f32(float)
define float @a(float %x) { %y = call float @llvm.fma.f32(float %x, float %x, float %x) ret float %y }
define float @b(i16 %x) { %h = bitcast i16 %x to half %y = fpext half %h to float ret float %y }
define float @c(float %x, i32 %n) { %y = call float @llvm.ldexp.f32.i32(float %x, i32 %n) ret float %y }
define float @d(float %x) { %y = call float @llvm.rint.f32(float %x) ret float %y }
"""


@functools.cache
def _features(codegen: Any) -> Features:
    # A feature string lists every feature of the host, but is empty when only a CPU name was given.
    listed = set(str(codegen._tm_features).split(","))
    needed = ("fma", "f16c", "avx512f", "sse4.1")
    if all({f"+{name}", f"-{name}"} & listed for name in needed):
        fma, half, avx512, round_ = (f"+{name}" in listed for name in needed)
        return Features(fma, half, avx512 and "+avx512vl" in listed, round_)
    return Features.probe(codegen._tm)


def features_of(context: Any) -> Features:
    """The :class:`Features` of the machine that Numba's lowering `context` emits code for."""
    return _features(context.codegen())


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
    """A primitive before Numba sees it: Numba types, and ``emit(emitter, *operands) -> LLVM value``."""

    result: Any
    operands: tuple[Any, ...]
    emit: Callable[..., ir.Value]


def build(name: str, recipe: Recipe) -> Any:
    """The Numba intrinsic `name`; its operands are cast to the recipe's types as Numba casts arguments."""
    sig = signature(recipe.result, *recipe.operands)

    def lower(context: Any, builder: ir.IRBuilder, _: Any, arguments: Sequence[ir.Value]) -> ir.Value:
        value = recipe.emit(Emitter(builder, features_of(context)), *arguments)
        return context.get_dummy_value() if value is None else value

    def definition(typing: Any, *_: Any) -> Any:
        return sig, lower

    # Numba reads the arity from the Python signature.
    names = ["typing", *(f"operand{i}" for i in range(len(recipe.operands)))]
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    definition.__signature__ = inspect.Signature([inspect.Parameter(n, kind) for n in names])  # type: ignore[attr-defined]
    definition.__name__ = definition.__qualname__ = name
    return intrinsic(definition)
