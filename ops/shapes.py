"""Shape arithmetic shared by the operators' rules (the standard's sections "Broadcasting" and "Miscellaneous")."""

from __future__ import annotations

from collections.abc import Sequence

from .dims import MAX_DIMENSION, Dim, Shape, dim_max, known, product
from .schema import fail


def text(shape: Sequence[Dim]) -> str:
    """``[2, 3, n]``, for messages."""
    return f"[{', '.join(map(str, shape))}]"


def same_dim(a: Dim, b: Dim) -> bool:
    """Whether two dimensions may be equal: false only if both are known and differ."""
    return a == b or not known(a, b)


def same_shape(a: Sequence[Dim], b: Sequence[Dim]) -> bool:
    """Whether two shapes have one rank and may be equal."""
    return len(a) == len(b) and all(same_dim(x, y) for x, y in zip(a, b))


def expect_shape(name: str, given: Sequence[Dim], expected: Sequence[Dim], meaning: str = "") -> None:
    """Refuse a shape that cannot equal ``expected``; ``meaning`` explains the expected shape in the message."""
    if not same_shape(given, expected):
        fail(f"{name} has shape {text(given)}, expected {text(expected)}{f' ({meaning})' if meaning else ''}")


def broadcast(a: Shape, b: Shape) -> Shape:
    """The shape that two shapes are broadcast to, each stretched where the other needs it.

    Raises:
        RuleError: for dimensions that differ and are not 1.
    """
    rank = max(len(a), len(b))
    padded_a = (1,) * (rank - len(a)) + tuple(a)
    padded_b = (1,) * (rank - len(b)) + tuple(b)
    return tuple(_broadcast_dim(x, y, a, b) for x, y in zip(padded_a, padded_b))


def _broadcast_dim(x: Dim, y: Dim, a: Shape, b: Shape) -> Dim:
    if x == y or y == 1:
        return x
    if x == 1:
        return y
    if known(x, y):
        fail(f"shapes {text(a)} and {text(b)} cannot be broadcast: {x} and {y} differ and neither is 1")
    if isinstance(x, int):
        return x
    if isinstance(y, int):
        return y
    return dim_max(x, y)


def broadcastable_to(source: Shape, target: Shape) -> bool:
    """Whether ``source`` may be stretched to ``target`` (unidirectional broadcasting)."""
    if len(source) > len(target):
        return False
    tail = target[len(target) - len(source) :]
    return all(s == 1 or same_dim(s, t) for s, t in zip(source, tail))


def blockwise_broadcastable_to(source: Shape, target: Shape) -> bool:
    """Whether every dimension of ``target`` may be a whole multiple of ``source``'s, at one rank."""
    if len(source) != len(target):
        return False
    return all(not known(s, t) or (s > 0 and t % s == 0) for s, t in zip(source, target))  # type: ignore[operator]


def check_axis(axis: int, rank: int, name: str = "axis") -> int:
    """An axis that lies in the range 0 to ``rank - 1``."""
    if not 0 <= axis < rank:
        fail(
            f"{name} is {axis}, expected 0 to {rank - 1} (rank {rank})"
            if rank
            else f"{name} is {axis}, but the operand has rank 0"
        )
    return axis


def check_axes(axes: Sequence[int], rank: int) -> tuple[int, ...]:
    """Axes within the rank, each named once."""
    for axis in axes:
        check_axis(axis, rank, "axes")
    if len(set(axes)) != len(axes):
        fail(f"axes {list(axes)} name an axis twice")
    return tuple(axes)


def check_shape(shape: Sequence[Dim], name: str = "output", *, zero: bool = False) -> Shape:
    """A shape whose known dimensions and element count are in range; ``zero`` allows empty tensors."""
    low = 0 if zero else 1
    for d in shape:
        if isinstance(d, int) and not low <= d <= MAX_DIMENSION:
            fail(f"{name} shape {text(shape)} has dimension {d}, expected {low} to {MAX_DIMENSION}")
    count = product(shape)
    if isinstance(count, int) and count > MAX_DIMENSION:
        fail(f"{name} shape {text(shape)} has {count} elements, more than {MAX_DIMENSION}")
    return tuple(shape)


def reduced_shape(shape: Shape, axes: Sequence[int], keep: bool) -> Shape:
    """A shape after a reduction over ``axes``: dimensions of size 1 if ``keep``, else dropped."""
    if keep:
        return tuple(1 if i in axes else d for i, d in enumerate(shape))
    return tuple(d for i, d in enumerate(shape) if i not in axes)
