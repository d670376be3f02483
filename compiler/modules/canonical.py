"""Sizes that a module's choices between kernels are made for, whichever sizes it runs with first."""

from __future__ import annotations

from collections.abc import Mapping

from basalt.errors import BasaltError

from ..ir import Graph
from ..passes.specialise import specialise

__all__ = ["canonical_sizes"]

_CANDIDATES = (8, 32, 64, 128, 256, 512, 224, 16, 4, 2, 1)
"""Sizes to try for all symbols, one after the other."""


def canonical_sizes(graph: Graph) -> Mapping[str, int] | None:
    """A size for each symbol of a graph that its operators take; None for a graph without, or where none is found.

    They follow from the graph alone: a module and its file have the same ones, so that they give the same bits.
    """
    symbols = graph.symbols()
    if not symbols:
        return None
    for size in _CANDIDATES:
        sizes = dict.fromkeys(sorted(symbols), size)
        try:
            specialise(graph, sizes)
        except BasaltError:
            continue
        return sizes
    return None
