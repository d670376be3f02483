"""Attention whose keys serve groups of heads: one operator, the same results, and what is left alone."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from basalt.compiler.interpret import interpret
from basalt.compiler.ir import Value
from basalt.compiler.passes.fuse_attention import fuse_attention
from basalt.compiler.passes.grouped_attention import REWRITES

from ..graphs import assert_near
from ..making import Maker
from .rewritten import check_guards, rewritten

BATCH, SHARED, GROUP, QUERIES, KEYS = 2, 2, 3, 256, 512
HEADS = SHARED * GROUP
Change = Callable[[Maker, Value], Value]


def _grouped(
    m: Maker,
    change: Change = lambda m, s: s,
    shape: tuple[int, ...] = (BATCH, HEADS, QUERIES, KEYS),
    axis: int = 3,
    dtype: str = "float32",
    keys: int = KEYS,
    swap: bool = True,
    later: Change = lambda m, w: w,
    width: int = 5,
) -> Value:
    rows = HEADS * QUERIES // SHARED
    q = m.reshape(m.input("q", dtype, (BATCH, HEADS, QUERIES, 4)), new_shape=(BATCH, SHARED, rows, 4))
    if swap:
        k = m.transpose(m.input("k", dtype, (BATCH, SHARED, keys, 4)), permutation=(0, 1, 3, 2))
    else:
        k = m.input("k", dtype, (BATCH, SHARED, 4, keys))
    scores = m.reshape(m.matmul(q, k), new_shape=shape)
    weights = later(m, m.softmax(change(m, scores), axis))
    gathered = m.reshape(weights, new_shape=(BATCH, SHARED, rows, keys))
    return m.matmul(gathered, m.input("v", dtype, (BATCH, SHARED, keys, width)))


def _mask(*shape: int) -> Change:
    return lambda m, s: m.add(m.input("mask", "float32", shape), s)


FOLDED: dict[str, Callable[[Maker], Value]] = {
    "plain": _grouped,
    "keys in columns": lambda m: _grouped(m, swap=False),
    "many heads of few queries": lambda m: _grouped(m, _mask(QUERIES, HEADS, KEYS), (BATCH, QUERIES, HEADS, KEYS)),
    "a mask for all": lambda m: _grouped(m, _mask(QUERIES, KEYS)),
    "a mask for each key": lambda m: _grouped(m, _mask(KEYS)),
    "a mask for each batch": lambda m: _grouped(m, _mask(BATCH, 1, 1, KEYS)),
    "a mask for each head": lambda m: _grouped(m, _mask(HEADS, QUERIES, 1)),
    "a mask for each score": lambda m: _grouped(m, _mask(BATCH, HEADS, QUERIES, KEYS)),
}


def _read_twice(m: Maker) -> Value:
    seen: list[Value] = []

    def keep(m: Maker, s: Value) -> Value:
        seen.append(s)
        return s

    y = _grouped(m, keep)
    return m.add(m.reduce_sum(y, axes=(0, 1, 2, 3)), m.reduce_max(seen[0], axes=(0, 1, 2, 3)))


LEFT: dict[str, tuple[Callable[[Maker], Value], str | None]] = {
    "batches and heads as one": (lambda m: _grouped(m, shape=(1, BATCH * HEADS, QUERIES, KEYS)), None),
    "five dimensions": (lambda m: _grouped(m, shape=(BATCH, SHARED, GROUP, QUERIES, KEYS), axis=4), None),
    "softmax over the queries": (lambda m: _grouped(m, axis=2), None),
    "few scores": (lambda m: _grouped(m, keys=256, shape=(BATCH, HEADS, QUERIES, 256)), None),
    "wide values": (lambda m: _grouped(m, width=257), None),
    "narrow floats": (lambda m: _grouped(m, dtype="float16"), None),
    "weights that are changed": (lambda m: _grouped(m, later=lambda m, w: m.relu(w)), None),
    "read twice": (_read_twice, "other nodes read what is between the products"),
}


@pytest.mark.parametrize("name", FOLDED)
def test_one_operator_with_the_same_results(name: str) -> None:
    before, after, context = rewritten(fuse_attention, FOLDED[name])
    assert [node.op for node in after.nodes if node.op not in ("transpose", "reshape")] == ["attention"]
    numbers = np.random.default_rng(2)
    feeds = {v.name: numbers.normal(size=v.shape).astype(np.float32) for v in before.inputs}
    assert_near(*(interpret(g, context.constants, feeds) for g in (before, after)), 2e-6)


@pytest.mark.parametrize("name", LEFT)
def test_left_alone(name: str) -> None:
    build, remark = LEFT[name]
    before, after, context = rewritten(fuse_attention, build)
    assert after is before
    assert {note.rpartition(": ")[2] for note in context.notes} == ({remark} if remark else set())


def test_every_guard_is_tested() -> None:
    check_guards(REWRITES, LEFT)
