"""Attention of narrow floats as attention of float32."""

from __future__ import annotations

from ..ir import Value
from .canonicalise_normalisations import settle, widen
from .emitter import Emitter
from .patterns import Match, op
from .rewriting import only_if, rewrite

_NARROW = ("float16", "bfloat16")


@rewrite(op("attention", name="attention"), only_if(lambda m: m.output.dtype in _NARROW), exact=False)
def attention(m: Match, e: Emitter) -> Value:
    """Scores and sums need float32's digits."""
    wide = [None if v is None else widen(e, v) for v in m.root.inputs]
    return settle(e, e.emit("attention", *wide, **m.root.attrs), m.output)


REWRITES = (attention,)
