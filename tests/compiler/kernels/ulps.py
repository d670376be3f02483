"""Errors in units in the last place, stratified samples, and references with more bits than the result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Long = np.longdouble
EXTENDED = np.finfo(Long).nmant >= 63
"""Whether NumPy's longdouble holds more than a float64."""
PI = Long("3.14159265358979323846264338327950288")
# Below this the Taylor series of erf loses at most 6 of 64 bits to erfc, above it the continued fraction converges.
SERIES = 1.5


def errors(actual: Array, reference: Array) -> Array:
    """|actual - reference| in units in the last place of `actual`'s type at `reference`, which has more bits.

    Infinity counts as the next power of two above the largest number; NaN must meet NaN, and zeros agree in sign.
    """
    form = np.finfo(actual.dtype)
    wide = reference.astype(Long)
    top = np.ldexp(Long(1), form.maxexp)
    exponent = np.frexp(np.where(np.isfinite(wide), wide, 0))[1] - form.nmant - 1
    unit = np.ldexp(Long(1), np.clip(exponent, form.minexp - form.nmant, form.maxexp - form.nmant - 1))
    found = np.clip(actual.astype(Long), -top, top)
    distance = np.abs(found - np.clip(wide, -top, top)) / unit
    distance = np.where((wide == 0) & (np.signbit(wide) != np.signbit(actual)), np.inf, distance)
    return np.where(np.isnan(wide) & np.isnan(actual), 0, np.where(np.isnan(distance), np.inf, distance))


def singles(mantissas: int = 600) -> Array:
    """Float32 of every exponent and sign, infinities and NaN among them, and powers of two with their neighbours."""
    exponents = np.arange(512, dtype=np.uint32)[:, None] << 23
    drawn = np.random.default_rng(11).integers(0, 1 << 23, (512, mantissas), dtype=np.uint32)
    near = np.array([0, 1, 2, (1 << 23) - 1, (1 << 23) - 2], np.uint32)
    return np.concatenate([(exponents | drawn).ravel(), (exponents | near).ravel()]).view(np.float32)


def doubles(mantissas: int = 12) -> Array:
    """The same in float64, and more about the values that functions are called with."""
    generator = np.random.default_rng(12)
    exponents = np.arange(4096, dtype=np.uint64)[:, None] << 52
    drawn = generator.integers(0, 1 << 52, (4096, mantissas), dtype=np.uint64)
    near = np.array([0, 1, (1 << 52) - 1], np.uint64)
    every = np.concatenate([(exponents | drawn).ravel(), (exponents | near).ravel()]).view(np.float64)
    return np.concatenate([every, *(generator.uniform(-bound, bound, 20000) for bound in (1, 3, 10, 40, 760))])


def around(*places: float, dtype: type = np.float32, count: int = 200) -> Array:
    """The `count` numbers on either side of each place and of its negative."""
    centres = np.array([*places, *(-place for place in places)], dtype)
    raw = np.dtype(f"i{centres.dtype.itemsize}")
    return (centres.view(raw)[:, None] + np.arange(-count, count + 1)).astype(raw).view(dtype).ravel()


def _square_in_two(x: Array) -> tuple[Array, Array]:
    """x**2 of float64 `x`, as a longdouble and its rounding error."""
    head = x.astype(np.float32).astype(Long)
    tail = x.astype(Long) - head
    square = x.astype(Long) ** 2
    return square, ((head * head - square) + 2 * head * tail) + tail * tail


def _exp_of_square(x: Array, factor: float) -> Array:
    """exp(-factor x**2), for a factor that is a power of two."""
    square, lost = _square_in_two(x)
    return np.exp(-square * Long(factor)) * (1 - lost * Long(factor))


def _mills(x: Array) -> Array:
    """exp(x**2) erfc(x) for x >= SERIES, by its continued fraction."""
    value = np.zeros_like(x)
    for k in range(300, 0, -1):
        value = Long(k) / 2 / (x + value)
    return 1 / (x + value) / np.sqrt(PI)


def _erf_series(x: Array) -> Array:
    """erf(x) for |x| <= SERIES."""
    term = 2 / np.sqrt(PI) * x * np.exp(-x * x)
    total = term.copy()
    for k in range(1, 60):
        term = term * (2 * x * x / (2 * k + 1))
        total = total + term
    return total


def erf(x: Array) -> Array:
    size = np.minimum(np.abs(x), 10).astype(np.float64)
    far = 1 - _mills(np.maximum(size, SERIES).astype(Long)) * _exp_of_square(size, 1)
    value = np.where(size < SERIES, _erf_series(np.minimum(size, SERIES).astype(Long)), far)
    return np.where(np.isnan(x), np.nan, np.copysign(value, x))


def erfc(x: Array) -> Array:
    size = np.clip(x, 0, 30).astype(np.float64)
    tail = _mills(np.maximum(size, SERIES).astype(Long)) * _exp_of_square(size, 1)
    return np.where(x < SERIES, 1 - erf(x), np.where(np.isnan(x), np.nan, tail))


def _normal_tail(a: Array) -> Array:
    """Phi(-a) for float64 a >= 0."""
    root = np.sqrt(Long(2))
    switch = SERIES * 1.5
    far = _mills(np.maximum(a, switch).astype(Long) / root) * _exp_of_square(a, 0.5) / 2
    return np.where(a < switch, (1 - _erf_series(np.minimum(a, switch).astype(Long) / root)) / 2, far)


def gelu(x: Array) -> Array:
    """x Phi(x), and its limit -0 at -infinity."""
    size = np.minimum(np.abs(x), 45).astype(np.float64)
    tail = -size.astype(Long) * _normal_tail(size)
    return np.where(np.isnan(x), np.nan, np.where(x < 0, tail, x.astype(Long) + tail))


def sigmoid(x: Array) -> Array:
    small = np.exp(-np.abs(x.astype(Long)))
    return np.where(np.isnan(x), np.nan, np.where(x < 0, small, 1) / (1 + small))


def softplus(x: Array) -> Array:
    wide = x.astype(Long)
    return np.maximum(wide, 0) + np.log1p(np.exp(-np.abs(wide)))


def _numpy(function: Callable[[Array], Array]) -> Callable[[Array], Array]:
    return lambda x: function(x.astype(Long))


REFERENCES: dict[str, Callable[[Array], Array]] = {
    **{name: _numpy(getattr(np, name)) for name in ("exp", "expm1", "log", "log1p", "sin", "cos", "tan", "tanh")},
    **{name: _numpy(getattr(np, name)) for name in ("sinh", "cosh")},
    **{f"a{name}": _numpy(getattr(np, f"arc{name}")) for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
    "erf": erf,
    "erfc": erfc,
    "gelu": gelu,
    "sigmoid": sigmoid,
    "softplus": softplus,
}
