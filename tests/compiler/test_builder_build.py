"""Building: which outputs are allowed, what becomes of the graph, and that a builder builds once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import basalt
from basalt.compiler.verify import verify
from basalt.errors import InvalidStateError, ValidationError


@pytest.fixture
def context() -> basalt.MLContext:
    return basalt.MLContext()


@pytest.fixture
def builder(context: basalt.MLContext) -> basalt.MLGraphBuilder:
    return basalt.MLGraphBuilder(context)


def test_a_graph_has_what_its_outputs_need(builder: basalt.MLGraphBuilder) -> None:
    x = builder.input("x", "float32", (2, 3))
    unused = builder.input("unused", "float32", (2, 3))
    builder.relu(builder.sin(unused))
    y = builder.add(x, builder.constant(np.ones(3, np.float32)))
    z = builder.relu(y)
    graph = builder.build({"z": z, "y": y})
    assert [(s.name, s.dtype, s.shape) for s in graph.inputs] == [("x", "float32", (2, 3))]
    assert [s.name for s in graph.outputs] == ["z", "y"]
    assert [node.op for node in graph.graph.nodes] == ["add", "relu"]
    verify(graph.graph, graph.constants)


def test_inputs_keep_their_order(builder: basalt.MLGraphBuilder) -> None:
    a, b, c = (builder.input(name, "float32", (2,)) for name in "abc")
    graph = builder.build({"y": builder.sub(builder.sub(c, b), a)})
    assert [s.name for s in graph.inputs] == ["a", "b", "c"]


def test_a_graph_may_have_no_inputs(builder: basalt.MLGraphBuilder) -> None:
    graph = builder.build({"y": builder.identity(builder.constant("float32", 3))})
    assert graph.inputs == ()
    assert repr(graph) == "<MLGraph () -> (y: float32[])>"


def test_one_operand_may_be_two_outputs(builder: basalt.MLGraphBuilder) -> None:
    y = builder.relu(builder.input("x", "float32", (2,)))
    graph = builder.build({"a": y, "b": y})
    assert [s.name for s in graph.outputs] == ["a", "b"]


@pytest.mark.parametrize(
    ("outputs", "message"),
    [
        (lambda b, x, y: {}, "build: no outputs are given"),
        (lambda b, x, y: [y], r"build: outputs is \[<MLOperand.*>\], expected a dictionary of operands by name"),
        (lambda b, x, y: y, "build: outputs is <MLOperand .*>, expected a dictionary"),
        (lambda b, x, y: {"": y}, "build: output: name is '', expected a string that is not empty"),
        (lambda b, x, y: {3: y}, "build: output: name is 3, expected a string"),
        (lambda b, x, y: {"y": 3}, r"build: output 'y' is 3 \(int\), expected an MLOperand"),
        (
            lambda b, x, y: {"y": y, "x": x},
            r"build: output 'x' is the input 'x', expected a result; identity\(\) makes one",
        ),
        (lambda b, x, y: {"c": b.constant("float32", 1)}, "build: output 'c' is a constant, expected a result"),
        (
            lambda b, x, y: {"y": basalt.MLGraphBuilder(b.context).relu(_foreign(b))},
            "another builder",
        ),
    ],
)
def test_outputs_that_are_refused(builder: basalt.MLGraphBuilder, outputs: Any, message: str) -> None:
    x = builder.input("x", "float32", (2,))
    y = builder.relu(x)
    with pytest.raises(ValidationError, match=message):
        builder.build(outputs(builder, x, y))
    assert builder.build({"y": y}).outputs, "a refused build leaves the builder usable"


def _foreign(builder: basalt.MLGraphBuilder) -> basalt.MLOperand:
    return basalt.MLGraphBuilder(builder.context).input("x", "float32", (2,))


def test_outputs_of_another_builder_are_refused(context: basalt.MLContext, builder: basalt.MLGraphBuilder) -> None:
    other = basalt.MLGraphBuilder(context)
    foreign = other.relu(other.input("x", "float32", (2,)))
    with pytest.raises(ValidationError, match=r"build: output 'y' is <MLOperand float32\[2\]> of another builder"):
        builder.build({"y": foreign})


USES: list[Any] = [
    lambda b, x: b.input("z", "float32", (2,)),
    lambda b, x: b.constant("float32", 1.0),
    lambda b, x: b.constant(np.ones(2, np.float32)),
    lambda b, x: b.relu(x),
    lambda b, x: b.relu(x, no_such_option=1),
    lambda b, x: b.build({"y": x}),
]


@pytest.mark.parametrize("use", USES)
def test_a_builder_builds_once(builder: basalt.MLGraphBuilder, use: Any) -> None:
    x = builder.relu(builder.input("x", "float32", (2,)))
    builder.build({"y": x})
    with pytest.raises(InvalidStateError, match="this builder has built its graph; use a new one"):
        use(builder, x)


@pytest.mark.parametrize("use", USES)
def test_a_destroyed_context_ends_its_builders(builder: basalt.MLGraphBuilder, use: Any) -> None:
    x = builder.relu(builder.input("x", "float32", (2,)))
    builder.context.destroy()
    with pytest.raises(InvalidStateError, match="the context was destroyed"):
        use(builder, x)


def test_a_constant_tensor_is_checked_before_the_builder(context: basalt.MLContext) -> None:
    builder = basalt.MLGraphBuilder(context)
    tensor = context.create_constant_tensor(np.ones(2, np.float32))
    builder.build({"y": builder.identity(builder.constant(tensor))})
    with pytest.raises(InvalidStateError, match="built"):
        builder.constant(tensor)
    with pytest.raises(ValidationError, match="another context"):
        builder.constant(basalt.MLContext().create_constant_tensor(np.ones(2, np.float32)))


def test_sizes_must_follow_from_the_inputs(builder: basalt.MLGraphBuilder) -> None:
    x = builder.input("x", "float32", ("n*m", 3))
    with pytest.raises(ValidationError, match=r"input 'x': dimension m\*n does not determine m, n"):
        builder.build({"y": builder.relu(x)})


def test_deep_graphs_build_in_time(builder: basalt.MLGraphBuilder) -> None:
    x = builder.input("x", "float32", (2,))
    for _ in range(20_000):
        x = builder.relu(x)
    assert len(builder.build({"y": x}).graph.nodes) == 20_000


def test_a_builder_shows_its_state(builder: basalt.MLGraphBuilder) -> None:
    y = builder.relu(builder.input("x", "float32", (2,)))
    assert repr(builder) == "<MLGraphBuilder: 1 operators>"
    builder.build({"y": y})
    assert repr(builder) == "<MLGraphBuilder: built>"
