"""Functions of one element, and identity."""

from __future__ import annotations

from ..node import NodeWriter
from ..registry import exports
from ..tensor import Tensor

_DIRECT = {
    "abs": "Abs",
    "acos": "Acos",
    "acosh": "Acosh",
    "asin": "Asin",
    "asinh": "Asinh",
    "atan": "Atan",
    "atanh": "Atanh",
    "bitwise_not": "BitwiseNot",
    "ceil": "Ceil",
    "cos": "Cos",
    "cosh": "Cosh",
    "erf": "Erf",
    "exp": "Exp",
    "floor": "Floor",
    "identity": "Identity",
    "log": "Log",
    "neg": "Neg",
    "reciprocal": "Reciprocal",
    "round_even": "Round",
    "sigmoid": "Sigmoid",
    "sin": "Sin",
    "sinh": "Sinh",
    "sqrt": "Sqrt",
    "tanh": "Tanh",
}


@exports(*_DIRECT)
def direct(n: NodeWriter) -> Tensor:
    return n.call(_DIRECT[n.node.op], n["input"])


@exports("tan")
def tan(n: NodeWriter) -> Tensor:
    x = n["input"]
    if x.dtype == "float64":
        return n.call("Div", n.call("Sin", x), n.call("Cos", x))
    return n.call("Tan", x)


@exports("sign")
def sign(n: NodeWriter) -> Tensor:
    """ONNX leaves open what the sign of NaN is; in the core it is 0."""
    x = n["input"]
    if n.type("input").dtype.startswith(("float", "bfloat")):
        x = n.where(n.call("IsNaN", x), n.scalar(0.0, x.dtype), x)
    return n.call("Sign", x)


@exports("trunc")
def trunc(n: NodeWriter) -> Tensor:
    x = n["input"]
    return n.call("Mul", n.call("Sign", x), n.call("Floor", n.call("Abs", x)))


@exports("expm1")
def expm1(n: NodeWriter) -> Tensor:
    return expm1_of(n, n.widened(n["input"]))


def expm1_of(n: NodeWriter, x: Tensor) -> Tensor:
    """``exp(x) - 1 = (exp(x) + 1) * tanh(x / 2)``, which loses no digits near 0."""
    half = n.call("Tanh", n.call("Mul", x, n.scalar(0.5, x.dtype)))
    return n.call("Mul", n.call("Add", n.call("Exp", x), n.scalar(1.0, x.dtype)), half)


@exports("log1p")
def log1p(n: NodeWriter) -> Tensor:
    return log1p_of(n, n.widened(n["input"]))


def log1p_of(n: NodeWriter, x: Tensor) -> Tensor:
    """``log(u) * x / (u - 1)`` with ``u = 1 + x`` rounded, whose errors cancel; ``x`` itself where u is 1 or infinity.

    Kahan, in Goldberg, "What every computer scientist should know about floating-point arithmetic", 1991, theorem 4.
    """
    one = n.scalar(1.0, x.dtype)
    u = n.call("Add", x, one)
    beyond = n.call("Or", n.call("Equal", u, one), n.call("IsInf", u, detect_negative=0))
    divisor = n.where(beyond, one, n.call("Sub", u, one))
    return n.where(beyond, x, n.call("Mul", n.call("Log", u), n.call("Div", x, divisor)))
