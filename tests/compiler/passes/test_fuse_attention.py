"""Attention that is written out: graphs, results, and what is left alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from basalt.compiler.interpret import interpret
from basalt.compiler.ir import Value
from basalt.compiler.passes.attention_parts import LEAST
from basalt.compiler.passes.fuse_attention import REWRITES, fuse_attention

from ..graphs import assert_near
from ..making import Maker
from .rewritten import Result, check_guards, check_texts, rewritten

ROWS = KEYS = 1024
Build = Callable[[Maker], Value]
Change = Callable[[Maker, Value], Value]


def _written_out(
    m: Maker, change: Change = lambda m, s: s, shape: tuple[int, ...] = (ROWS, KEYS), swap: bool = True, **options: Any
) -> Value:
    rows, keys = shape
    dtype, width, axis = options.get("dtype", "float32"), options.get("width", 4), options.get("axis", 2)
    q = m.input("q", dtype, (1, rows, 8))
    if swap:
        k = m.transpose(m.input("k", dtype, (1, keys, 8)), permutation=(0, 2, 1))
    else:
        k = m.input("k", dtype, (1, 8, keys))
    v = m.input("v", dtype, (options.get("batches", 1), keys, width))
    return m.matmul(m.softmax(change(m, m.matmul(q, k, label="scores")), axis, label="weights"), v, label="mix")


def _mask(m: Maker, *shape: int, name: str = "mask") -> Value:
    return m.input(name, "float32", shape)


FOLDED: dict[str, Build] = {
    "plain": _written_out,
    "keys in columns": lambda m: _written_out(m, swap=False),
    "scaled": lambda m: _written_out(m, lambda m, s: m.mul(m.constant(0.125), s)),
    "divided": lambda m: _written_out(m, lambda m, s: m.div(s, m.constant([8.0]))),
    "masked": lambda m: _written_out(m, lambda m, s: m.add(s, _mask(m, ROWS, KEYS))),
    "scaled and masked": lambda m: _written_out(m, lambda m, s: m.add(_mask(m, KEYS), m.mul(s, m.constant(0.5)))),
    "divided and masked": lambda m: _written_out(
        m, lambda m, s: m.add(m.div(s, m.constant(3.0)), _mask(m, 1, ROWS, 1))
    ),
}

FOLDED |= {
    "two masks": lambda m: _written_out(
        m, lambda m, s: m.add(m.add(s, _mask(m, KEYS)), _mask(m, ROWS, KEYS, name="n"))
    ),
    "scaled, two masks": lambda m: _written_out(
        m, lambda m, s: m.add(_mask(m, 1, KEYS), m.add(m.mul(s, m.constant(0.5)), _mask(m, KEYS, name="n")))
    ),
    "divided, two masks": lambda m: _written_out(
        m, lambda m, s: m.add(m.add(m.div(s, m.constant(3.0)), _mask(m, KEYS)), _mask(m, 1, name="n"))
    ),
    "chosen": lambda m: _written_out(m, lambda m, s: m.where(_keep(m, ROWS, KEYS), s, m.constant(-np.inf))),
    "scaled, masked and chosen": lambda m: _written_out(
        m,
        lambda m, s: m.where(
            _keep(m, KEYS, dtype="bool"), m.add(m.mul(s, m.constant(0.5)), _mask(m, KEYS)), m.constant(-1e9)
        ),
    ),
    "left out": lambda m: _written_out(
        m, lambda m, s: m.where(_keep(m, ROWS, 1), m.constant(-1e4), m.div(s, m.constant(4.0)))
    ),
    "scaled queries": lambda m: _scaled_operands(m, lambda q: m.mul(q, m.constant(0.5)), lambda k: k),
    "divided keys": lambda m: _scaled_operands(m, lambda q: q, lambda k: m.div(k, m.constant(4.0))),
    "scaled operands before transposes": lambda m: _scaled_operands(
        m, lambda q: m.mul(m.constant(0.5), q), lambda k: m.mul(k, m.constant(0.25)), early=True
    ),
}


def _keep(m: Maker, *shape: int, dtype: str = "uint8") -> Value:
    """Which scores stay: some of each row."""
    return m.constant(np.random.default_rng(3).random(shape) < 0.3, dtype)


def _scaled_operands(
    m: Maker, query: Callable[[Value], Value], key: Callable[[Value], Value], early: bool = False
) -> Value:
    q, k = m.input("q", "float32", (ROWS, 2, 8)), m.input("k", "float32", (KEYS, 2, 8))
    v = m.input("v", "float32", (2, KEYS, 4))
    turns = (1, 0, 2), (1, 2, 0)
    if early:
        q, k = (m.transpose(x, permutation=p) for x, p in zip((query(q), key(k)), turns))
    else:
        q, k = query(m.transpose(q, permutation=turns[0])), key(m.transpose(k, permutation=turns[1]))
    return m.matmul(m.softmax(m.matmul(q, k), 2), v)


def _read_twice(m: Maker) -> Value:
    seen: list[Value] = []

    def keep(m: Maker, s: Value) -> Value:
        seen.append(s)
        return s

    y = _written_out(m, keep)
    return m.add(y, m.reduce_max(seen[0], axes=(2,), keep_dimensions=True))


LEFT: dict[str, tuple[Build, str | None]] = {
    "few scores": (lambda m: _written_out(m, shape=(ROWS, KEYS // 2)), None),
    "softmax over the queries": (lambda m: _written_out(m, axis=1), None),
    "values of more batches": (lambda m: _written_out(m, batches=2), None),
    "wide values": (lambda m: _written_out(m, width=257), None),
    "narrow floats": (lambda m: _written_out(m, dtype="float16"), None),
    "a mask that makes more scores": (
        lambda m: _written_out(m, lambda m, s: m.add(s, _mask(m, 2, ROWS, 1))),
        None,
    ),
    "masks whose sum is larger": (
        lambda m: _written_out(m, lambda m, s: m.add(m.add(s, _mask(m, ROWS, 1)), _mask(m, 1, KEYS, name="n"))),
        None,
    ),
    "a choice that makes more scores": (
        lambda m: _written_out(m, lambda m, s: m.where(_keep(m, 2, ROWS, 1), s, m.constant(0.0))),
        None,
    ),
    "read twice": (_read_twice, "other nodes read what is between the products"),
}


def _run(build: Build) -> Result:
    return rewritten(fuse_attention, lambda m: build(m))


def test_graphs_are_as_expected() -> None:
    assert ROWS * KEYS == LEAST
    check_texts("fuse_attention", {case: _run(build) for case, build in FOLDED.items()})


@pytest.mark.parametrize("name", FOLDED)
def test_results_differ_by_rounding(name: str) -> None:
    before, after, context = _run(FOLDED[name])
    assert [node.op for node in after.nodes if node.op not in ("transpose", "add", "cast", "logical_not")] == [
        "attention"
    ]
    numbers = np.random.default_rng(2)
    feeds = {v.name: numbers.normal(size=v.shape).astype(np.float32) for v in before.inputs}
    assert_near(*(interpret(g, context.constants, feeds) for g in (before, after)), 2e-6)


@pytest.mark.parametrize("name", LEFT)
def test_left_alone(name: str) -> None:
    build, remark = LEFT[name]
    before, after, context = _run(build)
    assert after is before
    assert {note.rpartition(": ")[2] for note in context.notes} == ({remark} if remark else set())


def test_every_guard_is_tested() -> None:
    check_guards(REWRITES, LEFT)
