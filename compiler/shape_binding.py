"""Sizes of symbolic dimensions from the shapes of concrete inputs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from basalt.errors import ValidationError
from basalt.ops import Dim, SymDim, symbol
from basalt.ops.dims import symbols_of

from .ir import Value

__all__ = ["bind_sizes", "check_solvable", "dim_name", "shape_names"]

_Place = tuple[str, int, SymDim]
"""Input's name, axis and dimension."""


def dim_name(dim: Dim) -> int | str:
    """A dimension for people: its size, its symbol's name as it is, or the expression's text."""
    if not isinstance(dim, SymDim):
        return dim
    names = dim.symbols()
    if len(names) == 1 and dim == symbol(name := next(iter(names))):
        return name
    return str(dim)


def shape_names(shape: Iterable[Dim]) -> tuple[int | str, ...]:
    """:func:`dim_name` of every dimension."""
    return tuple(dim_name(d) for d in shape)


def bind_sizes(inputs: Sequence[Value], shapes: Mapping[str, tuple[int, ...]]) -> dict[str, int]:
    """The size of every symbol in the inputs' shapes.

    Args:
        inputs: the graph's inputs.
        shapes: concrete shapes by input name. One may be missing where its dimensions follow from the others.

    Raises:
        ValidationError: for a rank or size that differs from the input's, for one symbol with two sizes (naming both
            inputs), and for symbols that nothing determines.
    """
    places: list[tuple[_Place, int]] = []
    for value in inputs:
        if value.name in shapes:
            _check_known(value, shapes[value.name])
            places += [
                ((value.name, axis, dim), size)
                for axis, (dim, size) in enumerate(zip(value.shape, shapes[value.name]))
                if isinstance(dim, SymDim)
            ]
    sizes: dict[str, int] = {}
    origin: dict[str, _Place] = {}
    while places:
        waiting = [entry for entry in places if not _settle(*entry, sizes, origin)]
        if len(waiting) == len(places):
            break
        places = waiting
    _check_all_bound(inputs, sizes)
    return sizes


def check_solvable(inputs: Sequence[Value]) -> None:
    """Refuse inputs with a symbol whose size no shape of theirs would determine.

    Raises:
        ValidationError: naming the dimension and its input.
    """
    found: set[str] = set()
    waiting = [(v, d) for v in inputs for d in v.shape if isinstance(d, SymDim)]
    while True:
        rest = [(v, d) for v, d in waiting if d.symbols() - found]
        solved = [symbols.pop() for _, d in rest if (symbols := set(d.symbols() - found)) and _is_linear(d, symbols)]
        if not rest:
            return
        if not solved:
            value, dim = rest[0]
            names = ", ".join(sorted(dim.symbols() - found))
            raise ValidationError(
                f"input {value.name!r}: dimension {dim} does not determine {names}; give a dimension that is {names}"
            )
        found.update(solved)


def _check_known(value: Value, shape: tuple[int, ...]) -> None:
    expected = f"{value.dtype}[{', '.join(map(str, shape_names(value.shape)))}]"
    if len(shape) != len(value.shape):
        raise ValidationError(
            f"input {value.name!r} has shape {list(shape)} of rank {len(shape)}, expected {expected} of rank "
            f"{len(value.shape)}"
        )
    for axis, (dim, size) in enumerate(zip(value.shape, shape)):
        if isinstance(dim, int) and dim != size:
            raise ValidationError(
                f"input {value.name!r} has shape {list(shape)}, expected {expected}: axis {axis} is {size}, not {dim}"
            )


def _settle(place: _Place, size: int, sizes: dict[str, int], origin: dict[str, _Place]) -> bool:
    """Learn what a dimension of this size says of its symbols; False if it must wait for others."""
    dim = place[2]
    missing = dim.symbols() - sizes.keys()
    if len(missing) > 1:
        return False
    if missing:
        (unknown,) = missing
        solution = _solve(_size(dim, sizes), unknown, size)
        if solution is None:
            return False
        sizes[unknown], origin[unknown] = solution, place
    if _size(dim, sizes) != size:
        raise ValidationError(_conflict(place, size, sizes, origin))
    return True


def _size(dim: Dim, sizes: Mapping[str, int]) -> Dim | None:
    """A dimension's size; None where it divides by 0."""
    try:
        return dim.bind(sizes) if isinstance(dim, SymDim) else dim
    except ZeroDivisionError:
        return None


def _solve(dim: Dim | None, unknown: str, size: int) -> int | None:
    """The unknown's size if ``dim`` is ``a * unknown + b``; rounded, so that a wrong size shows as a conflict."""
    slope, offset = _line(dim, unknown)
    return max(0, (size - offset) // slope) if slope else None


def _line(dim: Dim | None, unknown: str) -> tuple[int, int]:
    """(a, b) of ``a * unknown + b``, (0, 0) for other expressions."""
    if not isinstance(dim, SymDim):
        return 0, 0
    offset, once = (_size(dim, {unknown: n}) for n in (0, 1))
    if not (isinstance(offset, int) and isinstance(once, int)):
        return 0, 0
    slope = once - offset
    return (slope, offset) if dim - slope * symbol(unknown) == offset else (0, 0)


def _is_linear(dim: SymDim, unknowns: set[str]) -> bool:
    """Whether a dimension, all but one of whose symbols are known, determines that one."""
    if len(unknowns) != 1:
        return False
    (unknown,) = unknowns
    known = dict.fromkeys(symbols_of(dim) - unknowns, 2)
    return _line(_size(dim, known), unknown)[0] != 0


def _conflict(place: _Place, size: int, sizes: Mapping[str, int], origin: Mapping[str, _Place]) -> str:
    name, axis, dim = place
    reasons = [
        f"{symbol_name} is {sizes[symbol_name]} by axis {first_axis} of input {first!r}"
        for symbol_name in sorted(dim.symbols())
        for first, first_axis, _ in [origin[symbol_name]]
        if (first, first_axis) != (name, axis)
    ]
    if not reasons:
        return f"input {name!r}: axis {axis} is {size}, which {dim_name(dim)} cannot be"
    return (
        f"input {name!r}: axis {axis} is {size}, expected {dim_name(dim)} = {_size(dim, sizes)}: {', '.join(reasons)}"
    )


def _check_all_bound(inputs: Sequence[Value], sizes: Mapping[str, int]) -> None:
    for value in inputs:
        unbound = sorted({s for d in value.shape for s in symbols_of(d)} - sizes.keys())
        if unbound:
            raise ValidationError(
                f"input {value.name!r}: no shape is given that determines {', '.join(unbound)} of "
                f"[{', '.join(map(str, shape_names(value.shape)))}]"
            )
