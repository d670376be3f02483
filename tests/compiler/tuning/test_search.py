"""Choices by measurement. How long a row takes is told by the tests: nothing here depends on the machine's speed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import basalt
from basalt.compiler.codegen.choices import Decision, agree, at_node, choose, measured, prefer
from basalt.compiler.executable import Executable
from basalt.compiler.tuning import search, table
from basalt.runtime.cache_folder import CacheFolder
from basalt.runtime.kernel_cache import KernelCache
from basalt.runtime.profile import RowTime
from basalt.runtime.program import Program

SIZE = (20, 40)


@pytest.fixture(autouse=True)
def own_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A table of the test's own: what it pretends to have measured must not reach others."""
    monkeypatch.setattr(table, "CACHE", KernelCache(CacheFolder(tmp_path)))
    yield tmp_path


def product(label: str = "product") -> Executable:
    builder = basalt.MLGraphBuilder(basalt.MLContext(eager_first_run=False))
    weights = np.random.default_rng(1).standard_normal((40, 33)).astype(np.float32)
    x = builder.input("x", "float32", SIZE)
    return builder.build({"y": builder.relu(builder.matmul(x, builder.constant(weights), label=label))})


def sources(graph: Executable) -> list[str]:
    return [kernel.source for kernel in graph.compile().spec.kernels]  # type: ignore[attr-defined]


def pretending(nanoseconds: Callable[[Program], float]) -> Callable[..., list[RowTime]]:
    def profile(program: Program, feeds: Any, repeats: int = 20) -> list[RowTime]:
        time = nanoseconds(program)
        return [RowTime(row.label, "", time, time, 0.0, 1, 0, 0, "") for row in program.spec.rows]

    return profile


def feeds() -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(0).standard_normal(SIZE).astype(np.float32)}


def test_measured_choices_go_before_estimated_ones() -> None:
    def decide() -> tuple[int, bool, int]:
        at_node("n", lambda: "signature")
        return choose((4, 6, 7), lambda o: o), prefer(True, 10), choose((1, 2), lambda o: o)

    decisions: list[Decision] = []
    with measured({}, decisions):
        assert decide() == (4, True, 1)
    assert [d.made for d in decisions] == [4, 1, 1]
    assert [d.others for d in decisions] == [(6, 7), (0,), (2,)]
    with measured({decisions[0].key: 7, decisions[1].key: 0, "else": 2}):
        assert decide() == (7, False, 1)
    with measured({decisions[0].key: 5, decisions[2].key: 2}):
        assert decide() == (4, True, 2)
    with measured({decisions[0].key: 7}):
        at_node("n")
        assert choose((4, 6, 7), lambda o: o) == 4
    assert decide() == (4, True, 1)


def test_options_that_are_much_worse_are_not_tried() -> None:
    decisions: list[Decision] = []
    with measured({}, decisions):
        at_node("n", lambda: "signature")
        choose((1, 2, 3, 8), lambda o: o)
        assert agree(True)
    assert decisions[0].others == (2,)
    assert len(decisions) == 1


def test_what_is_faster_is_chosen_from_then_on(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = product()
    before, expected = sources(graph), graph.run(feeds())["y"]

    def nanoseconds(program: Program) -> float:
        return 1000.0 if program.spec.kernels[-1].source == before[-1] else 500.0

    monkeypatch.setattr(search, "profile", pretending(nanoseconds))
    calls: list[tuple[int, int]] = []
    report = graph.tune(feeds(), progress=lambda done, total: calls.append((done, total)))
    (changed,) = report.changed
    assert "product" in changed.label
    assert changed.before > changed.after > 0
    assert report.kept and report.trials == len(calls) > 0
    assert all(done < total for done, total in calls)
    after = sources(graph)
    assert after != before
    np.testing.assert_allclose(graph.run(feeds())["y"], expected, rtol=1e-5, atol=1e-5)
    # Others that hold an equal node profit, whatever its name.
    assert sources(product("other")) == after
    table._read.clear()
    assert sources(product()) == after
    # Nothing is left to gain.
    assert graph.tune(feeds()).changed == ()


def test_noise_does_not_change_a_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = product()
    before = sources(graph)
    monkeypatch.setattr(
        search, "profile", pretending(lambda p: 985.0 if p.spec.kernels[-1].source != before[-1] else 1e3)
    )
    report = graph.tune(feeds())
    assert report.changed == () and report.trials > 0
    assert sources(graph) == before


def test_no_trial_begins_after_the_time_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "profile", pretending(lambda p: 1000.0))
    assert product().tune(feeds(), seconds=0).trials == 0


def test_a_cache_that_cannot_be_written_is_told(own_table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = product()
    before = sources(graph)
    monkeypatch.setattr(
        search, "profile", pretending(lambda p: 1e3 if p.spec.kernels[-1].source == before[-1] else 1.0)
    )
    monkeypatch.setattr(type(table.CACHE.folder), "write", lambda *args: False)
    report = graph.tune(feeds())
    assert report.changed and not report.kept
    assert sources(graph) != before


@pytest.mark.parametrize("damage", ["cut", "changed", "other"])
def test_a_damaged_table_is_none(own_table: Path, damage: str) -> None:
    assert table.keep_choices({"a/0/1,2": 2})
    table._read.clear()
    assert table.measured_choices() == {"a/0/1,2": 2}
    (path,) = own_table.glob("*.kernel")
    content = bytearray(path.read_bytes())
    if damage == "cut":
        content = content[: len(content) // 2]
    elif damage == "changed":
        content[len(content) // 2] ^= 1
    else:
        content = bytearray(table.pack(table._key(), b"[1, 2]"))
    path.write_bytes(content)
    table._read.clear()
    assert table.measured_choices() == {}


def test_tables_are_merged() -> None:
    table.keep_choices({"a": 1, "b": 2})
    table._read.clear()
    table.keep_choices({"b": 3})
    assert table.measured_choices() == {"a": 1, "b": 3}


def test_wrong_feeds_are_refused() -> None:
    with pytest.raises(basalt.ValidationError, match="x"):
        product().tune({})
    graph = product()
    graph.destroy()
    with pytest.raises(basalt.InvalidStateError, match="tune"):
        graph.tune(feeds())
