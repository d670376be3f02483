"""Piecewise linear functions of a matrix's elements."""

from __future__ import annotations

import numpy as np

from ...ir import Value
from ..emitter import Emitter

__all__ = ["interpolated", "place_in"]


def place_in(e: Emitter, x: Value, knots: np.ndarray) -> Value:
    """How many of its column's knots [count, columns] each element reaches: int32 [rows, columns]."""
    width = knots.shape[1]
    spread = e.reshape(x, (e.rows, 1, width))
    reached = e.cast(e.emit("greater_or_equal", spread, e.constant(knots[None])), "int32")
    return e.emit("reduce_sum", reached, axes=(1,), keep_dimensions=False)


def interpolated(e: Emitter, x: Value, knots: np.ndarray, values: np.ndarray) -> Value:
    """As ``numpy.interp`` for each column: knots [count, columns] or [count] for all, constant beyond the ends."""
    width = int(x.shape[1])
    at = np.broadcast_to(np.asarray(knots, float).reshape(len(knots), -1), (len(knots), width))
    to = np.broadcast_to(np.asarray(values, float).reshape(len(values), -1), at.shape)
    run = np.diff(at, axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        slope = np.where(run > 0, np.diff(to, axis=0) / np.where(run > 0, run, 1), 0.0)
    slope = np.concatenate([slope, np.zeros((1, width))])
    held = e.emit("min", e.emit("max", x, e.constant(at[:1])), e.constant(at[-1:]))
    place = e.emit("sub", place_in(e, held, at), 1)
    # A NaN reaches no knot; it stays NaN whatever place it is given.
    place = e.emit("max", place, 0)
    index = e.emit("add", e.emit("mul", place, width), e.constant(np.arange(width, dtype=np.int32)[None]))

    def looked_up(table: np.ndarray) -> Value:
        return e.emit("gather", e.constant(np.ascontiguousarray(table).reshape(-1)), index, axis=0)

    rise = e.emit("mul", looked_up(slope), e.emit("sub", held, looked_up(at)))
    return e.emit("add", rise, looked_up(to))
