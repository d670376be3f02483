"""``bslc bench``: how long a model takes, by itself or against ONNX Runtime, in turns in one process."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import basalt
from basalt.cli.ahead.options import trust_options
from basalt.cli.arguments import model_argument, random_input_option, random_seed_option, shape_options, threads_option
from basalt.cli.output import compiling, json_option, measuring, print_json, print_table, seconds_text

if TYPE_CHECKING:
    import numpy as np

__all__ = ["bench_command"]

_TURN = 0.03
_RESAMPLES = 4000
_CONFIDENCE = 0.95
_TOLERANCE = 1e-3


@dataclass(frozen=True)
class Times:
    """Seconds of a call: the median of the rounds, and what 5 and 95 percent of them stay below."""

    median: float
    low: float
    high: float
    version: str


@dataclass(frozen=True)
class Ratio:
    """The other's median over Basalt's, and its confidence interval."""

    ratio: float
    low: float
    high: float
    confidence: float
    error: float


@click.command("bench")
@model_argument
@click.option("--against", type=click.Choice(["ort"]), help="Measure another library too: ort is ONNX Runtime.")
@random_input_option
@shape_options
@threads_option
@click.option("--rounds", type=click.IntRange(min=5), metavar="N", default=30, show_default=True, help="Turns of each.")
@click.option(
    "--tolerance",
    type=click.FloatRange(min=0),
    default=_TOLERANCE,
    show_default=True,
    help="The greatest difference of outputs, in parts of an output's greatest magnitude.",
)
@random_seed_option
@trust_options
@json_option
def bench_command(
    model: Path,
    against: str | None,
    inputs: tuple[tuple[str | None, Path], ...],
    shapes: tuple[tuple[str, tuple[int, ...]], ...],
    dims: tuple[tuple[str, int], ...],
    threads: int | None,
    rounds: int,
    tolerance: float,
    seed: int,
    trust: bool,
    keys: Path | None,
    as_json: bool,
) -> None:
    """Measure how long a run of MODEL takes.

    With --against both libraries are given the same inputs, their outputs are compared, and only then both are timed,
    in turns: what slows the machine down slows both. Times are of whole runs from Python, outputs in new arrays.
    """
    from basalt.cli import feeding, models, peers

    loaded = models.load_to_run(model, shapes, trust, keys)
    feeds, sizes = feeding.feeds_and_sizes(loaded, feeding.input_files(loaded, inputs), shapes, dims, seed)
    if threads is not None:
        models.set_threads(threads)
    with compiling() as show:
        program, _ = models.compile_for(loaded, sizes.shapes, show, feeds)
    calls: dict[str, Callable[[], Mapping[str, Any]]] = {"basalt": lambda: program.run(feeds)}
    versions = {"basalt": basalt.__version__}
    error = None
    if against is not None:
        calls["onnxruntime"] = peers.onnxruntime_call(peers.onnx_of(model, loaded), feeds, "--against ort")
        versions["onnxruntime"] = peers.onnxruntime_version("--against ort")
        error = _difference(calls["basalt"](), calls["onnxruntime"](), tolerance)
    with measuring("measuring") as step:
        samples = _turns(calls, rounds, step)
    times = {name: _times(samples[name], versions[name]) for name in calls}
    ratio = None if error is None else _ratio(samples["onnxruntime"], samples["basalt"], error)
    _print(times, ratio, {"shapes": sizes.shapes, "threads": basalt.get_num_threads(), "rounds": rounds}, as_json)


def _difference(ours: Mapping[str, Any], theirs: Mapping[str, Any], tolerance: float) -> float:
    """The greatest difference of an output in parts of its scale. Raises click.ClickException if it is too great."""
    from basalt.cli import arrays

    mine, other = arrays.flattened(ours), arrays.flattened(theirs)
    if mine.keys() != other.keys():
        raise click.ClickException(f"outputs are {', '.join(mine)}, those of ONNX Runtime {', '.join(other)}")
    greatest = 0.0
    for name, array in mine.items():
        found = _scaled_difference(array, other[name])
        if not found <= tolerance:
            raise click.ClickException(
                f"output {name!r} differs from ONNX Runtime's by {found:.3g} of its scale, expected at most "
                f"{tolerance:g}; nothing was timed"
            )
        greatest = max(greatest, found)
    return greatest


def _scaled_difference(given: np.ndarray, right: np.ndarray) -> float:
    import numpy as np

    if given.shape != right.shape:
        return float("inf")
    if right.dtype.kind not in "fiu" or not right.size:
        return 0.0 if np.array_equal(given, right) else float("inf")
    a, b = given.astype(np.float64), right.astype(np.float64)
    finite = np.isfinite(b)
    if np.isnan(a[finite]).any() or not np.array_equal(a[~finite], b[~finite], equal_nan=True):
        return float("inf")
    if not finite.any():
        return 0.0
    return float(np.abs(a[finite] - b[finite]).max() / max(np.abs(b[finite]).max(), 1e-6))


def _turns(
    calls: Mapping[str, Callable[[], Any]], rounds: int, step: Callable[[int, int], None]
) -> dict[str, list[float]]:
    """Seconds of a call in each round; all take a turn in each, in the opposite order every second time."""
    counts = {name: max(1, int(_TURN / max(_shortest(call), 1e-8))) for name, call in calls.items()}
    samples: dict[str, list[float]] = {name: [] for name in calls}
    order = list(calls)
    for turn in range(rounds):
        for name in order if turn % 2 else reversed(order):
            call, count = calls[name], counts[name]
            call()
            start = time.perf_counter()
            for _ in range(count):
                call()
            samples[name].append((time.perf_counter() - start) / count)
        step(turn + 1, rounds)
    return samples


def _shortest(call: Callable[[], Any]) -> float:
    times = []
    for _ in range(3):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def _times(samples: Sequence[float], version: str) -> Times:
    import numpy as np

    low, median, high = (float(v) for v in np.quantile(samples, (0.05, 0.5, 0.95)))
    return Times(median, low, high, version)


def _ratio(above: Sequence[float], below: Sequence[float], error: float) -> Ratio:
    """Rounds are resampled in pairs (percentile bootstrap: Efron and Tibshirani, 1993, chapter 13)."""
    import numpy as np

    rng = np.random.default_rng(0)
    places = rng.integers(len(above), size=(_RESAMPLES, len(above)))
    tops, bottoms = np.asarray(above), np.asarray(below)
    ratios = np.median(tops[places], axis=1) / np.median(bottoms[places], axis=1)
    tail = (1 - _CONFIDENCE) / 2
    low, high = (float(v) for v in np.quantile(ratios, (tail, 1 - tail)))
    return Ratio(float(np.median(tops) / np.median(bottoms)), low, high, _CONFIDENCE, error)


def _print(times: Mapping[str, Times], ratio: Ratio | None, facts: dict[str, Any], as_json: bool) -> None:
    if as_json:
        seconds = {name: asdict(found) for name, found in times.items()}
        print_json(facts | {"seconds": seconds, "ratio": asdict(ratio) if ratio else None})
        return
    rows = [
        [name, found.version, seconds_text(found.median), f"{seconds_text(found.low)} to {seconds_text(found.high)}"]
        for name, found in times.items()
    ]
    print_table(["library", "version", "median", "90% of rounds"], rows, right=["median"])
    threads = facts["threads"]
    print(f"\n{threads} thread{'s' if threads > 1 else ''}, {facts['rounds']} rounds")
    if ratio is not None:
        words = "faster" if ratio.low > 1 else "slower" if ratio.high < 1 else "as fast, as far as these rounds tell"
        print(
            f"onnxruntime / basalt: {ratio.ratio:.2f}, {ratio.confidence:.0%} confidence {ratio.low:.2f} to "
            f"{ratio.high:.2f}: basalt is {words}; outputs differ by {ratio.error:.1e} of their scale"
        )
