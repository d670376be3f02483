"""The plot of ratios: a row a case, a mark a peer, with what the rounds and the bootstrap say about it."""

from __future__ import annotations

from collections.abc import Sequence

from ..lines import contenders_of, like_of_ours, ratio_text
from ..results import CaseResult
from ..statistics import Interval, geometric_mean
from .svg import COLOURS, Axis, circle, legend, line, svg, text

__all__ = ["means", "ratio_plot", "ratios_of"]

_LEFT, _RIGHT, _WIDTH, _TOP, _LANE = 240, 60, 940, 46, 12


def ratios_of(case: CaseResult) -> dict[str, Interval]:
    """The case's ratios by peer: the peer's time over ours."""
    _, peers = contenders_of(case)
    found = {peer: case.ratio(peer, like_of_ours(case.suite, peer, case)) for peer in peers}
    return {peer: interval for peer, interval in found.items() if interval is not None}


def means(cases: Sequence[CaseResult]) -> dict[str, tuple[float, int]]:
    """By peer: the geometric mean of its ratios, and of how many cases."""
    by_peer: dict[str, list[float]] = {}
    for case in cases:
        for peer, interval in ratios_of(case).items():
            by_peer.setdefault(peer, []).append(interval.ratio)
    return {peer: (geometric_mean(values), len(values)) for peer, values in by_peer.items()}


def ratio_plot(cases: Sequence[CaseResult], label: str) -> str:
    """A drawing of all cases at one number of threads; empty if no peer was measured."""
    rows = [(case, ratios_of(case)) for case in cases]
    rows = [(case, ratios) for case, ratios in rows if ratios]
    if not rows:
        return ""
    peers = list(dict.fromkeys(peer for _, ratios in rows for peer in ratios))
    colours = {peer: COLOURS[i % len(COLOURS)] for i, peer in enumerate(peers)}
    ends = [v for _, ratios in rows for i in ratios.values() for v in (i.rounds.quantiles[0], i.rounds.quantiles[3])]
    axis = Axis.around(ends, _LEFT, _WIDTH - _RIGHT, always=(0.8, 2.0))
    heights = [_LANE * len(ratios) + 8 for _, ratios in rows]
    bottom = _TOP + sum(heights)
    parts = [*legend(_LEFT, 16, list(colours.items())), *_grid(axis, bottom)]
    y = float(_TOP)
    for (case, ratios), height in zip(rows, heights, strict=True):
        parts.append(text(_LEFT - 10, y + height / 2 + 4, case.case, "end"))
        for i, (peer, interval) in enumerate(ratios.items()):
            parts += _mark(axis, y + 4 + _LANE * (i + 0.5), interval, colours[peer], f"{case.case}: {peer}")
        y += height
    return svg(_WIDTH, bottom + 26, parts, label)


def _grid(axis: Axis, bottom: float) -> list[str]:
    parts = []
    for value in axis.ticks():
        x = axis.at(value)
        parts += [line(x, _TOP, x, bottom), text(x, bottom + 16, f"{value:g}", "middle", "tick")]
    x = axis.at(1.0)
    return [*parts, line(x, _TOP - 6, x, bottom, "even"), text(x, _TOP - 10, "1: as fast", "middle", "tick")]


def _mark(axis: Axis, y: float, interval: Interval, colour: str, name: str) -> list[str]:
    """A thin line over the middle 90 percent of the rounds, a thick one over the interval, a dot at the ratio."""
    low, _, _, high = interval.rounds.quantiles
    title = f"{name} {ratio_text(interval)}, rounds {low:.2f} to {high:.2f}"
    return [
        line(axis.at(low), y, axis.at(high), y, "mark", colour, 1),
        line(axis.at(interval.low), y, axis.at(interval.high), y, "mark", colour, 4),
        circle(axis.at(interval.ratio), y, colour, title),
    ]
