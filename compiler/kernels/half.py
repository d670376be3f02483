"""float16 and bfloat16 in memory, float32 in registers.

Narrowing rounds to nearest even and keeps NaN a (quiet) NaN. The integer forms are Fabian Giesen's branch-free
conversions ("Half to float done quic(k)", https://gist.github.com/rygorous/2156668), used where the target has no
conversion instruction: LLVM would call a run-time library there.
"""

from __future__ import annotations

from llvmlite import ir

from basalt.compiler.kernels.emit import F16, F32, I16, I32, Emitter, like

__all__ = ["narrow", "odd_single", "rounded", "widen"]

INFINITY_BITS = 0x7F800000
MAGNITUDE = 0x7FFFFFFF


def widen(e: Emitter, kind: str, bits: ir.Value) -> ir.Value:
    """The float32 value of stored 16 `bits`; `kind` is ``f16`` or ``bf16``."""
    if kind == "bf16":
        integer = like(bits.type, I32)
        return e.b.bitcast(e.b.shl(e.b.zext(bits, integer), e.constant(integer, 16)), like(bits.type, F32))
    if e.features.half:
        return e.b.fpext(e.b.bitcast(bits, like(bits.type, F16)), like(bits.type, F32))
    return _widen_by_integers(e, bits)


def narrow(e: Emitter, kind: str, value: ir.Value) -> ir.Value:
    """The 16 stored bits of a float32 `value`, rounded to nearest even."""
    if kind == "bf16":
        return _narrow_brain(e, value)
    if e.features.half:
        return e.b.bitcast(e.b.fptrunc(value, like(value.type, F16)), like(value.type, I16))
    return _narrow_by_integers(e, value)


def rounded(e: Emitter, kind: str, value: ir.Value) -> ir.Value:
    """float32 `value` rounded to what `kind` can hold, still as float32."""
    return widen(e, kind, narrow(e, kind, value))


def odd_single(e: Emitter, value: ir.Value) -> ir.Value:
    """float64 `value` as float32 rounded to odd, so that a second rounding to 16 bits is as if there were only one.

    Source: Boldo and Melquiond, "When double rounding is odd", IMACS 2005.
    """
    b = e.b
    integer, single = like(value.type, I32), like(value.type, F32)
    nearest = b.fptrunc(value, single)
    back = b.fpext(nearest, value.type)
    inexact = b.fcmp_ordered("!=", back, value)
    beyond = b.fcmp_ordered(">", e.call("llvm.fabs", [back]), e.call("llvm.fabs", [value]))
    truncated = b.sub(b.bitcast(nearest, integer), b.zext(beyond, integer))
    return b.bitcast(b.or_(truncated, b.zext(inexact, integer)), single)


def _narrow_brain(e: Emitter, value: ir.Value) -> ir.Value:
    b, integer = e.b, like(value.type, I32)
    bits = b.bitcast(value, integer)
    upper = b.lshr(bits, e.constant(integer, 16))
    lowest = b.and_(upper, e.constant(integer, 1))
    carried = b.add(bits, b.add(lowest, e.constant(integer, 0x7FFF)))
    nan = b.fcmp_unordered("uno", value, value)
    quiet = b.or_(upper, e.constant(integer, 0x40))
    return b.trunc(b.select(nan, quiet, b.lshr(carried, e.constant(integer, 16))), like(value.type, I16))


def _widen_by_integers(e: Emitter, bits: ir.Value) -> ir.Value:
    b, integer, single = e.b, like(bits.type, I32), like(bits.type, F32)
    wide = b.zext(bits, integer)
    magnitude = b.shl(b.and_(wide, e.constant(integer, 0x7FFF)), e.constant(integer, 13))
    # The product moves the exponent to float32's bias and normalises float16's subnormals.
    scaled = b.fmul(b.bitcast(magnitude, single), e.constant(single, 2.0**112))
    special = b.icmp_unsigned(">=", magnitude, e.constant(integer, 0x7C00 << 13))
    exponent = b.select(special, e.constant(integer, INFINITY_BITS), e.constant(integer, 0))
    sign = b.shl(b.and_(wide, e.constant(integer, 0x8000)), e.constant(integer, 16))
    return b.bitcast(b.or_(b.or_(b.bitcast(scaled, integer), exponent), sign), single)


def _narrow_by_integers(e: Emitter, value: ir.Value) -> ir.Value:
    b, integer, single = e.b, like(value.type, I32), like(value.type, F32)
    bits = b.bitcast(value, integer)
    magnitude = b.and_(bits, e.constant(integer, MAGNITUDE))
    # Adding 0.5 aligns a subnormal result at the bottom of the significand, where the FPU rounds it.
    aligned = b.fadd(b.bitcast(magnitude, single), e.constant(single, 0.5))
    subnormal = b.sub(b.bitcast(aligned, integer), e.constant(integer, 0x3F000000))
    lowest = b.and_(b.lshr(magnitude, e.constant(integer, 13)), e.constant(integer, 1))
    rebiased = b.add(magnitude, b.add(lowest, e.constant(integer, 0xFFF - (112 << 23))))
    normal = b.lshr(rebiased, e.constant(integer, 13))
    finite = b.select(b.icmp_unsigned("<", magnitude, e.constant(integer, 113 << 23)), subnormal, normal)
    nan = b.icmp_unsigned(">", magnitude, e.constant(integer, INFINITY_BITS))
    special = b.select(nan, e.constant(integer, 0x7E00), e.constant(integer, 0x7C00))
    overflow = b.icmp_unsigned(">=", magnitude, e.constant(integer, (127 + 16) << 23))
    sign = b.and_(b.lshr(bits, e.constant(integer, 16)), e.constant(integer, 0x8000))
    return b.trunc(b.or_(b.select(overflow, special, finite), sign), like(value.type, I16))
