"""LinearAttention of ai.onnx: attention by a recurrent state of fixed size, one update a token."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from basalt.ops import Dim

from ..errors import OnHostError
from ..node import NodeContext
from ..registry import onnx_op
from ..tensor import Tensor
from .building import convert, merge_heads, quotient, split_heads, zeros

UNROLLED_TOKENS = 128
"""Sequences up to this length are compiled, token by token; longer ones go through NumPy."""


@onnx_op("LinearAttention", 27)
def linear_attention(n: NodeContext) -> tuple[Tensor, Tensor]:
    gated, corrected = check_update_rule(n)
    heads, shared = n.attr("q_num_heads"), n.attr("kv_num_heads")
    if heads <= 0 or shared <= 0 or heads % shared:
        raise n.error(f"q_num_heads is {heads}, expected a positive multiple of kv_num_heads, {shared}")
    query, key, value = (n.tensor(i) for i in range(3))
    if not query.rank == key.rank == value.rank == 3:
        raise n.error("expected query, key and value of rank 3")
    batch, length, _ = query.shape
    (length,) = n.static(length)
    if length > UNROLLED_TOKENS:
        raise OnHostError
    (size,) = n.static(quotient(n, query.shape[2], heads, "q_num_heads"))
    tokens = _Tokens(
        split_heads(n, convert(n, query, "float32"), heads, "q_num_heads"),
        split_heads(n, convert(n, key, "float32"), shared, "kv_num_heads"),
        split_heads(n, convert(n, value, "float32"), shared, "kv_num_heads"),
        _decay(n, shared, size) if gated else None,
        _rate(n, shared) if corrected else None,
    )
    past = n.optional(3)
    shape = (batch, shared, size, tokens.value.shape[3])
    state = zeros(n, shape, "float32") if past is None else convert(n, past, "float32")
    scale = n.attr("scale") or 1.0 / math.sqrt(size)
    rows = []
    for i in range(length):
        row, state = _step(n, tokens.at(n, i), state, heads // shared, scale)
        rows.append(row)
    output = _joined(n, rows, (batch, heads, length, tokens.value.shape[3]))
    present = convert(n, state, query.dtype if past is None else past.dtype)
    return convert(n, merge_heads(n, output), query.dtype), present


def check_update_rule(n: NodeContext) -> tuple[bool, bool]:
    """Whether the state decays, and whether it is corrected; the rule's inputs must be there and no others."""
    rule = n.attr("update_rule")
    if rule not in ("linear", "gated", "delta", "gated_delta"):
        raise n.error(f"update_rule is {rule!r}, expected linear, gated, delta or gated_delta")
    gated, corrected = rule.startswith("gated"), rule.endswith("delta")
    for place, name, wanted in ((4, "decay", gated), (5, "beta", corrected)):
        if n.given(place) != wanted:
            raise n.error(f"update_rule {rule!r} {'needs' if wanted else 'takes no'} input {name}")
    return gated, corrected


@dataclass(frozen=True)
class _Tokens:
    """What the update reads of all tokens, each [batch, heads, length, size]."""

    query: Tensor
    key: Tensor
    value: Tensor
    decay: Tensor | None
    rate: Tensor | None

    def at(self, n: NodeContext, place: int) -> _Tokens:
        """The same of one token."""
        return _Tokens(
            *[
                None if t is None else n.slice(t, 2, place, 1)  # type: ignore[arg-type]
                for t in (self.query, self.key, self.value, self.decay, self.rate)
            ]
        )


def _decay(n: NodeContext, heads: int, size: int) -> Tensor:
    """The factors by which the state shrinks, [batch, heads, length, size or 1]."""
    decay = n.tensor(4)
    last = decay.shape[-1]
    if decay.rank != 3 or (isinstance(last, int) and last not in (heads, heads * size)):
        raise n.error(f"decay is {decay}, expected rank 3 and {heads} or {heads * size} columns")
    return n.emit("exp", split_heads(n, convert(n, decay, "float32"), heads))


def _rate(n: NodeContext, heads: int) -> Tensor:
    beta = n.tensor(5)
    if beta.rank != 3 or (isinstance(beta.shape[-1], int) and beta.shape[-1] not in (heads, 1)):
        raise n.error(f"beta is {beta}, expected rank 3 and {heads} columns or 1")
    columns = n.reshape(convert(n, beta, "float32"), (*beta.shape, 1))
    return n.transpose(columns, (0, 2, 1, 3))


def _step(n: NodeContext, token: _Tokens, state: Tensor, group: int, scale: float) -> tuple[Tensor, Tensor]:
    """A token's output [batch, q_heads, 1, value_size] and the state after it [batch, heads, size, value_size]."""
    key = n.transpose(token.key, (0, 1, 3, 2))
    if token.decay is not None:
        state = n.emit("mul", state, n.transpose(token.decay, (0, 1, 3, 2)))
    value = token.value
    if token.rate is not None:
        value = n.emit("mul", token.rate, n.emit("sub", value, n.emit("matmul", token.key, state)))
    state = n.emit("add", state, n.emit("mul", key, value))
    batch, heads, _, size = token.query.shape
    shared = state.shape[1]
    query = n.reshape(token.query, (batch, shared, group, size))
    read = n.reshape(n.emit("matmul", query, state), (batch, heads, 1, state.shape[3]))
    return n.emit("mul", read, n.scalar(scale, "float32")), state


def _joined(n: NodeContext, rows: Sequence[Tensor], shape: tuple[Dim, ...]) -> Tensor:
    if not rows:
        return zeros(n, shape, "float32")
    return rows[0] if len(rows) == 1 else n.emit("concat", *rows, axis=2)
