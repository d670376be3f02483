"""``bslc show --html``, end to end; what the page holds is tested in tests/compiler/inspection."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import basalt

from ..compiler.onnx.making import model, node, value
from .conftest import Bslc


def data_in(page: Path) -> Any:
    """What a page shows."""
    text = page.read_text(encoding="utf-8")
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    assert found is not None and text.startswith("<!doctype html>") and text.endswith("</html>\n")
    return json.loads(found[1])


def region_in(page: Path) -> Any:
    (section,) = data_in(page)["sections"]
    return section["region"]


def test_a_page(bslc: Bslc, models: Mapping[str, Path]) -> None:
    done = bslc("show", models["affine"], "--html", "out.html", "--dim", "n=3")
    page = bslc.folder / "out.html"
    assert (done.status, done.err) == (0, "")
    assert re.fullmatch(r"out\.html: [0-9.]+ kB\n", done.out)
    shown = data_in(page)
    assert (shown["title"], shown["assumed"]) == ("affine.bsl", [])
    assert ["kind", "GRAPH (1)"] in shown["facts"]
    region = region_in(page)
    assert region["sizes"] == {"n": 3}
    (call,) = basalt.load(models["affine"]).explain({"x": (3, 4)})
    assert [(row["label"], row["units"]) for row in region["rows"]] == [(call.labels, call.units)]
    assert [entry.name for entry in bslc.folder.iterdir()] == ["out.html"]


def test_sizes_and_json(bslc: Bslc, models: Mapping[str, Path]) -> None:
    done = bslc("show", models["pair"], "--html", "out.html", "--shape", "a=2x5", "--json")
    page = bslc.folder / "out.html"
    assert json.loads(done.out) == {"file": "out.html", "bytes": page.stat().st_size}
    assert region_in(page)["sizes"] == {"m": 5, "n": 2}
    done = bslc("show", models["pair"], "--html", "out.html")
    assert done.err == "note: m = 1, n = 1 (--dim or --shape says otherwise)\n"
    assert data_in(page)["assumed"] == ["m", "n"]


def test_an_onnx_model(bslc: Bslc) -> None:
    source = model(
        [node("MatMul", "x w", "m", name="dense"), node("Relu", "m", "y", name="act")],
        [value("x", shape=("n", 3))],
        [value("y", shape=("n", 2))],
        {"w": np.ones((3, 2), np.float32)},
        producer_name="tests",
        metadata_props={"author": "somebody"},
    )
    source.save(bslc.folder / "whole.onnx")
    done = bslc("show", "whole.onnx", "--html", "out.html", "--dim", "n=2")
    assert (done.status, done.err) == (0, "")
    assert {("producer", "tests"), ("author", "somebody")} <= {
        tuple(fact) for fact in data_in(bslc.folder / "out.html")["facts"]
    }
    assert [row["label"] for row in region_in(bslc.folder / "out.html")["rows"]] == ["dense, act"]


def test_an_onnx_model_in_steps_is_run(bslc: Bslc) -> None:
    source = model(
        [node("NonZero", "x", "places", name="find"), node("Add", "places places", "y", name="twice")],
        [value("x", shape=("n", 3))],
        [value("y", "int64", (2, None))],
    )
    source.save(bslc.folder / "steps.onnx")
    done = bslc("show", "steps.onnx", "--html", "out.html", "--dim", "n=2")
    assert (done.status, done.err) == (0, "")
    step, program = data_in(bslc.folder / "out.html")["sections"]
    assert step["region"] is None and "'find'" in step["title"]
    assert [row["label"] for row in program["region"]["rows"]] == ["twice"]


def test_an_estimator(bslc: Bslc) -> None:
    linear = pytest.importorskip("sklearn.linear_model")
    rows = np.random.default_rng(0).normal(size=(40, 3))
    fitted = basalt.from_sklearn(linear.LogisticRegression().fit(rows, rows[:, 0] > 0))
    basalt.save(fitted, bslc.folder / "fitted.bsl")
    done = bslc("show", "fitted.bsl", "--html", "out.html")
    assert done.status == 0
    assert ["class", "LogisticRegression"] in data_in(bslc.folder / "out.html")["facts"]
    assert region_in(bslc.folder / "out.html")["rows"]


def test_what_was_there_stays_where_no_page_can_be_made(bslc: Bslc, models: Mapping[str, Path]) -> None:
    page = bslc.folder / "out.html"
    page.write_text("precious")
    done = bslc("show", models["pair"], "--html", "out.html", "--shape", "a=2x5", "--dim", "n=3")
    assert done.status in (1, 2) and done.out == "" and done.err.startswith("error: ")
    assert page.read_text() == "precious"
    assert [entry.name for entry in bslc.folder.iterdir()] == ["out.html"]
    done = bslc("show", models["affine"], "--html", "nowhere/out.html", "--dim", "n=3")
    assert done.status == 1 and "nowhere" in done.err


def test_the_model_is_not_overwritten(bslc: Bslc, models: Mapping[str, Path]) -> None:
    content = models["affine"].read_bytes()
    (bslc.folder / "alias.html").symlink_to(models["affine"])
    for target in (str(models["affine"]), "alias.html"):
        done = bslc("show", models["affine"], "--html", target)
        assert done.status == 2 and "is the model itself" in done.err
    assert models["affine"].read_bytes() == content


@pytest.mark.parametrize("other", ["--source", "--explain", "--passes"])
def test_it_excludes_other_forms(bslc: Bslc, models: Mapping[str, Path], other: str) -> None:
    done = bslc("show", models["affine"], "--html", "out.html", other)
    assert done.status == 2 and "exclude each other" in done.err
    assert not list(bslc.folder.iterdir())
