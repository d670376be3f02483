"""The types that values have in kernels: numbers, truth values, and addresses."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = [
    "ALL",
    "Integer",
    "Type",
    "TypingError",
    "boolean",
    "float32",
    "float64",
    "int8",
    "int16",
    "int32",
    "int64",
    "intp",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "void",
    "voidptr",
]


class TypingError(Exception):
    """A kernel's source that gives a value of one type where another is expected, or names what is not there."""


@dataclass(frozen=True)
class Type:
    """A type, by the name that Numba has for it too."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Integer(Type):
    """A whole number of ``bitwidth`` bits."""

    bitwidth: int
    signed: bool

    __str__ = Type.__str__


void, voidptr, boolean = Type("void"), Type("voidptr"), Type("boolean")
float32, float64 = Type("float32"), Type("float64")
int8, int16, int32, int64 = (Integer(f"int{bits}", bits, True) for bits in (8, 16, 32, 64))
uint8, uint16, uint32, uint64 = (Integer(f"uint{bits}", bits, False) for bits in (8, 16, 32, 64))
intp = int64
"""Indices and strides, which tables hold in 64 bits on any machine."""

ALL = (void, voidptr, boolean, float32, float64, int8, int16, int32, int64, uint8, uint16, uint32, uint64)
