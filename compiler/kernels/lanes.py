"""LLVM values with Python's operators, in which the vector mathematics is written.

A :class:`Value` is a float, an integer or a truth value, scalar or vector; numbers beside one become constants of its
type. Float arithmetic carries no fast-math flags. Comparisons of floats are ordered: false for NaN. Integers are
signed.
"""

from __future__ import annotations

from collections.abc import Sequence

from llvmlite import ir

from basalt.compiler.kernels.emit import F32, F64, I32, I64, Emitter, like, mangled

__all__ = [
    "Value",
    "copysign",
    "fma",
    "mad",
    "magnitude",
    "paired_polynomial",
    "polynomial",
    "quotient",
    "select",
    "sqrt",
]

Operand = "Value | float"


def element(type_: ir.Type) -> ir.Type:
    return type_.element if isinstance(type_, ir.VectorType) else type_


class Value:
    """`raw` with operators; instructions go where `emitter` stands."""

    __slots__ = ("e", "raw")
    __hash__ = object.__hash__

    def __init__(self, emitter: Emitter, raw: ir.Value) -> None:
        self.e = emitter
        self.raw = raw

    @property
    def floating(self) -> bool:
        return element(self.raw.type) in (F32, F64)

    def lift(self, other: Value | float) -> Value:
        """`other` as a value, a number as a constant of this type."""
        return other if isinstance(other, Value) else Value(self.e, self.e.constant(self.raw.type, other))

    def _binary(self, floats: str, integers: str, other: Value | float) -> Value:
        operation = getattr(self.e.b, floats if self.floating else integers)
        return Value(self.e, operation(self.raw, self.lift(other).raw))

    def __add__(self, other: Value | float) -> Value:
        return self._binary("fadd", "add", other)

    def __sub__(self, other: Value | float) -> Value:
        return self._binary("fsub", "sub", other)

    def __mul__(self, other: Value | float) -> Value:
        return self._binary("fmul", "mul", other)

    def __truediv__(self, other: Value | float) -> Value:
        return Value(self.e, self.e.b.fdiv(self.raw, self.lift(other).raw))

    def __radd__(self, other: float) -> Value:
        return self.lift(other) + self

    def __rsub__(self, other: float) -> Value:
        return self.lift(other) - self

    def __rmul__(self, other: float) -> Value:
        return self.lift(other) * self

    def __rtruediv__(self, other: float) -> Value:
        return self.lift(other) / self

    def __neg__(self) -> Value:
        return Value(self.e, self.e.b.fneg(self.raw)) if self.floating else 0 - self

    def __and__(self, other: Value | int) -> Value:
        return Value(self.e, self.e.b.and_(self.raw, self.lift(other).raw))

    def __or__(self, other: Value | int) -> Value:
        return Value(self.e, self.e.b.or_(self.raw, self.lift(other).raw))

    def __xor__(self, other: Value | int) -> Value:
        return Value(self.e, self.e.b.xor(self.raw, self.lift(other).raw))

    def __invert__(self) -> Value:
        return Value(self.e, self.e.b.not_(self.raw))

    def __lshift__(self, count: int) -> Value:
        return Value(self.e, self.e.b.shl(self.raw, self.lift(count).raw))

    def __rshift__(self, count: int) -> Value:
        """Arithmetic shift."""
        return Value(self.e, self.e.b.ashr(self.raw, self.lift(count).raw))

    def _compare(self, operator: str, other: Value | float) -> Value:
        compare = self.e.b.fcmp_ordered if self.floating else self.e.b.icmp_signed
        return Value(self.e, compare(operator, self.raw, self.lift(other).raw))

    def __lt__(self, other: Value | float) -> Value:
        return self._compare("<", other)

    def __le__(self, other: Value | float) -> Value:
        return self._compare("<=", other)

    def __gt__(self, other: Value | float) -> Value:
        return self._compare(">", other)

    def __ge__(self, other: Value | float) -> Value:
        return self._compare(">=", other)

    def equals(self, other: Value | float) -> Value:
        return self._compare("==", other)

    def is_nan(self) -> Value:
        return Value(self.e, self.e.b.fcmp_unordered("uno", self.raw, self.raw))

    def bits(self) -> Value:
        """A float's bits as an integer."""
        width = I32 if element(self.raw.type) == F32 else I64
        return Value(self.e, self.e.b.bitcast(self.raw, like(self.raw.type, width)))

    def from_bits(self) -> Value:
        """The float whose bits this integer is."""
        kind = F32 if element(self.raw.type) == I32 else F64
        return Value(self.e, self.e.b.bitcast(self.raw, like(self.raw.type, kind)))

    def to_float(self) -> Value:
        """An integer as the float of its width."""
        kind = F32 if element(self.raw.type) == I32 else F64
        return Value(self.e, self.e.b.sitofp(self.raw, like(self.raw.type, kind)))

    def double(self) -> Value:
        return Value(self.e, self.e.b.fpext(self.raw, like(self.raw.type, F64)))

    def single(self) -> Value:
        return Value(self.e, self.e.b.fptrunc(self.raw, like(self.raw.type, F32)))

    def narrow(self) -> Value:
        """The low half of a 64-bit integer."""
        return Value(self.e, self.e.b.trunc(self.raw, like(self.raw.type, I32)))

    def times_power_of_two(self, n: Value) -> Value:
        """self * 2**n, rounded once, for any n; only where `Features.scale` says so."""
        n = n.narrow() if element(n.raw.type) == I64 else n
        name = f"llvm.ldexp.{mangled(self.raw.type)}.{mangled(n.raw.type)}"
        type_ = ir.FunctionType(self.raw.type, [self.raw.type, n.raw.type])
        return Value(self.e, self.e.b.call(self.e.declare(name, type_), [self.raw, n.raw]))

    def call(self, name: str, *others: Value | float) -> Value:
        """LLVM's intrinsic `name` of this and `others`."""
        return Value(self.e, self.e.call(name, [self.raw, *(self.lift(other).raw for other in others)]))


