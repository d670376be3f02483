"""The page: data, style and script in one file that needs nothing else.

No text of the model is ever part of the markup but the title, which is escaped: everything else is data that the
script puts into text nodes. A policy in the page's head lets only this script and this style take effect.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from importlib import resources
from typing import Any

from .facts import made_with

__all__ = ["Heading", "Section", "data_of", "page"]

FORMAT = 1
SCRIPTS = (
    "dom.js",
    "theme.js",
    "model.js",
    "layout.js",
    "graph.js",
    "details.js",
    "passes.js",
    "overview.js",
    "nodes.js",
    "rows.js",
    "memory.js",
    "code.js",
    "main.js",
)


@dataclass(frozen=True)
class Section:
    """A step of a model that runs in steps; one that is a single program has one section.

    ``region`` is what :func:`.region.region_of` gave, None for a step without a program; ``depth`` grows where the
    results of a step decide what comes next.
    """

    title: str
    region: Mapping[str, Any] | None
    depth: int = 0
    note: str = ""


@dataclass(frozen=True)
class Heading:
    """The model's name, what its file says of itself, and the dimensions whose sizes nobody stated."""

    title: str
    facts: Sequence[tuple[str, str]] = ()
    assumed: Sequence[str] = ()


def page(heading: Heading, sections: Sequence[Section]) -> str:
    """The page as text of HTML. It is to be written as UTF-8."""
    style, script = _asset("style.css"), "\n".join(["'use strict';", *map(_asset, SCRIPTS)])
    policy = f"default-src 'none'; style-src {_source(style)}; script-src {_source(script)}; base-uri 'none'"
    parts = {
        "title": escape(_printable(heading.title)),
        "policy": policy,
        "style": style,
        "data": data_of(heading, sections),
        "script": script,
    }
    return re.sub(r"%([a-z]+)%", lambda match: parts[match[1]], _asset("page.html")) + "\n"


def data_of(heading: Heading, sections: Sequence[Section]) -> str:
    """What the page shows, as JSON that can stand between the tags of a script."""
    data = {
        "format": FORMAT,
        "title": heading.title,
        "facts": [*heading.facts, *made_with()],
        "assumed": list(heading.assumed),
        "sections": [
            {"title": s.title, "depth": s.depth, "note": s.note, "region": s.region and dict(s.region)}
            for s in sections
        ],
    }
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    # As JSON is ASCII here, nothing is left that ends a script or a comment.
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _source(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _printable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


@cache
def _asset(name: str) -> str:
    return (resources.files(__package__) / "assets" / name).read_text(encoding="utf-8").rstrip("\n")
