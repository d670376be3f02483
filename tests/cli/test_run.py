"""``bslc run``, end to end."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from .conftest import Bslc

X = np.array([[1, 2, 3, -4], [0.25, 0.5, 0.75, 1]], np.float32)


@pytest.fixture
def x(tmp_path: Path) -> Path:
    np.save(tmp_path / "x.npy", X)
    return tmp_path / "x.npy"


@pytest.mark.parametrize("name", ["x=x.npy", "x.npy"])
def test_a_file_as_input(bslc: Bslc, models: Mapping[str, Path], x: Path, name: str) -> None:
    done = bslc("run", models["affine"], "--input", name, "--output", "out.npz", "--threads", "1")
    assert (done.status, done.err) == (0, "")
    heading, row = done.out.splitlines()
    assert heading.split() == ["output", "data", "type", "shape", "min", "mean", "max", "first", "values"]
    assert row.split() == ["y", "float32", "2x4", "0", "1.3125", "5", "1", "3", "5", "0", "0"]
    with np.load(bslc.folder / "out.npz") as saved:
        np.testing.assert_array_equal(saved["y"], np.maximum(2 * X - 1, 0), strict=True)


def test_json(bslc: Bslc, models: Mapping[str, Path], x: Path) -> None:
    shown = json.loads(bslc("run", models["affine"], "--input", x, "--json").out)
    assert shown["shapes"] == {"x": [2, 4]}
    assert shown["outputs"] == [
        {"name": "y", "dtype": "float32", "shape": [2, 4], "min": 0, "mean": 1.3125, "max": 5, "first": [1, 3, 5, 0, 0]}
    ]
    assert shown["run_seconds"] > 0


def test_given_sizes_decide_those_of_random_inputs(bslc: Bslc, models: Mapping[str, Path]) -> None:
    np.save(bslc.folder / "k.npy", np.arange(5, dtype=np.int32))
    done = bslc("run", models["pair"], "--input", "k=k.npy", "--random", "--dim", "m=7", "--output", "results")
    assert (done.status, done.err) == (0, "")
    np.testing.assert_array_equal(np.load(bslc.folder / "results" / "double.npy"), 2 * np.arange(5, dtype=np.int32))
    sums = np.load(bslc.folder / "results" / "sums.npy")
    assert sums.shape == (5,) and sums.min() > 0 and sums.max() < 7


def test_random_inputs_follow_the_seed(bslc: Bslc, models: Mapping[str, Path]) -> None:
    def means(*arguments: str) -> list[float]:
        done = bslc("run", models["pair"], "--random", "--dim", "m=9", "--dim", "n=3", "--json", *arguments)
        return [output["mean"] for output in json.loads(done.out)["outputs"]]

    assert means() == means("--seed", "0") != means("--seed", "1")


def test_assumed_sizes_are_told(bslc: Bslc, models: Mapping[str, Path]) -> None:
    done = bslc("run", models["affine"], "--random")
    assert done.status == 0
    assert done.err == "note: n = 1 (--dim or --shape says otherwise)\n"
    assert "1x4" in done.out


def test_a_terminal_is_told_the_times(bslc: Bslc, models: Mapping[str, Path]) -> None:
    done = bslc.on_terminal("run", models["affine"], "--random", "--dim", "n=3")
    assert done.status == 0
    assert "ready in " in done.out and " kernels compiled), ran in " in done.out


@pytest.mark.parametrize("model", ["affine", "digits"])
def test_a_warm_cache_needs_no_compiler(
    bslc: Bslc, models: Mapping[str, Path], model: str, request: pytest.FixtureRequest
) -> None:
    path = models.get(model, request.config.rootpath / "examples" / "digits" / "digits.bsl")
    assert bslc("run", path, "--random", "--json").status == 0
    script = (
        "import sys; from basalt.cli.app import run; status = run(sys.argv[1:]); "
        "sys.exit(status or any(name in sys.modules for name in ('numba', 'llvmlite', 'rich')))"
    )
    done = subprocess.run([sys.executable, "-c", script, "run", path, "--random", "--json"], check=False)
    assert done.returncode == 0


def test_shapes_of_a_file_of_arrays(bslc: Bslc, models: Mapping[str, Path]) -> None:
    np.savez(bslc.folder / "example.npz", a=np.zeros((2, 3)))
    done = bslc("run", models["pair"], "--random", "--shapes-from", "example.npz", "--json")
    assert (done.status, done.err) == (0, "")
    assert json.loads(done.out)["shapes"] == {"a": [2, 3], "k": [2]}
    done = bslc("run", models["pair"], "--random", "--shapes-from", "example.npz", "--shape", "a=2x3")
    assert done.status == 2 and "input 'a' is given twice" in done.err
