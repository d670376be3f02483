"""From scores to classes and probabilities."""

from __future__ import annotations

from ...ir import Value
from ..emitter import Emitter


def class_of(e: Emitter, decision: Value) -> Value:
    """Places of the classes, int64 [rows]: of the greatest score, or 1 where a score for two classes is above 0."""
    if len(decision.shape) == 1:
        return e.cast(e.emit("greater", decision, 0.0), "int64")
    return e.emit("arg_max", decision, axis=1, keep_dimensions=False, output_data_type="int64")


def two_columns(e: Emitter, second: Value) -> Value:
    """Probabilities [rows, 2] from those of the second class [rows]."""
    column = e.reshape(second, (e.rows, 1))
    return e.emit("concat", e.emit("sub", e.number(1.0, column), column), column, axis=1)


def add_log(e: Emitter, values: dict[str, Value]) -> dict[str, Value]:
    """``predict_log_proba`` beside ``predict_proba``."""
    return {**values, "predict_log_proba": e.emit("log", values["predict_proba"])}
