"""Removes what computes nothing and merges what can be one: the rewrites of the ``simplify_*`` modules."""

from __future__ import annotations

from ..ir import Graph
from . import simplify_arithmetic, simplify_movement, simplify_no_ops, simplify_padding, simplify_values
from .context import Context
from .rewriting import apply_rewrites, index

REWRITES = (
    *simplify_no_ops.REWRITES,
    *simplify_movement.REWRITES,
    *simplify_padding.REWRITES,
    *simplify_arithmetic.REWRITES,
    *simplify_values.REWRITES,
)

_RULES = index(REWRITES)


def simplify(graph: Graph, context: Context) -> Graph:
    """The graph with every rewrite applied where it fits."""
    return apply_rewrites(graph, context, _RULES, "simplify")
