"""The history: how ratios went from commit to commit."""

from __future__ import annotations

from collections.abc import Sequence

from ..results import Results
from .ratios import means, ratios_of
from .svg import COLOURS, Axis, circle, legend, line, path, svg, text

__all__ = ["Track", "case_tracks", "history_plot", "mean_tracks"]

_WIDTH, _HEIGHT, _LEFT, _TOP, _BOTTOM = 940, 300, 60, 40, 70
Track = list[tuple[int, float]]
"""The number of a run in the history, and a ratio in it."""


def mean_tracks(runs: Sequence[Results], suite: str, threads: int) -> dict[str, Track]:
    """By peer: the geometric mean of the suite's ratios in each run that has it."""
    tracks: dict[str, Track] = {}
    for i, run in enumerate(runs):
        cases = [case for case in run.cases if case.suite == suite and case.threads == threads]
        for peer, (mean, _) in means(cases).items():
            tracks.setdefault(peer, []).append((i, mean))
    return tracks


def case_tracks(runs: Sequence[Results], suite: str, threads: int) -> dict[tuple[str, str], Track]:
    """By case and peer: its ratio in each run that has it."""
    tracks: dict[tuple[str, str], Track] = {}
    for i, run in enumerate(runs):
        for case in run.cases:
            if case.suite == suite and case.threads == threads:
                for peer, interval in ratios_of(case).items():
                    tracks.setdefault((case.case, peer), []).append((i, interval.ratio))
    return tracks


def history_plot(runs: Sequence[Results], tracks: dict[str, Track], label: str) -> str:
    """A line a peer over the runs, which are named by commit; empty where there are fewer than two runs."""
    if len(runs) < 2 or not any(len(track) > 1 for track in tracks.values()):
        return ""
    y = Axis.around([v for t in tracks.values() for _, v in t], _HEIGHT - _BOTTOM, _TOP, always=(0.9, 1.5))
    step = (_WIDTH - _LEFT - 40) / max(len(runs) - 1, 1)
    parts = [line(_LEFT, y.at(v), _WIDTH - 30, y.at(v)) for v in y.ticks()]
    parts += [text(_LEFT - 6, y.at(v) + 4, f"{v:g}", "end", "tick") for v in y.ticks()]
    parts.append(line(_LEFT, y.at(1.0), _WIDTH - 30, y.at(1.0), "even"))
    every = max(1, len(runs) // 12)
    for i, run in enumerate(runs):
        if i % every == 0:
            parts.append(text(_LEFT + i * step, _HEIGHT - _BOTTOM + 18, run.commit[:9], "middle", "tick"))
            parts.append(text(_LEFT + i * step, _HEIGHT - _BOTTOM + 34, run.date[:10], "middle", "tick"))
    entries = []
    for k, (name, track) in enumerate(tracks.items()):
        colour = COLOURS[k % len(COLOURS)]
        entries.append((name, colour))
        points = [(_LEFT + i * step, y.at(value)) for i, value in track]
        parts.append(path(points, colour))
        for (i, value), (px, py) in zip(track, points, strict=True):
            parts.append(circle(px, py, colour, f"{name} {value:.2f} at {runs[i].commit}"))
    return svg(_WIDTH, _HEIGHT, [*parts, *legend(_LEFT, 16, entries)], label)
