"""``bslc export``, end to end."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from basalt.serialization.onnx import OnnxModel

from .conftest import Bslc


def test_a_model_becomes_an_onnx_file(bslc: Bslc, models: Mapping[str, Path], tmp_path: Path) -> None:
    done = bslc("export", models["affine"], "-o", "out.onnx")
    model = OnnxModel.load(tmp_path / "out.onnx")
    size = (tmp_path / "out.onnx").stat().st_size
    nodes, constants = len(model.nodes), len(model.graph.initializers)
    assert (done.status, done.err) == (0, "")
    assert done.out == f"out.onnx: opset 17, {nodes} nodes, {constants} initializers, {size} B\n"
    assert [node.name for node in model.nodes] == ["scale", "shift", "clip"]


def test_json_and_options(bslc: Bslc, models: Mapping[str, Path], tmp_path: Path) -> None:
    options = ("--opset", "21", "--external-data", "weights", "--json")
    done = bslc("export", models["many"], "--output", "out.onnx", *options)
    report = json.loads(done.out)
    model = OnnxModel.load(tmp_path / "out.onnx")
    assert (model.opset, model.ir_version) == (21, 10)
    written = sum((tmp_path / name).stat().st_size for name in ("out.onnx", "weights") if (tmp_path / name).exists())
    assert report == {
        "file": "out.onnx",
        "opset": 21,
        "ir_version": 10,
        "nodes": len(model.nodes),
        "initializers": len(model.graph.initializers),
        "bytes": written,
    }


def test_an_exported_model_runs(bslc: Bslc, models: Mapping[str, Path]) -> None:
    assert bslc("export", models["pair"], "-o", "pair.onnx").status == 0
    runs = [
        json.loads(bslc("run", model, "--random", "--shape", "a=2x3", "--json").out)
        for model in (models["pair"], "pair.onnx")
    ]
    assert runs[0]["outputs"] == runs[1]["outputs"]


@pytest.mark.parametrize("opset", ["16", "29"])
def test_an_opset_out_of_range_is_a_wrong_command_line(bslc: Bslc, models: Mapping[str, Path], opset: str) -> None:
    done = bslc("export", models["affine"], "-o", "out.onnx", "--opset", opset)
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith(f"error: Invalid value for '--opset': {opset}: expected 17 to ")


def test_what_onnx_cannot_say_is_an_error_and_leaves_no_file(bslc: Bslc, tmp_path: Path) -> None:
    import basalt

    b = basalt.MLGraphBuilder(basalt.MLContext(), extended=True)
    x = b.input("x", "int32", (2,))
    basalt.save(b.build({"y": b.bitwise_not(x, label="inverted")}), tmp_path / "bits.bsl")  # type: ignore[attr-defined]
    done = bslc("export", "bits.bsl", "-o", "bits.onnx")
    assert (done.status, done.out) == (1, "")
    assert done.err.splitlines() == [
        "error: the graph cannot be written as ONNX at opset 17:",
        "  bitwise_not 'inverted': ONNX has no BitwiseNot at opset 17; it is there from opset 18 on",
    ]
    assert not (tmp_path / "bits.onnx").exists()


def test_the_output_must_be_named(bslc: Bslc, models: Mapping[str, Path]) -> None:
    done = bslc("export", models["affine"])
    assert (done.status, done.err.splitlines()[0]) == (2, "error: Missing option '-o' / '--output'.")
