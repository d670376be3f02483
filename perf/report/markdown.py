"""Tables of Markdown: a line a case, with times, ratios and the share of the peak at each number of threads."""

from __future__ import annotations

from collections.abc import Sequence

from ..lines import like_of_ours, peaks_text, time_text
from ..results import CaseResult, Results
from .ratios import means
from .roofline import achieved

__all__ = ["markdown"]


def markdown(results: Results) -> str:
    """A table a suite, below what it was measured on."""
    machine, versions = results.machine, results.versions
    listed = ", ".join(f"{name} {version}" for name, version in sorted(versions.items()))
    loads = "; ".join(f"{when} {', '.join(f'{v:.2f}' for v in values)}" for when, values in results.load.items())
    lines = [
        f"Commit {results.commit}, {results.date}. {machine.get('cpu', 'unknown processor')}, "
        f"{machine.get('cores')} cores; load {loads}. {listed}."
        + (" Times are CPU seconds of the process." if results.settings.get("clock") == "cpu" else ""),
        "",
    ]
    for threads, peaks in results.peaks.items():
        lines.append(f"Measured peaks at {threads} thread(s): {peaks_text(peaks)}.")
    for suite in dict.fromkeys(case.suite for case in results.cases):
        lines += ["", f"### {suite}", "", *_table(results, suite)]
    return "\n".join(lines) + "\n"


def _table(results: Results, suite: str) -> list[str]:
    cases = [case for case in results.cases if case.suite == suite]
    counts = sorted({case.threads for case in cases})
    names = list(dict.fromkeys(case.case for case in cases))
    contenders = list(dict.fromkeys(name for case in cases for name in case.entries if case.measured(name)))
    ours = [name for name in contenders if name.startswith("basalt")]
    peers = [name for name in contenders if name not in ours]
    head = ["case"]
    for threads in counts:
        head += [f"{name} {threads}T" for name in ours]
        head += [f"{peer} {threads}T (ratio)" for peer in peers]
        head += [f"of the limit {threads}T"] if results.peaks else []
    lines = [f"| {' | '.join(head)} |", f"|---|{'---:|' * (len(head) - 1)}"]
    for name in names:
        cells = [name]
        for threads in counts:
            cells += _cells(results, results.find(suite, name, threads), threads, ours, peers)
        lines.append(f"| {' | '.join(cells)} |")
    return [*lines, "", *_means(cases, counts)]


def _cells(results: Results, case: CaseResult | None, threads: int, ours: list[str], peers: list[str]) -> list[str]:
    shares = 1 if results.peaks else 0
    if case is None:
        return [""] * (len(ours) + len(peers) + shares)
    cells = [_time(case, name) for name in ours]
    for peer in peers:
        interval = case.ratio(peer, like_of_ours(case.suite, peer, case))
        cells.append(_time(case, peer) + (f" ({interval.ratio:.2f})" if interval else ""))
    if shares:
        point = achieved(case, results.peaks.get(str(threads), {}))
        cells.append(f"{point.share:.0%} {point.limit}" if point else "")
    return cells


def _time(case: CaseResult, name: str) -> str:
    found = case.seconds(name)
    if found is None:
        entry = case.entries.get(name)
        return "" if entry is None or entry.state == "cannot" else entry.state
    mark = "" if case.entries[name].part == 1 else "~"
    return mark + time_text(found.median)


def _means(cases: Sequence[CaseResult], counts: Sequence[int]) -> list[str]:
    lines = []
    for threads in counts:
        found = means([case for case in cases if case.threads == threads])
        if found:
            text = ", ".join(f"{peer} {mean:.2f} ({count})" for peer, (mean, count) in found.items())
            lines += [f"Geometric means at {threads} thread(s), and of how many cases: {text}.", ""]
    return lines
