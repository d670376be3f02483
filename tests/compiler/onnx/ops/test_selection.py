"""Trilu, OneHot, EyeLike, TopK; Compress, NonZero, Unique, NonMaxSuppression, Det between compiled parts."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("onnx")

import onnx
from onnx import TensorProto, helper

from basalt.errors import ValidationError
from basalt.onnx_backend import Backend

from .single import BOTH, check, run, same

X = np.arange(1, 25, dtype=np.float32).reshape(2, 3, 4)


def ints(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


@pytest.mark.parametrize("upper", [0, 1])
@pytest.mark.parametrize("k", [None, 0, 1, -2, 10, -10, 2**62, -(2**62)])
def test_trilu(upper: int, k: int | None) -> None:
    cut = np.triu if upper else np.tril
    near = max(-100, min(k or 0, 100))
    inputs = [X, None if k is None else np.array(k)]
    check("Trilu", (14,), inputs, cut(X, near), upper=upper, compiled=BOTH if k in (None, 1) else (False,))
    check("Trilu", (14,), [X > 3, *inputs[1:]], cut(X > 3, near), upper=upper, symbolic=True)


def test_trilu_of_other_types() -> None:
    words = np.array([["a", "b"], ["c", "d"]], dtype=object)
    check("Trilu", (14,), [words], np.array([["a", "b"], ["", "d"]], dtype=object))
    numbers = np.array([[1j, 2], [3, 4 + 1j]], np.complex128)
    check("Trilu", (14,), [numbers], np.tril(numbers), upper=0)
    with pytest.raises(ValidationError, match="rank 2"):
        run("Trilu", 14, [X[0, 0]])


def one_hot(indices: np.ndarray, depth: int, values: np.ndarray, axis: int) -> np.ndarray:
    """Place by place."""
    rank = indices.ndim + 1
    shape = np.insert(np.array(indices.shape, int), axis % rank, depth)
    result = np.full(shape, values[0])
    for at in np.ndindex(indices.shape):
        place = int(indices[at])
        if -depth <= place < 0:
            place += depth
        if 0 <= place < depth:
            result[(*at[: axis % rank], place, *at[axis % rank :])] = values[1]
    return result


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("kind", [np.int64, np.uint8, np.float32, np.int32])
def test_one_hot(axis: int, kind: type) -> None:
    indices = (
        np.array([[0, 2, 7], [3, 1, 4]]).astype(kind) if kind is np.uint8 else np.array([[0, -1, 7], [-4, -5, 3]], kind)
    )
    values = np.array([2, 5], np.float32)
    for version in (9, 11, 28):
        expected = one_hot(indices, 4, values, axis)
        check("OneHot", (version,), [indices, ints(4), values], expected, axis=axis)
        check("OneHot", (version,), [indices, np.float32(4), values], expected, axis=axis, constant=(1,), symbolic=True)
    check("OneHot", (28,), [indices, ints(4), values], expected, axis=axis, compiled=BOTH)


def test_one_hot_of_other_values() -> None:
    indices = ints(1, 0)
    for values in (np.array([False, True]), np.array([1, 2], np.uint16), np.array(["no", "yes"], dtype=object)):
        check("OneHot", (11, 28), [indices, np.int32([2]), values], values[np.eye(2, dtype=int)[::-1]])
    big = np.array([2**64 - 1, 1], np.uint64)
    check("OneHot", (11,), [big, ints(2), np.float32([0, 1])], np.float32([[0, 0], [0, 1]]), compiled=BOTH)
    deep = np.zeros((2, 70_000), np.float32)
    deep[[0, 1], [1, 0]] = 1
    check("OneHot", (11,), [indices, ints(70_000), np.float32([0, 1])], deep, constant=(1,), compiled=BOTH)
    for depth in (ints(-1), ints(2**40), np.float32(np.inf), np.float32(np.nan)):
        with pytest.raises(ValidationError, match="node"):
            run("OneHot", 11, [indices, depth, np.float32([0, 1])])


@pytest.mark.parametrize("k", [0, 1, -2, 9])
def test_eye_like(k: int) -> None:
    x = np.zeros((3, 4), np.float32)
    check("EyeLike", (9, 22), [x], np.eye(3, 4, k, np.float32), k=k, compiled=BOTH)
    check("EyeLike", (9, 22), [x], np.eye(3, 4, k, np.float64), k=k, dtype=TensorProto.DOUBLE, symbolic=True)
    check("EyeLike", (22,), [x], np.eye(3, 4, k, bool), k=k, dtype=TensorProto.BOOL, symbolic=True, compiled=BOTH)
    check("EyeLike", (9,), [x.astype(np.int8)], np.eye(3, 4, k, np.int8), k=k)
    with pytest.raises(ValidationError, match="matrix"):
        run("EyeLike", 9, [x[0]])


def top_k(x: np.ndarray, k: int, axis: int, largest: bool) -> tuple[np.ndarray, np.ndarray]:
    """By stable sorting."""
    order = np.argsort(-x.astype(np.float64) if largest else x, axis, kind="stable").take(range(k), axis)
    return np.take_along_axis(x, order, axis), order


@pytest.mark.parametrize(("axis", "k"), [(-1, 3), (0, 1), (1, 2), (-1, 0)])
def test_top_k(axis: int, k: int) -> None:
    x = np.random.default_rng(0).integers(0, 5, (2, 3, 4)).astype(np.float32)
    check("TopK", (1,), [x], *top_k(x, k, axis, True), axis=axis, k=k)
    check("TopK", (10, 11, 24), [x, ints(k)], *top_k(x, k, axis, True), axis=axis)
    check("TopK", (11, 24), [x, ints(k)], *top_k(x, k, axis, False), axis=axis, largest=0, compiled=BOTH)
    check("TopK", (24,), [x, ints(k)], *top_k(x, k, axis, True), axis=axis, symbolic=True, constant=(1,))
    check("TopK", (11,), [x.astype(np.int32), ints(k)], *top_k(x.astype(np.int32), k, axis, True), axis=axis)


def test_top_k_refuses() -> None:
    for k in (-1, 9):
        with pytest.raises(ValidationError, match="k is"):
            run("TopK", 11, [X, ints(k)], outputs=2)


def chain(nodes: list[Any], inputs: dict[str, np.ndarray], output: str, opset: int) -> Any:
    """A model whose inputs are open in size."""
    declared = [
        helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(x.dtype), [None] * x.ndim)
        for n, x in inputs.items()
    ]
    graph = helper.make_graph(nodes, "chain", declared, [onnx.ValueInfoProto(name=output)])
    return Backend.prepare(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10))


@pytest.mark.parametrize("way", ["interpret", ""])
@pytest.mark.parametrize("opset", [9, 13])
def test_non_zero_between_compiled_parts(way: str, opset: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(os.environ, "BASALT_DEBUG", way)
    nodes = [
        helper.make_node("Relu", ["x"], ["r"]),
        helper.make_node("NonZero", ["r"], ["at"]),
        helper.make_node("Transpose", ["at"], ["rows"]),
        helper.make_node("GatherND" if opset >= 11 else "Transpose", ["r", "rows"] if opset >= 11 else ["rows"], ["y"]),
    ]
    model = chain(nodes, {"x": X[0]}, "y", opset)
    rng = np.random.default_rng(3)
    for size in (3, 5, 3, 7, 2):
        x = rng.standard_normal((size, 4)).astype(np.float32)
        kept = np.maximum(x, 0)
        same(model.run([x])[0], kept[kept != 0] if opset >= 11 else np.argwhere(kept).T)


@pytest.mark.parametrize("way", ["interpret", ""])
@pytest.mark.parametrize("opset", [9, 11, 28])
def test_compress_between_compiled_parts(way: str, opset: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(os.environ, "BASALT_DEBUG", way)
    nodes = [
        helper.make_node("Add", ["x", "x"], ["a"]),
        helper.make_node("Compress", ["a", "mask"], ["c"], axis=0),
        helper.make_node("Mul", ["c", "c"], ["y"]),
    ]
    model = chain(nodes, {"x": X[0], "mask": np.ones(3, bool)}, "y", opset)
    rng = np.random.default_rng(3)
    for size in (3, 5, 4, 6):
        x, mask = rng.standard_normal((size, 4)).astype(np.float32), rng.random(size) < 0.5
        same(model.run([x, mask])[0], (2 * x[mask]) ** 2)


@pytest.mark.parametrize("opset", [11, 28])
def test_unique_between_compiled_parts(opset: int) -> None:
    nodes = [
        helper.make_node("Neg", ["x"], ["a"]),
        helper.make_node("Unique", ["a"], ["u", "first", "back", "counts"]),
        helper.make_node("Cast", ["counts"], ["f"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["u", "f"], ["y"]),
    ]
    model = chain(nodes, {"x": X[0, 0]}, "y", opset)
    for x in ([1, 1, 2], [3, 3, 3, 3], [5, 4, 3, 5]):
        values, counts = np.unique(-np.float32(x), return_counts=True)
        same(model.run([np.float32(x)])[0], values * counts.astype(np.float32))


@pytest.mark.parametrize("opset", [10, 11])
def test_non_max_suppression_between_compiled_parts(opset: int) -> None:
    nodes = [
        helper.make_node("Sigmoid", ["logits"], ["scores"]),
        helper.make_node("NonMaxSuppression", ["boxes", "scores", "most", "overlap"], ["chosen"]),
        helper.make_node("Cast", ["chosen"], ["y"], to=TensorProto.FLOAT),
    ]
    boxes = np.float32([[[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, 10, 1, 11]]])
    inputs = {"logits": np.zeros((1, 1, 3), np.float32), "boxes": boxes}
    model = chain(nodes, {**inputs, "most": ints(3), "overlap": np.float32([0.5])}, "y", opset)
    for logits, chosen in (([3, 2, 1], [0, 2]), ([1, 2, 3], [2, 1])):
        given_ = np.float32(logits).reshape(1, 1, 3)
        found = model.run([given_, boxes, ints(3), np.float32([0.5])])[0]
        same(found, np.float32([[0, 0, c] for c in chosen]))
    moved = boxes + np.float32([0, 5, 0, 5]) * np.arange(3, dtype=np.float32)[:, None]
    assert len(model.run([given_, moved, ints(3), np.float32([0.5])])[0]) == 3


@settings(max_examples=15, deadline=None)
@given(st.lists(st.integers(-3, 3), min_size=1, max_size=6), st.sampled_from((11, 24)), st.booleans(), st.data())
def test_top_k_orders_equals_by_place(values: list[int], version: int, largest: bool, data: st.DataObject) -> None:
    x = np.array(values, np.int64)
    k = data.draw(st.integers(0, len(values)))
    check("TopK", (version,), [x, ints(k)], *top_k(x, k, 0, largest), largest=int(largest))


@pytest.mark.parametrize("opset", [11, 22])
def test_det_between_compiled_parts(opset: int) -> None:
    nodes = [
        helper.make_node("Add", ["x", "x"], ["a"]),
        helper.make_node("Det", ["a"], ["d"]),
        helper.make_node("Neg", ["d"], ["y"]),
    ]
    model = chain(nodes, {"x": X}, "y", opset)
    rng = np.random.default_rng(4)
    for shape in ((2, 3, 3), (4, 2, 2), (1, 1, 1)):
        x = rng.standard_normal(shape).astype(np.float32)
        same(model.run([x])[0], -np.linalg.det(2 * x), rtol=1e-4, atol=1e-5)
