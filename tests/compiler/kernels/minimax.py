"""Derives the coefficients of the elementary functions; needs mpmath, and runs by hand.

    python tests/compiler/kernels/minimax.py log1p [terms]

prints the coefficients of one fit, constant term first, the base-2 logarithm of its weighted error, and the same for
float32 coefficients. `remez` finds the polynomial of least weighted error, `lawson` the ratio of two polynomials,
`rounded` the best float32 coefficients near those. float64 functions take the same fits with more terms.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from mpmath import mp, mpf

Real = Any
Function = Callable[[Real], Real]
mp.prec = 240
TINY = mpf("1e-30")


def _grid(low: Real, high: Real, count: int) -> list[Real]:
    """Chebyshev points with both ends."""
    return [low + (high - low) * (1 - mp.cos(mp.pi * i / count)) / 2 for i in range(count + 1)]


def _extrema(xs: Sequence[Real], errors: Sequence[Real], count: int) -> list[Real]:
    """The places of `count` errors of alternating sign, the largest of each run."""
    runs = [[0]]
    for i in range(1, len(xs)):
        if (errors[i] > 0) == (errors[i - 1] > 0):
            runs[-1].append(i)
        else:
            runs.append([i])
    places = [max(run, key=lambda i: abs(errors[i])) for run in runs]
    while len(places) > count:
        places.pop(0 if abs(errors[places[0]]) < abs(errors[places[-1]]) else -1)
    return [xs[i] for i in places]


def remez(f: Function, powers: Sequence[int], low: Real, high: Real, weight: Function) -> tuple[list[Real], Real]:
    """Coefficients c of the least max |weight (f - sum c x**power)| over [low, high], and that error."""
    count = len(powers) + 1
    places, xs = _grid(low, high, count - 1), _grid(low, high, 2000)
    values, weights = [f(x) for x in xs], [weight(x) for x in xs]
    for _ in range(40):
        system = mp.matrix(count, count)
        for i, x in enumerate(places):
            for j, power in enumerate(powers):
                system[i, j] = x**power
            system[i, count - 1] = (-1) ** i / weight(x)
        solution = mp.lu_solve(system, mp.matrix([f(x) for x in places]))
        found = list(solution)[:-1]
        errors = [w * (v - sum(c * x**p for c, p in zip(found, powers))) for x, v, w in zip(xs, values, weights)]
        worst = max(abs(error) for error in errors)
        following = _extrema(xs, errors, count)
        if worst < abs(solution[count - 1]) * mpf("1.0001") or len(following) < count:
            break
        places = following
    return found, worst


def lawson(
    h: Function, degrees: tuple[int, int], low: Real, high: Real, weight: Function = lambda x: mpf(1)
) -> tuple[list[Real], list[Real], Real]:
    """(p, q, error): p / q of small weighted relative error to h, with q(0) = 1, by least squares weighted anew."""
    m, n = degrees
    xs = _grid(low, high, 300)
    rows = [(x, h(x), weight(x)) for x in xs]
    shares, previous = [mpf(1)] * len(xs), [mpf(1)] * len(xs)
    best: tuple[list[Real], list[Real], Real] = ([], [], mp.inf)
    for iteration in range(100):
        system, right = mp.matrix(m + n + 1, m + n + 1), mp.matrix(m + n + 1, 1)
        for (x, value, w), share, q_before in zip(rows, shares, previous):
            scale = mp.sqrt(share) * w / (value * q_before)
            row = [scale * x**j for j in range(m + 1)] + [-scale * value * x**j for j in range(1, n + 1)]
            for i, entry in enumerate(row):
                right[i] += entry * scale * value
                for j, other in enumerate(row):
                    system[i, j] += entry * other
        solution = list(mp.lu_solve(system, right))
        p, q = solution[: m + 1], [mpf(1), *solution[m + 1 :]]
        previous = [mp.polyval(q[::-1], x) for x in xs]
        errors = [abs(w * (mp.polyval(p[::-1], x) / (d * v) - 1)) for (x, v, w), d in zip(rows, previous)]
        best = min(best, (p, q, max(errors)), key=lambda entry: entry[2])
        if iteration > 5:
            shares = [share * error for share, error in zip(shares, errors)]
            total = sum(shares)
            shares = [share / total for share in shares]
    return best


def rounded(exact: Sequence[Real], error: Callable[[Any], float]) -> list[float]:
    """Float32 coefficients near `exact` of a small `error`, by descent over one and two neighbours at a time."""
    found = np.array([float(c) for c in exact], np.float32)
    least = error(found)
    steps = [(i, s) for i in range(len(found)) for s in (-np.inf, np.inf)]
    moves = [(step,) for step in steps] + [(a, b) for a in steps for b in steps if a[0] < b[0]]
    better = True
    while better:
        better = False
        for move in moves:
            trial = found.copy()
            for i, direction in move:
                trial[i] = np.nextafter(trial[i], np.float32(direction))
            if (value := error(trial)) < least * (1 - 1e-9):
                found, least, better = trial, value, True
    return [float(c) for c in found]


def _odd(f: Function, slope: Real, cubic: Real) -> Function:
    """(f(x) - slope x) / x**3 as a function of x**2."""
    return lambda z: (f(mp.sqrt(z)) - slope * mp.sqrt(z)) / mp.sqrt(z) ** 3 if z > TINY else cubic


def _log1p_tail(f: Real) -> Real:
    return (mp.log1p(f) - f + f * f / 2) / f**3 if abs(f) > TINY else mpf(1) / 3


def _exp_tail(r: Real) -> Real:
    return (mp.expm1(r) - r) / r**2 if r else mpf(1) / 2


def _cos_tail(z: Real) -> Real:
    return (mp.cos(mp.sqrt(z)) - 1 + z / 2) / z**2 if z > TINY else mpf(1) / 24


def _log_ratio(x: Real) -> Real:
    """log((1 + s) / (1 - s)) / (2 s) for s**2 = x."""
    s = mp.sqrt(x)
    return mp.atanh(s) / s


def _mills(a: Real) -> Real:
    return mp.erfc(a) * mp.exp(a * a)


def _normal(a: Real) -> Real:
    return mp.erfc(a / mp.sqrt(2)) / 2 * mp.exp(a * a / 2)


LN2_HALF = mp.log(2) / 2 * mpf("1.0001")
QUARTER = mp.pi / 2 * mpf("0.563")
S_SQUARED = ((mp.sqrt(2) - 1) / (mp.sqrt(2) + 1)) ** 2
HALF = mpf("0.5")

# name: (function, terms, low, high, weight of its absolute error)
FITS: dict[str, tuple[Function, int, Real, Real, Function]] = {
    "exp": (_exp_tail, 5, -LN2_HALF, LN2_HALF, lambda r: r * r + TINY),
    "expm1": (_exp_tail, 6, -LN2_HALF, LN2_HALF, lambda r: abs(r) + mpf("1e-4")),
    "exp2": (lambda r: mpf(2) ** r, 7, -HALF, HALF, lambda r: mpf(2) ** -r),
    "log1p": (_log1p_tail, 8, mpf(-1) / 3, mpf(1) / 3, lambda f: abs(f * f) + mpf("1e-3")),
    "log": (lambda z: 2 * (_log_ratio(z) - 1) / z, 7, TINY, S_SQUARED, lambda z: z / 2),
    "log2": (lambda z: 2 * _log_ratio(z) / mp.log(2), 5, TINY, S_SQUARED, lambda z: HALF),
    "pow": (lambda z: ((_log_ratio(z) - 1) / z - mpf(1) / 3) / z, 7, mpf("1e-12"), S_SQUARED, lambda z: z * z + TINY),
    "tanh": (_odd(mp.tanh, mpf(1), mpf(-1) / 3), 5, TINY, mpf("0.625") ** 2, lambda z: z),
    "sin": (_odd(mp.sin, mpf(1), mpf(-1) / 6), 3, TINY, QUARTER**2, lambda z: z),
    "cos": (_cos_tail, 3, TINY, QUARTER**2, lambda z: z * z + TINY),
    "asin": (_odd(mp.asin, mpf(1), mpf(1) / 6), 13, TINY, HALF**2, lambda z: z),
    "atan": (_odd(mp.atan, mpf(1), mpf(-1) / 3), 11, TINY, (mp.sqrt(2) - 1) ** 2, lambda z: z),
    "erf": (lambda z: mp.erf(mp.sqrt(z)) / mp.sqrt(z) - 1, 6, TINY, mpf("0.9") ** 2, lambda z: mpf(1)),
    "erf_exponent": (lambda a: -mp.log(mp.erfc(a), 2), 7, mpf("0.9"), mpf("3.95"), lambda a: mp.erfc(a) * mp.log(2)),
}
# name: (function, degrees, low, high, weight of its relative error)
RATIOS: dict[str, tuple[Function, tuple[int, int], Real, Real, Function]] = {
    "tan": (lambda z: mp.tan(mp.sqrt(z)) / mp.sqrt(z), (2, 2), TINY, QUARTER**2, lambda z: mpf(1)),
    "erfc": (_mills, (4, 5), mpf(0), mpf("10.2"), lambda a: mpf(1)),
    "normal": (_normal, (4, 5), mpf(0), mpf("14.6"), lambda a: mpf(1)),
    "erfc_near": (
        lambda a: (1 / _mills(a) - 1) / a - mpf("1.125"), (8, 7), mpf("1e-12"), mpf("2.25"),
        lambda a: 1 - _mills(a) * (1 + mpf("1.125") * a),
    ),
    "erfc_far": (
        lambda u: u / _mills(1 / u) - mpf("1.75"), (8, 7), 1 / mpf("27.3"), 1 / mpf("2.25"),
        lambda u: 1 - mpf("1.75") * _mills(1 / u) / u,
    ),
    "normal_near": (
        lambda a: (1 / _normal(a) - 2) / a - mpf("1.5"), (8, 7), mpf("1e-12"), mpf("3.25"),
        lambda a: 1 - _normal(a) * (2 + mpf("1.5") * a),
    ),
    "normal_far": (
        lambda u: u / _normal(1 / u) - mpf("2.5"), (8, 7), 1 / mpf("38.7"), 1 / mpf("3.25"),
        lambda u: 1 - mpf("2.5") * _normal(1 / u) / u,
    ),
}  # fmt: skip


def main(name: str, terms: int = 0) -> None:
    """Print the fit called `name`, and its float32 form."""
    if name in RATIOS:
        ratio, degrees, low, high, weight = RATIOS[name]
        p, q, worst = lawson(ratio, degrees, low, high, weight)
        print([float(c) for c in p], [float(c) for c in q], float(mp.log(worst, 2)))
        return
    function, usual, low, high, weight = FITS[name]
    powers = range(terms or usual)
    exact, worst = remez(function, powers, low, high, weight)
    print([float(c) for c in exact], float(mp.log(worst, 2)))
    xs = _grid(low, high, 1000)
    rest = np.array([float(weight(x) * (function(x) - sum(c * x**p for c, p in zip(exact, powers)))) for x in xs])
    basis = np.array([[float(weight(x) * x**p) for p in powers] for x in xs])

    def error(coefficients: Any) -> float:
        change = np.array([float(mpf(float(c)) - e) for c, e in zip(coefficients, exact)])
        return float(np.abs(rest - basis @ change).max())

    found = rounded(exact, error)
    print(found, np.log2(error(np.array(found))))


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
