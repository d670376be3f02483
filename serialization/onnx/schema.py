"""Field tables of the message types that the reader takes apart. Source: onnx.proto, IR version 14."""

from __future__ import annotations

from .wire import Table

__all__ = [
    "ANNOTATION",
    "ATTRIBUTE",
    "DIMENSION",
    "ENTRY",
    "FUNCTION",
    "GRAPH",
    "MAP_TYPE",
    "MODEL",
    "NODE",
    "OPAQUE_TYPE",
    "OPSET",
    "SHAPE",
    "SPARSE_TENSOR",
    "TENSOR",
    "TENSOR_TYPE",
    "TYPE",
    "VALUE_INFO",
    "WRAPPER_TYPE",
]

MODEL = Table(
    (1, "ir_version", "int"),
    (2, "producer_name", "text"),
    (3, "producer_version", "text"),
    (4, "domain", "text"),
    (5, "model_version", "int"),
    (6, "doc_string", "text"),
    (7, "graph", "messages"),
    (8, "opset_import", "messages"),
    (14, "metadata_props", "messages"),
    (20, "training_info", "messages"),
    (25, "functions", "messages"),
    (26, "configuration", "messages"),
)

GRAPH = Table(
    (1, "node", "messages"),
    (2, "name", "text"),
    (5, "initializer", "messages"),
    (10, "doc_string", "text"),
    (11, "input", "messages"),
    (12, "output", "messages"),
    (13, "value_info", "messages"),
    (14, "quantization_annotation", "messages"),
    (15, "sparse_initializer", "messages"),
    (16, "metadata_props", "messages"),
)

NODE = Table(
    (1, "input", "texts"),
    (2, "output", "texts"),
    (3, "name", "text"),
    (4, "op_type", "text"),
    (5, "attribute", "messages"),
    (6, "doc_string", "text"),
    (7, "domain", "text"),
    (8, "overload", "text"),
    (9, "metadata_props", "messages"),
    (10, "device_configurations", "messages"),
)

ATTRIBUTE = Table(
    (1, "name", "text"),
    (2, "f", "float"),
    (3, "i", "int"),
    (4, "s", "bytes"),
    (5, "t", "messages"),
    (6, "g", "messages"),
    (7, "floats", "floats"),
    (8, "ints", "ints"),
    (9, "strings", "messages"),
    (10, "tensors", "messages"),
    (11, "graphs", "messages"),
    (13, "doc_string", "text"),
    (14, "tp", "messages"),
    (15, "type_protos", "messages"),
    (20, "type", "int"),
    (21, "ref_attr_name", "text"),
    (22, "sparse_tensor", "messages"),
    (23, "sparse_tensors", "messages"),
)

TENSOR = Table(
    (1, "dims", "ints"),
    (2, "data_type", "int"),
    (3, "segment", "messages"),
    (4, "float_data", "floats"),
    (5, "int32_data", "ints"),
    (6, "string_data", "messages"),
    (7, "int64_data", "ints"),
    (8, "name", "text"),
    (9, "raw_data", "bytes"),
    (10, "double_data", "doubles"),
    (11, "uint64_data", "ints"),
    (12, "doc_string", "text"),
    (13, "external_data", "messages"),
    (14, "data_location", "int"),
    (16, "metadata_props", "messages"),
)

SPARSE_TENSOR = Table((1, "values", "messages"), (2, "indices", "messages"), (3, "dims", "ints"))

VALUE_INFO = Table(
    (1, "name", "text"), (2, "type", "messages"), (3, "doc_string", "text"), (4, "metadata_props", "messages")
)

TYPE = Table(
    (1, "tensor_type", "messages"),
    (4, "sequence_type", "messages"),
    (5, "map_type", "messages"),
    (6, "denotation", "text"),
    (7, "opaque_type", "messages"),
    (8, "sparse_tensor_type", "messages"),
    (9, "optional_type", "messages"),
)

TENSOR_TYPE = Table((1, "elem_type", "int"), (2, "shape", "messages"))
WRAPPER_TYPE = Table((1, "elem_type", "messages"))
MAP_TYPE = Table((1, "key_type", "int"), (2, "value_type", "messages"))
OPAQUE_TYPE = Table((1, "domain", "text"), (2, "name", "text"))
SHAPE = Table((1, "dim", "messages"))
DIMENSION = Table((1, "dim_value", "int"), (2, "dim_param", "text"), (3, "denotation", "text"))

ENTRY = Table((1, "key", "text"), (2, "value", "text"))
OPSET = Table((1, "domain", "text"), (2, "version", "int"))
ANNOTATION = Table((1, "tensor_name", "text"), (2, "quant_parameter_tensor_names", "messages"))

FUNCTION = Table(
    (1, "name", "text"),
    (4, "input", "texts"),
    (5, "output", "texts"),
    (6, "attribute", "texts"),
    (7, "node", "messages"),
    (8, "doc_string", "text"),
    (9, "opset_import", "messages"),
    (10, "domain", "text"),
    (11, "attribute_proto", "messages"),
    (12, "value_info", "messages"),
    (13, "overload", "text"),
    (14, "metadata_props", "messages"),
)
