"""``bslc cache``, end to end."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from .conftest import Bslc, cached_in


@pytest.fixture
def filled(own_cache: Path) -> Path:
    """A cache of three files of 1000 bytes, ``a`` unused for longest, and of a file that is not the cache's."""
    own_cache.mkdir(mode=0o700)
    for age, name in enumerate("cba"):
        file = own_cache / f"{name}.kernel"
        file.write_bytes(bytes(1000))
        os.utime(file, (1_700_000_000 - age, 1_700_000_000 - age))
    (own_cache / "notes.txt").write_text("mine")
    return own_cache


def left(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_info(bslc: Bslc, filled: Path) -> None:
    done = bslc("cache", "info", environment=cached_in(filled))
    assert (done.status, done.err) == (0, "")
    expected = [["cache"], ["folder", str(filled)], ["files", "3"], ["size", "3.0", "kB"]]
    assert [line.split() for line in done.out.splitlines()] == expected
    shown = json.loads(bslc("cache", "info", "--json", environment=cached_in(filled)).out)
    assert shown == {"folder": str(filled), "files": 3, "bytes": 3000}


def test_info_on_a_cache_that_does_not_exist(bslc: Bslc, own_cache: Path) -> None:
    shown = json.loads(bslc("cache", "info", "--json", environment=cached_in(own_cache)).out)
    assert shown == {"folder": str(own_cache), "files": 0, "bytes": 0}
    assert not own_cache.exists()


def test_prune_removes_what_was_unused_for_longest(bslc: Bslc, filled: Path) -> None:
    done = bslc("cache", "prune", "--max-size", "2kB", environment=cached_in(filled))
    assert (done.status, done.err) == (0, "")
    assert done.out == f"removed 1 file (1.0 kB) from {filled}\nleft    2 files (2.0 kB)\n"
    assert left(filled) == ["b.kernel", "c.kernel", "notes.txt"]
    done = bslc("cache", "prune", "--max-size", "2kB", environment=cached_in(filled))
    assert done.out == f"removed 0 files (0 B) from {filled}\nleft    2 files (2.0 kB)\n"


def test_clear_says_what_it_removed(bslc: Bslc, filled: Path) -> None:
    done = bslc("cache", "clear", environment=cached_in(filled))
    assert (done.status, done.err) == (0, "")
    assert done.out == f"removed 3 files (3.0 kB) from {filled}\nleft    0 files (0 B)\n"
    assert left(filled) == ["notes.txt"]


def test_clear_as_json(bslc: Bslc, filled: Path) -> None:
    shown = json.loads(bslc("cache", "clear", "--json", environment=cached_in(filled)).out)
    assert shown == {"removed_files": 3, "removed_bytes": 3000, "folder": str(filled), "files": 0, "bytes": 0}


def test_a_cleared_cache_fills_again(bslc: Bslc, models: Mapping[str, Path], own_cache: Path) -> None:
    environment = cached_in(own_cache)
    for _ in range(2):
        shown = json.loads(bslc("compile", models["affine"], "--dim", "n=3", "--json", environment=environment).out)
        assert (shown["compiled"], shown["found"]) == (2, 0)
        assert json.loads(bslc("cache", "clear", "--json", environment=environment).out)["removed_files"] == 2


def test_files_that_cannot_be_removed_are_an_error(bslc: Bslc, own_cache: Path) -> None:
    own_cache.mkdir()
    (own_cache / "a.kernel").write_bytes(bytes(10))
    shim = "import os, pathlib, sys; pathlib.Path.unlink = lambda *_, **__: (_ for _ in ()).throw(PermissionError())\n"
    (bslc.folder / "sitecustomize.py").write_text(shim)
    environment = {**cached_in(own_cache), "PYTHONPATH": str(bslc.folder)}
    done = bslc("cache", "clear", environment=environment)
    assert done.status == 1
    assert done.out == f"removed 0 files (0 B) from {own_cache}\nleft    1 file (10 B)\n"
    assert done.err == f"error: files of 10 B could not be removed from {own_cache}\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["prune"], "Missing option '--max-size'."),
        (
            ["prune", "--max-size", "5 apples"],
            "Invalid value for '--max-size': '5 apples': expected a number of bytes such as 500MB, 2GB or 64MiB",
        ),
        (["empty"], "No such command 'empty'."),
    ],
)
def test_usage_errors(bslc: Bslc, filled: Path, arguments: list[str], message: str) -> None:
    done = bslc("cache", *arguments, environment=cached_in(filled))
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith(f"error: {message}\nSee 'bslc cache")
    assert len(left(filled)) == 4


def test_without_a_command_it_shows_its_help_as_an_error(bslc: Bslc) -> None:
    done = bslc("cache")
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith("Usage: bslc cache")
