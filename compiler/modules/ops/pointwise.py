"""Element-wise arithmetic, comparisons and logic, in the data type that torch promotes to."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

from ...onnx.tensor import Tensor
from ..context import AtenContext
from ..registry import aten

_UNARY = {
    "neg": "Neg",
    "sqrt": "Sqrt",
    "exp": "Exp",
    "log": "Log",
    "sin": "Sin",
    "cos": "Cos",
    "tan": "Tan",
    "asin": "Asin",
    "acos": "Acos",
    "atan": "Atan",
    "sinh": "Sinh",
    "cosh": "Cosh",
    "asinh": "Asinh",
    "acosh": "Acosh",
    "atanh": "Atanh",
    "erf": "Erf",
    "sigmoid": "Sigmoid",
    "tanh": "Tanh",
    "reciprocal": "Reciprocal",
    "floor": "Floor",
    "ceil": "Ceil",
    "round": "Round",
    "abs": "Abs",
    "sign": "Sign",
}
_CORE_UNARY = {"expm1": "expm1", "log1p": "log1p", "trunc": "trunc"}
_INTEGRAL = frozenset({"floor", "ceil", "round", "trunc"})


def is_integer(dtype: str) -> bool:
    """Whether a data type is one of integers or bool."""
    return "int" in dtype or dtype == "bool"


def _unary(n: AtenContext, x: Tensor, name: str) -> Tensor:
    if name in _INTEGRAL and is_integer(x.dtype):
        return x
    x = n.cast(x, n.dtype)
    return n.emit(_CORE_UNARY[name], x) if name in _CORE_UNARY else n.call(_UNARY[name], x)


for _name in (*_UNARY, *_CORE_UNARY):
    aten(f"{_name}.default")(partial(_unary, name=_name))


def both(n: AtenContext, a: Any, b: Any, dtype: str = "") -> tuple[Tensor, Tensor]:
    """Two operands in the result's data type, or the one stated."""
    dtype = dtype or n.dtype
    return n.tensor_of(a, dtype), n.tensor_of(b, dtype)


@aten("add.Tensor", "add.Scalar")
def add(n: AtenContext, a: Any, b: Any, alpha: Any = 1) -> Tensor:
    if n.dtype == "bool":
        return n.call("Or", *both(n, a, b))
    return n.call("Add", *_scaled(n, a, b, alpha))


@aten("sub.Tensor", "sub.Scalar")
def sub(n: AtenContext, a: Any, b: Any, alpha: Any = 1) -> Tensor:
    return n.call("Sub", *_scaled(n, a, b, alpha))


@aten("rsub.Tensor", "rsub.Scalar")
def rsub(n: AtenContext, a: Any, b: Any, alpha: Any = 1) -> Tensor:
    scaled, other = _scaled(n, b, a, alpha)
    return n.call("Sub", scaled, other)


def _scaled(n: AtenContext, a: Any, b: Any, alpha: Any) -> tuple[Tensor, Tensor]:
    a, b = both(n, a, b)
    return a, b if alpha == 1 else n.call("Mul", b, n.tensor_of(alpha, b.dtype))


@aten("mul.Tensor", "mul.Scalar")
def mul(n: AtenContext, a: Any, b: Any) -> Tensor:
    return n.call("And" if n.dtype == "bool" else "Mul", *both(n, a, b))


@aten("div.Tensor", "div.Scalar", "true_divide.Tensor")
def div(n: AtenContext, a: Any, b: Any) -> Tensor:
    return n.call("Div", *both(n, a, b))


@aten("div.Tensor_mode", "div.Scalar_mode")
def div_mode(n: AtenContext, a: Any, b: Any, rounding_mode: str | None = None) -> Tensor:
    if rounding_mode == "floor":
        return floor_divide(n, a, b)
    quotient: Tensor = n.call("Div", *both(n, a, b))
    return n.emit("trunc", quotient) if rounding_mode and not is_integer(n.dtype) else quotient


@aten("floor_divide.default", "floor_divide.Scalar")
def floor_divide(n: AtenContext, a: Any, b: Any) -> Tensor:
    a, b = both(n, a, b)
    if not is_integer(n.dtype):
        return n.emit("floor", n.emit("div", a, b))
    # a - (a mod b) is a multiple of b for the remainder that has the divisor's sign.
    return n.call("Div", n.call("Sub", a, n.emit("mod", a, b)), b)


@aten("remainder.Tensor", "remainder.Scalar", "remainder.Scalar_Tensor")
def remainder(n: AtenContext, a: Any, b: Any) -> Tensor:
    return n.emit("mod", *both(n, a, b))


