"""log, log1p and softplus: a power of two apart, then log(1 + f).

float32 takes a polynomial over -1/3 <= f < 1/3, float64 fdlibm's form, an odd polynomial of s = f / (2 + f) over
sqrt(1/2) <= 1 + f < sqrt(2). The polynomials are minimax fits of this project (Remez' exchange).
"""

from __future__ import annotations

from basalt.compiler.kernels.lanes import Value, mad, polynomial, select
from basalt.compiler.kernels.vmath_exp import decay
from basalt.compiler.kernels.vmath_format import format_of

__all__ = ["log", "log1p", "log_of_parts", "softplus"]

LN2 = 0.6931471805599453
INFINITY = float("inf")
NAN = float("nan")

# The bits of the lower end of 1 + f: 2/3, and sqrt(1/2) from above.
LOWEST = {"f32": 0x3F2AAAAB, "f64": 0x3FE6A09E667F3BCD}
# 2 LOWEST - 1, from below
SPLIT = {"f32": 0.33333331, "f64": 0.41421356237309503}
# (log(1 + f) - f + f**2 / 2) / f**3: 2**-27.7 of log
LOG1P = (
    0.3333321511745453, -0.2499978393316269, 0.20010477304458618, -0.16681215167045593,
    0.14004430174827576, -0.12172779440879822, 0.13992628455162048, -0.12947429716587067,
)  # fmt: skip
# (log((1 + s) / (1 - s)) / s - 2) / s**2 in s**2: 2**-59.5 of log
ATANH = (
    0.6666666666666734, 0.39999999999413965, 0.28571428742562294, 0.22222198553773898,
    0.18183565407724778, 0.15314021109014558, 0.1479626124502979,
)  # fmt: skip


def exponent_field(x: Value) -> Value:
    """The bits of e in their place, with LOWEST <= x / 2**e < 2 LOWEST."""
    form = format_of(x)
    return (x.bits() - LOWEST[form.name]) & (-1 << form.fraction)


def log_of_parts(f: Value, e: Value) -> Value:
    """log((1 + f) 2**e) for a float e."""
    form = format_of(f)
    square = f * f
    if form.name == "f32":
        tail = mad(polynomial(f, LOG1P), f, -0.5)
        return mad(e, LN2, mad(tail, square, f))
    high, low = form.ln2
    s = f / (f + 2.0)
    z = s * s
    half = square * 0.5
    # log(1 + f) = f - (half - s (half + R)), with the small terms added first
    correction = mad(e, low, s * mad(polynomial(z, ATANH), z, half))
    return mad(e, high, f - (half - correction))


def _edges(x: Value, inside: Value) -> Value:
    """`inside` for 0 < x < infinity, else the logarithm's limit."""
    outside = select(x.equals(0.0), x.lift(-INFINITY), NAN)
    return select(x > 0.0, select(x < INFINITY, inside, x), outside)


def log(x: Value) -> Value:
    """Natural logarithm; -infinity for 0, NaN below."""
    form = format_of(x)
    subnormal = x < form.smallest_normal
    normal = select(subnormal, x * 2.0**form.fraction, x)
    field = exponent_field(normal)
    e = (field >> form.fraction).to_float() - select(subnormal, x.lift(form.fraction), 0.0)
    return _edges(x, log_of_parts((normal.bits() - field).from_bits() - 1.0, e))


def log1p(x: Value) -> Value:
    """log(1 + x), with full relative precision about 0."""
    form = format_of(x)
    total = x + 1.0
    field = exponent_field(total)
    # 1 + x = 2**e (1 + f): f comes from x, not from the rounded total.
    inverse = (form.one - field).call("llvm.smax", 0).from_bits()
    f = (x.bits() - field).from_bits() + (inverse - 1.0)
    inside = log_of_parts(f, (field >> form.fraction).to_float())
    return select(x.equals(0.0), x, _edges(total, inside))


def softplus(x: Value) -> Value:
    """log(1 + e**x) = max(x, 0) + log(1 + e**-|x|), with full relative precision down to the subnormals."""
    small = decay(x)
    # 1 + d = 2**e (1 + f) with e = 0 or 1.
    upper = small > SPLIT[format_of(x).name]
    f = select(upper, mad(small, 0.5, -0.5), small)
    return select(x <= 0.0, 0.0, x) + log_of_parts(f, select(upper, x.lift(1.0), 0.0))
