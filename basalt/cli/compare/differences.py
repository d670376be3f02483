"""How two arrays differ: by how much, in how many elements, where first, and whether that is within a tolerance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["Difference", "Limits", "difference", "worst"]

_SMALLEST_SCALE = 1e-6
"""The scale of an array whose elements are all smaller: rounding of what should be 0 is no difference."""


@dataclass(frozen=True)
class Limits:
    """What may differ.

    ``tolerance`` is in parts of an array's greatest magnitude and counts for floating-point numbers. Where ``atol`` or
    ``rtol`` is given, |a - b| <= atol + rtol * |b| counts in its place, for integers too, which else must be equal.
    """

    tolerance: float
    rtol: float | None = None
    atol: float | None = None

    def allowed(self, right: np.ndarray, scale: float, is_float: bool) -> np.ndarray | float:
        """The difference that each element of ``right`` (float64) may have."""
        if self.rtol is not None or self.atol is not None:
            with np.errstate(invalid="ignore"):
                return (self.atol or 0.0) + (self.rtol or 0.0) * np.abs(right)
        return self.tolerance * scale if is_float else 0.0


@dataclass(frozen=True)
class Difference:
    """How an array differs from another, the reference.

    Attributes:
        dtypes: names of both data types.
        shapes: both shapes; what follows is None or 0 where they differ.
        largest: the greatest difference of elements that are finite in both, None for text and where there are none.
        scaled: the same in parts of the reference's greatest finite magnitude.
        ulps: the same in units in the last place, for floating-point numbers of one type.
        unequal: how many elements are not equal (a NaN equals a NaN).
        beyond: how many differ beyond the tolerance.
        nan: how many are a NaN in one array only; ``inf``: an infinity in one only, or of the other sign.
        first: the index of the first element beyond the tolerance.
        verdict: "equal", "close", "differs", "shape" or "data type".
    """

    dtypes: tuple[str, str]
    shapes: tuple[tuple[int, ...], tuple[int, ...]]
    largest: float | None = None
    scaled: float | None = None
    ulps: int | None = None
    unequal: int = 0
    beyond: int = 0
    nan: int = 0
    inf: int = 0
    first: tuple[int, ...] | None = None
    verdict: str = "equal"

    @property
    def agrees(self) -> bool:
        """Whether the arrays are equal, or close enough."""
        return self.verdict in ("equal", "close")


def difference(left: Any, right: Any, limits: Limits) -> Difference:
    """How ``left`` differs from the reference ``right``; elements of lists and maps are compared one by one."""
    from basalt.cli.arrays import flattened

    if isinstance(left, np.ndarray) and isinstance(right, np.ndarray):
        return _of_arrays(left, right, limits)
    a, b = flattened({"": left}), flattened({"": right})
    if a.keys() != b.keys():
        return Difference((type(left).__name__, type(right).__name__), ((len(a),), (len(b),)), verdict="shape")
    parts = [_of_arrays(array, b[name], limits) for name, array in a.items()]
    return worst(parts) if parts else Difference(("none", "none"), ((), ()))


def worst(differences: list[Difference]) -> Difference:
    """The first that does not agree, or else the greatest."""
    return max(differences, key=lambda d: (not d.agrees, d.scaled or 0.0, d.unequal))


def _of_arrays(left: np.ndarray, right: np.ndarray, limits: Limits) -> Difference:
    dtypes, shapes = (_name(left.dtype), _name(right.dtype)), (left.shape, right.shape)
    if left.shape != right.shape:
        return Difference(dtypes, shapes, verdict="shape")
    kinds = _kind(left.dtype), _kind(right.dtype)
    if kinds[0] != kinds[1]:
        return Difference(dtypes, shapes, verdict="data type")
    if kinds[0] == "other":
        return _of_others(left, right, dtypes)
    return _of_numbers(left, right, dtypes, limits, kinds[0] == "float")


def _of_others(left: np.ndarray, right: np.ndarray, dtypes: tuple[str, str]) -> Difference:
    """Text, booleans and whatever else is equal or not."""
    unequal = np.asarray(left != right)
    count = int(np.count_nonzero(unequal))
    verdict = "differs" if count else "equal"
    shapes = (left.shape, right.shape)
    return Difference(dtypes, shapes, unequal=count, beyond=count, first=_first(unequal), verdict=verdict)


def _of_numbers(
    left: np.ndarray, right: np.ndarray, dtypes: tuple[str, str], limits: Limits, is_float: bool
) -> Difference:
    wide = np.complex128 if "c" in (left.dtype.kind, right.dtype.kind) else np.float64
    with np.errstate(all="ignore"):
        a, b = left.astype(wide), right.astype(wide)
        both = np.isfinite(a) & np.isfinite(b)
        nan = np.isnan(a) != np.isnan(b)
        inf = (np.isinf(a) | np.isinf(b)) & ~nan & (a != b)
        # Integers beyond 2**53 differ although they are equal as float64.
        unequal = (a != b) & ~(np.isnan(a) & np.isnan(b)) if is_float else left != right
        gaps = np.where(both, np.abs(a - b), 0.0)
    largest = float(gaps.max(initial=0.0)) if both.any() else None
    finite = np.isfinite(b)
    scale = max(float(np.abs(b[finite]).max(initial=0.0)), _SMALLEST_SCALE)
    allowed = limits.allowed(b, scale, is_float)
    exact = limits.rtol is None and limits.atol is None and not is_float
    beyond = unequal if exact else nan | inf | (both & (gaps > allowed))
    count = int(np.count_nonzero(beyond))
    return Difference(
        dtypes,
        (left.shape, right.shape),
        largest,
        None if largest is None else largest / scale,
        _ulps(left[both], right[both]) if is_float and left.dtype == right.dtype else None,
        int(np.count_nonzero(unequal)),
        count,
        int(np.count_nonzero(nan)),
        int(np.count_nonzero(inf)),
        _first(beyond),
        "differs" if count else "close" if unequal.any() else "equal",
    )


def _ulps(left: np.ndarray, right: np.ndarray) -> int | None:
    """The most representable numbers that lie between two finite elements; None for complex numbers."""
    if left.dtype.kind == "c":
        return None
    if not left.size:
        return 0
    a, b = _ordered(left), _ordered(right)
    return int(np.where(a > b, a - b, b - a).max())


def _ordered(array: np.ndarray) -> np.ndarray:
    """Unsigned integers in the order of finite floating-point numbers, neighbours differing by 1."""
    size = array.dtype.itemsize
    bits = np.ascontiguousarray(array).view(f"u{size}").astype(np.uint64)
    sign = np.uint64(1 << (8 * size - 1))
    # Both zeros become the same number.
    return np.where(bits & sign, sign - (bits - sign), sign + bits)


def _first(places: np.ndarray) -> tuple[int, ...] | None:
    if not places.any():
        return None
    return tuple(int(i) for i in np.unravel_index(int(np.argmax(places)), places.shape))


def _name(dtype: np.dtype) -> str:
    return "string" if dtype.kind in "OSU" else dtype.name


def _kind(dtype: np.dtype) -> str:
    """Which types can be compared with each other."""
    if dtype.kind in "fc" or (dtype.kind == "V" and "float" in dtype.name):
        return "float"
    return "integer" if dtype.kind in "iu" or (dtype.kind == "V" and "int" in dtype.name) else "other"
