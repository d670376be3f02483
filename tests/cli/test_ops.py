"""``bslc ops`` and the rules that hold for every command, end to end."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from basalt import ops

from .conftest import Bslc

ROOT = Path(__file__).resolve().parents[2]


def test_lists_every_operator(bslc: Bslc) -> None:
    done = bslc("ops")
    assert done.status == 0
    names = [line.split()[0] for line in done.out.splitlines()[1:]]
    assert names == sorted(ops.all_operators())


def test_describes_one_operator(bslc: Bslc) -> None:
    done = bslc("ops", "abs")
    assert done.status == 0
    assert done.out.startswith("abs\n\n")
    assert "float32" in done.out


def test_json_lists_the_same(bslc: Bslc) -> None:
    entries = json.loads(bslc("ops", "--json").out)
    assert [entry["name"] for entry in entries] == list(ops.all_operators())
    (entry,) = json.loads(bslc("ops", "--json", "abs").out)
    assert entry["operands"][0]["name"] == "input"
    assert "float16" in entry["operands"][0]["dtypes"]
    assert entry["operands"][0]["rank"] == [0, 8]


def test_refuses_an_unknown_operator(bslc: Bslc) -> None:
    done = bslc("ops", "convolve")
    assert (done.status, done.out) == (2, "")
    assert done.err == "error: there is no operator 'convolve'; 'bslc ops' lists them\nSee 'bslc ops --help'.\n"


@pytest.mark.parametrize("arguments", [["--help"], ["-h"], ["ops", "--help"], ["run", "-h"]])
def test_help_goes_to_stdout(bslc: Bslc, arguments: list[str]) -> None:
    done = bslc(*arguments)
    assert (done.status, done.err) == (0, "")
    assert done.out.startswith("Usage: bslc")


def test_version(bslc: Bslc) -> None:
    done = bslc("--version")
    assert (done.status, done.err) == (0, "")
    assert done.out == f"bslc {tomllib.loads((ROOT / 'pyproject.toml').read_text())['project']['version']}\n"


def test_no_arguments_show_help_as_an_error(bslc: Bslc) -> None:
    done = bslc()
    assert (done.status, done.out) == (2, "")
    assert "Commands:" in done.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["frobnicate"], "error: No such command 'frobnicate'."),
        (["ops", "--frobnicate"], "error: No such option '--frobnicate'."),
        (["run"], "error: Missing argument 'MODEL'."),
    ],
)
def test_usage_errors(bslc: Bslc, arguments: list[str], message: str) -> None:
    done = bslc(*arguments)
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith(message)
    assert len(done.err.splitlines()) == 2


def test_a_closed_pipe_ends_quietly(bslc: Bslc) -> None:
    done = bslc.through("ops --json", "head -n 1")
    assert done.out == "[\n"
    assert done.err == ""


def test_output_that_the_encoding_lacks_is_escaped(bslc: Bslc) -> None:
    done = bslc("ops", "ä", environment={"PYTHONIOENCODING": "ascii"})
    assert done.status == 2
    assert "'\\xe4'" in done.err


def test_a_terminal_gets_bold_headings_unless_colours_are_off(bslc: Bslc) -> None:
    assert "\x1b[1m" in bslc.on_terminal("ops").out
    assert "\x1b[1m" not in bslc("ops").out
