"""What the elementary functions need to know of float32 and float64, and powers of two in them."""

from __future__ import annotations

from dataclasses import dataclass

from basalt.compiler.kernels.emit import F32
from basalt.compiler.kernels.lanes import Value, element, mad

__all__ = ["DOUBLE", "SINGLE", "Format", "format_of", "nearest", "power_of_two", "scale", "scale_down"]


@dataclass(frozen=True)
class Format:
    """A binary interchange format of IEEE 754.

    Adding ``shifter`` leaves a value's nearest integer in its lowest bits; ``ln2`` is log(2) in two parts, the first
    with so few bits that its product with any exponent is exact; ``overflow`` and ``underflow`` bound the arguments
    of exp from just outside.
    """

    name: str
    fraction: int
    bias: int
    shifter: float
    ln2: tuple[float, float]
    overflow: float
    underflow: float

    @property
    def one(self) -> int:
        """The bits of 1."""
        return self.bias << self.fraction

    @property
    def shifter_bits(self) -> int:
        """The bits of ``shifter``."""
        return ((self.bias + self.fraction) << self.fraction) + (1 << (self.fraction - 1))

    @property
    def lifted_bias(self) -> int:
        """The bias that keeps powers of two normal which, times a small number, are subnormal."""
        return self.bias + self.bias // 2

    @property
    def smallest_normal(self) -> float:
        return 2.0 ** (1 - self.bias)


# Both splits of log(2) are those of the Cephes library and of fdlibm.
SINGLE = Format("f32", 23, 127, 1.5 * 2.0**23, (0.693359375, -2.12194440e-4), 89.0, -104.0)
DOUBLE = Format("f64", 52, 1023, 1.5 * 2.0**52, (6.93147180369123816490e-01, 1.90821492927058770002e-10), 710.0, -746.0)


def format_of(x: Value) -> Format:
    """The format of a float's lanes."""
    return SINGLE if element(x.raw.type) == F32 else DOUBLE


def nearest(x: Value, factor: float = 1.0, bias: int = 0) -> tuple[Value, Value]:
    """The integer nearest to x * factor: plus ``bias`` in the lowest bits of an integer, the others being noise, and
    as a float.
    """
    shifter = format_of(x).shifter + bias
    shifted = x + shifter if factor == 1.0 else mad(x, factor, shifter)
    return shifted.bits(), shifted - shifter


def power_of_two(n: Value, form: Format) -> Value:
    """2**n where that is normal; n plus the format's bias in the lowest bits of an integer."""
    return (n << form.fraction).from_bits()


def scale(x: Value, n: Value) -> Value:
    """x * 2**n for n within twice the exponents' range, rounded once; n as `nearest` gives it, plus twice the bias."""
    form = format_of(x)
    if x.e.features.scale:
        return x.times_power_of_two(n - (form.shifter_bits + 2 * form.bias))
    half = (n << (form.fraction - 1)) & (-1 << form.fraction)
    return x * half.from_bits() * ((n << form.fraction) - half).from_bits()


def scale_down(x: Value, n: Value) -> Value:
    """``scale`` for 0 >= n > -1.4 times the exponent's bias, in fewer instructions; n plus ``form.lifted_bias``."""
    form = format_of(x)
    if x.e.features.scale:
        return x.times_power_of_two(n - (form.shifter_bits + form.lifted_bias))
    return x * power_of_two(n, form) * 2.0 ** (form.bias - form.lifted_bias)
