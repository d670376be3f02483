"""Golden files, written by the onnx package: what they say, and that they are written again byte for byte."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from basalt.serialization.onnx import ELEMENT_TYPES, OnnxGraph, OnnxModel, OnnxSparseTensor, OnnxTensor, OnnxType

DATA = Path(__file__).parent / "data"
KIND_NAMES = {
    "sparse": "SPARSE_TENSOR",
    "sparses": "SPARSE_TENSORS",
    "type": "TYPE_PROTO",
    "types": "TYPE_PROTOS",
}


def load(name: str) -> OnnxModel:
    return OnnxModel.load(DATA / f"{name}.onnx")


@pytest.mark.parametrize("path", sorted(DATA.glob("*.onnx")), ids=lambda path: path.stem)
def test_written_byte_for_byte(path: Path, tmp_path: Path) -> None:
    loaded = OnnxModel.load(path)
    assert loaded.to_bytes() == path.read_bytes()
    loaded.save(tmp_path / "m.onnx")
    assert (tmp_path / "m.onnx").read_bytes() == path.read_bytes()


def test_linear() -> None:
    model = load("linear")
    assert (model.ir_version, model.opset, model.opset_imports, model.producer) == (8, 17, {"": 17}, "golden")
    assert model.metadata_props == {"author": "nobody", "licence": "none"}
    assert [(value.name, value.dtype, value.shape) for value in model.inputs] == [("x", "float32", ("batch", 2))]
    assert [(value.name, value.dtype, value.shape) for value in model.outputs] == [("y", "float32", ("batch", 3))]
    assert model.initializers["w"].array().tolist() == [[0, 1, 2], [3, 4, 5]]
    assert model.initializers["b"].array().tolist() == [0.5, -1, 2]
    (node,) = model.nodes
    assert (node.op_type, node.domain, node.name, node.inputs, node.outputs) == (
        "Gemm",
        "",
        "gemm",
        ("x", "w", "b"),
        ("y",),
    )
    assert {name: (each.kind, each.value) for name, each in node.attributes.items()} == {
        "alpha": ("FLOAT", 1.5),
        "transA": ("INT", 0),
    }


def test_branches() -> None:
    model = load("branches")
    branch, call = model.nodes
    inner = branch.attributes["then_branch"].value
    assert isinstance(inner, OnnxGraph) and inner.name == "t"
    constant = inner.nodes[0].attributes["value"].value
    assert isinstance(constant, OnnxTensor) and constant.array().tolist() == [1]
    assert (call.op_type, call.domain) == ("Twice", "local")
    tensor = OnnxType("tensor", "int64", ("n", None, 3))
    assert [value.type for value in model.inputs] == [
        OnnxType("tensor", "bool", ()),
        OnnxType("sequence", element=tensor),
        OnnxType("optional", element=tensor),
        OnnxType("map", key_dtype="string", element=tensor),
    ]
    (sparse,) = model.graph.sparse_initializers
    assert sparse.name == "sparse"
    assert sparse.array().tolist() == [[0, 3, 0], [0, 0, 4]]
    (annotation,) = model.graph.quantization_annotations
    assert (annotation.tensor_name, annotation.parameters) == ("y", {"SCALE_TENSOR": "scale"})
    (function,) = model.functions
    assert (function.domain, function.name, function.inputs, function.outputs) == ("local", "Twice", ("a",), ("b",))
    assert (function.attributes, function.opset_imports) == (("k",), {"": 21})
    assert [node.op_type for node in function.nodes] == ["Add"]


def test_elements() -> None:
    tensors = load("elements").initializers
    found = set()
    for name, tensor in tensors.items():
        found.add(tensor.dtype)
        array = tensor.array()
        assert array.dtype == ELEMENT_TYPES[tensor.dtype].numpy()
        if name.endswith(("_raw", "_typed")):
            expected = np.array([0, 1, 1, 0, 1]).astype(array.dtype)
            assert array.tobytes() == expected.tobytes(), name
    assert tensors["string"].array().tolist() == ["a", "\u00e9"]
    assert tensors["int4_odd"].array().astype(int).tolist() == [7, -8, 3]
    assert found == set(ELEMENT_TYPES) - {"undefined"}


def test_attributes() -> None:
    (node,) = load("attributes").nodes
    assert (node.domain, node.inputs) == ("test", ("x", ""))
    plain = {"float": 0.5, "int": -3, "string": b"text", "floats": (0.5, 1.5), "ints": (1, -1, 300)}
    plain["strings"] = (b"a", b"")
    attributes = node.attributes
    assert {name: attributes[name].value for name in plain} == plain
    kind = OnnxType("tensor", "float32", (2,))
    assert attributes["type"].value == kind
    assert attributes["types"].value == (kind, kind)
    assert attributes["tensor"].value.array().tolist() == [5, -6]
    assert [tensor.name for tensor in attributes["tensors"].value] == ["t", "t"]
    assert attributes["graph"].value.nodes[0].op_type == "Relu"
    assert [graph.name for graph in attributes["graphs"].value] == ["inner"]
    assert isinstance(attributes["sparse"].value, OnnxSparseTensor)
    assert attributes["sparses"].value[0].array().tolist() == [0, 0, 5, 0]
    kinds = {name: attribute.kind for name, attribute in attributes.items()}
    assert kinds == {name: KIND_NAMES.get(name, name.upper()) for name in attributes}
    assert len(kinds) == 14
