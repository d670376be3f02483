"""Units of kernels: what a flat unit number means as indices over several dimensions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from .kernel import KernelBuilder


def even_shares(count: int, wanted: float, most: int) -> tuple[int, int]:
    """How many of some equal things (panels) a unit has, and a group of these that is worked on at once.

    There are about as many units as wanted, or up to twice as many where that makes them more alike, and an even number
    of them rather than an odd one: threads that share a kernel finish together only then. Groups of a unit are alike
    too, and of ``most`` things at most.
    """
    least = max(1, min(count, round(wanted)))
    parts = min(range(least, min(count, 2 * least) + 1), key=lambda n: (n > 1 and n % 2, -(-count // n) * n - count, n))
    share = -(-count // parts)
    return share, -(-share // -(-share // most))


def decode(kernel: KernelBuilder, row: str, sizes: Sequence[str]) -> dict[int, str]:
    """Write the split of a flat row number into indices, one a dimension, outermost first."""
    indices: dict[int, str] = {}
    for axis in range(len(sizes) - 1, 0, -1):
        kernel.line(f"q{axis} = {row} // {sizes[axis]}")
        kernel.line(f"i{axis} = {row} - q{axis} * {sizes[axis]}")
        indices[axis] = f"i{axis}"
        row = f"q{axis}"
    indices[0] = row
    return indices


@contextmanager
def each_unit(kernel: KernelBuilder, sizes: Sequence[str]) -> Iterator[Mapping[int, str]]:
    """``for u in range(start, stop)`` with the indices of each unit, outermost first.

    The first unit's indices are divided out; then they are counted up, for divisions cost as much as a short row.
    """
    if len(sizes) < 2:
        with kernel.block("for u in range(start, stop)"):
            yield {0: "u"} if sizes else {}
        return
    indices = decode(kernel, "start", sizes)
    kernel.line(f"i0 = {indices[0]}")
    with kernel.block("for u in range(start, stop)"):
        yield {axis: f"i{axis}" for axis in range(len(sizes))}
        _count_up(kernel, sizes, len(sizes) - 1)


def _count_up(kernel: KernelBuilder, sizes: Sequence[str], axis: int) -> None:
    kernel.line(f"i{axis} += 1")
    if axis:
        with kernel.block(f"if i{axis} == {sizes[axis]}"):
            kernel.line(f"i{axis} = 0")
            _count_up(kernel, sizes, axis - 1)
