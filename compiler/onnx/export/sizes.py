"""Symbolic sizes as tensors: read from the shapes of the graph's inputs, then computed."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import numpy as np

from basalt.errors import UnsupportedError
from basalt.ops import Dim, SymDim, symbol
from basalt.ops.dims import symbols_of

from ...ir import Value
from .tensor import Tensor
from .writer import GraphWriter

__all__ = ["Sizes"]

_BASE = "sizes"


class Sizes:
    """Vectors int64[1] of symbolic dimensions, each computed once, at the beginning of the graph."""

    def __init__(self, writer: GraphWriter, inputs: Sequence[tuple[Value, Tensor]]) -> None:
        self._writer = writer
        self._inputs = inputs
        self._known: dict[Dim, Tensor] = {}
        self._places: dict[str, tuple[Tensor, int, SymDim]] | None = None

    def vector(self, dims: Sequence[Dim]) -> Tensor:
        """Dimensions as a vector int64[len(dims)]."""
        if all(isinstance(d, int) for d in dims):
            return self._constant(dims)
        with self._writer.first(_BASE):
            parts: list[Tensor] = []
            for is_known, group in groupby(dims, lambda d: isinstance(d, int)):
                sizes = list(group)
                parts += [self._constant(sizes)] if is_known else [self._size(d) for d in sizes]
            return parts[0] if len(parts) == 1 else self._call("Concat", *parts, axis=0)

    def _size(self, dim: Dim) -> Tensor:
        if not isinstance(dim, SymDim):
            return self._constant([dim])
        if dim not in self._known:
            self._known[dim] = self._sum(dim)
        return self._known[dim]

    def _sum(self, dim: SymDim) -> Tensor:
        total: Tensor | None = None
        for monomial, factor in dim.terms.items():
            term = None if monomial and factor == 1 else self._constant([factor])
            for atom in monomial:
                value = self._atom(atom)
                term = value if term is None else self._call("Mul", term, value)
            assert term is not None
            total = term if total is None else self._call("Add", total, term)
        assert total is not None
        return total

    def _atom(self, atom: tuple[object, ...]) -> Tensor:
        if atom[0] == "sym":
            return self._symbol(str(atom[1]))
        a, b = (self._size(part) for part in atom[1:])  # type: ignore[arg-type]
        if atom[0] in ("max", "min"):
            return self._call("Max" if atom[0] == "max" else "Min", a, b)
        if not isinstance(atom[2], int):
            b = self._call("Max", b, self._constant([1]))
        rest = self._call("Mod", a, b)
        # Div truncates, and the numerator may be negative: sizes of windows are.
        return rest if atom[0] == "mod" else self._call("Div", self._call("Sub", a, rest), b)

    def _symbol(self, name: str) -> Tensor:
        key = symbol(name)
        if key not in self._known:
            if self._places is None:
                self._places = self._solve()
            if name not in self._places:
                raise UnsupportedError(f"no input's shape determines the size {name}")
            tensor, axis, dim = self._places[name]
            size = self._call("Shape", tensor, start=axis, end=axis + 1)
            offset, once = dim.bind({name: 0}), dim.bind({name: 1})
            if offset != 0:
                size = self._call("Sub", size, self._size(offset))
            if once - offset != 1:
                size = self._call("Div", size, self._size(once - offset))
            self._known[key] = size
        return self._known[key]

    def _solve(self) -> dict[str, tuple[Tensor, int, SymDim]]:
        """Where each symbol is read: a dimension that is linear in it, its other symbols being read elsewhere."""
        places: dict[str, tuple[Tensor, int, SymDim]] = {}
        dims = [(t, i, d) for v, t in self._inputs for i, d in enumerate(v.shape) if isinstance(d, SymDim)]
        dims.sort(key=lambda place: place[2] not in [symbol(s) for s in symbols_of(place[2])])
        while True:
            found: dict[str, tuple[Tensor, int, SymDim]] = {}
            for place in dims:
                unknown = symbols_of(place[2]) - places.keys()
                if len(unknown) == 1 and _is_line(place[2], name := next(iter(unknown))):
                    found.setdefault(name, place)
            if not found:
                return places
            places |= found

    def _constant(self, values: Sequence[Dim]) -> Tensor:
        return self._writer.constant(np.asarray(values, np.int64).reshape(len(values)))

    def _call(self, op_type: str, *inputs: Tensor, **attributes: int) -> Tensor:
        return self._writer.call(op_type, *inputs, **attributes)[0]  # type: ignore[arg-type]


def _is_line(dim: SymDim, name: str) -> bool:
    offset, once = dim.bind({name: 0}), dim.bind({name: 1})
    slope = once - offset
    return slope != 0 and dim - slope * symbol(name) == offset
