"""The machinery of rewrites: patterns, guards, remarks, limits, and the walk."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from basalt.compiler.ir import Graph, Value
from basalt.compiler.passes.context import Context
from basalt.compiler.passes.emitter import Emitter
from basalt.compiler.passes.patterns import Match, constant, number, op
from basalt.compiler.passes.rewriting import Rewrite, RewriteError, apply_rewrites, index, only_if, rewrite
from basalt.compiler.passes.traits import alone
from basalt.compiler.verify import verify

from ..making import Maker


def _apply(m: Maker, graph: Graph, *rewrites: Rewrite, limit: int | None = None) -> tuple[Graph, Context]:
    context = Context(m.constants, collect_notes=True, limit=limit)
    after = apply_rewrites(graph, context, index(rewrites), "test")
    verify(after, m.constants)
    return after, context


def _ops(graph: Graph) -> list[str]:
    return [n.op for n in graph.nodes]


@rewrite(op("neg", op("neg", "x", name="inner")))
def drop_neg(m: Match, e: Emitter) -> Value:
    """For these tests."""
    return m["x"]


@rewrite(op("add", "x", constant("c"), commutes=True))
def add_to_sub(m: Match, e: Emitter) -> Value:
    """For these tests."""
    return e.emit("sub", m["x"], m["c"])


def test_a_walk_follows_what_it_makes() -> None:
    m = Maker()
    y = m.input("x", "float32", (2,))
    for _ in range(7):
        y = m.neg(y)
    after, context = _apply(m, m.graph(y=y), drop_neg)
    assert _ops(after) == ["neg"] and len(context.applied) == 3


def test_either_order_of_a_commuting_pattern() -> None:
    m = Maker()
    x, c = m.input("x", "float32", (2,)), m.constant([1, 2])
    after, _ = _apply(m, m.graph(a=m.add(x, c), b=m.add(c, x)), add_to_sub)
    assert [n.inputs for n in after.nodes] == [(x, c), (x, c)]


def test_a_repeated_name_is_one_value() -> None:
    @rewrite(op("mul", "x", op("exp", "x")))
    def product(m: Match, e: Emitter) -> Value:
        """For these tests."""
        return e.emit("abs", m["x"])

    m = Maker()
    x, z = m.input("x", "float32", (2,)), m.input("z", "float32", (2,))
    after, _ = _apply(m, m.graph(a=m.mul(x, m.exp(x)), b=m.mul(x, m.exp(z))), product)
    assert _ops(after) == ["abs", "exp", "mul"]


def test_absent_operands_match_nothing() -> None:
    @rewrite(op("gemm", "a", "b", "c"))
    def product(m: Match, e: Emitter) -> Value:
        """For these tests."""
        return e.emit("matmul", m["a"], m["b"])

    m = Maker()
    x = m.input("x", "float32", (2, 2))
    after, _ = _apply(m, m.graph(a=m.gemm(x, x), b=m.gemm(x, x, c=x)), product)
    assert _ops(after) == ["gemm", "matmul"]


def test_numbers_of_constants() -> None:
    context = Context(Maker().constants)

    def of(array: Any, dtype: str = "float32") -> float | int | None:
        return context.number(context.constants.add(np.asarray(array, dtype)))

    assert of([[2, 2], [2, 2]]) == 2 and of(3, "int8") == 3 and of(np.float16(0.5), "float16") == 0.5
    assert of([0.0, -0.0]) is None and of([1, 2]) is None and of([], "float32") is None
    assert np.isnan(of([np.nan, np.nan])) and isinstance(of([1, 1], "int64"), int)  # type: ignore[arg-type]
    assert of(np.zeros(1 << 17)) is None
    assert context.number(None) is None and context.number(Maker().input("x", "float32", ())) is None


def test_number_patterns_test_the_number() -> None:
    @rewrite(op("mul", "x", number("c", lambda n: n > 2)))
    def big(m: Match, e: Emitter) -> Value:
        """For these tests."""
        assert m.number("c") == 3
        with pytest.raises(KeyError, match="no one number"):
            m.number("x")
        return m["x"]

    m = Maker()
    x = m.input("x", "float32", (2,))
    graph = m.graph(a=m.mul(x, m.constant([3, 3])), b=m.mul(x, m.constant(2.0)), c=m.mul(x, m.constant([3, 4])))
    assert len(_apply(m, graph, big)[0].nodes) == 2


@rewrite(op("relu", op("exp", "x", name="exp")), alone("exp"))
def drop_relu(m: Match, e: Emitter) -> Value:
    """For these tests."""
    return e.emit("exp", m["x"])


def test_reads_of_dead_nodes_do_not_count() -> None:
    m = Maker()
    y = m.exp(m.input("x", "float32", (2,)))
    m.neg(y)
    after, _ = _apply(m, m.graph(y=m.relu(y)), drop_relu)
    assert _ops(after) == ["exp"]


def test_reads_by_outputs_count() -> None:
    m = Maker()
    y = m.exp(m.input("x", "float32", (2,)))
    graph = m.graph(y=m.relu(y), z=y)
    after, context = _apply(m, graph, drop_relu)
    assert after is graph
    (note,) = context.notes
    assert note == "drop_relu does not apply to <relu: float32[2]>: other nodes read the exp node as well"


def test_a_second_walk_sees_what_the_first_one_freed() -> None:
    """The first neg of a pair still reads the exp node while the first walk meets the relu."""
    m = Maker()
    y = m.exp(m.input("x", "float32", (2,)))
    graph = m.graph(y=m.relu(m.neg(m.neg(y))))
    after, _ = _apply(m, graph, drop_neg, drop_relu)
    assert _ops(after) == ["exp"]


def test_replacement_keeps_the_value_of_a_made_node() -> None:
    m = Maker()
    graph = m.graph(y=m.add(m.input("x", "float32", (2,)), m.constant(1.0)))
    after, _ = _apply(m, graph, add_to_sub)
    assert after.outputs == graph.outputs


def test_guards_without_remark_are_silent() -> None:
    @rewrite(op("exp", "x"), only_if(lambda m: False))
    def never(m: Match, e: Emitter) -> Value:
        """For these tests."""
        return m["x"]

    m = Maker()
    graph = m.graph(y=m.exp(m.input("x", "float32", (2,))))
    after, context = _apply(m, graph, never)
    assert after is graph and not context.notes


@pytest.mark.parametrize("limit", range(4))
def test_limit(limit: int) -> None:
    m = Maker()
    y = m.input("x", "float32", (2,))
    for _ in range(6):
        y = m.neg(y)
    after, context = _apply(m, m.graph(y=y), drop_neg, limit=limit)
    assert len(after.nodes) == 6 - 2 * limit
    assert context.applied == ["drop_neg at <neg: float32[2]>"] * limit


def test_rewrites_that_undo_each_other_end() -> None:
    @rewrite(op("sub", "x", constant("c")))
    def sub_to_add(m: Match, e: Emitter) -> Value:
        """For these tests."""
        return e.emit("add", m["x"], m["c"])

    m = Maker()
    graph = m.graph(y=m.add(m.input("x", "float32", (2,)), m.constant(1.0)))
    after, context = _apply(m, graph, add_to_sub, sub_to_add)
    assert len(after.nodes) == 1 and len(context.applied) < 200


def test_another_type_is_refused() -> None:
    @rewrite(op("exp", "x"))
    def wrong(m: Match, e: Emitter) -> Value:
        """For these tests."""
        return e.emit("reshape", m["x"], new_shape=(2, 1))

    m = Maker()
    graph = m.graph(y=m.exp(m.input("x", "float32", (2,)), label="e"))
    with pytest.raises(RewriteError, match=r"wrong gives float32\[2, 1\] in place of <exp 'e': float32\[2\]>"):
        _apply(m, graph, wrong)


def test_declarations_are_checked() -> None:
    def silent(m: Match, e: Emitter) -> Value:
        return m["x"]

    with pytest.raises(TypeError, match="rewrite silent does not say in its docstring why it holds"):
        rewrite(op("exp", "x"))(silent)
    with pytest.raises(ValueError, match="two rewrites are called drop_neg"):
        index([drop_neg, drop_neg])


def test_emitter_completes_attributes_and_keeps_sources() -> None:
    m = Maker()
    x = m.input("x", "float32", (2, 3))
    m.exp(x, label="first")
    m.exp(x, label="second")
    e = Emitter(Context(m.constants), "some_pass", m.nodes)
    y = e.emit("softmax", e.emit("transpose", x), axis=1)
    assert y.shape == (3, 2)
    assert [n.attrs for n in e.nodes] == [{"permutation": (1, 0)}, {"axis": 1}]
    assert all(n.sources == ("first", "second") and n.origin == ("some_pass",) and n.label == "" for n in e.nodes)
    assert e.reshape(x, (2, 3)) is x and e.cast(x, "float32") is x and e.expand(x, (2, 3)) is x
    assert e.scalar(1.0, "float32") is e.scalar(1.0, "float32")
    assert e.scalar(1.0, "float32") is not e.scalar(1.0, "float16")
    assert e.scalar(0.0, "float32") is not e.scalar(-0.0, "float32")
    folded = e.fold("add", e.constant(np.float32([1, 2])), e.scalar(1.0, "float32"))
    assert m.constants.array(folded).tolist() == [2, 3]
