"""``bslc`` with ONNX models, end to end."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from ..compiler.onnx.making import model, node, value
from .conftest import Bslc

X = np.array([[1, 0, -3], [0, -5, 6]], np.float32)


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A model that is one program, and one that runs in steps."""
    folder = tmp_path_factory.mktemp("onnx")
    shape = ("n", 3)
    sources = {
        "whole": model(
            [node("MatMul", "x w", "m", name="dense"), node("Relu", "m", "y", name="act")],
            [value("x", shape=shape)],
            [value("y", shape=("n", 2))],
            {"w": np.ones((3, 2), np.float32)},
            producer_name="tests",
            metadata_props={"author": "somebody"},
        ),
        "steps": model(
            [node("NonZero", "x", "places", name="find"), node("Add", "places places", "y")],
            [value("x", shape=shape)],
            [value("y", "int64", (2, None))],
        ),
        "unknown": model([node("Frobnicate", "x", "y", name="odd")], [value("x", shape=shape)], [value("y")]),
    }
    for name, source in sources.items():
        source.save(folder / f"{name}.onnx")
    return {name: folder / f"{name}.onnx" for name in sources}


@pytest.mark.parametrize("name", ["whole", "steps"])
def test_run(bslc: Bslc, models: dict[str, Path], name: str) -> None:
    np.save(bslc.folder / "x.npy", X)
    done = bslc("run", models[name], "--input", "x=x.npy", "--output", "out.npz")
    assert (done.status, done.err) == (0, "")
    expected = np.maximum(X @ np.ones((3, 2), np.float32), 0) if name == "whole" else 2 * np.array(np.nonzero(X))
    with np.load(bslc.folder / "out.npz") as saved:
        np.testing.assert_array_equal(saved["y"], expected, strict=True)


@pytest.mark.parametrize("name", ["whole", "steps"])
def test_random_inputs_of_symbolic_sizes(bslc: Bslc, models: dict[str, Path], name: str) -> None:
    done = bslc("run", models[name], "--random", "--dim", "n=4", "--json")
    report = json.loads(done.out)
    assert done.status == 0 and report["shapes"] == {"x": [4, 3]}
    done = bslc("run", models[name], "--random", "--json")
    assert json.loads(done.out)["shapes"] == {"x": [1, 3]} and "n = 1" in done.err


def test_compile(bslc: Bslc, models: dict[str, Path]) -> None:
    done = bslc("compile", models["whole"], "--dim", "n=2", "--json")
    assert done.status == 0 and json.loads(done.out)["shapes"] == {"x": [2, 3]}
    done = bslc("compile", models["steps"])
    assert done.status == 1 and "is no single program: NonZero-13 'find' needs values of a run" in done.err


def test_show(bslc: Bslc, models: dict[str, Path]) -> None:
    done = bslc("show", models["whole"])
    assert (done.status, done.err) == (0, "")
    lines = [" ".join(line.split()) for line in done.out.splitlines()]
    for line in (
        "input x float32 [n, 3]",
        "output y float32 [n, 2]",
        "model g, IR 8, opset ai.onnx 21",
        "producer tests",
        "nodes 2: 1 MatMul, 1 Relu",
        "parameters 6 (24 B)",
        "author: somebody",
    ):
        assert line in lines
    assert any(line.startswith("runs 1 calls of 1 kernels") and line.endswith("for n = 1") for line in lines)
    assert "in steps (the model is no single program: NonZero-13 'find'" in bslc("show", models["steps"]).out
    described = json.loads(bslc("show", models["whole"], "--json").out)
    assert described["operators"] == {"MatMul": 1, "Relu": 1} and described["plan"]["kernels"] == 1
    assert "matmul" in bslc("show", models["whole"], "--after", "canonicalise", "--dim", "n=2").out


def test_unsupported_operators_are_listed(bslc: Bslc, models: dict[str, Path]) -> None:
    for command in ("run", "show", "compile"):
        done = bslc(command, models["unknown"])
        assert done.status == 1 and "ai.onnx.Frobnicate (opset 21): 'odd'" in done.err


def test_what_is_no_model(bslc: Bslc) -> None:
    (bslc.folder / "bad.onnx").write_bytes(b"<html>")
    done = bslc("show", "bad.onnx")
    assert done.status == 1 and "bad.onnx" in done.err and "Traceback" not in done.err


def test_operators_by_domain_and_version(bslc: Bslc) -> None:
    rows = bslc("ops", "--onnx").out.splitlines()
    assert rows[0].split() == [
        "domain",
        "operator",
        "compiled",
        "at",
        "by",
        "the",
        "host",
        "at",
        "not",
        "supported",
        "at",
    ]
    assert any(row.split() == ["ai.onnx", "ReduceL2", "1", "11", "13", "18"] for row in rows)
    (entry,) = json.loads(bslc("ops", "--onnx", "NonZero", "--json").out)
    assert entry == {"domain": "ai.onnx", "name": "NonZero", "compiled": [], "host": [9, 13], "missing": []}
    done = bslc("ops", "--onnx", "Nothing")
    assert done.status == 2 and "ONNX has no operator 'Nothing'" in done.err
