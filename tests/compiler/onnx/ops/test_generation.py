"""Range, ConstantOfShape, Dropout and the random operators at every version."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from basalt.compiler.onnx.attributes import code_of_dtype
from basalt.compiler.onnx.model import OnnxExecutable
from basalt.compiler.onnx.tensor import onnx_dtype
from basalt.errors import ValidationError

from ..making import model, node, value
from .one_node import allowed, close, run, sample, versions

RANGES = [(0, 5, 1), (3, 10, 3), (10, 3, -2), (1, 1, 1), (5, 1, 1), (-4, 4, 4)]


@pytest.mark.parametrize("version", versions("Range"))
@pytest.mark.parametrize("known", [(), (0, 1, 2)])
def test_range(version: int, known: tuple[int, ...]) -> None:
    for dtype in allowed("Range", version):
        for start, limit, delta in RANGES:
            bounds = [np.array(b).astype(onnx_dtype(dtype)) for b in (start, limit, delta)]
            close(run("Range", version, *bounds, known=known), np.arange(start, limit, delta), dtype)
    halves = [np.array(b, np.float32) for b in (1, 2.25, 0.5)]
    close(run("Range", version, *halves, known=known), [1, 1.5, 2], "float32")


def test_range_of_half_floats_is_computed_in_the_stash_type() -> None:
    for dtype in (np.float16, ml_dtypes.bfloat16):
        bounds = [np.array(b).astype(dtype) for b in (0, 512, 1)]
        found = run("Range", 27, *bounds, known=(0, 1, 2), stash_type=1)
        np.testing.assert_array_equal(found, np.arange(512).astype(np.float32).astype(dtype))


@pytest.mark.parametrize(("start", "delta"), [(0, 1), (1, 1), (0, 2), (2, 3)])
def test_range_up_to_a_size(start: int, delta: int) -> None:
    nodes = [
        node("Shape", "x", "s"),
        node("Gather", "s zero", "size"),
        node("Range", "start size delta", "y"),
        node("Range", "size start back", "z"),
    ]
    constants = {"zero": np.array(0), "start": np.array(start), "delta": np.array(delta), "back": np.array(-delta)}
    loaded = OnnxExecutable(
        model(nodes, [value("x", shape=("n",))], [value("y", "int64"), value("z", "int64")], constants), eager=False
    )
    assert loaded.text()  # one program, for all sizes
    for size in (5, 1, 0, 12):
        found = loaded.run({"x": np.zeros(size, np.float32)})
        assert found["y"].tolist() == list(range(start, size, delta))
        assert found["z"].tolist() == list(range(size, start, -delta))


@pytest.mark.parametrize("known", [(), (0, 1, 2)])
def test_range_without_a_step(known: tuple[int, ...]) -> None:
    bounds = [np.array(b) for b in (0, 5, 0)]
    with pytest.raises(ValidationError, match="delta"):
        run("Range", 11, *bounds, known=known)


@pytest.mark.parametrize("version", versions("ConstantOfShape"))
@pytest.mark.parametrize("known", [(), (0,)])
def test_constant_of_shape(version: int, known: tuple[int, ...]) -> None:
    close(run("ConstantOfShape", version, np.array([2, 3]), known=known), np.zeros((2, 3)), "float32")
    for dtype in ("float32", "float64", "int64", "uint8", "bool", "float16"):
        for shape in ((2, 3), (0, 4), (1,), ()):
            given = np.array(shape, np.int64)
            content = np.array([1]).astype(onnx_dtype(dtype))
            close(run("ConstantOfShape", version, given, known=known, value=content), np.ones(shape), dtype)


def test_constant_of_shape_of_formats_without_arithmetic() -> None:
    for name, version in (
        ("int4", 21),
        ("float8_e5m2", 20),
        ("float4_e2m1fn", 23),
        ("float8_e8m0fnu", 24),
        ("int2", 25),
    ):
        content = np.ones(1, np.float32).astype(np.int8 if "int" in name else np.float32).astype(onnx_dtype(name))
        found = run("ConstantOfShape", version, np.array([3]), known=(0,), value=content)
        assert found.dtype == onnx_dtype(name)
        assert found.astype(np.float32).tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    ("shape", "content", "message"),
    [([-1], [1.0], "negative|0 or more"), ([2], [1.0, 2.0], "one"), ([2], [], "one")],
)
@pytest.mark.parametrize("known", [(), (0,)])
def test_constant_of_no_shape(shape: list[int], content: list[float], message: str, known: tuple[int, ...]) -> None:
    with pytest.raises(ValidationError, match=message):
        run("ConstantOfShape", 9, np.array(shape), known=known, value=np.array(content, np.float32))


@pytest.mark.parametrize(("name", "version"), [("float8_e5m2", 9), ("int4", 20), ("float4_e2m1fn", 21), ("int2", 24)])
def test_constants_of_types_that_came_later(name: str, version: int) -> None:
    content = np.ones(1, np.int8 if "int" in name else np.float32).astype(onnx_dtype(name))
    with pytest.raises(ValidationError, match=f"value is {name}, expected one of"):
        run("ConstantOfShape", version, np.array([3]), known=(0,), value=content)


def test_constants_of_many_dimensions_are_left_to_the_host() -> None:
    assert run("ConstantOfShape", 9, np.ones(9, np.int64), known=(0,)).shape == (1,) * 9


def test_constant_of_a_symbolic_shape() -> None:
    nodes = [node("Shape", "x", "s"), node("ConstantOfShape", "s", "y", value=np.array([7]))]
    loaded = OnnxExecutable(model(nodes, [value("x", shape=("n", "m"))], [value("y", "int64")]), eager=False)
    for shape in ((2, 3), (4, 1), (0, 5)):
        assert (loaded.run({"x": np.zeros(shape, np.float32)})["y"] == np.full(shape, 7)).all()


# Dropout


@pytest.mark.parametrize("version", versions("Dropout"))
def test_dropout_leaves_its_input_alone_when_not_training(version: int) -> None:
    attributes = {"is_test": 1} if version < 7 else {}
    for dtype in allowed("Dropout", version):
        x = sample(dtype)
        (y, mask) = run("Dropout", version, x, outputs=2, compiled=dtype == "float32", **attributes)
        np.testing.assert_array_equal(y, x)
        assert y.dtype == x.dtype
        assert mask.dtype == (x.dtype if version < 10 else np.bool_)
        assert (mask.astype(np.float32) == 1).all() and mask.shape == x.shape


@pytest.mark.parametrize("version", [12, 13, 22])
@pytest.mark.parametrize("known", [(), (1, 2)])
def test_dropout_with_inputs(version: int, known: tuple[int, ...]) -> None:
    x, half = sample("float32", (40, 50)), np.array(0.5, np.float32)
    off, on = np.array(False), np.array(True)
    close(run("Dropout", version, x, half, off, known=known), x, "float32")
    close(run("Dropout", version, x, np.array(0, np.float32), on, known=known), x, "float32")
    y, mask = run("Dropout", version, x, half, on, known=known, outputs=2, seed=7)
    assert 0.4 < mask.mean() < 0.6
    np.testing.assert_array_equal(y, np.where(mask, 2 * x, 0))


@pytest.mark.parametrize("version", [1, 6])
def test_dropout_trains_by_default_before_version_7(version: int) -> None:
    x = np.ones((40, 50), np.float32)
    y, mask = run("Dropout", version, x, outputs=2)
    assert sorted(set(y.reshape(-1).tolist())) == [0, 2]
    np.testing.assert_array_equal(y, 2 * mask)
    close(run("Dropout", version, x, ratio=0.0), x, "float32")


# Random operators

SHAPED = {"RandomNormal": {"mean": 10.0, "scale": 0.5}, "RandomUniform": {"low": 9.0, "high": 11.0}}


@pytest.mark.parametrize(("op", "version"), [(op, v) for op in SHAPED for v in versions(op)])
def test_random_tensors(op: str, version: int) -> None:
    for dtype in ("float32", "float64", "float16", *(["bfloat16"] if version == 22 else [])):
        how: dict[str, Any] = {"shape": [30, 40], "dtype": code_of_dtype(dtype), **SHAPED[op]}
        _check_random(run(op, version, **how), run(op, version, **how, seed=3.0), dtype)
        assert (run(op, version, **how, seed=3.0) == run(op, version, **how, seed=3.0)).all()
        like = run(f"{op}Like", version, np.zeros((30, 40), np.int32), dtype=code_of_dtype(dtype), **SHAPED[op])
        _check_random(like, like, dtype)
    same = run(f"{op}Like", version, np.zeros((30, 40), np.float64), **SHAPED[op])
    _check_random(same, same, "float64")


def _check_random(first: np.ndarray, second: np.ndarray, dtype: str) -> None:
    for found in (first, second):
        assert found.shape == (30, 40)
        assert found.dtype == onnx_dtype(dtype)
        wide = found.astype(np.float64)
        assert 9.9 < wide.mean() < 10.1 and 0.3 < wide.std() < 0.7


def test_random_results_differ_from_run_to_run() -> None:
    loaded = OnnxExecutable(model([node("RandomNormal", "", "y", shape=[5])], [], [value("y")]), eager=False)
    assert loaded.run({})["y"].tolist() != loaded.run({})["y"].tolist()


@pytest.mark.parametrize("version", versions("Bernoulli"))
def test_bernoulli(version: int) -> None:
    for dtype in allowed("Bernoulli", version):
        x = np.full((50, 60), 0.25).astype(onnx_dtype(dtype))
        found = run("Bernoulli", version, x)
        assert found.dtype == x.dtype and 0.2 < found.astype(np.float64).mean() < 0.3
    found = run("Bernoulli", version, np.array([0, 1], np.float32), dtype=code_of_dtype("bool"))
    assert found.tolist() == [False, True]


@pytest.mark.parametrize("version", versions("Multinomial"))
def test_multinomial(version: int) -> None:
    for dtype in allowed("Multinomial", version):
        x = np.log([[1e-6, 1, 3], [1, 1e-6, 1e-6]]).astype(onnx_dtype(dtype))
        found = run("Multinomial", version, x, sample_size=400)
        assert found.dtype == np.int32 and found.shape == (2, 400)
        assert 0.6 < (found[0] == 2).mean() < 0.9 and (found[1] == 0).mean() > 0.95
    assert run("Multinomial", version, np.zeros((1, 2), np.float32), dtype=7).dtype == np.int64


def test_sizes_fold_through_remainders_and_limits() -> None:
    """What windows of a fixed size need: how much to add to a size, and a size that is cut off."""
    nodes = [
        node("Shape", "x", "s"),
        node("Mod", "s seven", "over"),
        node("Sub", "seven over", "short"),
        node("Mod", "short seven", "more"),
        node("Clip", "s one three", "cut"),
        node("ConstantOfShape", "more", "y"),
        node("ConstantOfShape", "cut", "z"),
    ]
    constants = {"seven": np.array([7]), "one": np.array(1), "three": np.array(3)}
    loaded = OnnxExecutable(model(nodes, [value("x", shape=("n",))], [value("y"), value("z")], constants), eager=False)
    assert loaded.text()  # one program, for all sizes
    for size in (5, 7, 2, 15, 0):
        found = loaded.run({"x": np.zeros(size, np.float32)})
        assert found["y"].shape == ((7 - size % 7) % 7,)
        assert found["z"].shape == (min(max(size, 1), 3),)
