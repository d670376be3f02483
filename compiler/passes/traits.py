"""What rewrites need to know of values: whether they are floats, truth values, without sign."""

from __future__ import annotations

import math

from basalt.ops.types import is_float

from ..ir import Value
from .patterns import Match, Surroundings
from .rewriting import Guard

COMPARISONS = ("equal", "not_equal", "greater", "greater_or_equal", "lesser", "lesser_or_equal")
TRUTH_VALUED = (*COMPARISONS, "logical_not", "logical_and", "logical_or", "logical_xor", "is_nan", "is_infinite")
_NEVER_SIGNED = ("abs", "exp", "sigmoid", "softplus")
_UNSIGNED_OF_UNSIGNED = (
    *("add", "mul", "div", "min", "max", "sqrt"),
    *("reduce_sum", "reduce_mean", "reduce_max", "reshape"),
)
_MOVING = ("cast", "reshape", "transpose", "expand", "slice", "tile", "reverse", "split", "identity")
_MAX_DEPTH = 4


def floats(name: str) -> Guard:
    """The guard that a bound operand is of a floating-point type."""
    return f"{name} holds integers", lambda m: is_float(m[name].dtype)


def integers(name: str) -> Guard:
    """The guard that a bound operand is of an integer type."""
    return f"{name} holds floats", lambda m: not m[name].dtype.startswith(("float", "bfloat", "complex"))


def same_type(name: str) -> Guard:
    """The guard that the result has the type of a bound operand."""
    return f"{name} is broadcast to the result's shape", lambda m: m[name].type == m.output.type


def alone(name: str) -> Guard:
    """The guard that nothing else reads a bound node."""
    return f"other nodes read the {name} node as well", lambda m: m.alone(name)


def is_positive_zero(x: float | int) -> bool:
    return x == 0 and math.copysign(1, x) > 0


def is_negative_zero(x: float | int) -> bool:
    return x == 0 and math.copysign(1, x) < 0


def is_truth_value(graph: Surroundings, value: Value, depth: int = _MAX_DEPTH) -> bool:
    """Whether every element is known to be 0 or 1."""
    if value.dtype == "bool":
        return True
    producer = graph.producer(value)
    if producer is None:
        return graph.context.number(value) in (0, 1)
    if producer.op in _MOVING and depth:
        return is_truth_value(graph, producer.present[0], depth - 1)
    return producer.op in TRUTH_VALUED


def is_unsigned(graph: Surroundings, value: Value, depth: int = _MAX_DEPTH) -> bool:
    """Whether a float value is known to be at least 0 or NaN, and no negative zero."""
    producer = graph.producer(value)
    if producer is None:
        number = graph.context.number(value)
        return number is not None and (number > 0 or is_positive_zero(number))
    if producer.op in _NEVER_SIGNED:
        return True
    if producer.op == "mul" and producer.inputs[0] is producer.inputs[1]:
        return True
    if producer.op not in _UNSIGNED_OF_UNSIGNED or depth == 0:
        return False
    return all(is_unsigned(graph, v, depth - 1) for v in producer.present)


def truth_value(name: str) -> Guard:
    """The guard that a bound operand holds only 0 and 1."""
    return f"{name} may hold other numbers than 0 and 1", lambda m: is_truth_value(m.graph, m[name])


def unsigned(name: str) -> Guard:
    """The guard that a bound operand holds no negative number and no negative zero."""

    def holds(m: Match) -> bool:
        return is_unsigned(m.graph, m[name])

    return f"{name} may be negative, or a negative zero", holds
