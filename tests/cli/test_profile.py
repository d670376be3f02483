"""``bslc profile``, end to end."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

import basalt

from .conftest import Bslc


@pytest.fixture(scope="module")
def product(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """relu(x [n, 64] times constant weights [64, 32])."""
    builder = basalt.MLGraphBuilder(basalt.MLContext())
    x = builder.input("x", "float32", ("n", 64))
    weights = builder.constant(np.full((64, 32), 1 / 3, np.float32))
    path = tmp_path_factory.mktemp("profile") / "product.bsl"
    basalt.save(builder.build({"y": builder.relu(builder.matmul(x, weights, label="dense"), label="act")}), path)
    return path


def test_the_table(bslc: Bslc, product: Path) -> None:
    done = bslc("profile", product, "--dim", "n=100", "--threads", "1", "--repeats", "3")
    assert (done.status, done.err) == (0, "")
    head, first, *_ = done.out.splitlines()
    assert head.split()[:4] == ["#", "operators", "kernel", "time"]
    assert first.split()[1] in ("dense,", "act,")
    assert "1 rows" in done.out and "on 1 thread" in done.out and "limits measured here: float32" in done.out


def test_json(bslc: Bslc, product: Path) -> None:
    done = bslc("profile", product, "--dim", "n=100", "--threads", "1", "--json")
    assert (done.status, done.err) == (0, "")
    shown = json.loads(done.out)
    assert (shown["shapes"], shown["threads"]) == ({"x": [100, 64]}, 1)
    (row,) = shown["rows"]
    assert row["operations"] == 2 * 100 * 64 * 32 + 100 * 32
    assert 4 * (100 * 64 + 64 * 32 + 100 * 32) <= row["bytes"] <= 5 * (100 * 64 + 64 * 32 + 100 * 32)
    assert row["dtype"] == "float32"
    assert row["operations_per_second"] == pytest.approx(row["operations"] / row["seconds"])
    assert row["peak_share"] > 0
    assert {"float32", "float64"} <= shown["peaks"]["operations_per_second"].keys()


def test_a_trace(bslc: Bslc, models: Mapping[str, Path], tmp_path: Path) -> None:
    done = bslc("profile", models["pair"], "--repeats", "2", "--top", "1", "--trace", "trace.json")
    assert done.status == 0
    events = [e for e in json.loads((tmp_path / "trace.json").read_text())["traceEvents"] if e["ph"] == "X"]
    assert [e["args"]["row"] for e in events] == list(range(len(events)))
    assert all(b["ts"] == pytest.approx(a["ts"] + a["dur"]) for a, b in itertools.pairwise(events))
    assert len(done.out.splitlines()) == 4


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--dim", "q=3"], "no symbolic dimension 'q'"),
        (["--repeats", "0"], "0 is not in the range"),
        (["--trace", "no/such/folder.json"], "no/such"),
    ],
)
def test_refusals(bslc: Bslc, product: Path, options: list[str], told: str) -> None:
    done = bslc("profile", product, *options)
    assert done.status != 0
    assert told in done.err
