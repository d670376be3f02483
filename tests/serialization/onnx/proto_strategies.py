"""Hypothesis strategies for onnx.ModelProto: every message and field, with values that belong together."""

from __future__ import annotations

from typing import Any

import onnx
from hypothesis import strategies as st

TEXT = st.text("ab/é\0\U0001f600", max_size=3)
INT64 = st.one_of(st.integers(-2, 300), st.integers(-(1 << 63), (1 << 63) - 1))
CODES = st.integers(0, 28)

# What holds the elements of a data type beside raw_data, and how many entries one element takes.
TYPED = {
    **dict.fromkeys((2, 3, 4, 5, 6, 9, 10, 16, 17, 18, 19, 20, 24, 27, 28), ("int32_data", 1)),
    **dict.fromkeys((21, 22, 23), ("int32_data", 1 / 2)),
    **dict.fromkeys((25, 26), ("int32_data", 1 / 4)),
    1: ("float_data", 1),
    14: ("float_data", 2),
    11: ("double_data", 1),
    15: ("double_data", 2),
    7: ("int64_data", 1),
    12: ("uint64_data", 1),
    13: ("uint64_data", 1),
    8: ("string_data", 1),
}
BITS = {1: 32, 4: 16, 5: 16, 6: 32, 7: 64, 10: 16, 11: 64, 12: 32, 13: 64, 14: 64, 15: 128, 16: 16} | {
    **dict.fromkeys((2, 3, 9, 17, 18, 19, 20, 24), 8),
    **dict.fromkeys((21, 22, 23), 4),
    **dict.fromkeys((25, 26), 2),
    **dict.fromkeys((27, 28), 6),
}
ENTRIES = {
    "int32_data": st.integers(-(1 << 31), (1 << 31) - 1),
    "int64_data": INT64,
    "uint64_data": st.integers(0, (1 << 64) - 1),
    "float_data": st.floats(width=32),
    "double_data": st.floats(),
    "string_data": TEXT.map(str.encode),
}
KINDS = {
    1: "f",
    2: "i",
    3: "s",
    4: "t",
    5: "g",
    6: "floats",
    7: "ints",
    8: "strings",
    9: "tensors",
    10: "graphs",
    11: "sparse_tensor",
    12: "sparse_tensors",
    13: "tp",
    14: "type_protos",
}


@st.composite
def models(draw: st.DrawFn) -> onnx.ModelProto:
    message = onnx.ModelProto()
    _fill(draw, message, 5)
    message.graph.SetInParent()
    _fill(draw, message.graph, 5)
    return message


@st.composite
def tensors(draw: st.DrawFn) -> onnx.TensorProto:
    message = onnx.TensorProto()
    _tensor(draw, message, 1)
    return message


def _fill(draw: st.DrawFn, message: Any, depth: int) -> None:
    """Set some of the message's fields, messages nested at most ``depth`` deep."""
    maker = _SPECIAL.get(message.DESCRIPTOR.name)
    if maker is not None:
        maker(draw, message, depth)
        return
    _fill_fields(draw, message, depth, [field.name for field in message.DESCRIPTOR.fields])


def _fill_fields(draw: st.DrawFn, message: Any, depth: int, names: list[str]) -> None:
    fields = message.DESCRIPTOR.fields_by_name
    chosen = draw(st.lists(st.sampled_from(names), max_size=4, unique=True)) if names else []
    for name in sorted(chosen):
        _set(draw, message, fields[name], depth)


def _set(draw: st.DrawFn, message: Any, field: Any, depth: int) -> None:
    if field.message_type is not None:
        if depth == 0:
            return
        if not field.is_repeated:
            getattr(message, field.name).SetInParent()
            _fill(draw, getattr(message, field.name), depth - 1)
            return
        for _ in range(draw(st.integers(1, 2))):
            _fill(draw, getattr(message, field.name).add(), depth - 1)
        return
    values = _scalar(field)
    if field.is_repeated:
        getattr(message, field.name).extend(draw(st.lists(values, min_size=1, max_size=3)))
    else:
        setattr(message, field.name, draw(values))


