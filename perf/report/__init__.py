"""``perf report``: result files as one page of HTML that needs nothing else, or as tables of Markdown."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from ..results import Results, ResultsError, load

__all__ = ["collect", "latest_of"]


def collect(paths: Iterable[Path]) -> list[Results]:
    """The results in files, and in those of folders that are of this schema, from the oldest to the newest.

    Raises ResultsError for a file that is named and is none; others in a folder are passed over.
    """
    found = []
    for path in paths:
        if path.is_dir():
            for file in sorted(path.glob("*.json")):
                try:
                    found.append(load(file))
                except ResultsError:
                    continue
        else:
            found.append(load(path))
    if not found:
        raise ResultsError("no result files: give files or folders that 'perf run --output' wrote")
    return sorted(found, key=lambda results: results.date)


def latest_of(found: list[Results]) -> list[Results]:
    """The newest run of each suite: what the page shows beside the history."""
    newest: dict[str, Results] = {}
    for results in found:
        if results.kind == "run":
            for suite in {case.suite for case in results.cases}:
                newest[suite] = results
    return list({id(results): results for results in newest.values()}.values())
