"""``perf compare``: an earlier commit beside this tree, both in turns in one run."""

from __future__ import annotations

import io
import subprocess
import tarfile
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from .contest import Settings
from .results import CaseResult, Results
from .run import Plan, commit_of, measure
from .site import ROOT, import_folder
from .statistics import Interval, is_regression
from .suites import Case
from .turns import Contender

__all__ = ["BASE", "NEW", "Verdict", "compare", "confirm", "export_commit", "verdict_of", "verdicts"]

NEW, BASE = "new", "base"
_FAMILY = 0.05
"""The chance that a run without any regression calls one, before it is confirmed."""


@dataclass(frozen=True)
class Verdict:
    """What is said of a case: ``same``, ``faster``, ``regression``, ``gone`` (it ran in the base), or ``none``."""

    case: CaseResult
    name: str
    word: str
    interval: Interval | None = None
    why: str = ""


def verdicts(results: Results, margin: float) -> list[Verdict]:
    """A verdict on each case that was measured in the base.

    Intervals are as wide as the number of cases asks for (Bonferroni): a run over many cases calls a regression where
    there is none no more often than one over a single case.
    """
    pairs = [(case, name) for case in results.cases for name in _names(case)]
    confidence = 1 - _FAMILY / max(len(pairs), 1)
    return [verdict_of(case, name, confidence, margin) for case, name in pairs]


def verdict_of(case: CaseResult, name: str, confidence: float, margin: float) -> Verdict:
    """The verdict on a case: slower or faster only if the whole interval of new over old lies beyond the margin."""
    new, old = f"{name}@{NEW}", f"{name}@{BASE}"
    interval = case.ratio(new, old, confidence)
    if interval is None:
        entry = case.entries[new]
        word = "gone" if case.measured(old) and entry.state != "measured" else "none"
        return Verdict(case, name, word, None, entry.why or case.entries[old].why)
    if is_regression(interval, margin):
        return Verdict(case, name, "regression", interval)
    return Verdict(case, name, "faster" if interval.high < 1 - margin else "same", interval)


def _names(case: CaseResult) -> list[str]:
    return list(dict.fromkeys(name.rpartition("@")[0] for name in case.entries))


def compare(
    base: str,
    cases: Sequence[Case],
    threads: Sequence[int],
    settings: Settings,
    show: Callable[[CaseResult], None],
    names: Sequence[str] = ("basalt",),
    work: Path | None = None,
    margin: float = 0.02,
) -> tuple[Results, list[Verdict]]:
    """Measure this tree and a commit; what looks like a regression is called one if a second measurement says so too.

    Args:
        base: a commit of this repository, by any name of git's.
        names: contenders of Basalt's own to compare.
        work: a folder that keeps compiled kernels for the next comparison; a temporary one by default.

    Raises:
        ValueError: if the commit is not there.
    """
    with tempfile.TemporaryDirectory(prefix="basalt-perf-") as folder:
        place = Path(folder)
        kept = work or place
        commit = export_commit(base, place / "tree")
        sites = {
            NEW: import_folder(ROOT, place / "site-new"),
            BASE: import_folder(place / "tree", place / "site-base"),
        }
        caches = {NEW: kept / "kernels-new", BASE: kept / f"kernels-{commit}"}

        def contenders(count: int) -> list[Contender]:
            return [
                Contender(name, count, sites[side], f"{name}@{side}", (("BASALT_CACHE_DIR", str(caches[side])),))
                for name in names
                for side in (NEW, BASE)
            ]

        plan = Plan("compare", cases, contenders, threads, settings)
        results = measure(plan, place, show)
        results.commits = {NEW: commit_of(ROOT), BASE: commit}
        found = verdicts(results, margin)
        return results, confirm(found, plan, place, margin)


def confirm(found: list[Verdict], plan: Plan, work: Path, margin: float) -> list[Verdict]:
    """The verdicts after measuring regressions once more, with new processes and another order of turns."""
    suspects = {(v.case.suite, v.case.case) for v in found if v.word == "regression"}
    if not suspects:
        return found
    cases = [case for case in plan.cases if (case.suite, case.name) in suspects]
    settings = replace(plan.settings, seed=plan.settings.seed + 1)
    again = measure(replace(plan, cases=cases, settings=settings), work, lambda case: None)
    confirmed = []
    for verdict in found:
        second = again.find(verdict.case.suite, verdict.case.case, verdict.case.threads)
        if verdict.word == "regression" and second is not None:
            confidence = verdict.interval.confidence if verdict.interval else 1 - _FAMILY
            repeated = verdict_of(second, verdict.name, confidence, margin)
            if repeated.word != "regression":
                verdict = replace(verdict, word="same", why="a second measurement did not confirm it")
        confirmed.append(verdict)
    return confirmed


def export_commit(base: str, target: Path) -> str:
    """Write a commit's files into a folder; its short name. Raises ValueError if there is no such commit."""
    found = subprocess.run(
        ["git", "rev-parse", "--verify", "--quiet", "--short=12", f"{base}^{{commit}}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if found.returncode:
        raise ValueError(f"{base!r} is no commit of {ROOT}")
    commit = found.stdout.strip()
    archive = subprocess.run(["git", "archive", "--format=tar", commit], cwd=ROOT, capture_output=True, check=True)
    with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as files:
        files.extractall(target, filter="data")
    return commit
