"""Conversions between every pair of types: ``cast_{source}_{destination}``, ``round_f16``, ``round_bf16``.

float -> integer truncates toward zero, saturates, and makes 0 of NaN. integer -> integer keeps the low bits. Anything
-> bool is "differs from zero". A cast to a 16-bit float gives the float32 register rounded to it (once, also from
float64; from integers through float32, as NumPy and ml_dtypes do); storing a register rounds too, so a value that is
stored at once needs no cast.
"""

from __future__ import annotations

from functools import partial

from llvmlite import ir

from basalt.compiler.kernels import half, types
from basalt.compiler.kernels.emit import F32, F64, I32, INTEGERS, REGISTERS, Emitter, Recipe, Scalar

__all__ = ["recipes"]

STORAGE = {"f16": REGISTERS["f32"], "bf16": REGISTERS["f32"], "bool": REGISTERS["u8"]}


def _to_bool(e: Emitter, x: ir.Value) -> ir.Value:
    zero = e.constant(x.type, 0)
    integer = isinstance(x.type, ir.IntType)
    differs = e.b.icmp_unsigned("!=", x, zero) if integer else e.b.fcmp_unordered("!=", x, zero)
    return e.b.zext(differs, INTEGERS["u8"].llvm)


def _integer_to_integer(source: Scalar, destination: Scalar, e: Emitter, x: ir.Value) -> ir.Value:
    if source.bits == destination.bits:
        return x
    if source.bits > destination.bits:
        return e.b.trunc(x, destination.llvm)
    return (e.b.sext if source.signed else e.b.zext)(x, destination.llvm)


def _float_to_integer(destination: Scalar, e: Emitter, x: ir.Value) -> ir.Value:
    # Bounds are compared before and not by LLVM's saturating conversion, of which vectors become branches.
    convert = e.b.fptosi if destination.signed else e.b.fptoui
    low, beyond = float(destination.lowest), 2.0 ** (destination.bits - destination.signed)
    if destination.bits < 32:
        number = x if low == 0 else e.select_constant(e.b.fcmp_unordered("uno", x, x), 0.0, x)
        above = e.b.select(e.b.fcmp_ordered(">", number, e.constant(x.type, low)), number, e.constant(x.type, low))
        highest = e.constant(x.type, beyond - 1)
        bounded = e.b.select(e.b.fcmp_ordered("<", above, highest), above, highest)
        return e.b.trunc(e.b.fptosi(bounded, I32), destination.llvm)
    above = e.b.select(e.b.fcmp_ordered(">", x, e.constant(x.type, low)), x, e.constant(x.type, low))
    inside = e.b.fcmp_ordered("<", above, e.constant(x.type, beyond))
    whole = convert(e.b.select(inside, above, e.constant(x.type, 0.0)), destination.llvm)
    whole = e.b.select(inside, whole, e.constant(destination.llvm, destination.highest))
    return whole if low == 0 else e.select_constant(e.b.fcmp_unordered("uno", x, x), 0, whole)


def _integer_to_float(source: Scalar, destination: Scalar, e: Emitter, x: ir.Value) -> ir.Value:
    return (e.b.sitofp if source.signed else e.b.uitofp)(x, destination.llvm)


def _float_to_float(destination: Scalar, e: Emitter, x: ir.Value) -> ir.Value:
    if x.type == destination.llvm:
        return x
    return e.b.fpext(x, F64) if destination.llvm == F64 else e.b.fptrunc(x, F32)


def _convert(source: Scalar, destination: Scalar, e: Emitter, x: ir.Value) -> ir.Value:
    if source.floating:
        if destination.floating:
            return _float_to_float(destination, e, x)
        return _float_to_integer(destination, e, x)
    if destination.floating:
        return _integer_to_float(source, destination, e, x)
    return _integer_to_integer(source, destination, e, x)


def _to_half(source: Scalar, kind: str, e: Emitter, x: ir.Value) -> ir.Value:
    single = half.odd_single(e, x) if source.suffix == "f64" else _convert(source, REGISTERS["f32"], e, x)
    return half.rounded(e, kind, single)


def _cast(source: str, destination: str, e: Emitter, x: ir.Value) -> ir.Value:
    if source == destination != "bool":
        return x
    if destination == "bool":
        return _to_bool(e, x)
    if source == "bool":
        x = _to_bool(e, x)
    register = STORAGE.get(source) or REGISTERS[source]
    if destination in ("f16", "bf16"):
        return _to_half(register, destination, e, x)
    return _convert(register, REGISTERS[destination], e, x)


def _round(kind: str, e: Emitter, x: ir.Value) -> ir.Value:
    return half.rounded(e, kind, x)


def recipes() -> dict[str, Recipe]:
    """Every ``cast_*`` and ``round_*``."""
    registers = REGISTERS | STORAGE
    found = {
        f"cast_{source}_{destination}": Recipe(to.type, (of.type,), partial(_cast, source, destination))
        for source, of in registers.items()
        for destination, to in registers.items()
    }
    for kind in ("f16", "bf16"):
        found[f"round_{kind}"] = Recipe(types.float32, (types.float32,), partial(_round, kind))
    return found
