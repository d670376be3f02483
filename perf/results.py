"""Result files: JSON of a versioned schema, checked when they are read.

``schema`` is ``basalt-perf/1``; a reader refuses another number.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from .contest import Entry
from .statistics import Interval, Spread, ratio, spread

__all__ = ["SCHEMA", "CaseResult", "Peaks", "Results", "ResultsError", "load", "save"]

SCHEMA = "basalt-perf/1"
Peaks: TypeAlias = dict[str, Any]


class ResultsError(Exception):
    """A file is no result file of this schema; the message says what is wrong with it."""


@dataclass
class CaseResult:
    """A case at a number of threads: what came of each contender."""

    suite: str
    case: str
    threads: int
    work: dict[str, float]
    entries: dict[str, Entry]
    busy: float | None = None
    """The share of the machine that others took while it was measured; None where the system does not tell."""

    def measured(self, contender: str) -> Entry | None:
        """The contender's entry if it was measured."""
        entry = self.entries.get(contender)
        return entry if entry is not None and entry.state == "measured" else None

    def seconds(self, contender: str) -> Spread | None:
        """Seconds of a call; None if it was not measured."""
        entry = self.measured(contender)
        return spread(entry.samples) if entry else None

    def ratio(self, peer: str, ours: str, confidence: float = 0.95) -> Interval | None:
        """The peer's time over ours: above 1 we are faster. None if one of them was not measured."""
        above, below = self.measured(peer), self.measured(ours)
        if above is None or below is None:
            return None
        return ratio(above.samples, below.samples, confidence)


@dataclass
class Results:
    """All of one run."""

    kind: str
    """``run`` or ``compare``."""
    commit: str
    date: str
    machine: dict[str, Any]
    versions: dict[str, str]
    settings: dict[str, Any]
    load: dict[str, list[float]]
    cases: list[CaseResult] = field(default_factory=list)
    peaks: dict[str, Peaks] = field(default_factory=dict)
    """By number of threads: ``operations`` a second by data type, and ``bandwidth``: pairs of the bytes of a triad's
    arrays and bytes a second."""
    commits: dict[str, str] = field(default_factory=dict)
    """Of a comparison: the commit of each contender."""

    def find(self, suite: str, case: str, threads: int) -> CaseResult | None:
        """A case's result; None if it is not there."""
        return next((c for c in self.cases if (c.suite, c.case, c.threads) == (suite, case, threads)), None)


def save(results: Results, path: Path) -> None:
    """Write a result file. It appears under its name only when it is complete."""
    value = {"schema": SCHEMA, **asdict(results)}
    for case, entry in zip(value["cases"], results.cases, strict=True):
        case["summary"] = _summary(entry)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        temporary.write_text(json.dumps(value, indent=1, allow_nan=False) + "\n")
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def _summary(case: CaseResult) -> dict[str, Any]:
    """Medians and ratios, for readers without this module: all of it follows from the samples."""
    medians = {name: spread(entry.samples).median for name, entry in case.entries.items() if case.measured(name)}
    ours = [name for name in medians if name.startswith("basalt")]
    peers = [name for name in medians if name not in ours]
    ratios = {f"{peer}/{own}": asdict(case.ratio(peer, own)) for own in ours for peer in peers}  # type: ignore[call-overload]
    return {"median_seconds": medians, "ratios": ratios}


def load(path: Path) -> Results:
    """Read a result file.

    Raises:
        ResultsError: if it is none, or of another schema.
        OSError: if it cannot be read.
    """
    try:
        value = json.loads(path.read_text())
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ResultsError(f"{path}: no JSON: {error}") from error
    if not isinstance(value, dict) or value.get("schema") != SCHEMA:
        found = value.get("schema") if isinstance(value, dict) else type(value).__name__
        raise ResultsError(f"{path}: schema is {found!r}, expected {SCHEMA!r}")
    try:
        return _results(value)
    except (KeyError, TypeError, AttributeError) as error:
        raise ResultsError(f"{path}: a field is missing or of another type: {error}") from error


def _results(value: Mapping[str, Any]) -> Results:
    cases = []
    for case in value["cases"]:
        entries = {name: Entry(**entry) for name, entry in case["entries"].items()}
        for entry in entries.values():
            entry.samples = [[float(seconds) for seconds in launch] for launch in entry.samples]
        cases.append(
            CaseResult(case["suite"], case["case"], int(case["threads"]), dict(case["work"]), entries, case["busy"])
        )
    names = ("kind", "commit", "date", "machine", "versions", "settings", "load", "peaks", "commits")
    return Results(cases=cases, **{name: value[name] for name in names})
