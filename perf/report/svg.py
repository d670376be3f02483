"""Drawing with SVG: elements, text, logarithmic axes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

__all__ = ["COLOURS", "Axis", "circle", "legend", "line", "path", "svg", "text"]

COLOURS = ("#2563b0", "#c2571a", "#2f8f4e", "#8a4fb5", "#b03050", "#6b6b00", "#00808a", "#777777")


@dataclass(frozen=True)
class Axis:
    """Logarithmic: values from ``low`` to ``high`` lie between pixels ``start`` and ``end``."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        """The pixel of a value; values outside lie at the ends."""
        share = math.log(min(max(value, self.low), self.high) / self.low) / math.log(self.high / self.low)
        return self.start + share * (self.end - self.start)

    def ticks(self) -> list[float]:
        """1, 2 and 5 times powers of ten; only these powers where there are many."""
        first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
        steps = (1.0,) if last - first > 4 else (1.0, 2.0, 5.0)
        found = [step * 10.0**power for power in range(first, last + 1) for step in steps]
        return [value for value in found if self.low * 0.999 <= value <= self.high * 1.001]

    @classmethod
    def around(cls, values: Iterable[float], start: float, end: float, always: Sequence[float] = ()) -> Axis:
        """An axis that holds the values with a little room."""
        kept = [value for value in (*values, *always) if value > 0 and math.isfinite(value)] or [1.0]
        return cls(min(kept) / 1.15, max(kept) * 1.15, start, end)


def svg(width: float, height: float, parts: Iterable[str], label: str) -> str:
    """A drawing, with a label for those who do not see it."""
    inner = "\n".join(parts)
    return (
        f'<svg viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}" role="img" '
        f'aria-label="{escape(label, quote=True)}">\n{inner}\n</svg>'
    )


def text(x: float, y: float, words: str, anchor: str = "start", kind: str = "") -> str:
    """Words at a place; ``kind`` is a class of the style sheet."""
    style = f' class="{kind}"' if kind else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{style}>{escape(words)}</text>'


def line(x1: float, y1: float, x2: float, y2: float, kind: str = "grid", colour: str = "", width: float = 1) -> str:
    """A line."""
    stroke = f' style="stroke:{colour};stroke-width:{width:g}"' if colour else ""
    return f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"{stroke}/>'


def circle(x: float, y: float, colour: str, title: str, radius: float = 4) -> str:
    """A dot that says what it is when pointed at."""
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}" fill="{colour}"><title>{escape(title)}</title></circle>'


def path(points: Sequence[tuple[float, float]], colour: str, width: float = 1.5) -> str:
    """A line through points."""
    steps = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{steps}" fill="none" stroke="{colour}" stroke-width="{width:g}"/>'


def legend(x: float, y: float, entries: Sequence[tuple[str, str]]) -> list[str]:
    """Names and colours in a row."""
    parts = []
    for name, colour in entries:
        parts += [circle(x, y - 4, colour, name), text(x + 8, y, name)]
        x += 24 + 7.2 * len(name)
    return parts
