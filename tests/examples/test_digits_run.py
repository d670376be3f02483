"""Running the digits example as ``make run`` does."""

from __future__ import annotations

import importlib
import os
import pty
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import basalt

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "digits"
BLOCKS = set("░▒▓█")


def run(folder: Path = FOLDER, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(folder / "run.py")]
    variables = {**os.environ, **environment}
    return subprocess.run(
        command, capture_output=True, text=True, encoding="utf-8", env=variables, timeout=300, check=False
    )


@pytest.fixture(scope="module")
def out() -> str:
    """What a run prints to a pipe that takes every character."""
    done = run(PYTHONIOENCODING="utf-8")
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def counts(out: str) -> tuple[int, int]:
    """The kernels that a run compiled and found."""
    found = re.search(r"(\d+) kernels compiled, (\d+) found in the cache", out)
    assert found is not None, out
    return int(found[1]), int(found[2])


def test_it_reads_the_digits(out: str) -> None:
    right = re.search(r"^accuracy +([\d.]+)%, (\d+) of 360 images", out, re.MULTILINE)
    assert right is not None
    assert float(right[1]) >= 97 and abs(int(right[2]) / 3.6 - float(right[1])) < 0.01
    assert re.search(r"^one image +[\d.]+ (us|ms)$", out, re.MULTILINE)


def test_it_draws_eight_images_and_marks_a_wrong_one(out: str) -> None:
    assert set(out) >= BLOCKS
    assert "\x1b" not in out
    assert len(re.findall(r"\b\d  \d+%", out)) == 8
    assert len(re.findall(r"\d  \d+%, is a \d", out)) == 1
    assert max(map(len, out.splitlines())) <= 80


def test_a_second_run_finds_all_kernels(tmp_path: Path) -> None:
    """The first one shows its progress on a terminal; the second runs in a pipe and shows none."""
    cold = on_terminal({"BASALT_CACHE_DIR": str(tmp_path), "TERM": "xterm-256color"})
    assert "\r\x1b[Kcompiling: 1 of " in cold
    compiled, found = counts(cold)
    assert compiled > 0
    warm = run(BASALT_CACHE_DIR=str(tmp_path), PYTHONIOENCODING="utf-8")
    assert (warm.returncode, warm.stderr) == (0, "")
    assert counts(warm.stdout) == (0, compiled + found)


def test_an_ascii_terminal_gets_ascii() -> None:
    done = run(PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.isascii()
    assert set(done.stdout) >= set(".+%@")


def test_too_many_wrong_answers_fail(tmp_path: Path) -> None:
    folder = tmp_path / "digits"
    folder.mkdir()
    for name in ("run.py", "drawing.py", "digits.bsl"):
        shutil.copy(FOLDER / name, folder)
    with np.load(FOLDER / "test_images.npz") as file:
        labels = file["labels"].copy()
        labels[::20] = (labels[::20] + 1) % 10
        np.savez(folder / "test_images.npz", images=file["images"], labels=labels)
    done = run(folder)
    assert done.returncode == 1
    assert done.stderr == "error: accuracy is below 97%\n"
    assert "accuracy" in done.stdout


@pytest.mark.parametrize(
    ("environment", "painted"),
    [({"TERM": "xterm-256color"}, True), ({"TERM": "xterm-256color", "NO_COLOR": "1"}, False)],
)
def test_colours_on_a_terminal(environment: dict[str, str], painted: bool) -> None:
    out = on_terminal(environment)
    assert ("\x1b[48;5;" in out) == painted
    assert ("\x1b[31m" in out and "\x1b[32m" in out) == painted
    assert ("░░" in out) != painted


def on_terminal(environment: dict[str, str]) -> str:
    """What a run prints on a terminal."""
    ours, theirs = pty.openpty()
    kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "COLORTERM")}
    variables = {**kept, "PYTHONIOENCODING": "utf-8", **environment}
    command = [sys.executable, str(FOLDER / "run.py")]
    with subprocess.Popen(command, stdout=theirs, stderr=theirs, env=variables) as process:
        os.close(theirs)
        chunks = []
        while chunk := _read(ours):
            chunks.append(chunk)
        assert process.wait(300) == 0
    os.close(ours)
    return b"".join(chunks).decode()


def _read(descriptor: int) -> bytes:
    """The next bytes of a terminal, empty once its other side is closed."""
    try:
        return os.read(descriptor, 65536)
    except OSError:
        return b""


def test_the_shipped_model() -> None:
    assert (FOLDER / "digits.bsl").stat().st_size < 200_000
    model = basalt.load(FOLDER / "digits.bsl")
    assert [(s.name, s.dtype, s.shape) for s in model.inputs] == [("image", "float32", ("batch", 1, 8, 8))]
    assert [(s.name, s.dtype, s.shape) for s in model.outputs] == [("probabilities", "float32", ("batch", 10))]
    parameters = sum(model.constants.array(value).size for value in model.graph.constants())
    assert parameters == 25_866


def test_the_shipped_model_is_the_one_that_graph_py_builds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(FOLDER))
    monkeypatch.delitem(sys.modules, "graph", raising=False)
    model = basalt.load(FOLDER / "digits.bsl")
    arrays = [model.constants.array(value) for value in model.graph.constants()]
    names = [f"{layer}.{kind}" for layer in ("conv1", "conv2", "conv3", "dense") for kind in ("weight", "bias")]
    built = importlib.import_module("graph").build(dict(zip(names, arrays, strict=True)))
    assert built.text() == model.text()