def select(condition: Value, x: Value | float, y: Value | float) -> Value:
    """Lane by lane, `x` where `condition` holds, else `y`; at least one of them is a value."""
    anchor = x if isinstance(x, Value) else y
    assert isinstance(anchor, Value)
    return Value(anchor.e, anchor.e.b.select(condition.raw, anchor.lift(x).raw, anchor.lift(y).raw))


def magnitude(x: Value) -> Value:
    return x.call("llvm.fabs")


def sqrt(x: Value) -> Value:
    return x.call("llvm.sqrt")


def copysign(x: Value, sign: Value) -> Value:
    return x.call("llvm.copysign", sign)


def mad(x: Value, y: Value | float, z: Value | float) -> Value:
    """x * y + z in the fewest instructions: rounded once where the target fuses, twice elsewhere."""
    return x.call("llvm.fma", y, z) if x.e.features.fma else x * y + z


def fma(x: Value, y: Value | float, z: Value | float) -> Value:
    """x * y + z rounded once, for error terms; without the instruction, close to that (see `_emulated`)."""
    return x.call("llvm.fma", y, z) if x.e.features.fma else _emulated(x, x.lift(y), x.lift(z))


def _emulated(x: Value, y: Value, z: Value) -> Value:
    """float32 through float64, whose product is exact; float64 by Dekker's product and Knuth's sum.

    Both may round a second time in the last bit. Source: Dekker, "A floating-point technique for extending the
    available precision", 1971. Products must stay below 2**996.
    """
    if element(x.raw.type) == F32:
        return (x.double() * y.double() + z.double()).single()
    product = x * y
    (xh, xl), (yh, yl) = _split(x), _split(y)
    product_error = ((xh * yh - product) + xh * yl + xl * yh) + xl * yl
    total = product + z
    virtual = total - product
    total_error = (product - (total - virtual)) + (z - virtual)
    return total + (product_error + total_error)


def _split(x: Value) -> tuple[Value, Value]:
    scaled = x * 134217729.0
    high = scaled - (scaled - x)
    return high, x - high


def polynomial(x: Value, coefficients: Sequence[Value | float]) -> Value:
    """Horner's rule; `coefficients` from the constant term up."""
    result = x.lift(coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        result = mad(result, x, coefficient)
    return result


def paired_polynomial(x: Value, square: Value, coefficients: Sequence[float]) -> Value:
    """As :func:`polynomial` in a chain of half the length and one instruction more, `square`, which is x * x."""
    pairs = [mad(x, odd, even) for even, odd in zip(coefficients[::2], coefficients[1::2])]
    return polynomial(square, [*pairs, *coefficients[len(pairs) * 2 :]])


def quotient(x: Value, y: Value) -> Value:
    """x / y of float64 to 2**-44, for y within float32's normal range; far faster than a float64 division."""
    inverse = (1.0 / y.single()).double()
    return x * mad(inverse, 1.0 - y * inverse, inverse)
