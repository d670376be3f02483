"""Numbers that move behind the product of queries and keys, and those that stay."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from basalt.compiler.interpret import interpret
from basalt.compiler.ir import Value
from basalt.compiler.passes.fuse_attention import fuse_attention
from basalt.compiler.passes.late_scale import REWRITES

from ..graphs import assert_near
from ..making import Maker
from .rewritten import check_guards, rewritten

ROWS, FEATURES = 6, 4
Change = Callable[[Maker, Value], Value]


def _product(m: Maker, query: Change, key: Change, keys: int = 8, dtype: str = "float32") -> Value:
    """Queries times transposed keys, each changed before."""
    q = query(m, m.input("q", dtype, (2, ROWS, FEATURES)))
    return m.matmul(q, m.transpose(key(m, m.input("k", dtype, (2, keys, FEATURES))), permutation=(0, 2, 1)))


def _times(number: float, dtype: str = "float32") -> Change:
    return lambda m, x: m.mul(x, m.constant(number, dtype))


def _same(m: Maker, x: Value) -> Value:
    return x


def _constant(m: Maker) -> Value:
    """Weights, which a factor of the other operand may be folded into."""
    return m.matmul(_times(0.5)(m, m.input("q", "float32", (ROWS, FEATURES))), m.constant(np.ones((FEATURES, 8))))


def _read_twice(m: Maker) -> Value:
    seen: list[Value] = []

    def scaled(m: Maker, x: Value) -> Value:
        seen.append(_times(0.5)(m, x))
        return seen[0]

    return m.add(m.reduce_sum(_product(m, scaled, _same)), m.reduce_max(seen[0]))


MOVED: dict[str, tuple[Callable[[Maker], Value], float]] = {
    "queries": (lambda m: _product(m, _times(0.125), _same), 0.125),
    "keys before their transpose": (lambda m: _product(m, _same, _times(0.5)), 0.5),
    "both": (lambda m: _product(m, _times(0.5), lambda m, k: m.div(k, m.constant(4.0))), 0.125),
    "float64": (lambda m: _product(m, _times(3.0, "float64"), _same, dtype="float64"), 3.0),
}
LEFT: dict[str, Callable[[Maker], Value]] = {
    "many keys": lambda m: _product(m, _times(0.5), _same, keys=17),
    "a number for each feature": lambda m: _product(m, lambda m, q: m.mul(q, m.constant(np.arange(4.0))), _same),
    "short floats": lambda m: _product(m, _times(0.5, "float16"), _same, dtype="float16"),
    "weights": _constant,
    "read twice": _read_twice,
    "zero": lambda m: _product(m, _times(0.0), _same),
}


@pytest.mark.parametrize("name", MOVED)
def test_numbers_behind_the_product(name: str) -> None:
    build, factor = MOVED[name]
    before, after, context = rewritten(fuse_attention, build)
    *_, product, scaled = after.nodes
    assert [product.op, scaled.op] == ["matmul", "mul"]
    assert {node.op for node in after.nodes[:-2]} <= {"transpose"}
    assert context.number(scaled.present[1]) == factor
    numbers = np.random.default_rng(2)
    feeds = {v.name: numbers.normal(size=v.shape).astype(v.dtype) for v in before.inputs}
    assert_near(*(interpret(g, context.constants, feeds) for g in (before, after)), 2e-6)


@pytest.mark.parametrize("name", LEFT)
def test_left_alone(name: str) -> None:
    before, after, _ = rewritten(fuse_attention, LEFT[name])
    assert after is before


def test_no_guard_remarks() -> None:
    check_guards(REWRITES, {"": (None, None)})
