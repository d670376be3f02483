"""Models built from records: the onnx package accepts what can be written, and the rest is refused by name."""

from __future__ import annotations

import numpy as np
import pytest

from basalt.errors import ValidationError
from basalt.serialization.onnx import (
    OnnxAttribute,
    OnnxFunction,
    OnnxGraph,
    OnnxModel,
    OnnxNode,
    OnnxQuantizationAnnotation,
    OnnxSparseTensor,
    OnnxTensor,
    OnnxType,
    OnnxValueInfo,
)
from basalt.serialization.onnx.tensor_data import ArrayData

TENSOR = OnnxTensor.from_array("t", np.arange(4, dtype=np.float32))
FLOAT = OnnxType("tensor", "float32", (2, "n", None))


def everything() -> OnnxModel:
    """A model that uses every record and nearly every field."""
    sparse = OnnxSparseTensor(TENSOR, OnnxTensor.from_array("", np.arange(4)), (9,))
    inner = OnnxGraph("inner", (OnnxNode("Relu", ("x",), ("y",)),), outputs=(OnnxValueInfo("y", FLOAT),))
    values = {
        "FLOAT": 0.5,
        "INT": -1,
        "STRING": b"\xff",
        "TENSOR": TENSOR,
        "GRAPH": inner,
        "SPARSE_TENSOR": sparse,
        "TYPE_PROTO": FLOAT,
        "FLOATS": (0.0, -1.5),
        "INTS": (0, -1, 1 << 62),
        "STRINGS": (b"", b"x"),
        "TENSORS": (TENSOR, TENSOR),
        "GRAPHS": (inner, inner),
        "SPARSE_TENSORS": (sparse,),
        "TYPE_PROTOS": (OnnxType("none"), OnnxType("opaque", opaque_domain="d", opaque_name="n")),
    }
    attributes = {kind.lower(): OnnxAttribute(kind.lower(), kind, value) for kind, value in values.items()}
    attributes["ref"] = OnnxAttribute("ref", "INT", reference="k", doc_string="doc")
    node = OnnxNode("Op", ("", "x"), ("y",), attributes, "mine", "n", "o", "doc", {"k": ""})
    types = (
        OnnxType("sequence", element=OnnxType("map", key_dtype="int64", element=FLOAT)),
        OnnxType("optional", element=FLOAT, denotation="D"),
        OnnxType("sparse_tensor", "int4", (), denotation="E"),
        OnnxType("tensor", "float32", (1, "h"), dim_denotations=("DATA_BATCH", "")),
        None,
    )
    graph = OnnxGraph(
        "g",
        (node,),
        tuple(OnnxValueInfo(f"i{index}", kind, "doc", {"a": "b"}) for index, kind in enumerate(types)),
        (OnnxValueInfo("y", FLOAT),),
        (TENSOR, OnnxTensor.from_array("s", np.array(["a", "b"]))),
        (sparse,),
        (OnnxValueInfo("v", FLOAT),),
        "doc",
        {"k": "v"},
        (OnnxQuantizationAnnotation("y", {"SCALE_TENSOR": "t"}),),
    )
    function = OnnxFunction(
        "f", "mine", ("a",), ("b",), (node,), ("k",), {"int": attributes["int"]}, {"": 17}, "o", "doc", (), {"k": "v"}
    )
    return OnnxModel(graph, {"": 17, "mine": 1}, 10, "p", "1", "d", 3, "doc", {"k": "v"}, (function,))


def test_every_record_survives() -> None:
    made = everything()
    loaded = OnnxModel.load(made.to_bytes())
    assert loaded == made
    assert loaded.to_bytes() == made.to_bytes()


def test_strings_may_be_given_as_text() -> None:
    loaded = OnnxModel.load(attribute("STRINGS", ["é", b"x"]).to_bytes())
    assert loaded.nodes[0].attributes["a"].value == ("é".encode(), b"x")


def test_the_onnx_package_reads_the_same() -> None:
    onnx = pytest.importorskip("onnx")
    content = everything().to_bytes()
    assert onnx.load_from_string(content).SerializeToString(deterministic=True) == content


