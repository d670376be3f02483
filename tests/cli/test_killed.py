"""A process that is killed while it writes a file leaves the old one or the new one, and nothing beside it."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest

import basalt
from basalt.serialization import load
from basalt.serialization.program.file import open_program

from .conftest import TIMEOUT, Bslc

MOMENTS = 12
SAVE = """
import sys, numpy as np, basalt
b = basalt.MLGraphBuilder(basalt.MLContext())
x = b.input("x", "float32", (1,))
graph = b.build({"y": b.add(x, b.constant(np.full(4_000_000, 2, np.float32)))})
print("ready", flush=True)
while True:
    basalt.save(graph, sys.argv[1])
"""


def killed_at(start: Callable[[], subprocess.Popen[bytes]], seconds: float) -> bool:
    """Start a process and kill it after so long; gives whether it was still running."""
    process = start()
    try:
        time.sleep(seconds)
        running = process.poll() is None
    finally:
        process.kill()
        process.communicate(timeout=TIMEOUT)
    return running


def took(process: subprocess.Popen[bytes]) -> float:
    began = time.monotonic()
    assert process.communicate(timeout=TIMEOUT) and process.returncode == 0
    return time.monotonic() - began


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="elsewhere the unfinished file has a name")
def test_compiling_into_a_file(bslc: Bslc, models: Mapping[str, Path]) -> None:
    folder = bslc.folder / "out"
    folder.mkdir()
    old = folder / "m.bsl"
    assert bslc("compile", models["affine"], "-o", old, "--dim", "n=1").status == 0
    before = old.read_bytes()
    usual = took(bslc.start("compile", models["affine"], "-o", bslc.folder / "other.bsl", "--dim", "n=2"))
    after = (bslc.folder / "other.bsl").read_bytes()
    rng = random.Random(0)
    for _ in range(MOMENTS):
        shutil.copy(bslc.folder / "other.bsl", old)
        old.write_bytes(before)
        moment = rng.uniform(0.5, 1.05) * usual
        killed_at(lambda: bslc.start("compile", models["affine"], "-o", old, "--dim", "n=2"), moment)
        assert os.listdir(folder) == ["m.bsl"]
        open_program(old).check()
        assert old.read_bytes() in (before, after)


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="elsewhere the unfinished file has a name")
def test_saving(tmp_path: Path) -> None:
    path = tmp_path / "m.bsl"
    basalt.save(_small(), path)
    replaced = 0
    rng = random.Random(0)
    for _ in range(MOMENTS):
        basalt.save(_small(), path)
        command = [sys.executable, "-c", SAVE, str(path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None and process.stdout.readline() == b"ready\n"
            time.sleep(rng.uniform(0, 0.3))
            assert process.poll() is None
            process.kill()
        assert os.listdir(tmp_path) == ["m.bsl"]
        weights = next(iter(load(path).constants.values()))
        assert weights.size in (1, 4_000_000) and (weights == 2).all()
        replaced += weights.size > 1
    assert replaced


def _small() -> basalt.MLGraph:
    b = basalt.MLGraphBuilder(basalt.MLContext())
    return b.build({"y": b.add(b.input("x", "float32", (1,)), b.constant(np.full(1, 2, np.float32)))})
