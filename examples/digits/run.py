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

import basalt

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


def main() -> int:
    """Load, compile, classify, draw, measure; return the exit status."""
    start = time.perf_counter()
    model = basalt.load(FOLDER / "digits.bsl")
    loaded = time.perf_counter()
    with np.load(FOLDER / "test_images.npz") as file:
        images, labels = file["images"], file["labels"].astype(int)
    pixels = images[:, None].astype(np.float32) / np.float32(16)

    compiling = time.perf_counter()
    whole = model.compile({"image": pixels.shape})
    single = model.compile({"image": (1, *pixels.shape[1:])})
    compiled = time.perf_counter()

    predictions = whole.run({"image": pixels})["probabilities"].argmax(axis=1)
    right = predictions == labels
    shown = choose(right)
    print(gallery(images[shown], labels[shown].tolist(), predictions[shown].tolist()))

    one = median_seconds(lambda i: single.run({"image": pixels[i : i + 1]}), len(pixels))
    batch = median_seconds(lambda _: whole.run({"image": pixels}), 20) / len(pixels)
    print(f"accuracy  {right.mean():.2%}  ({right.sum()} of {len(right)} images that training never saw)")
    print(f"loaded    {(loaded - start) * 1e3:.1f} ms")
    print(f"compiled  {(compiled - compiling) * 1e3:.1f} ms for batches of 1 and {len(pixels)}")
    print(f"an image  {one * 1e6:.1f} us alone, {batch * 1e6:.1f} us in a batch of {len(pixels)} (medians)")
    if right.mean() < REQUIRED_ACCURACY:
        print(f"error: accuracy is below {REQUIRED_ACCURACY:.0%}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
