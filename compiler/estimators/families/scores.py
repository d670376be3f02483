"""From scores to classes and probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...ir import Value
from ..emitter import Emitter
from ..registry import Results


def class_of(e: Emitter, decision: Value) -> Value:
    """Places of the classes, int64 [rows]: of the greatest score, or 1 where a score for two classes is above 0."""
    if len(decision.shape) == 1:
        return e.cast(e.emit("greater", decision, 0.0), "int64")
    return e.emit("arg_max", decision, axis=1, keep_dimensions=False, output_data_type="int64")


def two_columns(e: Emitter, second: Value) -> Value:
    """Probabilities [rows, 2] from those of the second class [rows]."""
    last = column(e, second)
    return e.emit("concat", e.emit("sub", e.number(1.0, last), last), last, axis=1)


def add_log(e: Emitter, values: dict[str, Value]) -> dict[str, Value]:
    """``predict_log_proba`` beside ``predict_proba``."""
    return {**values, "predict_log_proba": e.emit("log", values["predict_proba"])}


def column(e: Emitter, values: Value) -> Value:
    """[rows] as [rows, 1]."""
    return e.reshape(values, (e.rows, 1))


def several_targets(e: Emitter, probabilities: Sequence[Value], classes: list[Any], log: bool = True) -> Results:
    """The methods of a classifier of several targets, from the probabilities [rows, classes] of each."""
    values = {"predict": e.joined([column(e, class_of(e, p)) for p in probabilities])}
    for target, probability in enumerate(probabilities):
        values[f"predict_proba.{target}"] = probability
        if log:
            values[f"predict_log_proba.{target}"] = e.emit("log", probability)
    return Results(values, classes, pairs=("predict_proba", "predict_log_proba") if log else ("predict_proba",))


def shares_of(e: Emitter, parts: Value) -> Value:
    """The parts of each row, scaled to add up to 1; equal ones where all are 0."""
    total = e.sum_columns(parts, keep=True)
    nothing = e.emit("equal", total, 0.0)
    equal = e.constant(np.array([[1.0 / int(parts.shape[1])]]))
    return e.choose(nothing, equal, e.emit("div", parts, e.choose(nothing, 1.0, total)))


def one_hot(e: Emitter, places: Value, classes: int) -> Value:
    """1 at the place of each row's class, else 0: [rows, classes] of the working data type for places [rows]."""
    found = e.emit("equal", column(e, places), e.constant(np.arange(classes)[None]))
    return e.cast(found, e.dtype)


def mean_of(e: Emitter, parts: Sequence[Value], weights: Any = None) -> Value:
    """The weighted mean of values of one shape."""
    shares = np.ones(len(parts)) if weights is None else np.asarray(weights, float)
    total = parts[0] if weights is None else e.emit("mul", parts[0], float(shares[0]))
    for part, share in zip(parts[1:], shares[1:]):
        total = e.emit("add", total, part if weights is None else e.emit("mul", part, float(share)))
    return total if len(parts) == 1 and weights is None else e.emit("div", total, float(shares.sum()))


def _pairs(classes: int) -> np.ndarray:
    """1 for the first class of each pair i < j and -1 for the second: [classes, pairs]."""
    first, second = np.triu_indices(classes, 1)
    table = np.zeros((classes, len(first)))
    table[first, np.arange(len(first))] = 1
    table[second, np.arange(len(first))] = -1
    return table


def pair_votes(e: Emitter, won: Value, classes: int) -> Value:
    """How many pairs each class wins, [rows, classes], for whether the first of each does, [rows, pairs]."""
    table = _pairs(classes)
    return e.emit("add", e.times(e.cast(won, e.dtype), table), np.sum(table < 0, axis=1).astype(float))


def one_versus_rest(e: Emitter, votes: Value, pairs: Value) -> Value:
    """Votes, with ties broken by the decisions for the first of each pair, squeezed into (-1/3, 1/3)."""
    sums = e.times(pairs, _pairs(int(votes.shape[1])))
    size = e.emit("mul", e.emit("add", e.emit("abs", sums), 1.0), 3.0)
    return e.emit("add", votes, e.emit("div", sums, size))
