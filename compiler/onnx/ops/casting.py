"""Cast, CastLike and BitCast between all data types but strings and complex numbers."""

from __future__ import annotations

import re

from basalt.errors import ModelFormatError

from ..attributes import dtype_of_code
from ..errors import OnHostError
from ..host.conversion import ROUND_MODES
from ..node import NodeContext
from ..registry import onnx_op
from ..tensor import UNCARRIED, Tensor, carrier, onnx_dtype
from .small_floats import SMALL_FLOATS, decode, encode

_NARROW = {"int4": (8, 15), "uint4": (0, 15), "int2": (2, 3), "uint2": (0, 3)}
"""Integers of less than a byte: what to add so that none is negative, and the mask of their bits."""
_EXACT_IN_FLOAT32 = frozenset({"float32", "float16", "bfloat16", "int16", "uint16", "int8", "uint8", "bool"}) | set(
    _NARROW
)


@onnx_op("Cast", 1, 6, 9, 13, 19, 21, 23, 24, 25, 28)
def cast(n: NodeContext) -> Tensor:
    target = _target(n, n.attr("to"))
    if n.schema is not None and target not in n.schema.outputs[0].types:
        raise n.error(f"attribute to is {target}, expected one of {', '.join(sorted(n.schema.outputs[0].types))}")
    return convert(n, n.tensor(0), target, bool(n.attr("saturate", 1)), n.attr("round_mode", "up"))


@onnx_op("CastLike", 15, 19, 21, 23, 24, 25)
def cast_like(n: NodeContext) -> Tensor:
    like = n.item(1)
    if not isinstance(like, Tensor):
        raise OnHostError
    return convert(n, n.tensor(0), like.dtype, bool(n.attr("saturate", 1)), n.attr("round_mode", "up"))


@onnx_op("BitCast", 26)
def bit_cast(n: NodeContext) -> Tensor:
    """The bits in another data type; a byte is true where any bit is set."""
    x, target = n.tensor(0), _target(n, n.attr("to"))
    if x.dtype == target:
        return x
    if target in UNCARRIED or _bits(x.dtype) != _bits(target):
        raise OnHostError
    if _bits(target) < 8:
        bits = n.emit("bitcast", x, data_type="uint8", dtype="uint8")
        low = n.emit("bitwise_and", bits, n.constant((1 << _bits(target)) - 1, "uint8"))
        return _to_narrow(n, low, target) if target in _NARROW else n.emit("identity", low, dtype=target)
    if target == "bool":
        return n.emit(
            "not_equal", n.emit("bitcast", x, data_type="uint8", dtype="uint8"), n.constant(0, "uint8"), dtype="bool"
        )
    return n.emit("bitcast", x, data_type=carrier(target), dtype=target)


def _bits(dtype: str) -> int:
    """How many bits an element has in ONNX."""
    return int(re.findall(r"\d+", dtype)[0]) if dtype != "bool" else 8


def _target(n: NodeContext, to: int | str) -> str:
    """The data type that ``to`` says: a number of the standard, at version 1 its name, else our name (internal)."""
    if isinstance(to, str) and n.version > 1:
        return to
    name = {"float": "float32", "double": "float64"}.get(to.lower(), to.lower()) if isinstance(to, str) else ""
    try:
        if isinstance(to, str):
            onnx_dtype(name)
            return name
        return dtype_of_code(to)
    except (KeyError, ModelFormatError):
        raise n.error(f"attribute to is {to!r}, expected a data type") from None


def convert(n: NodeContext, x: Tensor, target: str, saturate: bool, round_mode: str) -> Tensor:
    """A tensor in another ONNX data type, as Cast converts.

    Where the standard leaves results open: a float beyond the range of an integer of 8 bits and more becomes the
    nearest end of it, NaN becomes 0; to an integer of 4 or 2 bits a float is truncated and keeps its low bits.
    """
    if round_mode not in ROUND_MODES:
        raise n.error(f"attribute round_mode is {round_mode!r}, expected one of {', '.join(ROUND_MODES)}")
    if x.dtype == target:
        return x
    if target in UNCARRIED:
        raise OnHostError
    if x.dtype in SMALL_FLOATS:
        return decode(n, x, target, saturate, round_mode)
    if target in SMALL_FLOATS:
        return _to_small_float(n, x, target, saturate, round_mode)
    if target == "bool":
        return n.emit("not_equal", x, n.constant(0, carrier(x.dtype)), dtype="bool")
    if target in _NARROW:
        return _to_narrow(n, x, target)
    return n.emit("cast", x, data_type=target, dtype=target)


def _to_small_float(n: NodeContext, x: Tensor, target: str, saturate: bool, round_mode: str) -> Tensor:
    if x.dtype in ("int64", "uint64") and target == "float8_e8m0fnu":
        # Values next to a power of two would be rounded onto it by float64.
        raise OnHostError
    work = "float32" if x.dtype in _EXACT_IN_FLOAT32 else "float64"
    wide = x if x.dtype == work else n.emit("cast", x, data_type=work, dtype=work)
    return encode(n, wide, target, saturate, round_mode)


def _to_narrow(n: NodeContext, x: Tensor, target: str) -> Tensor:
    """The low bits of integers, and of floats truncated toward zero, as an integer of 4 or 2 bits."""
    offset, mask = _NARROW[target]
    if x.dtype.startswith(("float", "bfloat")):
        x = n.emit("fmod", n.emit("trunc", x), n.scalar(mask + 1, like=x))
    held = n.emit("cast", x, data_type="int8", dtype="int8")
    low = n.emit("bitwise_and", n.emit("add", held, n.constant(offset, "int8")), n.constant(mask, "int8"))
    shifted = n.emit("sub", low, n.constant(offset, "int8"))
    return n.emit("cast", shifted, data_type=carrier(target), dtype=target)
