"""Classify handwritten digits that the network in digits.bsl never saw, and time it.

``make run`` runs this. The exit status is 1 if fewer than 97% are right.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

FOLDER = Path(__file__).resolve().parent
REQUIRED_ACCURACY = 0.97
SHADES = " ░▒▓█"
ASCII_SHADES = " .+%@"
DRAWN = 8
A_ROW = 4


def encodable(text: str) -> bool:
    """Whether stdout can show the text."""
    try:
        text.encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return False
    return True


def draw(image: NDArray[np.uint8], shades: str) -> list[str]:
    """Eight lines of 16 characters for an 8x8 image with values 0..16."""
    levels = np.minimum(image.astype(int) * len(shades) // 17, len(shades) - 1)
    return ["".join(shades[level] * 2 for level in row) for row in levels]


def gallery(images: NDArray[np.uint8], labels: Sequence[int], predictions: Sequence[int]) -> str:
    """Some images beside each other, each with its prediction below it."""
    shades = SHADES if encodable(SHADES) else ASCII_SHADES
    lines = []
    for start in range(0, len(images), A_ROW):
        row = range(start, min(start + A_ROW, len(images)))
        drawings = [draw(images[i], shades) for i in row]
        lines += ["  ".join(parts).rstrip() for parts in zip(*drawings)]
        captions = [f"{p}" if p == t else f"{p}, WRONG: {t}" for p, t in ((predictions[i], labels[i]) for i in row)]
        lines += ["  ".join(f"{caption:^16}" for caption in captions).rstrip(), ""]
    return "\n".join(lines)


def choose(right: NDArray[np.bool_]) -> list[int]:
    """Indices to draw: the first images and, last, one that was read wrong if there is any."""
    wrong = np.flatnonzero(~right)[:1].tolist()
    return np.flatnonzero(right)[: DRAWN - len(wrong)].tolist() + wrong


def median_seconds(call: Callable[[int], object], repetitions: int) -> float:
    """Median time of ``call(0)``, ``call(1)`` and so on."""
    times = []
    for index in range(repetitions):
        start = time.perf_counter()
        call(index)
        times.append(time.perf_counter() - start)
    return statistics.median(times)
