"""Whole models: names, labels, borders, metadata, constants, and what is refused in which words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import basalt
from basalt.compiler.ir import Constants, Graph, Value
from basalt.compiler.model import Model
from basalt.errors import InvalidStateError, UnsupportedError, ValidationError
from basalt.ops import TensorType
from basalt.serialization.onnx import OnnxModel

from ...making import Maker
from .one_operator import check, check_graph, numbers, onnx


def builder() -> basalt.MLGraphBuilder:
    return basalt.MLGraphBuilder(basalt.MLContext(), extended=True)


def affine() -> Any:
    """A graph of three labelled operators with a symbolic dimension."""
    b = builder()
    x = b.input("x", "float32", ("n", 3))
    scaled = b.mul(x, b.constant(numbers("float32", 3)), label="scale")
    return b.build({"y": b.relu(b.add(scaled, b.constant("float32", 1.0), label="shift"), label="clip")})


def test_names_labels_and_symbols_stay() -> None:
    model = basalt.to_onnx(affine(), name="affine")
    assert [(v.name, v.dtype, v.shape) for v in model.inputs] == [("x", "float32", ("n", 3))]
    assert [(v.name, v.dtype, v.shape) for v in model.outputs] == [("y", "float32", ("n", 3))]
    assert [(node.name, node.op_type) for node in model.nodes] == [("scale", "Mul"), ("shift", "Add"), ("clip", "Relu")]
    assert (model.graph.name, model.opset, model.ir_version) == ("affine", 17, 8)
    assert model.producer == f"basalt {basalt.__version__}"


@pytest.mark.parametrize(("opset", "ir"), [(17, 8), (19, 9), (21, 10), (23, 11), (24, 12), (25, 13), (28, 14)])
def test_each_opset_has_the_ir_version_that_it_came_with(opset: int, ir: int) -> None:
    model = basalt.to_onnx(affine(), opset=opset)
    assert (model.opset, model.ir_version) == (opset, ir)
    known = {row[2]: row[1] for row in onnx.helper.VERSION_TABLE}
    assert known.get(opset, ir) == ir


def test_metadata_stays() -> None:
    graph = affine()
    model = Model(graph.graph, graph.constants, {"author": "somebody", "purpose": "a test"})
    assert basalt.to_onnx(model).metadata_props == {"author": "somebody", "purpose": "a test"}


def test_expressions_of_sizes_are_declared_as_text() -> None:
    b = builder()
    x = b.input("x", "float32", ("n", "a.b"))
    model = basalt.to_onnx(b.build({"y": b.concat([x, x], 0)}))
    assert model.inputs[0].shape == ("n", "a.b")
    assert model.outputs[0].shape == ("2*n", "a.b")


def test_equal_labels_give_names_that_differ() -> None:
    b = builder()
    x = b.input("x", "float32", (2,))
    model = basalt.to_onnx(b.build({"y": b.exp(b.exp(b.exp(x, label="e"), label="e"), label="e_1")}))
    names = [node.name for node in model.nodes]
    assert len(set(names)) == 3
    assert names[0] == "e"


def test_the_operator_itself_bears_the_label() -> None:
    operands = [numbers("float32", 1, 4, 4, 2), numbers("float32", 2, 2, 2, 1)]
    model = check("conv2d", operands, label="stem", input_layout="nhwc", filter_layout="ohwi", groups=2)
    assert [node.name for node in model.nodes if node.op_type == "Conv"] == ["stem"]
    assert {node.name.split("/")[0] for node in model.nodes} == {"stem"}


def test_names_of_values_may_be_those_of_labels() -> None:
    b = builder()
    x = b.input("add_0_output", "float32", (2,))
    y = b.add(x, x)
    check_built(b.build({"exp_1_output": b.exp(y), "z": b.log(b.exp(y))}), {"add_0_output": numbers("float32", 2)})


def check_built(graph: Any, feeds: dict[str, np.ndarray], **options: Any) -> OnnxModel:
    return check_graph(graph.graph, graph.constants, feeds, **options)


def test_outputs_that_are_inputs_constants_or_each_other() -> None:
    m = Maker()
    x = m.input("x", "float32", (2, 3))
    c = m.constant(numbers("float32", 3))
    y = m.relu(x)
    graph = m.graph(a=x, b=c, c=y, d=y, x=x)
    check_graph(graph, m.constants, {"x": numbers("float32", 2, 3)}, again=False)


def test_an_output_cannot_have_the_name_of_another_input() -> None:
    m = Maker()
    graph = m.graph(x=m.relu(m.input("x", "float32", (2,))))
    with pytest.raises(UnsupportedError, match="output 'x': an input has this name"):
        basalt.to_onnx(Model(graph, m.constants))


def test_inputs_that_nothing_reads_stay() -> None:
    x, y = (Value(TensorType("float32", (2,)), name) for name in "xy")
    m = Maker()
    m.inputs = [x, y]
    model = basalt.to_onnx(Model(m.graph(z=m.relu(x)), m.constants))
    assert [v.name for v in model.inputs] == ["x", "y"]


def test_weights_are_shared_and_written_once() -> None:
    weights = numbers("float32", 64, 64)
    m = Maker()
    x, w = m.input("x", "float32", (2, 64)), m.constants.add(weights)
    y = m.matmul(m.matmul(x, w), w)
    model = basalt.to_onnx(Model(m.graph(y=y), m.constants))
    (tensor,) = model.graph.initializers
    assert np.shares_memory(tensor.array(), weights)


def test_constants_that_only_one_operator_reads_are_rearranged_at_once() -> None:
    operands = [numbers("float32", 1, 2, 4, 4), numbers("float32", 2, 2, 2, 3)]
    once = check("conv2d", operands, filter_layout="hwio", constant=("filter",))
    assert [node.op_type for node in once.nodes] == ["Conv"]
    m = Maker()
    x, w = m.input("x", "float32", (1, 2, 4, 4)), m.constants.add(operands[1])
    graph = m.graph(y=m.conv2d(x, w, filter_layout="hwio"), z=m.reduce_sum(w))
    model = check_graph(graph, m.constants, {"x": operands[0]})
    assert [node.op_type for node in model.nodes].count("Transpose") == 1
    assert sum(t.dims == (2, 2, 2, 3) for t in model.graph.initializers) == 1


def test_truth_values_stay_bool_between_comparisons_and_logic() -> None:
    b = builder()
    x = b.input("x", "float32", (3,))
    zero = b.constant("float32", 0.0)
    either = b.logical_or(b.greater(x, zero), b.logical_not(b.is_nan(x)))
    graph = b.build({"y": b.where(either, x, zero), "mask": either})
    model = check_built(graph, {"x": np.array([1, -1, np.nan], np.float32)})
    assert [node.op_type for node in model.nodes].count("Cast") == 1
    assert model.outputs[1].dtype == "uint8"


def test_every_node_that_cannot_be_said_is_named() -> None:
    m = Maker()
    x = m.input("x", "int32", (2,))
    y = m.call("bitwise_and", x, x, label="first")
    z = m.call("bitwise_not", m.add(y, x))
    with pytest.raises(UnsupportedError) as caught:
        basalt.to_onnx(Model(m.graph(z=z), m.constants))
    assert str(caught.value).splitlines() == [
        "the graph cannot be written as ONNX at opset 17:",
        "  bitwise_and 'first': ONNX has no BitwiseAnd at opset 17; it is there from opset 18 on",
        "  bitwise_not (node 2): ONNX has no BitwiseNot at opset 17; it is there from opset 18 on",
    ]
    assert basalt.to_onnx(Model(m.graph(z=z), m.constants), opset=18).opset == 18


def test_only_the_first_of_many_are_listed() -> None:
    m = Maker()
    x = m.input("x", "int32", (2,))
    for _ in range(30):
        x = m.call("bitwise_not", x)
    with pytest.raises(UnsupportedError, match=r"\n  and 10 more$"):
        basalt.to_onnx(Model(m.graph(z=x), m.constants))


@pytest.mark.parametrize("opset", [16, 29, True, "17", 17.0])
def test_opsets_out_of_range_are_refused(opset: Any) -> None:
    with pytest.raises(ValidationError, match=r"opset is .*, expected 17 to 28"):
        basalt.to_onnx(affine(), opset=opset)


def test_other_things_are_refused() -> None:
    with pytest.raises(ValidationError, match="got int, expected a model or a graph"):
        basalt.to_onnx(3)
    graph = affine()
    graph.destroy()
    with pytest.raises(InvalidStateError, match="to_onnx"):
        basalt.to_onnx(graph)


def test_files(tmp_path: Path) -> None:
    graph = affine()
    basalt.save(graph, tmp_path / "a.ONNX")
    basalt.save_onnx(graph, tmp_path / "b.onnx", opset=21, external_data="weights")
    first, second = OnnxModel.load(tmp_path / "a.ONNX"), OnnxModel.load(tmp_path / "b.onnx")
    assert (first.opset, second.opset) == (17, 21)
    assert first.nodes == second.nodes
    basalt.save(basalt.load(tmp_path / "a.ONNX"), tmp_path / "c.onnx")
    assert len(OnnxModel.load(tmp_path / "c.onnx").nodes) == 3


def test_nothing_is_written_of_what_cannot_be_said(tmp_path: Path) -> None:
    m = Maker()
    x = m.input("x", "int32", (2,))
    model = Model(m.graph(y=m.call("bitwise_not", x)), m.constants)
    target = tmp_path / "a.onnx"
    target.write_bytes(b"as before")
    with pytest.raises(UnsupportedError):
        basalt.save(model, target)
    assert [(p.name, p.read_bytes()) for p in tmp_path.iterdir()] == [("a.onnx", b"as before")]


def test_a_program_is_no_onnx_model(tmp_path: Path) -> None:
    program = affine().compile({"x": (2, 3)})
    with pytest.raises(ValidationError, match="a compiled program cannot become the ONNX model"):
        basalt.save(program, tmp_path / "a.onnx")
    assert not list(tmp_path.iterdir())


def test_an_empty_graph_of_constants() -> None:
    constants = Constants()
    value = constants.add(numbers("float32", 2))
    check_graph(Graph((), (("y", value),), ()), constants, {}, again=False)
