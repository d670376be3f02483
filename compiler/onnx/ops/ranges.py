"""Arithmetic on positions and sizes that may be symbolic: bounds, clamping, quotients of products."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from basalt.ops import Dim, SymDim
from basalt.ops.dims import dim_max, dim_min, product

END = 2**31 - 1
"""No dimension is larger; positions from here on stand for the end of any axis."""


def lower_bound(d: Dim) -> int | None:
    """A number that an expression is not below while all symbols are at least 1; None if none is found.

    Symbols that are 0 may break it: what relies on it must refuse sizes that are negative once they are known.
    """
    if not isinstance(d, SymDim):
        return d
    bound = 0
    for monomial, factor in d.terms.items():
        least = 1
        for atom in monomial:
            part = _atom_bound(*atom)
            if part is None or part < 0:
                # Of a product the sign of each factor must be known; a lone term may well be negative.
                least = part if len(monomial) == 1 else None  # type: ignore[assignment]
                break
            least *= part
        if least is None or (monomial and factor < 0):
            return None
        bound += factor * least
    return bound


def _atom_bound(kind: object, *parts: object) -> int | None:
    """The lower bound of a symbol or of an operation on two expressions."""
    if kind == "sym":
        return 1
    a, b = (lower_bound(p) for p in parts)  # type: ignore[arg-type]
    if kind == "max":
        return max((bound for bound in (a, b) if bound is not None), default=None)
    if a is None or b is None:
        return None
    if kind == "min":
        return min(a, b)
    divisor = parts[1]
    if not isinstance(divisor, int) or divisor < 1:
        return None
    return a // divisor if kind == "floordiv" else 0


def never_above(a: Dim, b: Dim) -> bool:
    """Whether ``a <= b`` is certain (see :func:`lower_bound`)."""
    bound = lower_bound(b - a)
    return bound is not None and bound >= 0


def smaller(a: Dim, b: Dim) -> Dim:
    """The smaller of two, without a minimum where it is certain which."""
    return a if never_above(a, b) else b if never_above(b, a) else dim_min(a, b)


def larger(a: Dim, b: Dim) -> Dim:
    """The larger of two, without a maximum where it is certain which."""
    return b if never_above(a, b) else a if never_above(b, a) else dim_max(a, b)


def clamp(position: Dim, low: int, high: Dim) -> Dim:
    """A position moved to the nearer end of a range if it lies outside."""
    return larger(smaller(position, high), low)


def from_front(position: Dim, size: Dim) -> Dim:
    """A position of which a negative one counts from the end of an axis."""
    return position + size if isinstance(position, int) and position < 0 else position


def quotient(numerator: Sequence[Dim], denominator: Sequence[Dim]) -> Dim:
    """The quotient of two products of dimensions, rounded down, with common factors taken out.

    Equal factors count as 1 even if they are 0, so that an empty axis leaves the other sizes as they are.
    """
    above, below = Counter[object](), Counter[object]()
    factors = [_split(numerator, above), _split(denominator, below)]
    common = above & below
    above, below = above - common, below - common
    shared = math.gcd(*factors) or 1
    top = product(_joined(above)) * (factors[0] // shared)
    bottom = product(_joined(below)) * (factors[1] // shared)
    return top if bottom == 1 else 0 if bottom == 0 else top // bottom


def _split(dims: Sequence[Dim], factors: Counter[object]) -> int:
    """Count the symbolic factors of a product of dimensions, and its zeros; the number that is left."""
    number = 1
    for d in dims:
        if d == 0:
            factors[0] += 1
        elif not isinstance(d, SymDim):
            number *= int(d)
        elif len(d.terms) == 1:
            ((monomial, factor),) = d.terms.items()
            number *= factor
            factors.update(SymDim({(atom,): 1}) for atom in monomial)
        else:
            factors[d] += 1
    return number


def _joined(factors: Counter[object]) -> list[Dim]:
    return [d for d in factors.elements() if isinstance(d, (int, SymDim))]