def _scalar(field: Any) -> st.SearchStrategy:
    if field.name in ("elem_type", "key_type"):
        return CODES
    if field.type == field.TYPE_STRING:
        return TEXT
    if field.type == field.TYPE_BYTES:
        return TEXT.map(str.encode)
    if field.type == field.TYPE_FLOAT:
        return st.floats(width=32)
    return st.integers(-5, 200) if field.type == field.TYPE_INT32 else INT64


def _tensor(draw: st.DrawFn, message: Any, depth: int) -> None:
    _fill_fields(draw, message, depth, ["name", "doc_string", "metadata_props"])
    code = draw(st.sampled_from(sorted(TYPED)))
    dims = draw(st.lists(st.integers(0, 3), max_size=3))
    count = 1
    for size in dims:
        count *= size
    message.data_type = code
    message.dims.extend(dims)
    field, entries = TYPED[code]
    if field != "string_data" and draw(st.booleans()):
        size = (count * BITS[code] + 7) // 8
        message.raw_data = draw(st.binary(min_size=size, max_size=size))
        return
    wanted = -int(-count * entries // 1)
    getattr(message, field).extend(draw(st.lists(ENTRIES[field], min_size=wanted, max_size=wanted)))


def _sparse(draw: st.DrawFn, message: Any, depth: int) -> None:
    _tensor(draw, message.values, 0)
    _tensor(draw, message.indices, 0)
    message.dims.extend(draw(st.lists(st.integers(0, 9), max_size=3)))


def _attribute(draw: st.DrawFn, message: Any, depth: int) -> None:
    _fill_fields(draw, message, depth, ["name", "doc_string"])
    code = draw(st.sampled_from(sorted(KINDS)))
    message.type = code
    if draw(st.integers(0, 9)) == 0:
        message.ref_attr_name = draw(st.sampled_from("xy"))
        if draw(st.booleans()):
            message.ClearField("type")
        return
    field = message.DESCRIPTOR.fields_by_name[KINDS[code]]
    if field.message_type is not None and depth == 0:
        message.type, field = 2, message.DESCRIPTOR.fields_by_name["i"]
    # A zero, "" or empty list may be missing, as in files of proto3 writers; the type may be in the oldest files.
    if (field.message_type is not None and not field.is_repeated) or draw(st.integers(0, 5)):
        _set(draw, message, field, depth)
        if draw(st.integers(0, 5)) == 0:
            message.ClearField("type")


def _node(draw: st.DrawFn, message: Any, depth: int) -> None:
    names = [field.name for field in message.DESCRIPTOR.fields if field.name != "attribute"]
    _fill_fields(draw, message, depth, names)
    if message.domain and draw(st.booleans()):
        message.domain = "ai.onnx"
    if depth:
        for name in draw(st.lists(st.sampled_from("abc"), max_size=3, unique=True)):
            attribute = message.attribute.add()
            _attribute(draw, attribute, depth - 1)
            attribute.name = name


def _function(draw: st.DrawFn, message: Any, depth: int) -> None:
    skipped = ("attribute_proto", "opset_import")
    names = [field.name for field in message.DESCRIPTOR.fields if field.name not in skipped]
    _fill_fields(draw, message, depth, names)
    _opsets(draw, message)


def _model(draw: st.DrawFn, message: Any, depth: int) -> None:
    names = [field.name for field in message.DESCRIPTOR.fields if field.name not in ("graph", "opset_import")]
    _fill_fields(draw, message, depth, names)
    _opsets(draw, message)


def _opsets(draw: st.DrawFn, message: Any) -> None:
    for domain in draw(st.lists(st.sampled_from(["", "ai.onnx.ml", "custom"]), max_size=3, unique=True)):
        entry = message.opset_import.add()
        entry.version = draw(st.integers(0, 30))
        if domain or draw(st.booleans()):
            entry.domain = domain or draw(st.sampled_from(["", "ai.onnx"]))


_SPECIAL = {
    "TensorProto": _tensor,
    "SparseTensorProto": _sparse,
    "AttributeProto": _attribute,
    "NodeProto": _node,
    "FunctionProto": _function,
    "ModelProto": _model,
}
