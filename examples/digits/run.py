"""Classify handwritten digits that the network in digits.bsl never saw, and time it.

``make run`` runs this. The exit status is 1 if fewer than 97% are right.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from drawing import Style, draw_gallery, label_line
from numpy.typing import NDArray

import basalt
from basalt.compiler.progress import set_hook

FOLDER = Path(__file__).resolve().parent
REQUIRED_ACCURACY = 0.97
DRAWN = 8
ALONE_REPETITIONS = 1000
BATCH_REPETITIONS = 50

Call = Callable[[], Any]


@dataclass(frozen=True)
class Compilation:
    """What compiling took: seconds, and the kernels that were compiled and found in the cache."""

    seconds: float
    compiled: int
    found: int


def compile_for(model: Any, shapes: list[tuple[int, ...]], style: Style) -> tuple[list[Any], Compilation]:
    """A program for each shape of the input, with a line on the terminal that tells how far it is."""
    before, start = basalt.cache_info(), time.perf_counter()

    def report(done: int, total: int, seconds: float) -> None:
        style.progress(f"compiling: {done} of {total} kernels, {time.perf_counter() - start:.1f} s")

    style.progress("compiling ...")
    previous = set_hook(report)
    try:
        programs = [model.compile({"image": shape}) for shape in shapes]
    finally:
        set_hook(previous)
        style.progress("")
    after = basalt.cache_info()
    took = time.perf_counter() - start
    return programs, Compilation(took, after.compiled - before.compiled, after.hits - before.hits)


def choose(right: NDArray[np.bool_]) -> list[int]:
    """Indices to draw: the first images and, last, one that was read wrong if there is any."""
    wrong = np.flatnonzero(~right)[:1].tolist()
    return np.flatnonzero(right)[: DRAWN - len(wrong)].tolist() + wrong


def median_seconds(call: Call, repetitions: int) -> float:
    """Median time of a call."""
    times = []
    for _ in range(repetitions):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return median(times)


def time_text(seconds: float) -> str:
    """A time for people."""
    if seconds < 1e-3:
        return f"{seconds * 1e6:.1f} us"
    return f"{seconds * 1e3:.1f} ms" if seconds < 1 else f"{seconds:.2f} s"


def main() -> int:
    """Load, compile, classify, draw, measure; return the exit status."""
    style = Style.of_terminal()
    start = time.perf_counter()
    model = basalt.load(FOLDER / "digits.bsl")
    loaded = time.perf_counter() - start
    with np.load(FOLDER / "test_images.npz") as file:
        images, labels = file["images"], file["labels"].astype(int)
    pixels = images[:, None].astype(np.float32) / np.float32(16)

    (single, whole), compilation = compile_for(model, [pixels[:1].shape, pixels.shape], style)
    probabilities = whole.run({"image": pixels})["probabilities"]
    predictions = probabilities.argmax(axis=1)
    right = predictions == labels
    shown = choose(right)
    print(draw_gallery(images[shown], labels[shown], probabilities[shown], style))

    alone = median_seconds(lambda: single.run({"image": pixels[:1]}), ALONE_REPETITIONS)
    batch = median_seconds(lambda: whole.run({"image": pixels}), BATCH_REPETITIONS)
    made = f"{compilation.compiled} kernels compiled, {compilation.found} found in the cache"
    print(label_line("model", f"digits.bsl, loaded in {time_text(loaded)}", style))
    print(label_line("compiling", f"{time_text(compilation.seconds)}: {made}", style))
    print(label_line("one image", time_text(alone), style))
    print(
        label_line(
            "batch", f"{time_text(batch)} for {len(pixels)} images, {time_text(batch / len(pixels))} each", style
        )
    )
    print(label_line("", style.faint(f"medians of runs on {basalt.get_num_threads()} threads"), style))
    verdict = f"{right.mean():.2%}, {right.sum()} of {len(right)} images that training never saw"
    print(
        label_line("accuracy", style.good(verdict) if right.mean() >= REQUIRED_ACCURACY else style.bad(verdict), style)
    )
    if right.mean() < REQUIRED_ACCURACY:
        print(f"error: accuracy is below {REQUIRED_ACCURACY:.0%}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
