"""Sizes of torch (SymInt over SymPy expressions) as dimensions of the core."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from basalt.errors import UnsupportedError
from basalt.ops import Dim, SymDim, symbol
from basalt.ops.dims import ceil_div, dim_max, dim_min

__all__ = ["SizeNames", "dim_of", "shape_of"]

SizeNames = Mapping[str, str | int]
"""What a user calls torch's symbols, or their values where those are known."""


def dim_of(size: Any, names: SizeNames) -> Dim:
    """The dimension that an int or SymInt is.

    Raises:
        UnsupportedError: for a size that only running tells, or an expression that no dimension can be.
    """
    if isinstance(size, int):
        return size
    return _from_expression(size.node.expr, names)


def shape_of(shape: Iterable[Any], names: SizeNames) -> tuple[Dim, ...]:
    """:func:`dim_of` of every size."""
    return tuple(dim_of(size, names) for size in shape)


def _from_expression(expr: Any, names: SizeNames) -> Dim:
    if getattr(expr, "is_Integer", False):
        return int(expr)
    if expr.is_Symbol:
        if expr.name.startswith(("u", "zuf", "zf")):
            raise UnsupportedError(f"the size {expr.name} depends on the elements of a tensor")
        found = names.get(expr.name, expr.name)
        return symbol(found) if isinstance(found, str) else found
    function = _FUNCTIONS.get(type(expr).__name__)
    if function is None:
        raise UnsupportedError(f"the size {expr} is no expression over +, *, //, %, min and max")
    return function(*[_from_expression(part, names) for part in expr.args])


def _fold(function: Callable[[Dim, Dim], Dim]) -> Callable[..., Dim]:
    def fold(first: Dim, *rest: Dim) -> Dim:
        for dim in rest:
            first = function(first, dim)
        return first

    return fold


def _power(base: Dim, exponent: Dim) -> Dim:
    if isinstance(exponent, SymDim) or exponent < 0:
        raise UnsupportedError(f"the size {base} ** {exponent} is no expression over +, *, //, %, min and max")
    result: Dim = 1
    for _ in range(exponent):
        result = result * base
    return result


_FUNCTIONS: dict[str, Callable[..., Dim]] = {
    "Add": _fold(lambda a, b: a + b),
    "Mul": _fold(lambda a, b: a * b),
    "Pow": _power,
    "PowByNatural": _power,
    "FloorDiv": _fold(lambda a, b: a // b),
    "CleanDiv": _fold(lambda a, b: a // b),
    "CeilDiv": _fold(ceil_div),
    "Mod": _fold(lambda a, b: a % b),
    "PythonMod": _fold(lambda a, b: a % b),
    "Max": _fold(dim_max),
    "Min": _fold(dim_min),
    "Identity": lambda a: a,
}
