"""The roofline (Williams, Waterman and Patterson, 2009): what is achieved against what the machine can do at most."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..lines import time_text
from ..results import CaseResult, Peaks
from .svg import COLOURS, Axis, circle, line, path, svg, text

__all__ = ["Achieved", "achieved", "roofline_plot"]

_WIDTH, _HEIGHT, _LEFT, _BOTTOM, _TOP = 940, 420, 70, 50, 24


@dataclass(frozen=True)
class Achieved:
    """Operations/s and bytes/s of ours in a case, and the share of its time that the machine's limits explain.

    ``limit`` is what would limit it: the data type's arithmetic, or ``memory``: the bandwidth that a triad over as many
    bytes has, from the cache that can hold them.
    """

    case: CaseResult
    seconds: float
    operations: float
    bytes: float
    share: float
    limit: str


def achieved(case: CaseResult, peaks: Peaks) -> Achieved | None:
    """What was achieved; None without a time, known work or measured peaks."""
    found = case.seconds("basalt")
    dtype = "int8" if "int8" in case.work else "float32"
    operations = case.work.get("int8", case.work.get("flops", 0.0))
    moved = case.work.get("bytes", 0.0)
    if found is None or not (operations or moved) or not peaks:
        return None
    arithmetic, memory = operations / peaks["operations"][dtype], moved / _bandwidth(peaks, moved)
    return Achieved(
        case,
        found.median,
        operations / found.median,
        moved / found.median,
        max(arithmetic, memory) / found.median,
        dtype if arithmetic >= memory else "memory",
    )


def _bandwidth(peaks: Peaks, nbytes: float) -> float:
    pairs = peaks["bandwidth"]
    return float(next((speed for size, speed in pairs if nbytes <= size), pairs[-1][1]))


def roofline_plot(points: Sequence[Achieved], peaks: Peaks, label: str) -> str:
    """Achieved FLOP/s over the FLOPs that a kernel does for each byte it must move; both axes logarithmic."""
    shown = [point for point in points if point.case.work.get("flops") and point.bytes]
    if not shown:
        return ""
    top, memory, cache = peaks["operations"]["float32"], peaks["bandwidth"][-1][1], peaks["bandwidth"][0][1]
    right, bottom = _WIDTH - 30, _HEIGHT - _BOTTOM
    x = Axis.around([p.operations / p.bytes for p in shown], _LEFT, right, always=(0.25, top / memory))
    y = Axis.around([p.operations for p in shown], bottom, _TOP, always=(top, top / 100))
    parts = _scales(x, y)
    roofs = (
        f"GFLOP/s; roofs: {top / 1e9:.0f} GFLOP/s, {cache / 1e9:.0f} GB/s from caches, {memory / 1e9:.1f} from memory"
    )
    parts += [text(_LEFT, 14, roofs, kind="tick"), text(right, _HEIGHT - 12, "FLOPs a byte", "end", "tick")]
    for slope in (memory, cache):
        # Below the axis' start a roof leaves the drawing.
        start = max(x.low, y.low / slope)
        places = [value for value in (start, top / slope, x.high) if start <= value <= x.high]
        parts.append(path([(x.at(value), y.at(min(top, slope * value))) for value in places], COLOURS[1], 2))
    for point in shown:
        title = (
            f"{point.case.case}: {point.operations / 1e9:.1f} GFLOP/s, {point.bytes / 1e9:.1f} GB/s in "
            f"{time_text(point.seconds)}, {point.share:.0%} of the limit ({point.limit})"
        )
        parts.append(circle(x.at(point.operations / point.bytes), y.at(point.operations), COLOURS[0], title))
    return svg(_WIDTH, _HEIGHT, parts, label)


def _scales(x: Axis, y: Axis) -> list[str]:
    parts = [line(x.at(v), _TOP, x.at(v), _HEIGHT - _BOTTOM) for v in x.ticks()]
    parts += [text(x.at(v), _HEIGHT - _BOTTOM + 16, f"{v:g}", "middle", "tick") for v in x.ticks()]
    parts += [line(_LEFT, y.at(v), _WIDTH - 30, y.at(v)) for v in y.ticks()]
    return parts + [text(_LEFT - 6, y.at(v) + 4, f"{v / 1e9:g}", "end", "tick") for v in y.ticks()]
