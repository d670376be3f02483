"""Running graphs through the operators' NumPy semantics."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import basalt
from basalt.compiler.interpret import Interpreter, StoppedError, interpret
from basalt.compiler.ir import FUSED, Constants, Graph, Node, Value
from basalt.errors import BasaltError, ValidationError
from basalt.ops import TensorType


def built(make: Any, shape: tuple[Any, ...] = (2, 3)) -> basalt.MLGraph:
    builder = basalt.MLGraphBuilder(basalt.MLContext())
    return builder.build(make(builder, builder.input("x", "float32", shape)))


X = np.array([[-1, 2, -3], [4, -5, 6]], np.float32)


def run(graph: basalt.MLGraph, x: np.ndarray = X) -> dict[str, np.ndarray]:
    return interpret(graph.graph, graph.constants, {"x": x})


def test_nodes_run_in_order() -> None:
    graph = built(lambda b, x: {"y": b.relu(b.add(x, b.constant("float32", 1)))})
    assert run(graph)["y"].tolist() == [[0, 3, 0], [5, 0, 7]]


def test_symbols_take_their_sizes_from_the_feeds() -> None:
    graph = built(lambda b, x: {"y": b.reshape(x, (x.shape[0] * 3,))}, ("n", 3))
    assert run(graph)["y"].shape == (6,)
    assert run(graph, X[:1])["y"].shape == (3,)
    with pytest.raises(ValidationError, match="rank"):
        run(graph, X[0])


def test_several_outputs_and_values_used_twice() -> None:
    def make(b: Any, x: Any) -> Any:
        left, right = b.split(x, [1, 2], axis=1)
        return {"l": b.relu(left), "r": b.mul(right, right), "n": b.neg(right)}

    results = run(built(make))
    assert results["l"].tolist() == [[0], [4]]
    assert results["r"].tolist() == [[4, 9], [25, 36]]
    assert results["n"].tolist() == [[-2, 3], [5, -6]]


@pytest.mark.parametrize(
    "make",
    [
        lambda b, x: {"y": b.identity(x), "z": b.identity(x)},
        lambda b, x: {"y": b.transpose(x), "z": b.reshape(x, (6,))},
        lambda b, x: {"y": (t := b.relu(x)), "z": t},
        lambda b, x: {"y": b.identity(b.constant(X)), "z": b.transpose(b.constant(X))},
        lambda b, x: {"y": (t := b.relu(x)), "z": b.slice(t, (0, 0), (2, 2))},
    ],
)
def test_outputs_share_no_memory(make: Any) -> None:
    graph, x = built(make), X.copy()
    results = run(graph, x)
    arrays = [x, *results.values(), *(graph.constants.array(c) for c in graph.graph.constants())]
    for i, one in enumerate(arrays):
        for other in arrays[i + 1 :]:
            assert not np.shares_memory(one, other)
    assert all(array.flags.c_contiguous and array.flags.writeable for array in results.values())


def test_outputs_may_be_inputs_and_constants() -> None:
    constants = Constants()
    x, c = Value(TensorType("float32", (2, 3)), "x"), constants.add(X)
    results = interpret(Graph((x,), (("x", x), ("c", c)), ()), constants, {"x": X + 1})
    assert results["x"].tolist() == (X + 1).tolist() and results["c"].tolist() == X.tolist()


def test_absent_optional_operands_reach_the_operator() -> None:
    graph = built(lambda b, x: {"y": b.gemm(x, b.constant(np.eye(3, dtype=np.float32)), alpha=2.0)})
    assert run(graph)["y"].tolist() == (2 * X).tolist()


def test_fused_nodes_run_their_bodies() -> None:
    graph = built(lambda b, x: {"y": b.relu(b.neg(x))})
    (x,), body = graph.graph.inputs, graph.graph
    inner = Value(x.type, "inner")
    fused_body = replace(body, inputs=(inner,), nodes=(replace(body.nodes[0], inputs=(inner,)), *body.nodes[1:]))
    y = Value(x.type)
    fused = Node(FUSED, (x,), (y,), {"body": fused_body})
    outer = Graph((x,), (("y", y),), (fused,))
    assert interpret(outer, graph.constants, {"x": X})["y"].tolist() == np.maximum(-X, 0).tolist()


def test_intermediate_values_are_freed() -> None:
    graph = built(lambda b, x: {"y": b.relu(b.sin(b.neg(x)))})
    dead = Interpreter(graph.graph, graph.constants)._dead_after
    assert [len(values) for values in dead] == [1, 1, 1]
    first, second, third = graph.graph.nodes
    assert dead[1] == (first.output,) and dead[2] == (second.output,) and third.output not in dead[2]


def test_a_run_can_be_given_up() -> None:
    graph = built(lambda b, x: {"y": b.relu(b.neg(x))})
    answers = iter([False, True])
    with pytest.raises(StoppedError):
        Interpreter(graph.graph, graph.constants).run({"x": X}, stop=lambda: next(answers))


def test_warnings_of_numpy_stay_silent(recwarn: pytest.WarningsRecorder) -> None:
    graph = built(lambda b, x: {"y": b.log(b.div(x, b.sub(x, x)))})
    assert np.isnan(run(graph)["y"]).any()
    assert not recwarn.list


def test_a_wrong_result_of_an_operator_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = built(lambda b, x: {"y": b.relu(x)})
    operator = basalt.ops.get("relu")
    monkeypatch.setattr(type(operator), "evaluate", lambda self, x, a, out: [np.zeros((1, 1))])
    with pytest.raises(
        BasaltError, match=r"internal error: <relu: .*> evaluated to float64\[1, 1\], not to float32\[2, 3\]"
    ):
        run(graph)
