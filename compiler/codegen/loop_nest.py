"""The loops of kernels whose results are computed place by place: one flat loop, or rows, long ones in blocks."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeVar

from ..ir import Node
from .body import HEAVY, Body
from .kernel import KernelBuilder
from .units import each_unit

BLOCK = 4096
"""Places of a row that one unit computes: long rows are split so that threads share them."""
FLAT = 16
"""Fewest places of a flat loop that one thread computes."""
MANY = 64
"""Elements from which a loop is worth computing four vectors side by side, for the rest is computed in smaller ones."""

T = TypeVar("T")


def say_how_many(kernel: KernelBuilder, elements: int, nodes: Sequence[Node]) -> None:
    """Write, first in an innermost loop, that it has many elements, if that matters to one of its operators."""
    if elements >= MANY and any(node.op in HEAVY for node in nodes):
        kernel.line("many_iterations()")


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
            # One kernel serves all sizes, and how many elements a thread gets is not known.
            say_how_many(kernel, MANY, body.nodes)
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
            say_how_many(kernel, dims[inner], body.nodes)
            point("j", known)
    return math.prod(dims[:inner]) * blocks, 1
