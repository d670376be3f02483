"""Graphs to plain data and back; what a file may not say."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import basalt
from basalt.compiler.exchange import from_data, to_data
from basalt.compiler.interpret import interpret
from basalt.compiler.ir import FUSED, Constants, Graph, Node, Value
from basalt.compiler.text import print_graph
from basalt.errors import ModelFormatError, UnsupportedError
from basalt.ops import TensorType
from basalt.serialization import GraphData, NodeData, TensorSpec
from basalt.serialization.dtypes import same_array

from .graphs import random_graph


def sample() -> basalt.MLGraph:
    builder = basalt.MLGraphBuilder(basalt.MLContext())
    x = builder.input("x", "float32", ("n", 3))
    w = builder.constant(np.arange(12, dtype=np.float32).reshape(3, 4))
    y = builder.gemm(x, w, alpha=0.5, label="mix")
    left, right = builder.split(y, [1, 3], axis=1, label="cut")
    z = builder.reshape(right, (x.shape[0] * 3,))
    return builder.build({"left": left, "z": z, "again": z})


def data_of(graph: Any) -> GraphData:
    return to_data(graph.graph, graph.constants)


def test_a_graph_comes_back() -> None:
    graph = sample()
    data = to_data(graph.graph, graph.constants, {"author": "nobody"})
    assert data.metadata == {"author": "nobody"}
    assert [(s.name, s.dtype, s.shape) for s in data.inputs] == [("x", "float32", ("n", 3))]
    assert [n.op for n in data.nodes] == ["gemm", "split", "reshape"]
    assert len(data.nodes[0].inputs) == 2 and data.nodes[0].attrs["alpha"] == 0.5
    assert data.nodes[2].attrs == {"new_shape": (b"3*n",)}
    back, constants = from_data(data)
    assert print_graph(back, constants).count("\n") == graph.text().count("\n")
    assert to_data(back, constants, data.metadata) == data


@pytest.mark.parametrize("seed", range(30))
def test_random_graphs_come_back(seed: int) -> None:
    sample = random_graph(seed)
    data = to_data(sample.graph, sample.constants)
    back, constants = from_data(data)
    assert to_data(back, constants) == data
    expected = interpret(sample.graph, sample.constants, sample.feeds)
    for name, array in interpret(back, constants, sample.feeds).items():
        assert same_array(array, expected[name])


def test_arrays_are_shared() -> None:
    graph = sample()
    (constant,) = graph.graph.constants()
    (array,) = data_of(graph).constants.values()
    assert np.shares_memory(array, graph.constants.array(constant))


def test_every_value_gets_a_name_of_its_own() -> None:
    constants = Constants()
    array = np.ones(2, np.float32)
    array.flags.writeable = False
    x, c, again = Value(TensorType("float32", (2,)), "v1"), constants.add(array, "v1"), constants.add(array)
    type = TensorType("float32", (2,))
    first, second, third = Value(type, "v1"), Value(type, "sum"), Value(type)
    nodes = (
        Node("add", (x, c), (first,)),
        Node("add", (first, again), (second,)),
        Node("relu", (second,), (third,)),
    )
    data = to_data(Graph((x,), (("y", third), ("c", again)), nodes), constants)
    names = [data.inputs[0].name, *data.constants, *(o.name for n in data.nodes for o in n.outputs)]
    assert len(set(names)) == len(names) == 5
    assert names[0] == "v1" and "sum" in names
    assert dict(data.outputs)["c"] == data.nodes[0].inputs[1] == data.nodes[1].inputs[1]
    assert to_data(*from_data(data)) == data


def test_empty_tensors_may_have_sizes_that_a_builder_refuses() -> None:
    x, y = TensorSpec("x", "float32", (0, 3)), TensorSpec("y", "float32", (0, 1, 3))
    node = NodeData("reshape", ("x",), (y,), {"new_shape": (0, 1, 3)})
    graph, _ = from_data(GraphData("", (x,), {}, (("y", "y"),), (node,)))
    assert graph.nodes[0].attrs["new_shape"] == (0, 1, 3)


def test_types_that_the_standard_lacks_are_allowed() -> None:
    x, y = TensorSpec("x", "float64", (2,)), TensorSpec("y", "float64", (2,))
    graph, _ = from_data(GraphData("", (x,), {}, (("y", "y"),), (NodeData("relu", ("x",), (y,)),)))
    assert graph.nodes[0].output.dtype == "float64"


def test_labels_from_a_file_are_made_harmless() -> None:
    data = data_of(sample())
    node = replace(data.nodes[0], label="a\u202eb")
    graph, _ = from_data(replace(data, nodes=(node, *data.nodes[1:])))
    assert graph.nodes[0].label == r"a\u202eb"


def test_fused_nodes_cannot_be_saved() -> None:
    x = Value(TensorType("float32", (2,)), "x")
    y = Value(x.type)
    graph = Graph((x,), (("y", y),), (Node(FUSED, (x,), (y,), {"body": None}),))
    with pytest.raises(UnsupportedError, match="'fused' is no operator of the graph language"):
        to_data(graph, Constants())


def test_attributes_that_no_file_holds_are_refused() -> None:
    graph = sample().graph
    node = replace(graph.nodes[0], attrs={**graph.nodes[0].attrs, "alpha": object()})
    with pytest.raises(UnsupportedError, match=r"<gemm 'mix': .*> cannot be saved: an attribute is a object"):
        to_data(graph.with_nodes([node, *graph.nodes[1:]]), sample().constants)


def with_node(index: int, **changes: Any) -> Any:
    def change(data: GraphData) -> GraphData:
        nodes = list(data.nodes)
        nodes[index] = replace(nodes[index], **changes)
        return replace(data, nodes=tuple(nodes))

    return change


def with_attr(index: int, name: str, value: Any) -> Any:
    return lambda data: with_node(index, attrs={**data.nodes[index].attrs, name: value})(data)


def spec(shape: tuple[Any, ...], name: str = "v2", dtype: str = "float32") -> tuple[TensorSpec, ...]:
    return (TensorSpec(name, dtype, shape),)


GEMM = 'node 0, gemm "mix"'
BAD: list[tuple[Any, str]] = [
    (with_node(0, inputs=("x", "nothing", None)), f"{GEMM}: nothing before it defines 'nothing'"),
    (with_node(0, inputs=("x",)), f"{GEMM}: gemm .*operand b is missing"),
    (with_node(0, inputs=("x",) * 4), f"{GEMM}: has 4 operands, expected at most 3"),
    (with_node(0, inputs=("x", None, None)), f"{GEMM}: gemm .*operand b is missing"),
    (
        with_node(0, outputs=spec(("n", 5))),
        rf"{GEMM}: has outputs float32\[n, 5\], but its operator gives float32\[n, 4\]",
    ),
    (with_node(0, outputs=spec(("n", 4), dtype="float16")), f"{GEMM}: has outputs float16"),
    (with_node(0, outputs=spec(("n", 4)) * 2), f"{GEMM}: has outputs .*, .*, but its operator gives"),
    (with_node(0, outputs=()), f"{GEMM}: has outputs none"),
    (with_node(0, outputs=spec(("n", 4), "x")), f"{GEMM}: an output is named 'x', which is taken"),
    (with_node(0, outputs=spec(("n", 4), "")), f"{GEMM}: an output is named '', expected a name"),
    (with_attr(0, "gamma", 1.0), f"{GEMM}: has no attribute 'gamma'; its attributes are alpha, beta"),
    (with_attr(0, "alpha", "x"), f"{GEMM}: attribute 'alpha': expected a number, got 'x'"),
    (with_attr(0, "alpha", None), f"{GEMM}: attribute 'alpha': expected a number, got None"),
    (with_attr(0, "a_transpose", 1), f"{GEMM}: attribute 'a_transpose': expected True or False"),
    (with_node(1, attrs={}), "node 1, split \"cut\": lacks the attribute 'splits'"),
    (with_attr(1, "splits", (2, 3)), 'node 1, split "cut": split .*'),
    (with_attr(1, "axis", 7), 'node 1, split "cut": split .*axis is 7'),
    (with_attr(2, "new_shape", (b"\xff",)), "node 2, reshape: its attributes are not valid"),
    (with_attr(2, "new_shape", 3), "node 2, reshape: attribute 'new_shape': expected a sequence"),
    (with_attr(2, "new_shape", (b"(a+b)*(c+d)*(e+f)*(g+h)*(i+j)*(k+l)*(m+n)*(o+p)*(q+r)*(s+t)",)), "is too large"),
    (with_attr(2, "new_shape", (b"n+" * 2000 + b"n",)), "is too large"),
    (lambda data: replace(data, outputs=(("y", "nothing"),)), "output 'y': nothing before it defines 'nothing'"),
    (lambda data: replace(data, outputs=()), r"the graph's outputs are \[\]"),
    (
        lambda data: replace(data, outputs=data.outputs + data.outputs[:1]),
        "the graph's outputs are .*names that differ",
    ),
    (lambda data: replace(data, inputs=data.inputs * 2), "an input is named 'x', which is taken"),
    (lambda data: replace(data, inputs=spec((-1, 3), "x")), r"'x': shape \[-1, 3\] has dimension -1"),
    (lambda data: replace(data, constants={"x": np.ones(2, np.float32)}), "a constant is named 'x', which is taken"),
    (lambda data: replace(data, nodes=data.nodes[1:]), 'node 0, split "cut": nothing before it defines'),
]


@pytest.mark.parametrize(("change", "message"), BAD)
def test_data_that_are_no_graph(change: Any, message: str) -> None:
    with pytest.raises(ModelFormatError, match=message):
        from_data(change(data_of(sample())))


def test_strides_of_zero_are_no_empty_tensor() -> None:
    builder = basalt.MLGraphBuilder(basalt.MLContext())
    x = builder.input("x", "float32", (1, 2, 4, 4))
    data = data_of(builder.build({"y": builder.max_pool2d(x, window_dimensions=(2, 2))}))
    for name in ("strides", "dilations", "window_dimensions"):
        with pytest.raises(ModelFormatError, match="node 0, max_pool2d"):
            from_data(with_attr(0, name, (0, 0))(data))


def test_unknown_operators_are_unsupported() -> None:
    data = with_node(0, op="quantum_gemm", label="q")(data_of(sample()))
    with pytest.raises(UnsupportedError, match="node 0, quantum_gemm \"q\": there is no operator 'quantum_gemm'"):
        from_data(data)
