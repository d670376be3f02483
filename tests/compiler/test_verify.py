"""Each rule of the verifier, broken."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from basalt.compiler.ir import FUSED, Constants, Graph, Node, Value
from basalt.compiler.passes.fuse import fuse
from basalt.compiler.verify import RULES, VerifyError, verify
from basalt.ops import TensorType

from .making import Maker


def _model() -> tuple[Graph, Constants]:
    m = Maker()
    x = m.input("x", "float32", (2, 3))
    z = m.input("z", "float32", (3,))
    y = m.softmax(m.add(x, z), 1, label="soft")
    return m.graph(y=y, s=m.mul(y, m.constant([1, 2, 3]))), m.constants


def _reordered(g: Graph, c: Constants) -> Graph:
    return g.with_nodes(g.nodes[::-1])


def _unmade_output(g: Graph, c: Constants) -> Graph:
    return g.with_nodes(g.nodes, [*g.outputs, ("w", Value(TensorType("float32", (2,)), "w"))])


def _made_twice(g: Graph, c: Constants) -> Graph:
    return g.with_nodes([*g.nodes, g.nodes[0]])


def _made_constant(g: Graph, c: Constants) -> Graph:
    constant = c.add(np.zeros((2, 3), np.float32))
    return g.with_nodes([replace(g.nodes[0], outputs=(constant,)), *g.nodes[1:]])


def _input_names(g: Graph, c: Constants) -> Graph:
    return replace(g, inputs=(*g.inputs, Value(TensorType("float32", ()), "x")))


def _output_names(g: Graph, c: Constants) -> Graph:
    return g.with_nodes(g.nodes, [*g.outputs, ("y", g.outputs[0][1])])


def _constant_type(g: Graph, c: Constants) -> Graph:
    wrong = Value(TensorType("float32", (1, 3)), "w", g.constants()[0].constant)
    last = g.nodes[-1]
    return g.with_nodes([*g.nodes[:-1], replace(last, inputs=(last.inputs[0], wrong))])


def _output_type(g: Graph, c: Constants) -> Graph:
    wrong = Value(TensorType("float32", (3, 2)))
    return g.with_nodes([*g.nodes[:-1], replace(g.nodes[-1], outputs=(wrong,))], [("s", wrong)])


def _attribute(g: Graph, c: Constants) -> Graph:
    return g.with_nodes([g.nodes[0], replace(g.nodes[1], attrs={"axis": 7}), g.nodes[2]])


def _operator(g: Graph, c: Constants) -> Graph:
    return g.with_nodes([replace(g.nodes[0], op="nonsense"), *g.nodes[1:]])


BROKEN: dict[str, tuple[Callable[[Graph, Constants], Graph], str]] = {
    "order": (_reordered, "defined_before_use: <mul: float32[2, 3]> reads"),
    "output": (_unmade_output, "defined_before_use: output w is <value w: float32[2]>, which nothing makes"),
    "twice": (_made_twice, "defined_once: <add: float32[2, 3]> makes"),
    "constant": (_made_constant, "defined_once: <add: float32[2, 3]> makes"),
    "inputs": (_input_names, "unique_names: input name 'x' is used twice"),
    "outputs": (_output_names, "unique_names: output name 'y' is used twice"),
    "array": (_constant_type, "constants_match: <constant w: float32[1, 3]> is float32[3] in the store"),
    "type": (_output_type, "types_follow: <mul: float32[3, 2]> has outputs float32[3, 2], the operator's rule gives"),
    "attribute": (_attribute, "types_follow: <softmax 'soft': float32[2, 3]>: softmax (input: float32[2, 3]): axis is"),
    "operator": (_operator, "types_follow: <nonsense: float32[2, 3]>: operator 'nonsense' is not registered"),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_broken_rules_are_reported(name: str) -> None:
    change, message = BROKEN[name]
    graph, constants = _model()
    verify(graph, constants)
    with pytest.raises(VerifyError) as caught:
        verify(change(graph, constants), constants, after="surgery")
    assert str(caught.value).startswith("after surgery, the graph is not valid:\n  ")
    assert message in str(caught.value)


def _fused() -> tuple[Graph, Constants]:
    m = Maker()
    x = m.input("x", "float32", (2, 3))
    graph = m.graph(y=m.exp(m.neg(x)))
    fused = fuse(graph)
    assert [n.op for n in fused.nodes] == [FUSED]
    verify(fused, m.constants)
    return fused, m.constants


def _body(change: Callable[[Graph], Graph]) -> Callable[[Node], Node]:
    return lambda node: replace(node, attrs={**node.attrs, "body": change(node.body)})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_body(lambda b: b.with_nodes(b.nodes[::-1])), "in the body of <fused: float32[2, 3]>: <exp: float32[2, 3]>"),
        (_body(lambda b: replace(b, inputs=())), "operand types differ from its body's inputs"),
        (_body(lambda b: replace(b, outputs=b.outputs * 2)), "output types differ from its body's outputs"),
    ],
)  # fmt: skip
def test_bodies_of_fused_nodes_keep_the_rules(change: Any, message: str) -> None:
    graph, constants = _fused()
    with pytest.raises(VerifyError) as caught:
        verify(graph.with_nodes([change(graph.nodes[0])]), constants)
    assert message in str(caught.value)


def test_every_rule_is_broken_above() -> None:
    told = {message.partition(":")[0] for _, message in BROKEN.values()} | {"fused_bodies"}
    assert {rule.__name__.strip("_") for rule in RULES} == told


def test_long_lists_are_cut() -> None:
    graph, constants = _model()
    with pytest.raises(VerifyError) as caught:
        verify(graph.with_nodes([graph.nodes[0]] * 50, []), constants)
    assert len(str(caught.value).splitlines()) == 21
