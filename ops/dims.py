"""Symbolic dimensions: integer expressions over named unknowns, kept in a canonical polynomial form.

A dimension is an ``int`` or a :class:`SymDim`. Equality is structural: two expressions are equal when their canonical
forms are; expressions that are not equal may still take equal values, which only concrete sizes can tell. Shape rules
therefore refuse only what :func:`known` sizes prove wrong; every rule runs again when a graph is given concrete sizes.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Union

Dim = Union[int, "SymDim"]
Shape = tuple[Dim, ...]
_Atom = tuple[object, ...]  # ("sym", name) or (operation, SymDim, SymDim)
_Monomial = tuple[_Atom, ...]

_OPERATIONS: dict[str, Callable[[int, int], int]] = {
    "floordiv": lambda a, b: a // b,
    "max": max,
    "min": min,
    "mod": lambda a, b: a % b,
}


class SymDim:
    """An integer polynomial over symbols and opaque ``//``, ``%``, ``max``, ``min`` terms; immutable and hashable."""

    __slots__ = ("_hash", "_text", "terms")

    def __init__(self, terms: Mapping[_Monomial, int]) -> None:
        ordered = terms.items() if len(terms) < 2 else sorted(terms.items(), key=lambda item: repr(item[0]))
        self.terms: dict[_Monomial, int] = dict(ordered)
        self._text = ""
        self._hash = hash(tuple(self.terms.items()))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SymDim) and self.terms == other.terms

    def __add__(self, other: Dim) -> Dim:
        return _combine(self, other, 1)

    def __radd__(self, other: int) -> Dim:
        return _combine(self, other, 1)

    def __sub__(self, other: Dim) -> Dim:
        return _combine(self, other, -1)

    def __rsub__(self, other: int) -> Dim:
        return _combine(_lift(other), self, -1)

    def __neg__(self) -> Dim:
        return self * -1

    def __mul__(self, other: Dim) -> Dim:
        if isinstance(other, int):
            return _simplify({mono: coef * other for mono, coef in self.terms.items()})
        product: dict[_Monomial, int] = {}
        for mono_a, coef_a in self.terms.items():
            for mono_b, coef_b in other.terms.items():
                mono = tuple(sorted(mono_a + mono_b, key=repr))
                product[mono] = product.get(mono, 0) + coef_a * coef_b
        return _simplify(product)

    __rmul__ = __mul__

    def __floordiv__(self, other: Dim) -> Dim:
        if other == 1:
            return self
        if isinstance(other, int) and other > 0 and all(c % other == 0 for c in self.terms.values()):
            return _simplify({m: c // other for m, c in self.terms.items()})
        if self == other:
            return 1
        return _opaque("floordiv", self, other)

    def __rfloordiv__(self, other: int) -> Dim:
        return _opaque("floordiv", other, self)

    def __mod__(self, other: Dim) -> Dim:
        if self == other or (isinstance(other, int) and other and all(c % other == 0 for c in self.terms.values())):
            return 0
        return _opaque("mod", self, other)

    def __rmod__(self, other: int) -> Dim:
        return _opaque("mod", other, self)

    def __repr__(self) -> str:
        return f"SymDim({str(self)!r})"

    def __str__(self) -> str:
        # Terms are ordered by their texts, and products of shapes ask for the same ones again and again.
        if not self._text:
            self._text = self._written()
        return self._text

    def _written(self) -> str:
        text = ""
        for mono, coef in sorted(self.terms.items(), key=lambda item: (not item[0], repr(item[0]))):
            body = "*".join(_atom_text(a) for a in mono)
            size = abs(coef)
            part = body if body and size == 1 else f"{size}*{body}" if body else str(size)
            text += (" - " if coef < 0 else " + ") + part if text else ("-" if coef < 0 else "") + part
        return text or "0"

    def symbols(self) -> frozenset[str]:
        """The names of the unknowns in this expression."""
        found: set[str] = set()
        for mono in self.terms:
            for atom in mono:
                if atom[0] == "sym":
                    found.add(str(atom[1]))
                else:
                    found.update(*(symbols_of(part) for part in atom[1:]))  # type: ignore[arg-type]
        return frozenset(found)

    def bind(self, values: Mapping[str, Dim]) -> Dim:
        """The expression with the given symbols replaced; an ``int`` once all are known."""
        total: Dim = 0
        for mono, coef in self.terms.items():
            product: Dim = coef
            for atom in mono:
                product = product * _bind_atom(atom, values)
            total = total + product
        return total


def symbol(name: str) -> SymDim:
    """A dimension whose size is not known until the graph is given concrete inputs."""
    return SymDim({(("sym", name),): 1})


def parse_dim(text: str) -> Dim:
    """The dimension that ``str(dim)`` printed; a text that is no expression is taken as one symbol's name.

    Names that exporters make (``p2o.DynamicDimension.0``, ``?``) are no Python expressions and stay whole.
    """
    try:
        tree = ast.parse(text.strip(), mode="eval").body
        return _from_ast(tree)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return symbol(text)


def known(*dims: Dim) -> bool:
    """Whether every dimension is a plain integer."""
    return all(isinstance(d, int) for d in dims)


def symbols_of(dim: Dim) -> frozenset[str]:
    """The names of the unknowns in a dimension (none for an ``int``)."""
    return dim.symbols() if isinstance(dim, SymDim) else frozenset()


def bind_shape(shape: Iterable[Dim], values: Mapping[str, Dim]) -> Shape:
    """A shape with the given symbols replaced by their values."""
    return tuple(d.bind(values) if isinstance(d, SymDim) else d for d in shape)


def dim_max(a: Dim, b: Dim) -> Dim:
    """The larger of two dimensions, symbolic where it must be."""
    if isinstance(a, int) and isinstance(b, int):
        return max(a, b)
    return a if a == b else _opaque("max", a, b)


def dim_min(a: Dim, b: Dim) -> Dim:
    """The smaller of two dimensions, symbolic where it must be."""
    if isinstance(a, int) and isinstance(b, int):
        return min(a, b)
    return a if a == b else _opaque("min", a, b)


def product(shape: Iterable[Dim]) -> Dim:
    """The number of elements of a shape."""
    total: Dim = 1
    for d in shape:
        total = total * d
    return total


def ceil_div(a: Dim, b: Dim) -> Dim:
    """``ceil(a / b)`` for a positive ``b``."""
    return (a + b - 1) // b


def _lift(value: Dim) -> SymDim:
    return value if isinstance(value, SymDim) else SymDim({(): int(value)} if value else {})


def _combine(a: SymDim, b: Dim, sign: int) -> Dim:
    terms = dict(a.terms)
    for mono, coef in _lift(b).terms.items():
        terms[mono] = terms.get(mono, 0) + sign * coef
    return _simplify(terms)


def _simplify(terms: Mapping[_Monomial, int]) -> Dim:
    kept = {m: c for m, c in terms.items() if c}
    if not kept:
        return 0
    if set(kept) == {()}:
        return kept[()]
    return SymDim(kept)


def _opaque(operation: str, a: Dim, b: Dim) -> SymDim:
    return SymDim({((operation, a, b),): 1})


def _atom_text(atom: _Atom) -> str:
    if atom[0] == "sym":
        name = str(atom[1])
        return name if name.isidentifier() else f"sym({name!r})"
    if atom[0] in ("max", "min"):
        return f"{atom[0]}({atom[1]}, {atom[2]})"
    return f"(({atom[1]}) {'//' if atom[0] == 'floordiv' else '%'} ({atom[2]}))"


def _bind_atom(atom: _Atom, values: Mapping[str, Dim]) -> Dim:
    if atom[0] == "sym":
        return values.get(str(atom[1]), SymDim({(atom,): 1}))
    a, b = (p.bind(values) if isinstance(p, SymDim) else p for p in atom[1:])
    return _apply(str(atom[0]), a, b)  # type: ignore[arg-type]


def _apply(operation: str, a: Dim, b: Dim) -> Dim:
    if isinstance(a, int) and isinstance(b, int):
        return _OPERATIONS[operation](a, b)
    if operation == "floordiv":
        return a // b
    if operation == "mod":
        return a % b
    return dim_max(a, b) if operation == "max" else dim_min(a, b)


def _from_ast(node: ast.expr) -> Dim:
    match node:
        case ast.Constant(value=int() as number) if not isinstance(number, bool):
            return number
        case ast.Name(id=name):
            return symbol(name)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return _from_ast(operand) * -1
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _from_ast(left) + _from_ast(right)
        case ast.BinOp(left=left, op=ast.Sub(), right=right):
            return _from_ast(left) - _from_ast(right)
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return _from_ast(left) * _from_ast(right)
        case ast.BinOp(left=left, op=ast.FloorDiv(), right=right):
            return _apply("floordiv", _from_ast(left), _from_ast(right))
        case ast.BinOp(left=left, op=ast.Mod(), right=right):
            return _apply("mod", _from_ast(left), _from_ast(right))
        case ast.Call(func=ast.Name(id="sym"), args=[ast.Constant(value=str() as name)]):
            return symbol(name)
        case ast.Call(func=ast.Name(id=("max" | "min") as name), args=[left, right]):
            return _apply(name, _from_ast(left), _from_ast(right))
    raise ValueError("not a dimension expression")


MAX_DIMENSION = 2**31 - 1
MAX_ELEMENTS = 2**31 - 1


def element_count(shape: Iterable[int]) -> int:
    """The number of elements of a concrete shape."""
    return math.prod(shape)
