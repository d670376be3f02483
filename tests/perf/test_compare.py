"""When a comparison calls a regression, and what the process's status then is."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from perf import compare
from perf.commands import DONE, ERROR, REGRESSION, comparison_status
from perf.compare import Verdict, confirm, export_commit, verdicts
from perf.contest import Entry, Settings
from perf.results import CaseResult, Results
from perf.run import Plan
from perf.site import ROOT, import_folder
from perf.suites import Case

from . import samples

MARGIN = 0.02


def words(cases: Sequence[CaseResult]) -> list[str]:
    return [verdict.word for verdict in verdicts(samples.results(cases, "compare"), MARGIN)]


def test_a_case_that_is_surely_slower_is_a_regression() -> None:
    slower = samples.compared(samples.entry(1.1, launches=3), samples.entry(1.0, launches=3, seed=1))
    faster = samples.compared(samples.entry(0.9, launches=3), samples.entry(1.0, launches=3, seed=1))
    same = samples.compared(samples.entry(1.005, launches=3), samples.entry(1.0, launches=3, seed=1))
    assert words([slower, faster, same]) == ["regression", "faster", "same"]


def test_a_case_that_may_be_slower_is_none() -> None:
    unsure = samples.compared(samples.entry(1.1, noise=0.5), samples.entry(1.0, noise=0.5, seed=1))
    assert words([unsure]) == ["same"]


def test_many_cases_ask_for_more_confidence() -> None:
    one = verdicts(samples.results([samples.compared(samples.entry(1.0), samples.entry(1.0, seed=1))]), MARGIN)
    many = [samples.compared(samples.entry(1.0), samples.entry(1.0, seed=1), f"case {i}") for i in range(20)]
    twenty = verdicts(samples.results(many), MARGIN)
    assert one[0].interval is not None and twenty[0].interval is not None
    assert one[0].interval.confidence == pytest.approx(0.95)
    assert twenty[0].interval.confidence == pytest.approx(0.9975)


def test_a_case_that_runs_no_more_is_gone() -> None:
    broken = Entry("failed", "it ended")
    assert words([samples.compared(broken, samples.entry(1.0))]) == ["gone"]
    assert words([samples.compared(samples.entry(1.0), Entry("cannot", "not yet"))]) == ["none"]
    assert words([samples.compared(broken, broken)]) == ["none"]


@pytest.mark.parametrize(
    ("found", "status"),
    [
        (["same", "faster", "none"], DONE),
        (["same", "regression"], REGRESSION),
        (["regression", "gone"], ERROR),
        (["none"], ERROR),
        ([], ERROR),
    ],
)
def test_the_status_of_the_process(found: list[str], status: int) -> None:
    case = samples.compared(samples.entry(1.0), samples.entry(1.0))
    assert comparison_status([Verdict(case, "basalt", word) for word in found]) == status


@pytest.mark.parametrize(("second", "word"), [(1.1, "regression"), (1.0, "same")])
def test_a_regression_is_measured_again(
    second: float, word: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    slower = samples.compared(samples.entry(1.1), samples.entry(1.0, seed=1))
    other = samples.compared(samples.entry(1.0), samples.entry(1.0, seed=1), "other")
    asked: list[Plan] = []

    def measure(plan: Plan, work: Path, show: object) -> Results:
        asked.append(plan)
        return samples.results([samples.compared(samples.entry(second, seed=2), samples.entry(1.0, seed=3))])

    monkeypatch.setattr(compare, "measure", measure)
    cases = [Case("kernels", name, name, {}) for name in ("gemm/2x2x2", "other")]
    plan = Plan("compare", cases, lambda threads: [], [1], Settings(seed=4))
    found = confirm(verdicts(samples.results([slower, other]), MARGIN), plan, tmp_path, MARGIN)
    assert [verdict.word for verdict in found] == [word, "same"]
    assert [case.name for case in asked[0].cases] == ["gemm/2x2x2"]
    assert asked[0].settings.seed == 5


def test_nothing_is_measured_again_without_a_suspicion(tmp_path: Path) -> None:
    found = [Verdict(samples.compared(samples.entry(1.0), samples.entry(1.0)), "basalt", "same")]
    assert confirm(found, Plan("compare", [], lambda threads: [], [1], Settings()), tmp_path, MARGIN) == found


def test_an_import_folder_is_of_its_tree(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    for name in ("basalt", "ops"):
        (tree / name).mkdir(parents=True)
    (tree / "basalt" / "__init__.py").write_text("place = 'an earlier commit'\n")
    (tree / "ops" / "__init__.py").write_text("place = 'its operators'\n")
    (tree / "pyproject.toml").write_text('[tool.setuptools.package-dir]\nbasalt = "basalt"\n"basalt.ops" = "ops"\n')
    site = import_folder(tree, tmp_path / "site")
    assert import_folder(tree, tmp_path / "site") == site, "it can be made again"
    code = "import basalt, basalt.ops; print(basalt.place, basalt.ops.place, sep='; ')"
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], env={"PYTHONPATH": str(site)}, capture_output=True, text=True, check=True
    )
    assert done.stdout == "an earlier commit; its operators\n"


def test_a_tree_without_the_package_is_refused(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'other'\n")
    with pytest.raises(ValueError, match="does not map 'basalt'"):
        import_folder(tmp_path, tmp_path / "site")


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="not a repository")
def test_a_commit_is_written_out(tmp_path: Path) -> None:
    commit = export_commit("HEAD", tmp_path / "tree")
    assert len(commit) >= 12
    assert (tmp_path / "tree" / "pyproject.toml").is_file()
    assert import_folder(tmp_path / "tree", tmp_path / "site").joinpath("basalt", "__init__.py").is_file()
    with pytest.raises(ValueError, match="'no-such-commit' is no commit"):
        export_commit("no-such-commit", tmp_path / "other")
