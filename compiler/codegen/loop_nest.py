"""The loops of kernels whose results are computed place by place: one flat loop, or rows, long ones in blocks."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeVar

from .body import Body
from .units import each_unit

BLOCK = 4096
"""Places of a row that one unit computes: long rows are split so that threads share them."""
FLAT = 16
"""Fewest places of a flat loop that one thread computes."""

T = TypeVar("T")


def write_loops(
    body: Body, dims: Sequence[int], hoist: Callable[[], T], point: Callable[[str, T], None]
) -> tuple[int, int]:
    """Write loops over some dimensions, the first ones of a body's space, around ``point``.

    Args:
        body: what is computed; its rows are started here.
        dims: the dimensions to loop over, outermost first, at least one.
        hoist: writes what does not change along the innermost of them.
        point: writes what one place takes, given the loop variable and what ``hoist`` returned.

    Returns:
        The kernel's units, and how few of them a thread may take.
    """
    kernel, inner = body.kernel, len(dims) - 1
    if inner == 0:
        body.start_row({})
        known = hoist()
        with kernel.block("for i in range(start, stop)"):
            point("i", known)
        return dims[0], FLAT
    n = kernel.parameter("n", dims[inner])
    outer = [kernel.parameter(f"d{axis}", d) for axis, d in enumerate(dims[:inner])]
    blocks = -(-dims[inner] // BLOCK)
    counts = [*outer, kernel.parameter("blocks", blocks)] if blocks > 1 else outer
    with each_unit(kernel, counts) as indices:
        first, last = "0", n
        if blocks > 1:
            kernel.line(f"first = {indices[inner]} * {BLOCK}")
            kernel.line(f"last = min(first + {BLOCK}, {n})")
            first, last = "first", "last"
        body.start_row({axis: index for axis, index in indices.items() if axis < inner})
        known = hoist()
        with kernel.block(f"for j in range({first}, {last})"):
            point("j", known)
    return math.prod(dims[:inner]) * blocks, 1
