"""Bytes that lie: refused with the field's path and the byte's offset, without effort out of proportion."""

from __future__ import annotations

import random
import sys
import tracemalloc

import pytest
from wire_samples import data, key, load_tensor, model, num, varint, with_attribute, with_tensor

from basalt.errors import ModelFormatError
from basalt.serialization.onnx import OnnxModel

HUGE = varint(1 << 60)
NAME, OP = data(1, "axis"), data(4, "Op")


def refusal(content: bytes) -> str:
    """The message with which ``content`` is refused, without the name of the source."""
    with pytest.raises(ModelFormatError) as caught:
        loaded = OnnxModel.load(content)
        for tensor in loaded.graph.initializers:
            tensor.array()
    return str(caught.value).removeprefix("<bytes>: ")


# Every case: what is wrong, the bytes, the path, the offset, a part of the reason.
CASES = {
    "length of 2**60": (model(key(1, 2) + HUGE), "graph.node", 4, "a length of 1152921504606846976 bytes"),
    "length of the graph": (num(1, 8) + key(7, 2) + b"\x05", "graph", 2, "a length of 5 bytes where the message has 0"),
    "length missing": (num(1, 8) + key(7, 2), "", 2, "cut off by the end of the file"),
    "text one byte too long": (model(data(1, key(4, 2) + b"\x03ab")), "graph.node[0].op_type", 6, "3 bytes"),
    "number cut off": (model(data(11, data(2, data(1, key(1, 0))))), "graph.input[0].type.tensor_type", 10, "cut off"),
    "number that ends after its message": (
        model(data(11, data(2, data(1, key(1, 0)))), data(2, "g")),
        "graph.input[0].type.tensor_type",
        10,
        "ends 1 bytes after its message",
    ),
    "float cut off": (with_attribute(NAME, key(2, 5) + b"\0\0\0"), "graph.node[0].attribute[0]", 19, "cut off"),
    "varint of 11 bytes": (num(1, 8) + key(5, 0) + b"\xff" * 10 + b"\x01", "", 3, "more than 10 bytes"),
    "tag of 11 bytes": (b"\x88" + b"\x80" * 10 + b"\x01", "", 0, "more than 10 bytes"),
    "field number 0": (num(1, 8) + b"\x00\x00", "", 2, "no field number 0"),
    "field number 2**29": (num(1, 8) + key(1 << 29, 0) + b"\0", "", 2, "no field number 536870912"),
    "wire type 6": (num(1, 8) + key(100, 6), "", 2, "no wire type 6"),
    "wire type 7": (model(data(1, key(90, 7))), "graph.node[0]", 6, "no wire type 7"),
    "text as a number": (model(data(1, num(4, 1))), "graph.node[0].op_type", 6, "wire type 0 (varint)"),
    "number as text": (data(1, "8"), "ir_version", 0, "wire type 2 (length-delimited)"),
    "graph as a group": (key(7, 3) + key(7, 4), "graph", 0, "wire type 3 (start of a group)"),
    "end of a group alone": (num(1, 8) + key(100, 4), "", 2, "end of a group 100 that was not started"),
    "groups that cross": (key(100, 3) + key(101, 3) + key(100, 4), "", 4, "end of a group 100"),
    "group without an end": (num(1, 8) + key(100, 3) + num(1, 1), "", 6, "cut off"),
    "unknown field too long": (num(1, 8) + key(100, 2) + HUGE, "", 2, "a length of 1152921504606846976"),
    "invalid UTF-8": (num(1, 8) + data(2, b"ab\xff"), "producer_name", 6, "no valid UTF-8"),
    "UTF-8 of a surrogate": (model(data(1, data(4, b"\xed\xa0\x80"))), "graph.node[0].op_type", 8, "no valid UTF-8"),
    "dims of packed numbers cut off": (with_tensor(data(1, b"\x80")), "graph.initializer[0].dims", 8, "cut off"),
    "negative dim": (with_tensor(num(1, -1), num(2, 1)), "graph.initializer[0].dims", 6, "a negative size in (-1,)"),
    "dims that overflow": (
        with_tensor(data(1, varint(1 << 40), varint(1 << 40)), num(2, 1)),
        "graph.initializer[0].dims",
        6,
        "overflows",
    ),
    "dims that overflow beside a zero": (
        with_tensor(data(1, varint(1 << 62), varint(1 << 62), b"\0"), num(2, 1)),
        "graph.initializer[0].dims",
        6,
        "overflows",
    ),
    "65 dims": (with_tensor(data(1, b"\1" * 65), num(2, 1)), "graph.initializer[0].dims", 6, "65 dimensions"),
    "no data type 99": (with_tensor(num(2, 99)), "graph.initializer[0].data_type", 6, "no data type 99"),
    "raw_data of another length": (
        with_tensor(num(1, 2), num(2, 1), data(9, b"1234567")),
        "graph.initializer[0].raw_data",
        12,
        "7 bytes, but float32 elements of shape (2,) take 8",
    ),
    "no data": (
        with_tensor(num(1, 2), num(2, 1)),
        "graph.initializer[0]",
        6,
        "no elements, but the shape (2,) needs 2",
    ),
    "packed floats of 5 bytes": (
        with_tensor(num(1, 1), num(2, 1), data(4, b"12345")),
        "graph.initializer[0].float_data",
        12,
        "5 bytes of packed values of 4 bytes each",
    ),
    "too few floats": (
        with_tensor(num(1, 2), num(2, 1), data(4, b"1234")),
        "graph.initializer[0].float_data",
        12,
        "1 entries, but float32 elements of shape (2,) take 2",
    ),
    "too many packed numbers": (
        with_tensor(num(1, 2), num(2, 7), data(7, b"\1\2\3")),
        "graph.initializer[0].int64_data",
        12,
        "3 entries, but int64",
    ),
    "packed numbers cut off": (
        with_tensor(num(1, 1), num(2, 7), data(7, b"\1\x80")),
        "graph.initializer[0].int64_data",
        13,
        "cut off",
    ),
    "packed number of 11 bytes": (
        with_tensor(num(1, 1), num(2, 7), data(7, b"\x80" * 10 + b"\1")),
        "graph.initializer[0].int64_data",
        12,
        "more than 10 bytes",
    ),
    "int4 in too many entries": (
        with_tensor(num(1, 3), num(2, 22), data(5, b"\1\2\3")),
        "graph.initializer[0].int32_data",
        12,
        "3 entries, but int4 elements of shape (3,) take 2",
    ),
    "elements in a field of another type": (
        with_tensor(num(1, 1), num(2, 1), data(7, b"\1")),
        "graph.initializer[0].int64_data",
        12,
        "elements of type float32 belong in float_data or raw_data",
    ),
    "elements in two fields": (
        with_tensor(num(1, 1), num(2, 1), data(4, b"1234"), data(9, b"1234")),
        "graph.initializer[0]",
        6,
        "more than one field: float_data, raw_data",
    ),
    "strings in raw_data": (
        with_tensor(num(1, 1), num(2, 8), data(9, b"a")),
        "graph.initializer[0].raw_data",
        12,
        "strings cannot be in raw_data",
    ),
    "string that is no UTF-8": (
        with_tensor(num(1, 2), num(2, 8), data(6, "a"), data(6, b"b\xff")),
        "graph.initializer[0].string_data[1]",
        16,
        "no valid UTF-8",
    ),
    "segments": (with_tensor(num(2, 1), data(3, num(1, 0))), "graph.initializer[0].segment", 10, "not supported"),
    "no data location 7": (with_tensor(num(14, 7)), "graph.initializer[0].data_location", 6, "no data location 7"),
    "sparse tensor without indices": (
        model(data(15, data(1, num(1, 0), num(2, 1)))),
        "graph.sparse_initializer[0]",
        6,
        "without indices",
    ),
    "attribute of type 77": (with_attribute(NAME, num(20, 77)), 'graph.node[0].attribute["axis"].type', 12, "type 77"),
    "attribute with another value": (
        with_attribute(NAME, num(20, 1), num(3, 5)),
        'graph.node[0].attribute["axis"]',
        12,
        "the type is FLOAT, but the values present are: i",
    ),
    "attribute with two values": (
        with_attribute(NAME, num(20, 2), num(3, 5), data(4, "x")),
        'graph.node[0].attribute["axis"]',
        12,
        "the type is INT, but the values present are: i, s",
    ),
    "attribute without type, with two values": (
        with_attribute(NAME, num(3, 5), data(4, "x")),
        'graph.node[0].attribute["axis"]',
        12,
        "no type, and more than one value: i, s",
    ),
    "attribute without type and value": (
        with_attribute(NAME),
        'graph.node[0].attribute["axis"]',
        12,
        "no type, and no value",
    ),
    "tensor attribute without a tensor": (
        with_attribute(NAME, num(20, 4)),
        'graph.node[0].attribute["axis"]',
        12,
        "the type is TENSOR, but there is no value",
    ),
    "value and reference": (
        with_attribute(NAME, num(20, 2), num(3, 5), data(21, "alpha")),
        'graph.node[0].attribute["axis"]',
        12,
        "both a value (i) and a reference to attribute 'alpha'",
    ),
    "fault inside of an attribute's tensor": (
        with_attribute(NAME, num(20, 4), data(5, num(2, 99))),
        'graph.node[0].attribute["axis"].t.data_type',
        23,
        "no data type 99",
    ),
    "fault inside of an attribute's second tensor": (
        with_attribute(NAME, num(20, 9), data(10, num(1, 0)), data(10, num(2, 99))),
        'graph.node[0].attribute["axis"].tensors[1].data_type',
        27,
        "no data type 99",
    ),
    "two attributes of one name": (
        model(data(1, OP, data(5, NAME, num(20, 2)), data(5, NAME, num(20, 2)))),
        "graph.node[0].attribute[1]",
        23,
        "a second attribute of name 'axis'",
    ),
    "unknown element type of an input": (
        model(data(11, data(1, "x"), data(2, data(1, num(1, 50))))),
        "graph.input[0].type.tensor_type.elem_type",
        13,
        "no data type 50",
    ),
    "opset imported twice": (
        model(head=data(8, num(2, 13)) + data(8, data(1, "ai.onnx"), num(2, 14))),
        "opset_import[1]",
        8,
        "domain 'ai.onnx' is imported at 13 and 14",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_refused_with_path_and_offset(case: str) -> None:
    content, path, offset, reason = CASES[case]
    message = refusal(content)
    assert message.startswith(f"{path}: at byte {offset}: " if path else f"at byte {offset}: "), message
    assert reason in message


def nested_graphs(depth: int) -> bytes:
    graph = b""
    for _ in range(depth):
        graph = data(1, data(4, "If"), data(5, data(1, "b"), num(20, 5), data(6, graph)))
    return model(graph)


def nested_type(depth: int) -> bytes:
    kind = b""
    for _ in range(depth - 1):
        kind = data(4, data(1, kind))
    return kind


def nested_types(depth: int) -> bytes:
    return model(data(11, data(2, nested_type(depth))))


def nested_in_function(depth: int) -> bytes:
    attribute = data(5, data(1, "t"), num(20, 13), data(14, nested_type(depth)))
    return model(head=data(25, data(1, "f"), data(7, data(4, "Op"), attribute)))


def test_nesting_is_bounded() -> None:
    assert len(OnnxModel.load(nested_graphs(30)).nodes) == 1
    assert len(OnnxModel.load(nested_types(40)).inputs) == 1
    assert len(OnnxModel.load(nested_graphs(30)).to_bytes()) == len(nested_graphs(30))
    assert len(OnnxModel.load(nested_in_function(50)).functions) == 1
    for bomb in (nested_in_function(51), nested_graphs(40), nested_graphs(3000), nested_types(60), nested_types(3000)):
        assert "nested more than 100 deep" in refusal(bomb)


def test_nesting_of_unknown_groups_is_bounded() -> None:
    head = num(1, 8) + data(7)
    assert OnnxModel.load(head + key(50, 3) * 100 + key(50, 4) * 100).notes is not None
    assert "groups nested more than 100 deep" in refusal(head + key(50, 3) * 100_000)


def test_nesting_leaves_room_on_a_stack_that_is_deep_already() -> None:
    """Whoever calls may have used up much of Python's stack."""

    def load_at(depth: int) -> str:
        return refusal(nested_graphs(3000)) if depth == 0 else load_at(depth - 1)

    frame, used = sys._getframe(), 0
    while frame is not None:
        frame, used = frame.f_back, used + 1
    assert "nested more than" in load_at(sys.getrecursionlimit() - used - 320)


def test_singular_fields_that_stand_twice() -> None:
    """The last scalar counts, messages are merged; as protobuf has it."""
    head = num(1, 7) + num(1, 8) + data(2, "a") + data(2, "b")
    content = head + data(7, data(2, "first"), data(1, OP)) + data(7, data(2, "second"), data(1, data(4, "Other")))
    loaded = OnnxModel.load(content)
    assert (loaded.ir_version, loaded.producer_name, loaded.graph.name) == (8, "b", "second")
    assert [node.op_type for node in loaded.nodes] == ["Op", "Other"]


def test_merged_tensor_and_oneof() -> None:
    tensor = data(5, num(1, 2), num(2, 6)) + data(5, data(9, bytes(8)))
    value = OnnxModel.load(with_attribute(data(1, "v"), num(20, 4), tensor)).nodes[0].attributes["v"].value
    assert value.array().tolist() == [0, 0]
    tensor_type, sequence = data(1, num(1, 7), data(2)), data(4)
    declared = OnnxModel.load(model(data(11, data(2, tensor_type, data(1, num(1, 1)))))).graph.inputs[0]
    assert (declared.type.kind, declared.dtype, declared.shape) == ("tensor", "float32", ())
    declared = OnnxModel.load(model(data(11, data(2, tensor_type, sequence)))).graph.inputs[0]
    assert (declared.type.kind, declared.dtype) == ("sequence", "undefined")
    declared = OnnxModel.load(model(data(11, data(2, tensor_type, sequence, data(1, data(2)))))).graph.inputs[0]
    assert (declared.type.kind, declared.dtype, declared.shape) == ("tensor", "undefined", ())


def test_the_last_of_size_and_symbol_counts() -> None:
    size, symbol = num(1, 5), data(2, "n")
    for dim, expected in (((size, symbol), "n"), ((symbol, size), 5), ((size, symbol, num(60, 1), num(1, 6)), 6)):
        declared = OnnxModel.load(model(data(11, data(2, data(1, data(2, data(1, *dim)))))))
        assert declared.graph.inputs[0].shape == (expected,)


def test_elements_of_size_zero() -> None:
    assert load_tensor(num(1, 0), num(1, 3), num(2, 1)).array().shape == (0, 3)
    assert load_tensor(data(1, varint(1 << 40), b"\0"), num(2, 1), data(9)).array().shape == (1 << 40, 0)
    assert load_tensor(num(1, 0), num(2, 7), data(7)).array().shape == (0,)
    assert load_tensor(num(1, 0), num(2, 22), data(9)).array().shape == (0,)
    attribute = OnnxModel.load(with_attribute(NAME, num(20, 6), data(7))).nodes[0].attributes["axis"]
    assert (attribute.kind, attribute.value) == ("FLOATS", ())


@pytest.mark.parametrize(
    "field",
    [
        data(1, data(4, "Op")),  # nodes
        data(1),
        data(5, num(2, 1), num(1, 0)),  # initialisers
        data(11, data(1, "x"), data(2, data(1, num(1, 1), data(2, data(1, num(1, 3)))))),  # inputs
        data(16, data(1, "k"), data(2, "v")),  # metadata
        num(50, 3),  # unknown fields
        data(1, data(5, data(1, "a"), num(20, 7), num(8, 3) * 10)),
        data(1, data(5, data(1, "a"), num(20, 6), (key(7, 5) + b"abcd") * 10)),
        data(1, data(1, "") * 20),
    ],
)
def test_memory_is_bounded_by_the_size(field: bytes) -> None:
    content = model(*[field] * (50_000 // len(field)))
    tracemalloc.start()
    try:
        loaded = OnnxModel.load(content)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert loaded.graph is not None
    assert peak < 250 * len(content) + 100_000


def test_memory_is_not_spent_on_claims() -> None:
    claims = [case for case in CASES if "length" in case or "dims" in case]
    tracemalloc.start()
    try:
        for case in claims:
            refusal(CASES[case][0])
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 1 << 20


@pytest.mark.parametrize("block", [(key(7, 5) + b"abcd", num(50, 1)), (num(8, 300), num(50, 1))])
def test_alternating_fields_cost_linear_time(block: tuple[bytes, bytes]) -> None:
    """Runs of unpacked values are looked for ahead; where there are none, that must not cost more than it gains."""
    kind = 6 if block[0][0] == key(7, 5)[0] else 7
    content = with_attribute(data(1, "a"), num(20, kind), *[part for _ in range(20_000) for part in block])
    calls = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        calls += 1

    sys.setprofile(count)
    try:
        value = OnnxModel.load(content).nodes[0].attributes["a"].value
    finally:
        sys.setprofile(None)
    assert len(value) == 20_000
    assert calls < 40 * 20_000


def test_every_truncation_is_refused_or_shorter() -> None:
    content = with_tensor(data(1, b"\2\3"), num(2, 1), data(8, "w"), data(9, random.Random(0).randbytes(24)))
    for size in range(len(content)):
        assert refusal(content[:size]), size
