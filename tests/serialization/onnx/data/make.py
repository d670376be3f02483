"""Writes the golden files of this folder anew; needs the onnx package, which is not ours, to write them.

    python tests/serialization/onnx/data/make.py

The files are committed, so that a change of the reader or writer is judged against bytes that it did not make.
"""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

HERE = Path(__file__).parent


def linear() -> onnx.ModelProto:
    """Weights in raw_data, symbolic shapes, metadata: what an exporter writes."""
    weights = numpy_helper.from_array(np.arange(6, dtype=np.float32).reshape(2, 3), "w")
    bias = helper.make_tensor("b", TensorProto.FLOAT, [3], [0.5, -1.0, 2.0])
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 2])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 3])
    node = helper.make_node("Gemm", ["x", "w", "b"], ["y"], name="gemm", alpha=1.5, transA=0)
    graph = helper.make_graph([node], "linear", [x], [y], [weights, bias])
    model = helper.make_model(graph, producer_name="golden", opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    helper.set_model_props(model, {"author": "nobody", "licence": "none"})
    return model


def branches() -> onnx.ModelProto:
    """Nested graphs, a sequence, an optional, a map, a function, a sparse initialiser, annotations."""

    def branch(name: str, value: float) -> onnx.GraphProto:
        constant = helper.make_tensor("c", TensorProto.FLOAT, [1], [value])
        node = helper.make_node("Constant", [], [name], value=constant)
        return helper.make_graph([node], name, [], [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1])])

    nodes = [
        helper.make_node("If", ["c"], ["y"], then_branch=branch("t", 1.0), else_branch=branch("e", 2.0)),
        helper.make_node("Twice", ["y"], ["z"], domain="local"),
    ]
    tensor = helper.make_tensor_type_proto(TensorProto.INT64, ["n", None, 3])
    inputs = [
        helper.make_tensor_value_info("c", TensorProto.BOOL, []),
        helper.make_value_info("s", helper.make_sequence_type_proto(tensor)),
        helper.make_value_info("o", helper.make_optional_type_proto(tensor)),
        helper.make_value_info("m", helper.make_map_type_proto(TensorProto.STRING, tensor)),
    ]
    outputs = [helper.make_tensor_value_info("z", TensorProto.FLOAT, [1])]
    values = helper.make_tensor("sparse", TensorProto.FLOAT, [2], [3.0, 4.0])
    indices = helper.make_tensor("", TensorProto.INT64, [2], [1, 5])
    graph = helper.make_graph(nodes, "branches", inputs, outputs)
    graph.sparse_initializer.append(helper.make_sparse_tensor(values, indices, [2, 3]))
    annotation = graph.quantization_annotation.add(tensor_name="y")
    annotation.quant_parameter_tensor_names.add(key="SCALE_TENSOR", value="scale")
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("local", 1)]
    body = [helper.make_node("Add", ["a", "a"], ["b"])]
    twice = helper.make_function("local", "Twice", ["a"], ["b"], body, opsets[:1], attributes=["k"])
    return helper.make_model(graph, functions=[twice], opset_imports=opsets, ir_version=10)


def elements() -> onnx.ModelProto:
    """A tensor of every data type, in its typed field and, but for strings, in raw_data."""
    tensors = []
    for code in (code for code in TensorProto.DataType.values() if code):
        if code == TensorProto.STRING:
            tensors.append(helper.make_tensor("string", code, [2], [b"a", "\u00e9".encode()]))
            continue
        dtype = helper.tensor_dtype_to_np_dtype(code)
        array = np.array([0, 1, 1, 0, 1]).astype(dtype)
        name = TensorProto.DataType.Name(code).lower()
        tensors.append(numpy_helper.from_array(array, f"{name}_raw"))
        if array.dtype.kind == "c" or array.dtype.itemsize > 1 or dtype in (np.bool_, np.int8, np.uint8):
            tensors.append(helper.make_tensor(f"{name}_typed", code, [5], array))
    tensors.append(numpy_helper.from_array(np.array([7, -8, 3], ml_dtypes.int4), "int4_odd"))
    graph = helper.make_graph([], "elements", [], [], tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 26)], ir_version=14)


def attributes() -> onnx.ModelProto:
    """An attribute of every kind."""
    tensor = helper.make_tensor("t", TensorProto.INT32, [2], [5, -6])
    sparse = helper.make_sparse_tensor(
        helper.make_tensor("v", TensorProto.INT32, [1], [5]), helper.make_tensor("i", TensorProto.INT64, [1], [2]), [4]
    )
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "inner", [], [])
    kind = helper.make_tensor_type_proto(TensorProto.FLOAT, [2])
    values = {
        "float": 0.5,
        "int": -3,
        "string": b"text",
        "tensor": tensor,
        "graph": graph,
        "sparse": sparse,
        "type": kind,
        "floats": [0.5, 1.5],
        "ints": [1, -1, 300],
        "strings": [b"a", b""],
        "tensors": [tensor, tensor],
        "graphs": [graph],
        "sparses": [sparse],
        "types": [kind, kind],
    }
    node = helper.make_node("Everything", ["x", ""], ["y"], domain="test", **values)
    return helper.make_model(helper.make_graph([node], "attributes", [], []), ir_version=9)


if __name__ == "__main__":
    for make in (linear, branches, elements, attributes):
        (HERE / f"{make.__name__}.onnx").write_bytes(make().SerializeToString(deterministic=True))
