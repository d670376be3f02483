"""Results as lines and words: times, ratios with their intervals, what stands where nothing was measured."""

from __future__ import annotations

from .compare import Verdict
from .contest import Entry
from .peers import OURS
from .results import CaseResult, Peaks
from .statistics import Interval

__all__ = ["contenders_of", "like_of_ours", "line", "peaks_text", "ratio_text", "time_text", "verdict_line"]

# ONNX Runtime computes estimators in float32: its like is ours in float32.
_LIKES = {("sklearn", "ort"): "basalt-f32"}
_QUIET = 0.1


def like_of_ours(suite: str, peer: str, case: CaseResult) -> str:
    """Which of our contenders a peer is compared with: the one that computes in the same type."""
    like = _LIKES.get((suite, peer), "basalt")
    return like if case.measured(like) else "basalt"


def contenders_of(case: CaseResult) -> tuple[list[str], list[str]]:
    """The case's contenders: ours, and peers."""
    ours = [name for name in case.entries if name.partition("@")[0] in OURS]
    return ours, [name for name in case.entries if name not in ours]


def time_text(seconds: float) -> str:
    """A time with three digits: ``1.23 us``, ``45.6 ms``."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= 0.9995 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def ratio_text(interval: Interval, digits: int = 2) -> str:
    """A ratio and its confidence interval."""
    return f"{interval.ratio:.{digits}f} [{interval.low:.{digits}f}, {interval.high:.{digits}f}]"


def peaks_text(peaks: Peaks) -> str:
    """Measured peaks in words."""
    operations = ", ".join(f"{name} {speed / 1e9:.0f}" for name, speed in peaks["operations"].items())
    bandwidth = ", ".join(f"{speed / 1e9:.1f} over {size / 1e6:.3g} MB" for size, speed in peaks["bandwidth"])
    return f"G operations/s: {operations}; triad in GB/s: {bandwidth}"


def line(case: CaseResult) -> str:
    """A case in a line: our times, then each peer's ratio (its time over ours) and interval."""
    ours, peers = contenders_of(case)
    cells = [f"{name} {_own(case, name)}" for name in ours]
    for peer in peers:
        found = case.ratio(peer, like_of_ours(case.suite, peer, case))
        entry = case.entries[peer]
        if found is not None:
            cells.append(f"{peer} {ratio_text(found)}{_undisturbed(case, peer, found)}{_part(entry)}")
        elif entry.state != "cannot":
            cells.append(f"{peer} {entry.state}")
    busy = f"  (others took {case.busy:.0%} of the machine)" if _busy(case) else ""
    return f"{case.suite}/{case.case:<24} {case.threads}T  {'  '.join(cells)}{busy}"


def verdict_line(verdict: Verdict) -> str:
    """A verdict in a line."""
    case = verdict.case
    name = "" if verdict.name == "basalt" else f" ({verdict.name})"
    found = "" if verdict.interval is None else f"  {ratio_text(verdict.interval, 3)}"
    why = f"  ({verdict.why})" if verdict.why else ""
    return f"{verdict.word:<10} {case.suite}/{case.case}{name} {case.threads}T{found}{why}"


def _busy(case: CaseResult) -> bool:
    return case.busy is not None and case.busy > _QUIET


def _undisturbed(case: CaseResult, peer: str, found: Interval) -> str:
    """On a busy machine, what neighbours disturb less: the ratio of lower deciles, at one thread that of CPU times."""
    if not _busy(case):
        return ""
    ours = case.entries[like_of_ours(case.suite, peer, case)].cpu
    cpu = f", cpu {case.entries[peer].cpu / ours:.2f}" if case.threads == 1 and ours else ""
    return f" (best {found.best:.2f}{cpu})"


def _own(case: CaseResult, name: str) -> str:
    found = case.seconds(name)
    return case.entries[name].state if found is None else time_text(found.median)


def _part(entry: Entry) -> str:
    return "" if entry.part == 1 else f" ({entry.part:.2g} measured)"
