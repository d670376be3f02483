"""Fields that this codec does not know, and forms that it would not choose, survive reading and writing."""

from __future__ import annotations

import pytest
from wire_samples import data, key, model, num, with_attribute, with_tensor

from basalt.serialization.onnx import OnnxModel, OnnxType, OnnxValueInfo

onnx = pytest.importorskip("onnx")

UNKNOWN = {
    "varint": num(60, 1 << 63),
    "64 bits": key(61, 1) + b"12345678",
    "length-delimited": data(62, "text"),
    "group": key(63, 3) + num(1, 2) + key(9, 3) + key(9, 4) + data(2, "x") + key(63, 4),
    "largest number": num((1 << 29) - 1, 5),
    "32 bits": key(64, 5) + b"1234",
}


def places(extra: bytes) -> dict[str, bytes]:
    """A model with ``extra`` in each kind of message."""
    entry = data(1, "k") + data(2, "v") + extra
    declared = data(11, data(1, "x"), data(2, data(1, num(1, 1), data(2, data(1, num(1, 3))))))
    dim = data(1, num(1, 3), extra)
    nested = data(11, data(1, "x"), data(2, data(4, data(1, data(1, num(1, 1)), extra))))
    return {
        "model": model(head=extra),
        "graph": model(extra),
        "node": model(data(1, data(4, "Op"), extra)),
        "attribute": with_attribute(data(1, "a"), num(20, 2), num(3, 5), extra),
        "tensor": with_tensor(num(1, 1), num(2, 1), data(9, b"1234"), extra),
        "sparse tensor": model(data(15, data(1, num(2, 1), num(1, 0)), data(2, num(2, 7), num(1, 0)), extra)),
        "value": model(data(11, data(1, "x"), extra)),
        "type": model(data(11, data(1, "x"), data(2, data(1, num(1, 1)), extra))),
        "tensor type": model(data(11, data(1, "x"), data(2, data(1, num(1, 1), extra)))),
        "shape": model(data(11, data(1, "x"), data(2, data(1, num(1, 1), data(2, extra))))),
        "dimension": model(data(11, data(1, "x"), data(2, data(1, num(1, 1), data(2, dim))))),
        "element of a sequence": model(nested),
        "map type": model(data(11, data(2, data(5, num(1, 7), extra)))),
        "opaque type": model(data(11, data(2, data(7, data(1, "d"), extra)))),
        "metadata": model(declared, data(16, entry)),
        "annotation": model(data(14, data(1, "t"), data(2, entry), extra)),
        "opset": model(head=data(8, data(1, "d"), num(2, 3), extra)),
        "function": model(head=data(25, data(1, "f"), extra)),
        "training": model(head=data(20, data(1, data(2, "g")), extra)),
        "configuration": model(head=data(26, data(1, "c"), extra)),
        "device": model(data(1, data(10, data(1, "c"), extra))),
    }


def canonical(content: bytes) -> bytes:
    return onnx.load_from_string(content).SerializeToString(deterministic=True)


@pytest.mark.parametrize("kind", UNKNOWN)
@pytest.mark.parametrize("place", places(b""))
def test_unknown_fields_are_kept(place: str, kind: str) -> None:
    content = places(UNKNOWN[kind])[place]
    written = OnnxModel.load(content).to_bytes()
    assert UNKNOWN[kind] in written
    assert canonical(written) == canonical(content)
    assert OnnxModel.load(written).to_bytes() == written


