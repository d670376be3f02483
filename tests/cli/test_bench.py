"""``bslc bench``, end to end."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from basalt.cli.bench import _difference, _ratio

from .conftest import Bslc

QUICK = ("--threads", "1", "--rounds", "5")


@pytest.fixture
def relu(tmp_path: Path) -> Path:
    """An ONNX model with a symbolic size."""
    onnx = pytest.importorskip("onnx")
    node = onnx.helper.make_node("Relu", ["x"], ["y"])
    types = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["n", 4]) for name in "xy"]
    graph = onnx.helper.make_graph([node], "relu", types[:1], types[1:])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)
    path = tmp_path / "relu.onnx"
    onnx.save(model, path)
    return path


def test_times_of_a_model(bslc: Bslc, models: Mapping[str, Path]) -> None:
    done = bslc("bench", models["affine"], "--dim", "n=3", *QUICK)
    assert (done.status, done.err) == (0, "")
    assert done.out.splitlines()[0].split() == ["library", "version", "median", "90%", "of", "rounds"]
    assert done.out.splitlines()[1].startswith("basalt ")
    assert done.out.endswith("\n1 thread, 5 rounds\n")


def test_against_another_library(bslc: Bslc, relu: Path) -> None:
    pytest.importorskip("onnxruntime")
    report = json.loads(bslc("bench", relu, "--against", "ort", "--shape", "x=8x4", "--json", *QUICK).out)
    assert report["shapes"] == {"x": [8, 4]}
    assert (report["threads"], report["rounds"]) == (1, 5)
    assert set(report["seconds"]) == {"basalt", "onnxruntime"}
    for times in report["seconds"].values():
        assert 0 < times["low"] <= times["median"] <= times["high"]
    ratio = report["ratio"]
    medians = {name: times["median"] for name, times in report["seconds"].items()}
    assert ratio["ratio"] == pytest.approx(medians["onnxruntime"] / medians["basalt"])
    assert ratio["low"] <= ratio["ratio"] <= ratio["high"] and ratio["error"] == 0
    shown = bslc("bench", relu, "--against", "ort", *QUICK).out
    assert "onnxruntime / basalt: " in shown and "outputs differ by 0.0e+00 of their scale" in shown


def test_a_model_of_our_own_goes_to_the_other_library_as_onnx(bslc: Bslc, models: Mapping[str, Path]) -> None:
    pytest.importorskip("onnxruntime")
    done = bslc("bench", models["affine"], "--against", "ort", "--dim", "n=3", *QUICK)
    assert done.status == 0, done.err
    assert "onnxruntime / basalt: " in done.out


def test_what_the_other_library_cannot_load(bslc: Bslc, tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    node = onnx.helper.make_node("Relu", ["x"], ["y"])
    types = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [4]) for name in "xy"]
    graph = onnx.helper.make_graph([node], "relu", types[:1], types[1:])
    # ONNX Runtime refuses versions of the format that are newer than itself.
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)
    model.ir_version = 99
    onnx.save(model, tmp_path / "new.onnx")
    done = bslc("bench", tmp_path / "new.onnx", "--against", "ort", *QUICK)
    assert done.status == 1
    assert done.err.startswith("error: ")


def test_wrong_use(bslc: Bslc, models: Mapping[str, Path]) -> None:
    assert bslc("bench", models["affine"], "--rounds", "2").status == 2
    assert bslc("bench", models["affine"], "--against", "nobody").status == 2
    assert bslc("bench", models["affine"], "--shape", "nothing=3").status == 2


def test_outputs_that_differ_are_not_timed() -> None:
    import click

    right = {"y": np.array([100.0, 1.0], np.float32)}
    assert _difference({"y": np.array([100.0, 1.01])}, right, 1e-3) == pytest.approx(1e-4, rel=0.01)
    with pytest.raises(click.ClickException, match=r"output 'y' differs .* by 0.01 .*nothing was timed"):
        _difference({"y": np.array([100.0, 2.0])}, right, 1e-3)
    with pytest.raises(click.ClickException, match="inf of its scale"):
        _difference({"y": np.array([100.0])}, right, 1e-3)
    with pytest.raises(click.ClickException, match="inf of its scale"):
        _difference({"y": np.array([np.nan, 1.0])}, right, 1e-3)
    with pytest.raises(click.ClickException, match="outputs are z, those of ONNX Runtime y"):
        _difference({"z": np.array([1.0])}, right, 1e-3)


def test_the_interval_holds_the_ratio_of_known_times() -> None:
    rng = np.random.default_rng(0)
    base = 1 + 0.05 * rng.random(30)
    found = _ratio(list(3 * base), list(base), 0.0)
    assert (found.ratio, found.low, found.high) == pytest.approx((3.0,) * 3)
    noisy = _ratio(list(3 + 0.3 * rng.standard_normal(30)), list(base), 0.0)
    assert noisy.low < noisy.ratio < noisy.high
    assert noisy.low > 2.6 and noisy.high < 3.2
