"""Integer powers."""

from __future__ import annotations

from llvmlite import ir

from basalt.compiler.kernels.emit import Emitter

__all__ = ["integer_power"]


def integer_power(signed: bool, e: Emitter, x: ir.Value, y: ir.Value) -> ir.Value:
    """x to the power of y, wrapped; for y < 0 the reciprocal truncated toward zero, and 0 for x = 0."""
    power = e.b.call(_squaring(e, x.type), [x, y])
    if not signed:
        return power
    b, one, zero = e.b, e.constant(x.type, 1), e.constant(x.type, 0)
    minus_one = e.constant(x.type, -1)
    odd = b.icmp_unsigned("!=", b.and_(y, one), zero)
    alternating = b.select(b.icmp_signed("==", x, minus_one), b.select(odd, minus_one, one), zero)
    reciprocal = b.select(b.icmp_signed("==", x, one), one, alternating)
    return b.select(b.icmp_signed("<", y, zero), reciprocal, power)


def _squaring(e: Emitter, type_: ir.IntType) -> ir.Function:
    """The function of x and an unsigned y that multiplies the squares of x which y's bits name."""
    name = f"basalt.power.i{type_.width}"
    known = e.b.module.globals.get(name)
    if known is not None:
        return known
    function = ir.Function(e.b.module, ir.FunctionType(type_, [type_, type_]), name)
    function.linkage = "internal"
    for attribute in ("nounwind", "noinline"):
        function.attributes.add(attribute)
    start, loop, done = (function.append_basic_block(part) for part in ("start", "loop", "done"))
    zero, one = ir.Constant(type_, 0), ir.Constant(type_, 1)
    ir.IRBuilder(start).branch(loop)
    b = ir.IRBuilder(loop)
    power, square, left = b.phi(type_), b.phi(type_), b.phi(type_)
    taken = b.icmp_unsigned("!=", b.and_(left, one), zero)
    following = b.mul(power, b.select(taken, square, one)), b.mul(square, square), b.lshr(left, one)
    for phi, first, later in zip((power, square, left), (one, *function.args), following):
        phi.add_incoming(first, start)
        phi.add_incoming(later, loop)
    b.cbranch(b.icmp_unsigned("!=", following[2], zero), loop, done)
    ir.IRBuilder(done).ret(following[0])
    return function