def test_the_onnx_package_accepts_a_model() -> None:
    onnx = pytest.importorskip("onnx")
    node = OnnxNode("Gemm", ("x", "w"), ("y",), {"alpha": OnnxAttribute("alpha", "FLOAT", 2.0)})
    value = OnnxValueInfo("x", OnnxType("tensor", "float32", ("n", 2)))
    out = OnnxValueInfo("y", OnnxType("tensor", "float32", ("n", 3)))
    weights = OnnxTensor.from_array("w", np.ones((2, 3), np.float32))
    model = OnnxModel(OnnxGraph("g", (node,), (value,), (out,), (weights,)), {"": 17})
    onnx.checker.check_model(onnx.load_from_string(model.to_bytes()), full_check=True)


def node_with(**attributes: OnnxAttribute) -> OnnxModel:
    return OnnxModel(OnnxGraph(nodes=(OnnxNode("Op", attributes=attributes),)))


def attribute(kind: str, value: object) -> OnnxModel:
    return node_with(a=OnnxAttribute("a", kind, value))


def cyclic() -> OnnxModel:
    graph = OnnxGraph("loop")
    graph.nodes = (OnnxNode("If", attributes={"b": OnnxAttribute("b", "GRAPH", graph)}),)
    return OnnxModel(graph)


def deep_type() -> OnnxModel:
    kind = OnnxType()
    for _ in range(60):
        kind = OnnxType("sequence", element=kind)
    return OnnxModel(OnnxGraph(inputs=(OnnxValueInfo("x", kind),)))


def tensor(dtype: str, dims: tuple) -> OnnxModel:
    return OnnxModel(OnnxGraph(initializers=(OnnxTensor("w", dtype, dims, ArrayData(np.zeros(4, np.float32))),)))


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (attribute("INT", 1.5), r"graph.node\[0\].attribute\[\"a\"\].i: 1.5 is no integer"),
        (attribute("INT", 1 << 63), r"attribute\[\"a\"\].i: 9223372036854775808 is no 64-bit integer"),
        (attribute("INTS", (1, "2")), "ints: '2' is no integer"),
        (attribute("INTS", 1), "ints: INTS needs a tuple, not int"),
        (attribute("FLOAT", "x"), "f: a value is no float32"),
        (attribute("FLOAT", 1e300), "f: a value is no float32"),
        (attribute("STRING", 5), "s: a string is given as bytes or str, not int"),
        (attribute("TENSOR", np.zeros(2)), "t: OnnxTensor was expected, not ndarray"),
        (attribute("GRAPHS", (None,)), "graphs: OnnxGraph was expected, not NoneType"),
        (attribute("INT", None), "neither a value nor a reference"),
        (attribute("LIST", ()), "type: 'LIST' is no attribute type"),
        (attribute("UNDEFINED", 5), "type: a value of undefined type"),
        (node_with(b=OnnxAttribute("a", "INT", 1)), r"attribute\[\"b\"\].name: the attribute is named 'a'"),
        (OnnxModel(OnnxGraph(nodes=(OnnxNode("\ud800"),))), r"graph.node\[0\].op_type: '\\ud800' is no text"),
        (OnnxModel(producer_name=7), "producer_name: 7 is no text"),
        (OnnxModel(ir_version="8"), "ir_version: '8' is no integer"),
        (OnnxModel(opset_imports={"": None}), "opset_import: None is no integer"),
        (OnnxModel(OnnxGraph(inputs=(OnnxValueInfo("x", OnnxType("list")),))), r"graph.input\[0\].type: 'list' is no"),
        (OnnxModel(OnnxGraph(inputs=(OnnxValueInfo("x", OnnxType(dtype="f4")),))), "'f4' is no element type"),
        (
            OnnxModel(OnnxGraph(inputs=(OnnxValueInfo("x", OnnxType(shape=(1,), dim_denotations=("a", "b"))),))),
            "2 denotations for the 1 dimensions",
        ),
        (OnnxModel(OnnxGraph(inputs=(OnnxValueInfo("x", OnnxType(shape=(1.5,))),))), "1.5 is no integer"),
        (tensor("f4", (4,)), r"graph.initializer\[0\].data_type: 'f4' is no element type"),
        (tensor("float32", (5,)), r"graph.initializer\[0\]: the array is float32 of shape \(4,\)"),
        (tensor("int32", (4,)), r"graph.initializer\[0\]: the array is float32 of shape \(4,\)"),
        (cyclic(), "nested more than 100 messages deep"),
        (deep_type(), "nested more than 100 messages deep"),
    ],
)
def test_refused(model: OnnxModel, reason: str) -> None:
    with pytest.raises(ValidationError, match=reason):
        model.to_bytes()
