"""What a terminal shows that a pipe does not get: bars with the time left, colours."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from .conftest import Bslc, cached_in

COLOURS = ("\x1b[3", "\x1b[9", "\x1b[1;3")
WAITING = """
import time
from basalt.cli.output import compiling, measuring, progress_bar
with compiling() as show:
    for done in range(6):
        show(done, 6, 0.2)
        time.sleep(0.2)
with measuring("looking") as step:
    step(1, 2)
    time.sleep(0.3)
with progress_bar("reading") as show:
    show(5, None, "5 rows")
    time.sleep(0.3)
"""


@pytest.fixture
def waiting(tmp_path: Path) -> Bslc:
    """A command that shows the bars and waits."""
    return Bslc(tmp_path, [sys.executable, "-c", WAITING])


def test_bars_tell_how_far_it_is_and_the_time_left(waiting: Bslc) -> None:
    done = waiting.on_terminal()
    assert done.status == 0
    assert "compiling" in done.out and "of 6 kernels" in done.out
    assert "0:01 left" in done.out or "0:00 left" in done.out
    assert "looking" in done.out and "1 of 2" in done.out
    assert "reading" in done.out and "5 rows" in done.out
    assert done.out.count("\x1b[?25l") == done.out.count("\x1b[?25h") == 3, "the cursor comes back"


def test_no_bar_in_a_pipe_nor_on_a_terminal_that_cannot(waiting: Bslc) -> None:
    piped = waiting()
    assert (piped.status, piped.out, piped.err) == (0, "", "")
    assert waiting.on_terminal(environment={"TERM": "dumb"}).out == ""


def test_bars_without_colours(waiting: Bslc) -> None:
    shown = waiting.on_terminal(environment={"NO_COLOR": "1"}).out
    assert "of 6 kernels" in shown and not any(colour in shown for colour in COLOURS)
    assert any(colour in waiting.on_terminal().out for colour in COLOURS)


def test_errors_are_red_where_colours_are_wanted(bslc: Bslc) -> None:
    assert bslc.on_terminal("show", "absent.bsl").out.startswith("\x1b[31merror: ")
    for environment in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        plain = bslc.on_terminal("show", "absent.bsl", environment=environment)
        assert plain.status == 2 and plain.out.startswith("error: ") and "\x1b" not in plain.out
    assert "\x1b" not in bslc("show", "absent.bsl").err


def test_tables_are_plain_on_a_terminal_that_cannot(bslc: Bslc) -> None:
    assert "\x1b[1m" in bslc.on_terminal("cache", "info").out
    assert "\x1b" not in bslc.on_terminal("cache", "info", environment={"TERM": "dumb"}).out


def test_long_commands_show_a_bar(bslc: Bslc, models: Mapping[str, Path], own_cache: Path) -> None:
    """Each of the ways to wait, on a terminal."""
    model, environment = models["affine"], cached_in(own_cache)
    assert "compiling" in bslc.on_terminal("compare", model, "numpy", "--dim", "n=9", environment=environment).out
    shown = bslc.on_terminal("bench", model, "--dim", "n=9", "--rounds", "30", environment=environment).out
    assert "measuring" in shown and " left" in shown
    tuned = bslc.on_terminal("compile", model, "--dim", "n=999", "--tune", environment=environment).out
    assert "tuning" in tuned


def test_json_on_a_terminal_is_json(bslc: Bslc) -> None:
    shown = json.loads(bslc.on_terminal("cache", "info", "--json").out)
    plain = json.loads(bslc("cache", "info", "--json").out)
    assert shown.keys() == plain.keys() and shown["folder"] == plain["folder"]
