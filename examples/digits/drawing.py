"""Images, colours and progress as text: for terminals and pipes, with and without block characters."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

SHADES = " ░▒▓█"
ASCII_SHADES = " .+%@"
IMAGE_WIDTH = 16
GAP = "   "
A_ROW = 4


@dataclass(frozen=True)
class Style:
    """What the output can show."""

    shades: str = ASCII_SHADES
    colours: bool = False
    greys: bool = False
    """Whether the 24 greys of 256-colour terminals are there."""
    live: bool = False
    """Whether a line on stderr may be written over again."""

    @classmethod
    def of_terminal(cls) -> Style:
        """The best that stdout and stderr allow."""
        colours = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
        greys = colours and ("256color" in os.environ.get("TERM", "") or "COLORTERM" in os.environ)
        return cls(SHADES if _encodable(SHADES) else ASCII_SHADES, colours, greys, sys.stderr.isatty())

    def good(self, text: str) -> str:
        """Green where there are colours."""
        return self._paint(text, 32)

    def bad(self, text: str) -> str:
        """Red where there are colours."""
        return self._paint(text, 31)

    def faint(self, text: str) -> str:
        """Less bright where there are colours."""
        return self._paint(text, 2)

    def _paint(self, text: str, code: int) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.colours and text else text

    def progress(self, text: str) -> None:
        """Show a line on a terminal in place of the last one; the empty text removes it."""
        if self.live:
            sys.stderr.write(f"\r\x1b[K{text}")
            sys.stderr.flush()


def _encodable(text: str) -> bool:
    try:
        text.encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return False
    return True


def draw(image: NDArray[np.uint8], style: Style) -> list[str]:
    """Eight lines of 16 characters for an 8x8 image with values 0..16."""
    if style.greys:
        tones = 232 + image.astype(int) * 23 // 16
        return ["".join(f"\x1b[48;5;{tone}m  " for tone in row) + "\x1b[0m" for row in tones]
    levels = np.minimum(image.astype(int) * len(style.shades) // 17, len(style.shades) - 1)
    return ["".join(style.shades[level] * 2 for level in row) for row in levels]


def caption(label: int, probabilities: NDArray[np.float32], style: Style) -> str:
    """What the network read, how sure it was, and the truth if that is another digit; as wide as an image."""
    digit = int(probabilities.argmax())
    text = f"{digit}  {probabilities[digit]:.0%}"
    if digit == label:
        return style.good(f"{text:^{IMAGE_WIDTH}}")
    wrong = f"{text}, is a {label}"
    return style.bad(f"{wrong:^{IMAGE_WIDTH}}")


def draw_gallery(
    images: NDArray[np.uint8], labels: NDArray[np.int_], probabilities: NDArray[np.float32], style: Style
) -> str:
    """Images beside each other, each with its caption below it."""
    lines = []
    for start in range(0, len(images), A_ROW):
        row = range(start, min(start + A_ROW, len(images)))
        drawings = [draw(images[i], style) for i in row]
        lines += [GAP.join(parts).rstrip() for parts in zip(*drawings)]
        lines += [GAP.join(caption(int(labels[i]), probabilities[i], style) for i in row).rstrip(), ""]
    return "\n".join(lines)


def label_line(name: str, text: str, style: Style) -> str:
    """A result behind its name."""
    return f"{style.faint(f'{name:<11}')}{text}"
