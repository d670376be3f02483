"""SplineTransformer of sklearn.preprocessing."""

from __future__ import annotations

from typing import Any

import numpy as np

from basalt.serialization import Kind

from ...ir import Value
from ..emitter import Emitter
from ..registry import Frame, Results, family, translator
from .interpolation import place_in

family(Kind.FEATURE_EXPANSION, "SplineTransformer")


@translator("SplineTransformer")
def spline_transformer(e: Emitter, estimator: Any, x: Frame) -> Results:
    """Each function of the basis is a polynomial on each interval, whose coefficients are looked up."""
    if estimator.extrapolation == "error":
        raise e.unsupported("extrapolation is 'error', expected 'constant', 'linear', 'continue' or 'periodic'")
    if getattr(estimator, "handle_missing", "error") != "error":
        raise e.unsupported("handle_missing is 'zeros', expected 'error'")
    for place, spline in enumerate(estimator.bsplines_):
        if np.any(np.diff(spline.t[spline.k : len(spline.t) - spline.k]) <= 0):
            raise e.unsupported(f"knots of column {place} coincide, as those of a constant column do")
    pieces = [_pieces(estimator, spline) for spline in estimator.bsplines_]
    rows = x.value
    if estimator.extrapolation == "periodic":
        rows = _wrapped(e, estimator, rows)
    breaks, origins = (np.stack([p[i] for p in pieces], axis=1) for i in (0, 1))
    tables = np.stack([p[2] for p in pieces])
    (_, intervals, _, basis) = tables.shape
    first = np.arange(x.width, dtype=np.int32)[None] * intervals
    index = e.emit("add", place_in(e, rows, breaks), e.constant(first))
    offset = e.emit("sub", rows, e.emit("gather", e.constant(origins.T.reshape(-1)), index, axis=0))
    offset = e.reshape(offset, (e.rows, x.width, 1))
    y: Value | None = None
    for power in range(tables.shape[2]):
        table = np.ascontiguousarray(tables[:, :, power, :].reshape(x.width * intervals, basis))
        added = e.emit("gather", e.constant(table), index, axis=0)
        y = added if y is None else e.emit("add", e.emit("mul", y, offset), added)
    assert y is not None
    flat = e.reshape(y, (e.rows, x.width * basis))
    if not estimator.include_bias:
        flat = e.columns(flat, np.flatnonzero(np.arange(x.width * basis) % basis != basis - 1))
    return Results({"transform": flat})


def _bounds(spline: Any) -> tuple[float, float]:
    """Where a spline's basis is complete."""
    return float(spline.t[spline.k]), float(spline.t[-spline.k - 1])


def _wrapped(e: Emitter, estimator: Any, rows: Value) -> Value:
    bounds = np.array([_bounds(s) for s in estimator.bsplines_])
    low, period = bounds[:, 0], bounds[:, 1] - bounds[:, 0]
    offset = e.emit("sub", rows, low)
    turns = e.emit("floor", e.emit("div", offset, period))
    return e.emit("add", e.emit("sub", offset, e.emit("mul", turns, period)), low)


def _pieces(estimator: Any, spline: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Where one interval ends and the next starts, and of each the origin and the coefficients of the basis about it.

    The highest power is first. The first and the last interval reach to infinity, and extrapolate.
    """
    degree, (low, high) = int(spline.k), _bounds(spline)
    knots = np.asarray(spline.t, float)[degree : len(spline.t) - degree]
    derivatives = [spline.derivative(n) if n else spline for n in range(degree + 1)]
    factorials = np.cumprod(np.maximum(np.arange(degree + 1), 1)).astype(float)

    def about(at: float) -> np.ndarray:
        """The Taylor coefficients from the right, [degree + 1, basis]."""
        found = [np.asarray(d(at)) / f for d, f in zip(derivatives, factorials)]
        return np.stack(found[::-1])

    inner = [about(start) for start in knots[:-1]]
    # The last interval's polynomial, moved to its end.
    end = _moved(inner[-1], high - float(knots[-2]))
    kept = {"constant": 1, "linear": 2}.get(estimator.extrapolation, degree + 1)
    ends = [_cut(inner[0], kept), _cut(end, kept)]
    breaks = np.append(knots[:-1], np.nextafter(high, np.inf))
    origins = np.concatenate([[low], knots[:-1], [high]])
    return breaks, origins, np.stack([ends[0], *inner, ends[1]])


def _moved(coefficients: np.ndarray, step: float) -> np.ndarray:
    """The coefficients of polynomials about a point ``step`` further on."""
    found = coefficients.copy()
    for last in range(len(found) - 1, 0, -1):
        for power in range(1, last + 1):
            found[power] += found[power - 1] * step
    return found


def _cut(coefficients: np.ndarray, kept: int) -> np.ndarray:
    found = coefficients.copy()
    found[: max(len(found) - kept, 0)] = 0
    return found