FORMS = {
    "explicit zeros and empty texts": model(
        data(2, ""), data(10, ""), head=num(5, 0) + data(2, "") + data(3, "") + data(6, "")
    ),
    "map with a key twice": model(data(16, data(1, "k"), data(2, "1")), data(16, data(1, "k"), data(2, "2"))),
    "map without key or value": model(data(16, data(2, "1")), data(16, data(1, "k"))),
    "ai.onnx by name": model(data(1, data(4, "Op"), data(7, "ai.onnx")), head=data(8, data(1, "ai.onnx"), num(2, 9))),
    "opset without a domain": model(head=data(8, num(2, 9))),
    "domain imported twice alike": model(head=data(8, num(2, 9)) + data(8, data(1, ""), num(2, 9))),
    "attribute of an old file": with_attribute(data(1, "axis"), num(3, 5)),
    "attribute of an old file, zero": with_attribute(data(1, "axis"), num(3, 0)),
    "attribute of undefined type": with_attribute(data(1, "axis"), num(3, 5), num(20, 0)),
    "attribute that is left out as zero": with_attribute(data(1, "axis"), num(20, 2)),
    "attribute that is left out as empty": with_attribute(data(1, "axis"), num(20, 8)),
    "attribute without a name": with_attribute(num(20, 2), num(3, 5)),
    "attribute by reference": with_attribute(data(1, "axis"), data(21, "alpha")),
    "packed attribute": with_attribute(data(1, "axes"), data(8, b"\1\2"), num(20, 7)),
    "unpacked elements": with_tensor(num(1, 2), num(2, 7), num(7, 300), num(7, -1)),
    "unpacked floats": with_tensor(num(1, 2), num(2, 1), key(4, 5) + b"1234" + key(4, 5) + b"abcd"),
    "empty raw_data beside elements": with_tensor(num(1, 1), num(2, 7), data(7, b"\1"), data(9)),
    "location stated": with_tensor(num(1, 1), num(2, 7), data(7, b"\1"), num(14, 0)),
    "tensor without a type": with_tensor(data(8, "w"), data(9, b"123")),
    "elements without a type": with_tensor(data(8, "w"), num(1, 3), data(7, b"\1\2\3")),
    "negative dimension": model(data(11, data(2, data(1, num(1, 1), data(2, data(1, num(1, -1))))))),
    "both size and symbol": model(data(11, data(2, data(1, num(1, 1), data(2, data(1, num(1, 5), data(2, "n"))))))),
    "symbol without a name": model(data(11, data(2, data(1, num(1, 1), data(2, data(1, data(2, ""))))))),
    "element type 0": model(data(11, data(2, data(1, num(1, 0))))),
    "type that says nothing": model(data(11, data(2))),
    "no graph": num(1, 8) + data(25, data(1, "f")),
}


@pytest.mark.parametrize("form", FORMS)
def test_forms_are_kept(form: str) -> None:
    content = FORMS[form]
    assert canonical(OnnxModel.load(content).to_bytes()) == canonical(content)


def test_what_the_file_said_gives_way_to_changes() -> None:
    loaded = OnnxModel.load(FORMS["map with a key twice"])
    assert loaded.graph.metadata_props == {"k": "2"}
    loaded.graph.metadata_props["k"] = "3"
    assert OnnxModel.load(loaded.to_bytes()).graph.metadata_props == {"k": "3"}
    loaded = OnnxModel.load(FORMS["opset without a domain"])
    loaded.opset_imports[""] = 10
    assert OnnxModel.load(loaded.to_bytes()).opset == 10
    loaded = OnnxModel.load(FORMS["attribute that is left out as zero"])
    loaded.nodes[0].attributes["axis"].value = 7
    assert OnnxModel.load(loaded.to_bytes()).nodes[0].attributes["axis"].value == 7
    loaded = OnnxModel.load(FORMS["ai.onnx by name"])
    loaded.nodes[0].domain = "mine"
    assert OnnxModel.load(loaded.to_bytes()).nodes[0].domain == "mine"
    loaded = OnnxModel.load(FORMS["no graph"])
    loaded.graph.name = "g"
    assert OnnxModel.load(loaded.to_bytes()).graph.name == "g"


def test_a_changed_type_leaves_its_old_form_behind() -> None:
    import dataclasses

    declared = OnnxModel.load(FORMS["negative dimension"]).graph.inputs[0].type
    assert declared is not None and declared.shape == (None,)
    changed = dataclasses.replace(declared, shape=("n", 4))
    loaded = OnnxModel.load(FORMS["no graph"])
    loaded.graph.inputs = (OnnxValueInfo("x", changed),)
    assert OnnxModel.load(loaded.to_bytes()).graph.inputs[0].type == OnnxType("tensor", "float32", ("n", 4))
