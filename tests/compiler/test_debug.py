"""The flags of BASALT_DEBUG."""

from __future__ import annotations

import numpy as np
import pytest

import basalt
from basalt.compiler import debug
from basalt.compiler.backend import InterpretedProgram


@pytest.mark.parametrize(
    ("text", "flags"),
    [
        ("", set()),
        ("verify", {"verify"}),
        (" verify , passes,", {"verify", "passes"}),
        ("traceback,interpret", {"traceback", "interpret"}),
    ],
)
def test_flags(monkeypatch: pytest.MonkeyPatch, text: str, flags: set[str]) -> None:
    monkeypatch.setenv("BASALT_DEBUG", text)
    assert {flag for flag in debug.FLAGS if debug.enabled(flag)} == flags


def test_no_variable_sets_no_flag(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BASALT_DEBUG", raising=False)
    assert not any(debug.enabled(flag) for flag in debug.FLAGS)


def test_an_unknown_flag_is_mentioned_once(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("BASALT_DEBUG", "verfy,verify")
    debug._parse.cache_clear()
    assert debug.enabled("verify") and not debug.enabled("passes")
    assert capsys.readouterr().err == (
        "basalt: BASALT_DEBUG: 'verfy' is unknown, expected some of verify, passes, traceback, interpret, perf, gdb\n"
    )


def test_graphs_can_run_without_being_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BASALT_DEBUG", "interpret")
    builder = basalt.MLGraphBuilder(basalt.MLContext())
    x = builder.input("x", "float32", (2,))
    graph = builder.build({"y": builder.add(x, x)})
    assert isinstance(graph.compile(), InterpretedProgram)
    assert graph.run({"x": np.ones(2, np.float32)})["y"].tolist() == [2, 2]
