"""How far compiling has come: the hook, the terminal's line, silence everywhere else."""

from __future__ import annotations

import io
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import basalt
from basalt.compiler import progress
from basalt.runtime.kernel_cache import CACHE


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    """A clock that each look moves on by ``step`` seconds."""

    def __init__(self, step: float) -> None:
        self.now, self.step = 0.0, step

    def monotonic(self) -> float:
        self.now += self.step
        return self.now


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    terminal = Terminal()
    # Not sys.stderr itself, which pytest replaces again before the test begins.
    monkeypatch.setattr(progress, "sys", SimpleNamespace(stderr=terminal))
    monkeypatch.delenv("BASALT_PROGRESS", raising=False)
    return terminal


@pytest.fixture
def hook() -> Iterator[list[Any]]:
    calls: list[Any] = []
    previous = progress.set_hook(lambda *state: calls.append(state))
    yield calls
    progress.set_hook(previous)


def report(count: int = 4, **options: Any) -> None:
    with progress.reporting(**options) as tell:
        for done in range(1, count + 1):
            tell(done, count, 0.1)


def test_a_line_appears_after_a_second_and_vanishes(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "time", Clock(0.6))
    report()
    assert terminal.getvalue() == (
        "\r\x1b[Kbasalt: 2 of 4 kernels are compiled\r\x1b[Kbasalt: 3 of 4 kernels are compiled\r\x1b[K"
    )


def test_a_short_compilation_shows_nothing(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "time", Clock(0.1))
    report()
    assert terminal.getvalue() == ""


def test_the_line_vanishes_when_compiling_fails(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "time", Clock(0.6))
    with pytest.raises(ZeroDivisionError), progress.reporting() as tell:
        tell(1, 9, 0.1)
        tell(2, 9, 0.1)
        raise ZeroDivisionError
    assert terminal.getvalue().endswith("\r\x1b[K")


@pytest.mark.parametrize("why", ["pipe", "variable", "background", "closed", "none"])
def test_silence(why: str, terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "time", Clock(5.0))
    stream: Any = {"pipe": io.StringIO(), "closed": Terminal(), "none": None}.get(why, terminal)
    monkeypatch.setattr(progress, "sys", SimpleNamespace(stderr=stream))
    if why == "closed":
        stream.close()
    if why == "variable":
        monkeypatch.setenv("BASALT_PROGRESS", "0")
    report(background=why == "background")
    assert why in ("closed", "none") or stream.getvalue() == ""


def test_a_terminal_that_goes_away_does_no_harm(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "time", Clock(5.0))
    monkeypatch.setattr(terminal, "write", lambda text: (_ for _ in ()).throw(BrokenPipeError()))
    report()


@pytest.mark.parametrize("background", [False, True])
def test_a_hook_gets_everything(hook: list[Any], terminal: Terminal, background: bool) -> None:
    report(3, background=background)
    assert hook == [(1, 3, 0.1), (2, 3, 0.1), (3, 3, 0.1)]
    assert terminal.getvalue() == ""


def test_compiling_tells_the_hook(hook: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CACHE, "has", lambda key: False)
    builder = basalt.MLGraphBuilder(basalt.MLContext())
    x = builder.input("x", "float32", (7,))
    graph = builder.build({"y": builder.add(x, x)})
    graph.compile()
    assert hook and hook[-1][0] == hook[-1][1] and all(len(state) == 3 for state in hook)
    assert graph.run({"x": np.ones(7, np.float32)})["y"].tolist() == [2.0] * 7
