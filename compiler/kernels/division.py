"""Quotients and remainders that never trap.

Integers of up to 32 bits divide in floating point, which CPUs do in vectors, unlike integer division. The quotient is
exact: a float of p bits divides integers of fewer than p bits to the correct integer part, because a quotient that is
not an integer differs from the next one by more than its rounding error.
"""

from __future__ import annotations

from llvmlite import ir

from basalt.compiler.kernels.emit import F32, F64, I1, I32, I64, Emitter

__all__ = ["float_modulo", "float_remainder", "modulo", "quotient", "remainder"]


def quotient(signed: bool, e: Emitter, x: ir.Value, y: ir.Value) -> ir.Value:
    """x / y truncated toward zero; 0 for y = 0; the lowest integer for lowest / -1."""
    b, zero = e.b, e.constant(x.type, 0)
    by_zero = b.icmp_unsigned("==", y, zero)
    unsafe = by_zero
    if signed:
        lowest = b.icmp_unsigned("==", x, e.constant(x.type, -1 << (x.type.width - 1)))
        unsafe = b.or_(by_zero, b.and_(lowest, b.icmp_signed("==", y, e.constant(x.type, -1))))
    # Dividing by 1 instead is lowest's own answer, and harmless for zero.
    safe = e.select_constant(unsafe, 1, y)
    return b.select(by_zero, zero, _divide(signed, e, x, safe))


def _divide(signed: bool, e: Emitter, x: ir.Value, y: ir.Value) -> ir.Value:
    b, width = e.b, x.type.width
    if width == 64:
        return b.sdiv(x, y) if signed else b.udiv(x, y)
    if width == 32:
        return _divide_32(signed, e, x, y)
    widen = b.sext if signed else b.zext
    ratio = b.fdiv(b.sitofp(widen(x, I32), F32), b.sitofp(widen(y, I32), F32))
    return b.trunc(b.fptosi(ratio, I32), x.type)


def _divide_32(signed: bool, e: Emitter, x: ir.Value, y: ir.Value) -> ir.Value:
    b = e.b
    if signed:
        return b.fptosi(b.fdiv(b.sitofp(x, F64), b.sitofp(y, F64)), I32)
    return b.fptoui(b.fdiv(b.uitofp(x, F64), b.uitofp(y, F64)), I32)


def remainder(signed: bool, e: Emitter, x: ir.Value, y: ir.Value) -> ir.Value:
    """x - y * trunc(x / y), which has x's sign; 0 for y = 0."""
    rest = e.b.sub(x, e.b.mul(quotient(signed, e, x, y), y))
    zero = e.constant(x.type, 0)
    return e.b.select(e.b.icmp_unsigned("==", y, zero), zero, rest)


def modulo(signed: bool, e: Emitter, x: ir.Value, y: ir.Value) -> ir.Value:
    """x - y * floor(x / y), which has y's sign; 0 for y = 0."""
    rest = remainder(signed, e, x, y)
    if not signed:
        return rest
    b, zero = e.b, e.constant(x.type, 0)
    opposite = b.icmp_signed("<", b.xor(rest, y), zero)
    return b.select(b.and_(opposite, b.icmp_unsigned("!=", rest, zero)), b.add(rest, y), rest)


def float_remainder(e: Emitter, x: ir.Value, y: ir.Value) -> ir.Value:
    """C's fmod: exact, with x's sign; NaN for y = 0, infinite x or NaN."""
    function = e.b.module.globals.get(name := f"basalt.fmod.{x.type.intrinsic_name}")
    if function is None:
        function = _Remainder(e, name, x.type).function
    return e.b.call(function, [x, y])


def float_modulo(e: Emitter, x: ir.Value, y: ir.Value) -> ir.Value:
    """x - y * floor(x / y), which has y's sign, zeros included; NaN for y = 0, infinite x or NaN."""
    b, zero = e.b, e.constant(x.type, 0)
    rest = float_remainder(e, x, y)
    opposite = b.xor(b.fcmp_ordered("<", rest, zero), b.fcmp_ordered("<", y, zero))
    moved = b.select(opposite, b.fadd(rest, y), rest)
    return b.select(b.fcmp_ordered("==", rest, zero), e.call("llvm.copysign", [zero, y]), moved)


