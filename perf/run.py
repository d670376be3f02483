"""``perf run``: all cases of a suite among contenders, at each number of threads."""

from __future__ import annotations

import datetime
import fnmatch
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from . import machine
from .contest import Entry, Pool, Settings, contest
from .progress import Tick, progress
from .results import CaseResult, Peaks, Results
from .site import ROOT, import_folder
from .suites import Case, Options, load_suite
from .turns import Contender, WorkerProcess

__all__ = ["Plan", "chosen_cases", "commit_of", "failures", "measure", "run"]


@dataclass(frozen=True)
class Plan:
    """What is measured: contenders by number of threads, cases, how."""

    kind: str
    cases: Sequence[Case]
    contenders: Callable[[int], Sequence[Contender]]
    threads: Sequence[int]
    settings: Settings
    peaks: bool = False


def chosen_cases(suites: Iterable[str], only: Sequence[str], options: Options) -> list[Case]:
    """The cases of suites whose name, or ``suite/name``, matches one of the patterns (all without a pattern)."""
    cases = [case for suite in suites for case in load_suite(suite).cases(options)]
    if not only:
        return cases
    return [c for c in cases if any(_matches(c, pattern) for pattern in only)]


def _matches(case: Case, pattern: str) -> bool:
    name = f"{case.suite}/{case.name}"
    return pattern in name or fnmatch.fnmatch(name, pattern) or fnmatch.fnmatch(case.name, pattern)


def run(
    cases: Sequence[Case],
    peers: Sequence[str],
    threads: Sequence[int],
    settings: Settings,
    show: Callable[[CaseResult], None],
    peaks: bool = False,
) -> Results:
    """Measure this tree's Basalt against peers; ``show`` is given each result as it comes."""
    with tempfile.TemporaryDirectory(prefix="basalt-perf-") as folder:
        work = Path(folder)
        site = import_folder(ROOT, work / "site")
        names = list(dict.fromkeys(["basalt", *peers]))

        def contenders(count: int) -> list[Contender]:
            return [Contender(name, count, site) for name in names]

        return measure(Plan("run", cases, contenders, threads, settings, peaks), work, show)


def measure(plan: Plan, work: Path, show: Callable[[CaseResult], None]) -> Results:
    """Measure a plan; problems are built in ``work``."""
    results = Results(
        kind=plan.kind,
        commit=commit_of(ROOT),
        date=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        machine=machine.describe(),
        versions={},
        settings=asdict(plan.settings) | {"threads": list(plan.threads)},
        load={"before": machine.load()},
    )
    start = time.monotonic()
    builder = plan.contenders(plan.threads[0])[0]
    with progress(len(plan.cases) * len(plan.threads)) as tick:
        if plan.peaks:
            tick("peaks of the machine", False)
            results.peaks = _peaks(plan, builder)
        _measure_launches(plan, work, results, tick, show)
    results.load["after"] = machine.load()
    results.settings["seconds"] = round(time.monotonic() - start, 1)
    return results


def _measure_launches(plan: Plan, work: Path, results: Results, tick: Tick, show: Callable[[CaseResult], None]) -> None:
    """All cases with the processes of a launch, then again with others; a case is shown after its last launch."""
    built: dict[str, Path] = {}
    for launch in range(plan.settings.launches):
        pool = Pool(plan.settings)
        try:
            for case in plan.cases:
                folder = built.get(case.problem) or _build(case, work, plan)
                built[case.problem] = folder
                for threads in plan.threads:
                    result = _measure_case(plan, case, folder, threads, pool, tick, launch)
                    kept = _merged(results, result)
                    tick(f"{case.name}", launch == plan.settings.launches - 1)
                    if launch == plan.settings.launches - 1:
                        show(kept)
        finally:
            results.versions |= pool.versions
            pool.close()


def _measure_case(
    plan: Plan, case: Case, folder: Path, threads: int, pool: Pool, tick: Tick, launch: int
) -> CaseResult:
    def say(what: str) -> None:
        tick(f"{case.suite}/{case.name}, {threads} thread(s), launch {launch + 1}: {what}", False)

    before, own = machine.busy_ticks(), pool.cpu_ticks()
    entries = contest(case, folder, plan.contenders(threads), pool, plan.settings, say)
    busy = _taken_by_others(before, machine.busy_ticks(), pool.cpu_ticks() - own)
    return CaseResult(case.suite, case.name, threads, dict(case.work), entries, busy)


def _taken_by_others(before: tuple[int, int] | None, after: tuple[int, int] | None, own: int) -> float | None:
    """The share of the machine's CPU time that went neither to our processes nor to idling."""
    if before is None or after is None or after[1] <= before[1]:
        return None
    busy, total = (b - a for a, b in zip(before, after, strict=True))
    return round(max(0.0, busy - own) / total, 3)


def _merged(results: Results, result: CaseResult) -> CaseResult:
    """The result in the file: samples of another launch are added; a contender that failed in one has failed."""
    kept = results.find(result.suite, result.case, result.threads)
    if kept is None:
        results.cases.append(result)
        return result
    for name, entry in result.entries.items():
        kept.entries[name] = _both(kept.entries[name], entry)
    if kept.busy is not None and result.busy is not None:
        kept.busy = max(kept.busy, result.busy)
    return kept


def _both(first: Entry, second: Entry) -> Entry:
    if first.state != "measured" or second.state != "measured":
        return first if first.state != "measured" else second
    second.samples = first.samples + second.samples
    return second


def _build(case: Case, work: Path, plan: Plan) -> Path:
    """The folder of a case's problem, built in a process of its own.

    Raises Refused with what went wrong if it cannot be built.
    """
    folder = work / "problems" / case.suite / case.problem
    folder.mkdir(parents=True, exist_ok=True)
    with WorkerProcess(plan.contenders(max(plan.threads))[0]) as worker:
        worker.ask({"do": "build", "case": case.to_json(), "folder": str(folder)}, plan.settings.timeout)
    return folder


def _peaks(plan: Plan, contender: Contender) -> dict[str, Peaks]:
    found: dict[str, Peaks] = {}
    for threads in plan.threads:
        with WorkerProcess(Contender("basalt", threads, contender.site)) as worker:
            found[str(threads)] = worker.ask({"do": "peaks"}, plan.settings.timeout)["peaks"]
    return found


def commit_of(tree: Path) -> str:
    """The commit that a tree is at, with ``-dirty`` if files differ from it; ``unknown`` outside of a repository."""
    try:
        found = subprocess.run(
            ["git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"],
            cwd=tree,
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError:
        return "unknown"
    return found.stdout.strip() or "unknown"


def failures(cases: Iterable[CaseResult], ours: Iterable[str]) -> list[str]:
    """A line for each case that ours could not do or did wrong."""
    lines = []
    for case in cases:
        for name in ours:
            entry = case.entries.get(name)
            if entry is not None and entry.state in ("wrong", "failed"):
                lines.append(f"{case.suite}/{case.case} ({case.threads} threads): {name} {entry.state}: {entry.why}")
    return lines