@aten("fmod.Tensor", "fmod.Scalar")
def fmod(n: AtenContext, a: Any, b: Any) -> Tensor:
    return n.emit("fmod", *both(n, a, b))


@aten("pow.Tensor_Tensor", "pow.Tensor_Scalar", "pow.Scalar")
def power(n: AtenContext, a: Any, b: Any) -> Tensor:
    if b == 2 and isinstance(a, Tensor):
        x = n.cast(a, n.dtype)
        return n.call("Mul", x, x)
    if b == 0.5 and isinstance(a, Tensor):
        return n.call("Sqrt", n.cast(a, n.dtype))
    return n.call("Pow", *both(n, a, b))


@aten("maximum.default", "clamp_min.default", "clamp_min.Tensor", "max.other")
def maximum(n: AtenContext, a: Any, b: Any) -> Tensor:
    return n.call("Max", *both(n, a, b))


@aten("minimum.default", "clamp_max.default", "clamp_max.Tensor", "min.other")
def minimum(n: AtenContext, a: Any, b: Any) -> Tensor:
    return n.call("Min", *both(n, a, b))


@aten("clamp.default", "clamp.Tensor")
def clamp(n: AtenContext, x: Tensor, low: Any = None, high: Any = None) -> Tensor:
    x = n.cast(x, n.dtype)
    if isinstance(low, Tensor) or isinstance(high, Tensor) or is_integer(n.dtype):
        x = x if low is None else n.call("Max", x, n.tensor_of(low, n.dtype))
        return x if high is None else n.call("Min", x, n.tensor_of(high, n.dtype))
    return n.emit("clamp", x, min_value=_limit(low, -math.inf), max_value=_limit(high, math.inf))


def _limit(limit: Any, default: float) -> float:
    return default if limit is None else float(limit)


def _compare(n: AtenContext, a: Any, b: Any, op: str) -> Tensor:
    dtype = n.operand_dtype()
    dtype = "uint8" if dtype == "bool" else dtype
    return n.emit(op, *both(n, a, b, dtype), dtype="bool")


_COMPARISONS = {
    "eq": "equal",
    "ne": "not_equal",
    "gt": "greater",
    "lt": "lesser",
    "ge": "greater_or_equal",
    "le": "lesser_or_equal",
}
for _name, _op in _COMPARISONS.items():
    aten(f"{_name}.Tensor", f"{_name}.Scalar")(partial(_compare, op=_op))


def as_bool(n: AtenContext, x: Any) -> Tensor:
    """Whether elements are not zero."""
    return n.tensor_of(x, "bool")


def _logical(n: AtenContext, a: Any, b: Any, op: str) -> Tensor:
    return n.call(op, as_bool(n, a), as_bool(n, b))


for _name, _op in {"and": "And", "or": "Or", "xor": "Xor"}.items():
    aten(f"logical_{_name}.default")(partial(_logical, op=_op))


def _bitwise(n: AtenContext, a: Any, b: Any, op: str) -> Tensor:
    a, b = both(n, a, b)
    return n.call(op if n.dtype == "bool" else f"Bitwise{op}", a, b)


for _name, _op in {"and": "And", "or": "Or", "xor": "Xor"}.items():
    aten(f"bitwise_{_name}.Tensor", f"bitwise_{_name}.Scalar")(partial(_bitwise, op=_op))


def _shift(n: AtenContext, x: Any, by: Any, direction: str) -> Tensor:
    return n.emit(f"shift_{direction}", *both(n, x, by))


for _direction in ("left", "right"):
    _dunder = f"__{_direction[0]}shift__"
    aten(
        f"{_dunder}.Scalar",
        f"{_dunder}.Tensor",
        f"bitwise_{_direction}_shift.Tensor",
        f"bitwise_{_direction}_shift.Tensor_Scalar",
    )(partial(_shift, direction=_direction))


@aten("logical_not.default")
def logical_not(n: AtenContext, x: Tensor) -> Tensor:
    return n.call("Not", as_bool(n, x))


@aten("bitwise_not.default")
def bitwise_not(n: AtenContext, x: Tensor) -> Tensor:
    return n.call("Not" if x.dtype == "bool" else "BitwiseNot", x)


@aten("isnan.default")
def isnan(n: AtenContext, x: Tensor) -> Tensor:
    return n.filled(False) if is_integer(x.dtype) else n.call("IsNaN", x)


@aten("isinf.default")
def isinf(n: AtenContext, x: Tensor) -> Tensor:
    return n.filled(False) if is_integer(x.dtype) else n.call("IsInf", x)


