"""Brings a graph to the core that the code generator knows.

In the core, reductions are the four primitive ones, over at least one axis in ascending order; they keep their
dimensions and see no float narrower than float32. Normalizations and softmax are gone, recurrent networks and cells
have become ``recurrent``. All other operators stay.
"""

from __future__ import annotations

from ..ir import Graph
from . import canonicalise_attention, canonicalise_normalisations, canonicalise_recurrent, canonicalise_reductions
from .context import Context
from .rewriting import apply_rewrites, index

REWRITES = (
    *canonicalise_reductions.REWRITES,
    *canonicalise_normalisations.REWRITES,
    *canonicalise_recurrent.REWRITES,
    *canonicalise_attention.REWRITES,
)

NOT_IN_CORE = frozenset(
    {
        *("reduce_l1", "reduce_l2", "reduce_log_sum", "reduce_log_sum_exp", "reduce_mean", "reduce_sum_square"),
        *("batch_normalization", "instance_normalization", "layer_normalization", "softmax"),
        *("gru", "gru_cell", "lstm", "lstm_cell"),
    }
)
"""The operators that no graph holds after this pass."""

_RULES = index(REWRITES)


def canonicalise(graph: Graph, context: Context) -> Graph:
    """The graph in core operators."""
    # One walk does: whether a rewrite applies depends on its node alone.
    return apply_rewrites(graph, context, _RULES, "canonicalise", rounds=1)
