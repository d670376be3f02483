"""A small module of each family, and the golden files that were made of them.

``python tests/compiler/modules/family_samples.py`` writes the golden files that are missing. It never writes over one:
what stands in ``golden/kinds`` must load for good.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import basalt
from basalt.serialization import Kind

GOLDEN = Path(__file__).parent / "golden" / "kinds"
SHAPES = {Kind.CONVOLUTION: (1, 2, 5), Kind.POOLING: (1, 2, 6), Kind.RECURRENT: (2, 1, 4), Kind.TRANSFORMER: (1, 3, 4)}
"""Shapes of the inputs of some samples; the others take 2 x 4 elements."""


def samples() -> dict[Kind, Callable[[], Any]]:
    """What makes a module of each kind, weights included."""
    from torch import nn

    return {
        Kind.SEQUENTIAL: lambda: nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2)),
        Kind.LINEAR: lambda: nn.Linear(4, 3),
        Kind.CONVOLUTION: lambda: nn.Conv1d(2, 3, 3),
        Kind.RECURRENT: lambda: nn.GRU(4, 3),
        Kind.ATTENTION: lambda: nn.MultiheadAttention(4, 2),
        Kind.TRANSFORMER: lambda: nn.TransformerEncoderLayer(4, 2, 8, batch_first=True),
        Kind.NORMALISATION: lambda: nn.LayerNorm(4),
        Kind.EMBEDDING: lambda: nn.Embedding(5, 3),
        Kind.ACTIVATION: lambda: nn.GELU(),
        Kind.POOLING: lambda: nn.MaxPool1d(2),
    }


def arguments(kind: Kind) -> list[np.ndarray]:
    """What the sample of ``kind`` is called with."""
    if kind is Kind.EMBEDDING:
        return [np.array([[1, 4], [0, 2]])]
    x = np.random.default_rng(0).normal(size=SHAPES.get(kind, (2, 4))).astype(np.float32).round(3)
    return [x] * 3 if kind is Kind.ATTENTION else [x]


def results(module: basalt.Module, given: list[np.ndarray]) -> list[np.ndarray]:
    """The module's results, in order."""
    found = module(*given)
    return list(found) if isinstance(found, tuple) else [found]


def main() -> None:
    """Write the files that are missing, each with arguments and results beside it."""
    import torch

    GOLDEN.mkdir(exist_ok=True)
    for kind, make in samples().items():
        target = GOLDEN / f"{kind.name.lower()}.bsl"
        if target.exists():
            continue
        torch.manual_seed(0)
        given = arguments(kind)
        module = basalt.from_torch(make().eval(), tuple(map(torch.from_numpy, given)))
        basalt.save(module, target)
        named = {f"result{i}": a for i, a in enumerate(results(module, given))}
        np.savez_compressed(target.with_suffix(".npz"), **{f"argument{i}": a for i, a in enumerate(given)}, **named)


if __name__ == "__main__":
    main()