class _Remainder:
    """Long division in binary, a few bits a step: the function `name` of two floats of `type_` in the module of `e`."""

    def __init__(self, e: Emitter, name: str, type_: ir.Type) -> None:
        self.type = type_
        self.integer, self.stored = (I32, 23) if type_ == F32 else (I64, 52)
        self.function = ir.Function(e.b.module, ir.FunctionType(type_, [type_, type_]), name)
        self.function.linkage = "internal"
        for attribute in ("nounwind", "noinline"):
            self.function.attributes.add(attribute)
        self.e = Emitter(ir.IRBuilder(self.function.append_basic_block("entry")), e.features)
        self._write()

    def _parts(self, bits: ir.Value) -> tuple[ir.Value, ir.Value]:
        """Significand as an integer, widened to 64 bits, and the exponent it stands at (1 for subnormals)."""
        e, b = self.e, self.e.b
        field = b.lshr(bits, e.constant(self.integer, self.stored))
        subnormal = b.icmp_unsigned("==", field, e.constant(self.integer, 0))
        fraction = b.and_(bits, e.constant(self.integer, (1 << self.stored) - 1))
        hidden = b.or_(fraction, e.constant(self.integer, 1 << self.stored))
        significand = b.select(subnormal, fraction, hidden)
        wide = significand if self.integer == I64 else b.zext(significand, I64)
        exponent = e.select_constant(subnormal, 1, field)
        return wide, exponent if self.integer == I64 else b.zext(exponent, I64)

    def _write(self) -> None:
        e, b = self.e, self.e.b
        x, y = self.function.args
        magnitudes = [b.bitcast(e.call("llvm.fabs", [v]), self.integer) for v in (x, y)]
        (mx, ex), (my, ey) = (self._parts(bits) for bits in magnitudes)
        plain, divide, done = (b.append_basic_block(name) for name in ("plain", "divide", "done"))
        infinity = e.constant(self.integer, ((1 << (self.integer.width - 1 - self.stored)) - 1) << self.stored)
        bad = b.or_(
            b.icmp_unsigned(">=", magnitudes[0], infinity),
            b.or_(b.icmp_unsigned(">", magnitudes[1], infinity), b.icmp_unsigned("==", my, I64(0))),
        )
        smaller = b.icmp_unsigned("<", magnitudes[0], magnitudes[1])
        b.cbranch(b.or_(bad, smaller), plain, divide)
        b.position_at_end(plain)
        product = b.fmul(x, y)
        # (xy)/(xy) is NaN for every bad operand: y = 0, x infinite, or a NaN that it keeps.
        b.ret(b.select(bad, b.fdiv(product, product), x))
        b.position_at_end(divide)
        rest = self._reduce(mx, my, b.sub(ex, ey), done)
        b.ret(self._assemble(x, rest, ey))

    def _reduce(self, mx: ir.Value, my: ir.Value, distance: ir.Value, done: ir.Block) -> ir.Value:
        """mx * 2**distance modulo my; leaves the builder in `done`."""
        b = self.e.b
        room = I64(63 - self.stored)
        first = b.urem(mx, my)
        start, loop = b.block, b.append_basic_block("loop")
        b.cbranch(b.icmp_unsigned("==", distance, I64(0)), done, loop)
        b.position_at_end(loop)
        rest, left = b.phi(I64), b.phi(I64)
        step = b.select(b.icmp_unsigned("<", left, room), left, room)
        shifted = b.urem(b.shl(rest, step), my)
        remaining = b.sub(left, step)
        for phi, before, after in ((rest, first, shifted), (left, distance, remaining)):
            phi.add_incoming(before, start)
            phi.add_incoming(after, loop)
        b.cbranch(b.icmp_unsigned("==", remaining, I64(0)), done, loop)
        b.position_at_end(done)
        result = b.phi(I64)
        result.add_incoming(first, start)
        result.add_incoming(shifted, loop)
        return result

    def _assemble(self, x: ir.Value, rest: ir.Value, exponent: ir.Value) -> ir.Value:
        """`rest` at `exponent`, with x's sign."""
        e, b = self.e, self.e.b
        zeros = b.call(e.declare("llvm.ctlz.i64", ir.FunctionType(I64, [I64, I1])), [rest, I1(0)])
        wanted = b.sub(zeros, I64(63 - self.stored))
        available = b.sub(exponent, I64(1))
        shift = b.select(b.icmp_unsigned("<", wanted, available), wanted, available)
        # The hidden bit, if it is there, adds the one that the exponent lacks.
        nonzero = b.add(b.shl(rest, shift), b.shl(b.sub(available, shift), I64(self.stored)))
        bits = e.select_constant(b.icmp_unsigned("==", rest, I64(0)), 0, nonzero)
        magnitude = b.bitcast(bits if self.integer == I64 else b.trunc(bits, self.integer), self.type)
        return e.call("llvm.copysign", [magnitude, x])
