"""Scalar expressions to source, one primitive call a line.

Narrow floats (float16, bfloat16) are computed in float32 and rounded where an operator's result leaves its expression.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from basalt.ops.expression import BOOL, Term
from basalt.ops.types import is_float

from .kernel import KernelBuilder

SUFFIX = {
    "float32": "f32", "float64": "f64", "float16": "f16", "bfloat16": "bf16", "bool": "bool",
    "int8": "i8", "uint8": "u8", "int16": "i16", "uint16": "u16", "int32": "i32", "uint32": "u32",
    "int64": "i64", "uint64": "u64", "int4": "i8", "uint4": "u8",
}  # fmt: skip
"""The suffix of the loads and stores of a data type."""

_NARROW = {"float16": "round_f16", "bfloat16": "round_bf16"}
_EXACT = frozenset({"abs", "neg", "max", "min", "sign", "floor", "ceil", "rint", "trunc", "select"})
"""Functions of narrow floats whose results their data type holds."""
_ROUND_FIRST = frozenset({"floor", "ceil", "rint", "trunc", "to"})
"""Functions with jumps, and casts: what they take is rounded first, or results near a jump would be others than the
operators' NumPy semantics give."""
_LOGIC = {"land": "and_u8", "lor": "or_u8", "lxor": "xor_u8"}


def register_suffix(dtype: str) -> str:
    """The suffix of the register type that a data type is computed in."""
    return "f32" if dtype in _NARROW else "u8" if dtype == BOOL else SUFFIX[dtype]


class TermWriter:
    """Writes the lines of expressions into a kernel; constants and parameters are declared once."""

    def __init__(self, kernel: KernelBuilder) -> None:
        self.kernel = kernel
        self._constants: dict[tuple[str, object], str] = {}

    def write(self, term: Term, names: Mapping[str, str], params: Mapping[str, float | int]) -> str:
        """Write a term; returns the name of its value, which a narrow float's data type holds.

        Args:
            term: the typed expression.
            names: the local name of each operand's value.
            params: the attributes' values.
        """
        return self._narrow(self._write(term, names, params), term)

    def _write(self, term: Term, names: Mapping[str, str], params: Mapping[str, float | int]) -> str:
        """Write a term whose value is not rounded to a narrow float yet."""
        if term.op == "name":
            return names[str(term.value)]
        if term.op == "const":
            return self.constant(term.value, term.dtype)  # type: ignore[arg-type]
        if term.op == "param":
            return self.parameter(str(term.value), params[str(term.value)], term.dtype)
        write = self.write if term.op in _ROUND_FIRST else self._write
        args = [write(a, names, params) for a in term.args]
        return self._define(self._operation(term, args))

    def _narrow(self, name: str, term: Term) -> str:
        """A value rounded to the narrow float that it stands for, unless that changes nothing."""
        if term.dtype not in _NARROW or _is_narrow(term):
            return name
        return self._define(f"{_NARROW[term.dtype]}({name})")

    def constant(self, value: float | int, dtype: str) -> str:
        """A literal of the expression itself, hoisted to the top of the kernel."""
        if dtype == BOOL:
            return str(bool(value))
        suffix = register_suffix(dtype)
        literal = _literal(value, dtype, suffix)
        key = (suffix, literal)
        if key not in self._constants:
            name = self.kernel.temporary("c")
            self.kernel.top(f"{name} = {literal}")
            self._constants[key] = name
        return self._constants[key]

    def parameter(self, name: str, value: float | int, dtype: str) -> str:
        """An attribute's value, read from the table so that kernels that differ only in it are one."""
        suffix = register_suffix(dtype)
        local = self.kernel.temporary(name + "_")
        if is_float(dtype):
            return self.kernel.real(local, float(value), suffix)
        return self.kernel.typed_integer(local, int(value), suffix)

    def _define(self, text: str) -> str:
        name = self.kernel.temporary()
        self.kernel.line(f"{name} = {text}")
        return name

    def _operation(self, term: Term, args: list[str]) -> str:
        if term.op == "to":
            return self._cast(args[0], term.args[0].dtype, term.dtype)
        operand = term.args[-1].dtype
        if term.op in ("land", "lor", "lxor"):
            bytes_ = [self._as_byte(a, t.dtype) for a, t in zip(args, term.args)]
            return f"u8_bool({_LOGIC[term.op]}({', '.join(bytes_)}))"
        if term.op == "lnot":
            return f"u8_bool(not_u8({self._as_byte(args[0], operand)}))"
        return f"{term.op}_{register_suffix(operand)}({', '.join(args)})"

    def _as_byte(self, name: str, dtype: str) -> str:
        if dtype == BOOL:
            return f"bool_u8({name})"
        return name if dtype == "uint8" else f"bool_u8({self._cast(name, dtype, BOOL)})"

    def _cast(self, name: str, source: str, target: str) -> str:
        if source == BOOL:
            byte = f"bool_u8({name})"
            return byte if target in ("uint8", "uint4") else f"cast_u8_{SUFFIX[target]}({byte})"
        if target == BOOL:
            return f"ne_{register_suffix(source)}({name}, {self.constant(0, source)})"
        if target in ("int4", "uint4"):
            return self._cast_to_nibble(name, source, target)
        return f"cast_{SUFFIX[source]}_{SUFFIX[target]}({name})"

    def _cast_to_nibble(self, name: str, source: str, target: str) -> str:
        wide = SUFFIX[target]
        low, high = (-8, 7) if target == "int4" else (0, 15)
        if is_float(source):
            value = self._define(f"cast_{SUFFIX[source]}_{wide}({name})")
            return f"clamp_{wide}({value}, {self.constant(low, target)}, {self.constant(high, target)})"
        value = self._define(name if SUFFIX[source] == wide else f"cast_{SUFFIX[source]}_{wide}({name})")
        return wrap_nibble(value, target)


def _is_narrow(term: Term) -> bool:
    """Whether a narrow float's data type holds the value of a term as it is computed."""
    if term.op in ("name", "const", "param", "to"):
        return True
    args = term.args[1:] if term.op == "select" else term.args
    return term.op in _EXACT and all(map(_is_narrow, args))


def _literal(value: float | int, dtype: str, suffix: str) -> str:
    if not is_float(dtype):
        return f"const_{suffix}({int(value)})"
    if math.isfinite(value):
        return f"const_{suffix}({float(value)!r})"
    bits = np.float64(value).view(np.uint64) if suffix == "f64" else np.float32(value).view(np.uint32)
    return f"bits_{suffix}({int(bits):#x})  # {value}"


def wrap_nibble(name: str, dtype: str) -> str:
    """The source that brings a byte to the range of int4 or uint4 (its low four bits, sign-extended for int4)."""
    if dtype == "uint4":
        return f"bitand_u8({name}, const_u8(15))"
    return f"shr_i8(shl_i8({name}, const_i8(4)), const_i8(4))"
