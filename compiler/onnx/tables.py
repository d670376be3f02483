"""Which ONNX operators are supported, by domain and version: for ``bslc ops --onnx`` and ``docs/onnx.md``.

``python -m basalt.compiler.onnx.tables docs/onnx.md`` writes the table anew between the marks in that file.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import registry
from .control import CONTROL
from .host import registry as host
from .schemas import domains, operators, schemas

__all__ = ["Support", "markdown", "support"]

BEGIN, END = "<!-- table: begin -->", "<!-- table: end -->"


@dataclass(frozen=True)
class Support:
    """An operator: the since-versions that are compiled, those that the host computes, and those that are missing."""

    domain: str
    name: str
    compiled: tuple[int, ...]
    host: tuple[int, ...]
    missing: tuple[int, ...]

    def versions_text(self, kind: str) -> str:
        """The versions of a kind (``compiled`` or ``host``)."""
        return " ".join(map(str, getattr(self, kind)))

    def missing_text(self) -> str:
        """The versions that are not supported."""
        return " ".join(map(str, self.missing))

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "domain": self.domain or "ai.onnx",
            "name": self.name,
            "compiled": list(self.compiled),
            "host": list(self.host),
            "missing": list(self.missing),
        }


def support() -> list[Support]:
    """Every operator of every domain."""
    registry.translators()
    return [_entry(domain, name) for domain in domains() for name in operators(domain)]


def _entry(domain: str, name: str) -> Support:
    versions = [s.since for s in schemas(domain, name)]
    compiled, hosted, missing = [], [], []
    for version in versions:
        if registry.find(name, version, domain) is not None or (domain, name) in CONTROL:
            compiled.append(version)
        elif host.find(name, version, domain) is not None:
            hosted.append(version)
        else:
            missing.append(version)
    return Support(domain, name, tuple(compiled), tuple(hosted), tuple(missing))


def markdown(entries: Sequence[Support]) -> str:
    """The table as Markdown, a section a domain."""
    lines: list[str] = []
    for domain in dict.fromkeys(e.domain for e in entries):
        rows = [e for e in entries if e.domain == domain]
        done = sum(len(e.compiled) + len(e.host) for e in rows)
        total = done + sum(len(e.missing) for e in rows)
        lines += [f"### {domain or 'ai.onnx'}", "", f"{done} of {total} versions of {len(rows)} operators.", ""]
        lines += ["| operator | compiled at | by the host at | not supported at |", "|---|---|---|---|"]
        lines += [
            f"| {e.name} | {e.versions_text('compiled')} | {e.versions_text('host')} | {e.missing_text()} |"
            for e in rows
        ]
        lines.append("")
    return "\n".join(lines)


def written(text: str) -> str:
    """A document with the table between its marks made anew."""
    before, _, rest = text.partition(BEGIN)
    after = rest.partition(END)[2]
    return f"{before}{BEGIN}\n\n{markdown(support())}\n{END}{after}"


def main() -> None:
    path = Path(sys.argv[1])
    path.write_text(written(path.read_text()))


if __name__ == "__main__":
    main()
