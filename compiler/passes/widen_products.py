"""Computes products, convolutions and pools of narrow floats in float32: kernels that convert as they read are slow.

Their sums are float32's in any case and rounded once, so that only the order of adding up differs. What stands between
two of them becomes one kernel that converts, computes and converts back.
"""

from __future__ import annotations

import numpy as np

from ..ir import Graph, Value
from .context import Context
from .emitter import Emitter
from .patterns import Match, op
from .rewriting import apply_rewrites, index, only_if, rewrite

NARROW = ("float16", "bfloat16")
FEWEST_ROWS = 4
"""Rows of a product below which it takes as long as its weights take to come, of which float32 has twice the bytes."""

_POOLS = ("average_pool2d", "l2_pool2d", "max_pool2d")
_OPERATORS = ("conv2d", "conv_transpose2d", "gemm", "matmul", *_POOLS)


def widen_products(graph: Graph, context: Context) -> Graph:
    """The graph with products, convolutions and pools of narrow floats computed in float32 between casts."""
    return apply_rewrites(graph, context, _RULES, "widen_products")


def _is_narrow(m: Match) -> bool:
    return m.output.dtype in NARROW and all(v.dtype == m.output.dtype for v in m.root.present)


def _has_rows(m: Match) -> bool:
    return m.root.op not in ("gemm", "matmul") or m.output.shape[-2] >= FEWEST_ROWS


@rewrite(
    op(_OPERATORS, name="product"),
    only_if(_is_narrow),
    only_if(lambda m: len(m.output.shape) >= 2 and _has_rows(m)),
    exact=False,
)
def product_of_narrow_floats(m: Match, e: Emitter) -> Value:
    """A float32 holds a narrow float and the product of two, and sums are rounded once at the end either way."""
    wide = [None if v is None else _wide(v, e) for v in m.root.inputs]
    return e.cast(e.emit(m.root.op, *wide, **m.root.attrs), m.output.dtype)


def _wide(value: Value, e: Emitter) -> Value:
    if not value.is_constant:
        return e.cast(value, "float32")

    def widened(array: np.ndarray) -> np.ndarray:
        return array.astype(np.float32)

    return e.constant(e.context.constants.derived(value, ("float32",), widened), value.name)


_RULES = index((product_of_narrow_floats,))
