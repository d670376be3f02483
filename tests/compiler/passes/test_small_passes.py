"""The passes of a few lines: shapes, dead code, outputs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from basalt.compiler.interpret import interpret
from basalt.compiler.ir import Graph, Node, Value
from basalt.compiler.passes.context import Context
from basalt.compiler.passes.dead_code import dead_code
from basalt.compiler.passes.infer_shapes import infer_shapes
from basalt.compiler.passes.separate_outputs import separate_outputs
from basalt.compiler.text import print_graph
from basalt.compiler.verify import verify
from basalt.errors import ValidationError
from basalt.ops import TensorType, symbol

from ..making import Maker


def test_infer_shapes_leaves_a_checked_graph_as_it_is() -> None:
    m = Maker()
    graph = m.graph(y=m.softmax(m.input("x", "float32", (2, 3)), 1))
    assert infer_shapes(graph, Context(m.constants)) is graph


def test_infer_shapes_corrects_types_and_completes_attributes() -> None:
    """As for a graph from elsewhere that states neither."""
    x = Value(TensorType("float32", (2, 3)), "x")
    middle, last = Value(TensorType("float32", (9, 9)), "middle"), Value(TensorType("float32", ()), "last")
    nodes = (
        Node("transpose", (x,), (middle,), {"permutation": None}),
        Node("exp", (middle,), (last,), {}, "e"),
    )
    m = Maker()
    after = infer_shapes(Graph((x,), (("y", last),), nodes), Context(m.constants))
    verify(after, m.constants)
    assert print_graph(after).splitlines()[1:3] == [
        "  %middle = transpose(%x) [permutation=(1, 0)]: float32[3, 2]",
        '  %last = exp(%middle): float32[3, 2] "e"',
    ]


def test_infer_shapes_names_the_node_that_its_rule_refuses() -> None:
    m = Maker()
    y = m.softmax(m.input("x", "float32", (2, 3)), 1, label="attention")
    graph = m.graph(y=y)
    broken = graph.with_nodes([replace(graph.nodes[0], attrs={"axis": 5})])
    with pytest.raises(ValidationError, match=r'softmax "attention" \(input: float32\[2, 3\]\): axis is 5'):
        infer_shapes(broken, Context(m.constants))


def test_infer_shapes_takes_symbolic_sizes() -> None:
    m = Maker()
    graph = m.graph(y=m.relu(m.input("x", "float32", (symbol("n"), 3))))
    assert infer_shapes(graph, Context(m.constants)) is graph


def test_dead_code() -> None:
    m = Maker()
    x = m.input("x", "float32", (2,))
    m.input("unused", "float32", (2,))
    m.exp(m.neg(x))
    parts = m.split(x, 2)
    graph = m.graph(y=m.relu(parts[0]))
    after = dead_code(graph, Context(m.constants))
    assert [n.op for n in after.nodes] == ["split", "relu"]
    assert after.inputs == graph.inputs
    assert dead_code(after, Context(m.constants)) is after


def test_outputs_get_values_of_their_own() -> None:
    m = Maker()
    x = m.input("x", "float32", (2,))
    y = m.relu(x)
    graph = m.graph(a=y, b=x, c=y, d=m.constant([1, 2]), e=x)
    after = separate_outputs(graph, Context(m.constants))
    verify(after, m.constants)
    assert print_graph(after, m.constants).splitlines() == [
        "graph(%x: float32[2]) {",
        "  %c1 = constant float32[2] {1, 2}",
        "  %v2 = relu(%x): float32[2]",
        "  %v3 = identity(%x): float32[2] <separate_outputs>",
        "  %v4 = identity(%v2): float32[2] <separate_outputs>",
        "  %v5 = identity(%c1): float32[2] <separate_outputs>",
        "  %v6 = identity(%x): float32[2] <separate_outputs>",
        "  return a=%v2, b=%v3, c=%v4, d=%v5, e=%v6",
        "}",
    ]
    feeds = {"x": np.array([-1, 2], np.float32)}
    results = interpret(after, m.constants, feeds)
    assert {k: v.tolist() for k, v in results.items()} == {
        "a": [0, 2],
        "b": [-1, 2],
        "c": [0, 2],
        "d": [1, 2],
        "e": [-1, 2],
    }
    assert separate_outputs(after, Context(m.constants)) is after
