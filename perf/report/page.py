"""The page: machine and versions, ratios, roofline, history; style and drawings within the file."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from ..lines import contenders_of, like_of_ours, peaks_text, ratio_text, time_text
from ..results import CaseResult, Results
from . import latest_of
from .history import Track, case_tracks, history_plot, mean_tracks
from .ratios import means, ratio_plot
from .roofline import achieved, roofline_plot

__all__ = ["page"]

_STYLE = """
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 1000px; margin: 2em auto; padding: 0 1em; }
h1 { font-size: 1.5em; } h2 { margin-top: 2em; } h3 { margin-top: 1.6em; font-size: 1.05em; }
table { border-collapse: collapse; font-size: 13px; }
th, td { padding: 2px 10px 2px 0; text-align: left; border-bottom: 1px solid #8884; white-space: nowrap; }
td.n { text-align: right; font-variant-numeric: tabular-nums; } td.lost { color: #c0392b; }
svg { max-width: 100%; height: auto; } svg text { font: 12px system-ui, sans-serif; fill: currentColor; }
svg text.tick { font-size: 11px; opacity: .7; } .grid { stroke: #8883; }
.even { stroke: currentColor; stroke-dasharray: 3 3; } .note { opacity: .75; } .wide { overflow-x: auto; }
"""


def page(found: Sequence[Results]) -> str:
    """The page of results, oldest first; all but the newest run of each suite is history."""
    runs = [results for results in found if results.kind == "run"]
    shown = latest_of(list(found))
    parts = [_heading(results) + _suites(results) for results in shown]
    parts.append(_history(runs))
    body = "\n".join(parts)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>Basalt: speed</title>\n'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head>\n'
        f"<body><h1>Basalt: speed</h1>\n<p>Ratios are the other's time over Basalt's, of medians: above 1 Basalt is "
        f"faster. A thick line is the 95% confidence interval of the ratio, a thin one what 90% of the rounds gave."
        f"</p>\n{body}\n</body></html>\n"
    )


def _heading(results: Results) -> str:
    machine = results.machine
    facts = [f"commit {results.commit}", results.date, str(machine.get("cpu", "")), f"{machine.get('cores')} cores"]
    facts += [f"{level} {size}" for level, size in machine.get("caches", {}).items()]
    if "governor" in machine:
        facts.append(f"governor {machine['governor']}")
    for when, values in results.load.items():
        facts.append(f"load {when} {', '.join(f'{v:.1f}' for v in values)}")
    versions = ", ".join(f"{name} {version}" for name, version in sorted(results.versions.items()))
    peaks = "; ".join(f"{threads} thread(s): {peaks_text(found)}" for threads, found in results.peaks.items())
    clock = "Times are CPU seconds of the process." if results.settings.get("clock") == "cpu" else ""
    lines = [" · ".join(facts), versions, clock, f"Measured peaks: {peaks}" if peaks else ""]
    return "".join(f'<p class="note">{escape(line)}</p>\n' for line in lines if line)


def _suites(results: Results) -> str:
    parts = []
    for suite in dict.fromkeys(case.suite for case in results.cases):
        parts.append(f"<h2>{escape(suite)}</h2>")
        for threads in sorted({case.threads for case in results.cases if case.suite == suite}):
            cases = [c for c in results.cases if c.suite == suite and c.threads == threads]
            parts.append(_at_threads(results, suite, threads, cases))
    return "\n".join(parts)


def _at_threads(results: Results, suite: str, threads: int, cases: Sequence[CaseResult]) -> str:
    title = f"{suite}, {threads} thread{'s' if threads > 1 else ''}"
    peaks = results.peaks.get(str(threads), {})
    points = [point for point in (achieved(case, peaks) for case in cases) if point is not None]
    geometric = ", ".join(f"{peer} {mean:.2f} ({count} cases)" for peer, (mean, count) in means(cases).items())
    plots = [ratio_plot(cases, f"Ratios by case: {title}"), roofline_plot(points, peaks, f"Roofline: {title}")]
    shares = {point.case.case: f"{point.share:.0%} {point.limit}" for point in points}
    return "\n".join(
        [
            f"<h3>{escape(title)}</h3>",
            f"<p>Geometric means: {escape(geometric)}</p>" if geometric else "",
            *plots,
            _table(cases, shares),
        ]
    )


def _table(cases: Sequence[CaseResult], shares: dict[str, str]) -> str:
    peers = list(dict.fromkeys(peer for case in cases for peer in contenders_of(case)[1]))
    ours = list(dict.fromkeys(name for case in cases for name in contenders_of(case)[0]))
    head = "".join(f"<th>{escape(name)}</th>" for name in ["case", *ours, *peers, "of the limit", "others took"])
    rows = []
    for case in cases:
        cells = [_time_cell(case, name) for name in ours] + [_ratio_cell(case, peer) for peer in peers]
        busy = "" if case.busy is None else f"{case.busy:.0%}"
        cells += [f'<td class="n">{shares.get(case.case, "")}</td>', f'<td class="n">{busy}</td>']
        rows.append(f"<tr><td>{escape(case.case)}</td>{''.join(cells)}</tr>")
    return f'<div class="wide"><table><tr>{head}</tr>\n' + "\n".join(rows) + "</table></div>"


def _time_cell(case: CaseResult, name: str) -> str:
    found = case.seconds(name)
    if found is None:
        return _missing_cell(case, name)
    low, _, _, high = found.quantiles
    title = f"90% of the rounds: {time_text(low)} to {time_text(high)}"
    return f'<td class="n" title="{escape(title)}">{time_text(found.median)}</td>'


def _ratio_cell(case: CaseResult, peer: str) -> str:
    found = case.ratio(peer, like_of_ours(case.suite, peer, case))
    if found is None:
        return _missing_cell(case, peer)
    entry = case.entries[peer]
    part = "" if entry.part == 1 else f"; {entry.part:.2g} of it measured"
    note = escape(f"{entry.note}{part}", quote=True)
    return f'<td class="n{" lost" if found.high < 1 else ""}" title="{note}">{ratio_text(found)}</td>'


def _missing_cell(case: CaseResult, name: str) -> str:
    entry = case.entries.get(name)
    if entry is None or entry.state == "cannot":
        return "<td></td>"
    return f'<td class="lost" title="{escape(entry.why, quote=True)}">{entry.state}</td>'


def _history(runs: Sequence[Results]) -> str:
    parts = []
    for suite in dict.fromkeys(case.suite for run in runs for case in run.cases):
        for threads in sorted({c.threads for run in runs for c in run.cases if c.suite == suite}):
            title = f"{suite}, {threads} thread(s): geometric mean of the ratios by commit"
            plot = history_plot(runs, mean_tracks(runs, suite, threads), title)
            if plot:
                table = _track_table(case_tracks(runs, suite, threads), runs)
                parts.append(f"<h3>{escape(title)}</h3>\n{plot}\n{table}")
    return "<h2>History</h2>\n" + "\n".join(parts) if parts else ""


def _track_table(tracks: dict[tuple[str, str], Track], runs: Sequence[Results]) -> str:
    head = "".join(f"<th>{escape(run.commit[:9])}</th>" for run in runs)
    rows = []
    for (case, peer), track in tracks.items():
        values = dict(track)
        cells = "".join(f'<td class="n">{f"{values[i]:.2f}" if i in values else ""}</td>' for i in range(len(runs)))
        rows.append(f"<tr><td>{escape(case)}</td><td>{escape(peer)}</td>{cells}</tr>")
    table = f"<table><tr><th>case</th><th>against</th>{head}</tr>\n" + "\n".join(rows) + "</table>"
    return f'<details><summary>Each case</summary><div class="wide">{table}</div></details>'
