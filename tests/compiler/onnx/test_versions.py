"""Operators without computation, with bodies, and of the host alone, at every version, through the importer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from basalt.compiler.onnx.model import OnnxExecutable
from basalt.compiler.onnx.schemas import schemas
from basalt.serialization.onnx import OnnxModel, OnnxType, OnnxValueInfo

from .making import graph, model, node, value

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def since(op: str, domain: str = "", first: int = 1) -> list[int]:
    """The versions of an operator from one on."""
    return [s.since for s in schemas(domain, op) if s.since >= first]


def run(source: OnnxModel, **feeds: Any) -> list[Any]:
    """The outputs in order."""
    results = OnnxExecutable(source, eager=False).run(feeds)
    return [results[v.name] for v in source.outputs]


@pytest.mark.parametrize("version", since("Constant"))
def test_constant(version: int) -> None:
    made: dict[str, Any] = {"value": X}
    if version >= 12:
        made |= {"value_float": 1.5, "value_floats": [1.5, 2.5], "value_int": 3, "value_ints": [3, 4]}
        made |= {"value_string": "text", "value_strings": ["a", "b"]}
    for name, content in made.items():
        (result,) = run(model([node("Constant", "", "y", **{name: content})], [], [value("y")], opset=version))
        expected = np.asarray(content)
        if expected.dtype.kind in "fi" and name != "value":
            expected = expected.astype("float32" if expected.dtype.kind == "f" else "int64")
        assert result.tolist() == expected.tolist() and result.shape == expected.shape
        assert result.dtype == (object if "string" in name else expected.dtype)


@pytest.mark.parametrize("version", since("Shape"))
@pytest.mark.parametrize("rows", [2, "n"])
def test_shape_and_size(version: int, rows: Any) -> None:
    nodes = [node("Shape", "x", "all"), node("Size", "x", "count")]
    outputs = [value("all", "int64"), value("count", "int64")]
    if version >= 15:
        nodes.append(node("Shape", "x", "last", start=-1))
        outputs.append(value("last", "int64"))
    results = run(model(nodes, [value("x", shape=(rows, 3))], outputs, opset=version), x=X)
    assert [r.tolist() for r in results] == [[2, 3], 6, [3]][: len(results)]
    assert all(r.dtype == np.int64 for r in results)


@pytest.mark.parametrize("version", since("If"))
@pytest.mark.parametrize("known", [True, False])
def test_if(version: int, known: bool) -> None:
    branches = {
        f"{name}_branch": graph([node(op, "x x", "r")], [], [value("r")])
        for name, op in (("then", "Add"), ("else", "Mul"))
    }
    legacy = {"consumed_inputs": [0, 0]} if version < 6 else {}
    assert not legacy or schemas("", "Add")[0].attributes
    nodes = [node("If", "c", "y", **branches)]
    inputs = [value("x", shape=(2, 3))] + ([] if known else [value("c", "bool", ())])
    for condition, expected in ((True, X + X), (False, X * X)):
        constants = {"c": np.array(condition)} if known else {}
        feeds = {} if known else {"c": np.array(condition)}
        (result,) = run(model(nodes, inputs, [value("y")], constants, opset=version), x=X, **feeds)
        assert result.tolist() == expected.tolist()


@pytest.mark.parametrize("version", since("Loop"))
@pytest.mark.parametrize("known", [True, False])
def test_loop(version: int, known: bool) -> None:
    body = graph(
        [node("Add", "v x", "w"), node("Identity", "c", "d"), node("Identity", "w", "s")],
        [value("i", "int64", ()), value("c", "bool", ()), value("v")],
        [value("d", "bool", ()), value("w"), value("s")],
    )
    nodes = [node("Loop", "m _ x", "last all", body=body)]
    inputs = [value("x", shape=(2, 3))] + ([] if known else [value("m", "int64", ())])
    constants = {"m": np.array(3)} if known else {}
    feeds = {} if known else {"m": np.array(3)}
    last, every = run(model(nodes, inputs, [value("last"), value("all")], constants, opset=version), x=X, **feeds)
    assert last.tolist() == (4 * X).tolist()
    assert every.tolist() == [(k * X).tolist() for k in (2, 3, 4)]


@pytest.mark.parametrize("version", since("Scan"))
@pytest.mark.parametrize("rows", [2, "n"])
def test_scan(version: int, rows: Any) -> None:
    body = graph(
        [node("Add", "t e", "u"), node("Identity", "u", "o")], [value("t"), value("e")], [value("u"), value("o")]
    )
    start = np.zeros(3, np.float32)
    batched = version == 8
    nodes = [node("Scan", "_ s x" if batched else "s x", "last all", body=body, num_scan_inputs=1)]
    inputs = [value("s"), value("x", shape=(1, rows, 3) if batched else (rows, 3))]
    source = model(nodes, inputs, [value("last"), value("all")], opset=version)
    feeds = (start[None], X[None]) if batched else (start, X)
    last, every = run(source, s=feeds[0], x=feeds[1])
    assert last.reshape(-1).tolist() == X.sum(axis=0).tolist()
    assert every.reshape(2, 3).tolist() == np.cumsum(X, axis=0).tolist()


def texts(*words: str) -> np.ndarray:
    return np.array(words, dtype=object)


@pytest.mark.parametrize(
    ("op", "inputs", "attributes", "expected"),
    [
        ("StringConcat", [texts("a", "b"), texts("c", "d")], {}, ["ac", "bd"]),
        ("StringNormalizer", [texts("A", "b")], {"case_change_action": "LOWER"}, ["a", "b"]),
        ("StringSplit", [texts("a b", "c")], {}, [["a", "b"], ["c", ""]]),
        ("RegexFullMatch", [texts("ab", "c")], {"pattern": "[ab]+"}, [True, False]),
    ],
)
def test_strings(op: str, inputs: list[np.ndarray], attributes: dict[str, Any], expected: list[Any]) -> None:
    for version in since(op):
        names = [f"x{i}" for i in range(len(inputs))]
        outputs = "y n" if op == "StringSplit" else "y"
        declared = [value(n, "string", ("k",)) for n in names]
        source = model([node(op, " ".join(names), outputs, **attributes)], declared, [value("y")], opset=version)
        (result,) = run(source, **dict(zip(names, inputs)))
        assert result.tolist() == expected


def test_term_frequencies() -> None:
    attributes: dict[str, Any] = {"max_gram_length": 1, "min_gram_length": 1, "max_skip_count": 0, "mode": "TF"}
    attributes |= {"ngram_counts": [0], "ngram_indexes": [0, 1], "pool_int64s": [2, 3]}
    for version in since("TfIdfVectorizer"):
        source = model(
            [node("TfIdfVectorizer", "x", "y", **attributes)],
            [value("x", "int64", ("k",))],
            [value("y")],
            opset=version,
        )
        (result,) = run(source, x=np.array([2, 3, 2, 9]))
        assert result.tolist() == [2, 1]


def learned(op: str, inputs: dict[str, Any], version: int, types: dict[str, OnnxType], **attributes: Any) -> Any:
    """The only output of an operator of ai.onnx.ml."""
    declared = [OnnxValueInfo(n, types.get(n)) for n in inputs]
    nodes = [node(op, " ".join(inputs), "y", domain="ai.onnx.ml", **attributes)]
    imports = {"": 17, "ai.onnx.ml": version}
    return run(model(nodes, declared, [OnnxValueInfo("y")], opset_imports=imports), **inputs)[0]


def test_maps_and_categories() -> None:
    number = OnnxType("tensor", "float32", ())
    by_number = OnnxType("map", key_dtype="int64", element=number)
    by_text = OnnxType("map", key_dtype="string", element=number)
    assert learned("CastMap", {"x": {0: 1.5, 1: 2.5}}, 1, {"x": by_number}, cast_to="TO_FLOAT").tolist() == [[1.5, 2.5]]
    vocabulary = {"string_vocabulary": ["a", "b", "c"]}
    assert learned("DictVectorizer", {"x": {"c": 2.0, "a": 1.0}}, 1, {"x": by_text}, **vocabulary).tolist() == [
        [1, 0, 2]
    ]
    categories = {"cats_int64s": [5, 6], "cats_strings": ["u", "v"], "default_int64": -1}
    strings = {"x": OnnxType("tensor", "string", ("n",))}
    assert learned("CategoryMapper", {"x": texts("v", "w")}, 1, strings, **categories).tolist() == [6, -1]


def test_label_encoder_of_tensors() -> None:
    keys, values = np.array([1.0, 2.0], np.float64), np.array([10, 20], np.int16)
    doubles = {"x": OnnxType("tensor", "float64", ("n",))}
    given = {"keys_tensor": keys, "values_tensor": values, "default_tensor": np.array([-7], np.int16)}
    result = learned("LabelEncoder", {"x": np.array([2.0, 3.0])}, 4, doubles, **given)
    assert result.tolist() == [20, -7] and result.dtype == np.int16
