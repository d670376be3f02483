"""Comparisons, logical operators, tests and selection: the core's uint8 truth values are ONNX's bool."""

from __future__ import annotations

from ..node import NodeWriter
from ..registry import exports
from ..tensor import Tensor

_COMPARISONS = {
    "equal": "Equal",
    "greater": "Greater",
    "greater_or_equal": "GreaterOrEqual",
    "lesser": "Less",
    "lesser_or_equal": "LessOrEqual",
}
_CONNECTIVES = {"logical_and": "And", "logical_or": "Or", "logical_xor": "Xor"}


@exports(*_COMPARISONS)
def comparison(n: NodeWriter) -> Tensor:
    return n.call(_COMPARISONS[n.node.op], n["a"], n["b"])


@exports("not_equal")
def not_equal(n: NodeWriter) -> Tensor:
    return n.call("Not", n.call("Equal", n["a"], n["b"]))


@exports(*_CONNECTIVES)
def connective(n: NodeWriter) -> Tensor:
    return n.call(_CONNECTIVES[n.node.op], n.truth(n["a"]), n.truth(n["b"]))


@exports("logical_not")
def logical_not(n: NodeWriter) -> Tensor:
    return n.call("Not", n.truth(n["a"]))


@exports("is_nan")
def is_nan(n: NodeWriter) -> Tensor:
    return n.call("IsNaN", n["a"])


@exports("is_infinite")
def is_infinite(n: NodeWriter) -> Tensor:
    return n.call("IsInf", n["a"])


@exports("where")
def where(n: NodeWriter) -> Tensor:
    return n.where(n.truth(n["condition"]), n["true_value"], n["false_value"])
