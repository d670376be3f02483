"""``bslc show`` of a file with machine code."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

import basalt

from .conftest import Bslc


@pytest.fixture(scope="module")
def program(models: Mapping[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """``affine`` for two shapes."""
    path = tmp_path_factory.mktemp("program") / "affine.bsl"
    basalt.save_program(basalt.load(models["affine"]), path, [{"x": (1, 4)}, {"x": (5, 4)}])
    return path


def test_what_the_file_says(bslc: Bslc, program: Path) -> None:
    done = bslc("show", program)
    assert (done.status, done.err) == (0, ""), "its code is not asked for, so there is no warning"
    lines = [" ".join(line.split()) for line in done.out.splitlines()]
    assert "input x float32 [n, 4]" in lines and "output y float32 [n, 4]" in lines
    assert "for x=1x4" in lines and "for x=5x4" in lines
    assert "model a .bsl file" in lines and "signed by nobody" in lines
    shown = json.loads(bslc("show", program, "--json").out)
    assert (shown["kind"], shown["bytes"]) == ("PROGRAM", program.stat().st_size)
    assert shown["shapes"] == [{"x": [1, 4]}, {"x": [5, 4]}]
    (level,) = shown["levels"]
    assert level["name"] == "native" and level["code_bytes"] > 0
    assert shown["metadata"]["basalt"] == basalt.__version__


def test_the_model_in_it(bslc: Bslc, program: Path) -> None:
    done = bslc("show", program, "--after", "all", "--dim", "n=2")
    assert done.status == 0 and "float32[2, 4]" in done.out
    assert done.err == ""


def test_without_the_model(bslc: Bslc, models: Mapping[str, Path]) -> None:
    path = bslc.folder / "bare.bsl"
    basalt.save_program(basalt.load(models["affine"]), path, {"x": (5, 4)}, source=False)
    assert "model    left out" in bslc("show", path).out
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    done = bslc("show", path)
    assert done.status in (0, 1) and "internal error" not in done.err