@aten("round.decimals")
def round_to(n: AtenContext, x: Tensor, decimals: int = 0) -> Tensor:
    factor = n.scalar(10.0 ** abs(decimals), x)
    there, back = ("mul", "div") if decimals >= 0 else ("div", "mul")
    return n.emit(back, n.call("Round", n.emit(there, x, factor)), factor)


@aten("rsqrt.default")
def rsqrt(n: AtenContext, x: Tensor) -> Tensor:
    return n.emit("reciprocal", n.emit("sqrt", n.cast(x, n.dtype)))


def _log_to(n: AtenContext, x: Tensor, base: float) -> Tensor:
    x = n.cast(x, n.dtype)
    return n.emit("mul", n.emit("log", x), n.scalar(1 / math.log(base), x))


aten("log2.default")(partial(_log_to, base=2.0))
aten("log10.default")(partial(_log_to, base=10.0))


@aten("exp2.default")
def exp2(n: AtenContext, x: Tensor) -> Tensor:
    x = n.cast(x, n.dtype)
    return n.emit("pow", n.scalar(2.0, x), x)


@aten("erfc.default")
def erfc(n: AtenContext, x: Tensor) -> Tensor:
    x = n.cast(x, n.dtype)
    return n.emit("sub", n.scalar(1.0, x), n.emit("erf", x))


@aten("hypot.default")
def hypot(n: AtenContext, a: Tensor, b: Tensor) -> Tensor:
    a, b = both(n, a, b)
    return n.emit("sqrt", n.emit("add", n.emit("mul", a, a), n.emit("mul", b, b)))


def _other_than_nan(n: AtenContext, a: Tensor, b: Tensor, op: str) -> Tensor:
    a, b = both(n, a, b)
    if is_integer(n.dtype):
        return n.call(op, a, b)
    kept = n.call("Where", n.call("IsNaN", b), a, n.call(op, a, b))
    return n.call("Where", n.call("IsNaN", a), b, kept)


aten("fmax.default")(partial(_other_than_nan, op="Max"))
aten("fmin.default")(partial(_other_than_nan, op="Min"))


@aten("copysign.Tensor", "copysign.Scalar")
def copysign(n: AtenContext, a: Tensor, b: Any) -> Tensor:
    a, b = both(n, a, b)
    size = n.emit("abs", a)
    # One by a zero is the infinity of its sign.
    negative = n.emit(
        "lesser", n.emit("where", as_bool(n, b), b, n.emit("reciprocal", b)), n.scalar(0, b), dtype="bool"
    )
    return n.emit("where", negative, n.emit("neg", size), size)


@aten("ldexp.Tensor")
def ldexp(n: AtenContext, a: Tensor, b: Tensor) -> Tensor:
    a, b = both(n, a, b)
    return n.emit("mul", a, n.emit("pow", n.scalar(2.0, b), b))


@aten("where.self", "where.ScalarOther", "where.ScalarSelf", "where.Scalar")
def where(n: AtenContext, condition: Tensor, a: Any, b: Any) -> Tensor:
    return n.call("Where", as_bool(n, condition), *both(n, a, b))


@aten("masked_fill.Scalar", "masked_fill.Tensor")
def masked_fill(n: AtenContext, x: Tensor, mask: Tensor, value: Any) -> Tensor:
    return n.call("Where", mask, *both(n, value, x))


@aten("addcmul.default")
def addcmul(n: AtenContext, x: Tensor, a: Tensor, b: Tensor, value: Any = 1) -> Tensor:
    return add(n, x, n.call("Mul", *both(n, a, b)), value)


@aten("addcdiv.default")
def addcdiv(n: AtenContext, x: Tensor, a: Tensor, b: Tensor, value: Any = 1) -> Tensor:
    return add(n, x, n.call("Div", *both(n, a, b)), value)


@aten("clone.default", "alias.default", "detach.default", "lift_fresh_copy.default", "contiguous.default")
def same(n: AtenContext, x: Tensor, memory_format: Any = None) -> Tensor:
    return x


@aten("dropout.default", "feature_dropout.default", "alpha_dropout.default", "feature_alpha_dropout.default")
def dropout(n: AtenContext, x: Tensor, p: float = 0.5, train: bool = False) -> Tensor:
    if train and p:
        raise n.unsupported("dropout while training")
    return x


@aten("native_dropout.default")
def native_dropout(n: AtenContext, x: Tensor, p: float, train: bool | None) -> tuple[Tensor, Tensor]:
    return dropout(n, x, p, bool(train)), n.filled(True, x.shape, "bool")


@aten("_to_copy.default", "to.dtype", "to.dtype_layout", "type_as.default", "to.device")
@aten("prims::convert_element_type.default")
def convert(n: AtenContext, x: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    return n.cast(x, n.dtype)
