"""``bslc show``, end to end."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

import basalt
from basalt.compiler.pipeline import PASSES

from .conftest import Bslc


def test_a_model(bslc: Bslc, models: Mapping[str, Path]) -> None:
    done = bslc("show", models["affine"])
    assert (done.status, done.err) == (0, "")
    head, graph = done.out.split("\n\ngraph")
    assert [line.split() for line in head.splitlines()] == [
        ["name", "data", "type", "shape"],
        ["input", "x", "float32", "[n,", "4]"],
        ["output", "y", "float32", "[n,", "4]"],
        [],
        ["kind", "GRAPH", "(1)"],
        ["nodes", "3:", "1", "mul,", "1", "sub,", "1", "relu"],
        ["weights", "8", "(32", "B)"],
    ]
    assert f"graph{graph}" == basalt.load(models["affine"]).text()


def test_a_model_as_json(bslc: Bslc, models: Mapping[str, Path]) -> None:
    shown = json.loads(bslc("show", models["pair"], "--json").out)
    assert shown["inputs"][0] == {"name": "a", "dtype": "float32", "shape": ["n", "m"]}
    assert [spec["name"] for spec in shown["outputs"]] == ["sums", "double"]
    assert shown["operators"] == {"reduce_sum": 1, "add": 1}
    assert (shown["weights"], shown["weight_bytes"]) == (0, 0)
    assert shown["graph"] == basalt.load(models["pair"]).text()


@pytest.mark.parametrize("after", ["infer_shapes", "fuse", "all"])
def test_the_graph_after_a_pass(bslc: Bslc, models: Mapping[str, Path], after: str) -> None:
    done = bslc("show", models["affine"], "--after", after, "--dim", "n=3")
    assert (done.status, done.err) == (0, "")
    assert done.out == basalt.load(models["affine"]).text(after, {"x": (3, 4)})
    assert ("fused" in done.out) == (after != "infer_shapes")


def test_the_passes(bslc: Bslc, models: Mapping[str, Path]) -> None:
    done = bslc("show", models["affine"], "--passes", "--shape", "x=3x4")
    assert (done.status, done.err) == (0, "")
    rows = done.out.splitlines()
    assert [row.split()[0] for row in rows[1:]] == [each.name for each in PASSES]
    assert rows[-1].split()[:3] == ["fuse", "1", "-2"]
    entries = json.loads(bslc("show", models["affine"], "--passes", "--json").out)
    assert [entry["pass"] for entry in entries] == [each.name for each in PASSES]
    assert sum(entry["change"] for entry in entries) == -2


def test_the_source(bslc: Bslc, models: Mapping[str, Path]) -> None:
    done = bslc("show", models["affine"], "--source", "--dim", "n=3")
    assert (done.status, done.err) == (0, "")
    assert done.out == basalt.load(models["affine"]).source({"x": (3, 4)})
    (kernel,) = json.loads(bslc("show", models["affine"], "--source", "--dim", "n=3", "--json").out)
    assert kernel["source"].startswith("def kernel(table, start, stop):")
    assert kernel["source"] in done.out


def test_the_calls(bslc: Bslc, models: Mapping[str, Path]) -> None:
    done = bslc("show", models["affine"], "--explain", "--dim", "n=3")
    (call,) = basalt.load(models["affine"]).explain({"x": (3, 4)})
    assert done.status == 0
    row = ["0", call.kind, str(call.units), "yes", f"{call.microseconds:.3g}", "100.0", "scale,", "shift,", "clip"]
    assert done.out.splitlines()[1].split() == row
    assert done.out.endswith("constants 32 B, arena 0 B\n")
    shown = json.loads(bslc("show", models["affine"], "--explain", "--dim", "n=3", "--json").out)
    assert shown["kernels"] == 1
    assert [call["labels"] for call in shown["calls"]] == ["scale, shift, clip"]


def test_assumed_sizes_are_told(bslc: Bslc, models: Mapping[str, Path]) -> None:
    done = bslc("show", models["affine"], "--after", "fuse")
    assert done.err == "note: n = 1 (--dim or --shape says otherwise)\n"
    assert "float32[1, 4]" in done.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--after", "fuse", "--source"], "--after, --source, --explain, --passes and --html exclude each other"),
        (["--explain", "--passes"], "--after, --source, --explain, --passes and --html exclude each other"),
        (["--dim", "n=3"], "--shape and --dim need --after, --source, --explain, --passes or --html"),
        (["--shape", "x=3x4"], "--shape and --dim need --after, --source, --explain, --passes or --html"),
    ],
)
def test_options_that_do_not_fit_together(
    bslc: Bslc, models: Mapping[str, Path], arguments: list[str], message: str
) -> None:
    done = bslc("show", models["affine"], *arguments)
    assert (done.status, done.out) == (2, "")
    assert done.err == f"error: {message}\nSee 'bslc show --help'.\n"


def test_an_unknown_pass(bslc: Bslc, models: Mapping[str, Path]) -> None:
    done = bslc("show", models["affine"], "--after", "fission")
    assert (done.status, done.out) == (2, "")
    names = ", ".join(each.name for each in PASSES)
    expected = f"error: --after: there is no pass 'fission'; the passes are {names}, or all of them\n"
    assert done.err == f"{expected}See 'bslc show --help'.\n"
