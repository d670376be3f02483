"""A mutation loop over models: whatever comes out is loaded or refused, and never anything else.

``fuzz`` is bounded by a number of mutants or by time; the suite runs it shortly, a longer run calls it by hand:

    python -c 'import wire_fuzzing as w; print(w.fuzz(w.seeds(["some.onnx"]), seconds=600))'
"""

from __future__ import annotations

import random
import resource
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from wire_samples import all_tensors, key, varint

from basalt.errors import ModelFormatError
from basalt.serialization.onnx import OnnxModel

INTERESTING = (0, 1, 0x7F, 0x80, 0xFF, 1 << 14, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 60, (1 << 63) - 1, 1 << 63)
LARGE = 1 << 22


@dataclass
class Outcome:
    """What a run of the fuzzer came to; ``slowest`` in seconds of processor time."""

    loaded: int = 0
    refused: int = 0
    slowest: float = 0.0
    reasons: Counter[str] = field(default_factory=Counter)


def seeds(paths: Iterable[str | Path]) -> list[bytes]:
    """The contents of model files; of a large one its start, cut where the graph's nodes end in all likelihood."""
    return [Path(path).read_bytes()[:LARGE] for path in paths]


def mutate(content: bytes, rng: random.Random, others: Sequence[bytes]) -> bytes:
    """A few random changes: bytes flipped, removed, repeated, numbers and tags put in, pieces of other models."""
    mutant = bytearray(content)
    for _ in range(rng.choice((1, 1, 2, 3, 8))):
        at = rng.randrange(len(mutant) + 1)
        size = rng.choice((1, 1, 2, 4, 8, 64))
        match rng.randrange(8):
            case 0:
                mutant[at : at + 1] = bytes([rng.randrange(256)])
            case 1:
                mutant[at : at + 1] = bytes([(mutant[at] if at < len(mutant) else 0) ^ 1 << rng.randrange(8)])
            case 2:
                del mutant[at : at + size]
            case 3:
                mutant[at:at] = mutant[at : at + size] * rng.choice((1, 2, 50))
            case 4:
                number = varint(rng.choice(INTERESTING))
                mutant[at : at + (len(number) if rng.random() < 0.5 else 0)] = number
            case 5:
                mutant[at:at] = key(rng.randrange(1, 30), rng.randrange(8)) + varint(rng.choice((0, 1, 5, 200)))
            case 6:
                other = rng.choice(others)
                start = rng.randrange(len(other))
                mutant[at:at] = other[start : start + size]
            case _:
                del mutant[at:]
    return bytes(mutant)


def check(content: bytes) -> str | None:
    """Load ``content``, decode its small tensors and write it again. The reason if it is refused, else None."""
    try:
        loaded = OnnxModel.load(content)
    except ModelFormatError as error:
        return str(error)
    written = loaded.to_bytes()
    assert OnnxModel.load(written).to_bytes() == written
    for tensor in all_tensors(loaded.graph):
        try:
            array = tensor.array()
        except ModelFormatError:
            continue
        assert array.shape == tensor.dims
        assert isinstance(array, np.ndarray) and not array.flags.writeable
    return None


def fuzz(models: Sequence[bytes], *, count: int | None = None, seconds: float | None = None, seed: int = 0) -> Outcome:
    """Check ``count`` mutants of ``models``, or as many as ``seconds`` allow.

    Raises AssertionError, with the seed of the mutant, for any other error than ModelFormatError, a model that does not
    survive being written, or memory that grew by more than a gigabyte.
    """
    outcome = Outcome()
    start = time.monotonic()
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    index = 0
    while (count is None or index < count) and (seconds is None or time.monotonic() - start < seconds):
        rng = random.Random(f"{seed}/{index}")
        content = mutate(rng.choice(models), rng, models)
        before = time.process_time()
        try:
            reason = check(content)
        except Exception as error:
            raise AssertionError(f"seed {seed}, mutant {index}: {error!r}") from error
        outcome.slowest = max(outcome.slowest, time.process_time() - before)
        if reason is None:
            outcome.loaded += 1
        else:
            outcome.refused += 1
            outcome.reasons[reason.rsplit(": ", 1)[-1][:24]] += 1
        index += 1
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory
    assert grown < 1 << 20, f"seed {seed}: memory grew by {grown} KiB"
    return outcome
