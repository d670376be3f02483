"""Trained models from elsewhere, with inputs and golden outputs: where they are, and when outputs are right."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

SHARED = Path(__file__).resolve().parents[3] / "shared" / "real-models"
FOLDER = Path(os.environ.get("BASALT_TEST_MODELS", "~/.cache/basalt-models")).expanduser()
"""Where ``fetch_models.py`` put the model files."""
MISSING = (
    "the list of real models is not there"
    if not (SHARED / "models.json").is_file()
    else f"real models are not in {FOLDER} (BASALT_TEST_MODELS names another folder)"
)


@dataclass(frozen=True)
class RealModel:
    """A model's file, inputs, and what ONNX Runtime gave for them (columns of maps in sorted order of keys)."""

    id: str
    path: Path
    feeds: Mapping[str, np.ndarray]
    outputs: Mapping[str, np.ndarray]
    maps: Mapping[str, np.ndarray]
    quantized: bool

    @property
    def tolerance(self) -> float:
        """The greatest error, in parts of the output's scale."""
        return 2e-2 if self.quantized else 1e-3


def all_models() -> Iterator[RealModel]:
    """The models whose files are there."""
    if not (SHARED / "models.json").is_file():
        return
    for row in json.loads((SHARED / "models.json").read_text()):
        path = FOLDER / f"{row['id']}.onnx"
        if path.is_file():
            with np.load(SHARED / f"{row['id']}.npz", allow_pickle=False) as data:
                found = {kind: _named(data, f"{kind}:") for kind in ("in", "out", "outmap")}
            quantized = row["quantization"] != "none"
            yield RealModel(row["id"], path, found["in"], found["out"], found["outmap"], quantized)


def _named(data: Any, prefix: str) -> dict[str, np.ndarray]:
    return {name[len(prefix) :]: data[name] for name in data.files if name.startswith(prefix)}


def wrong_outputs(model: RealModel, results: Mapping[str, Any]) -> list[str]:
    """What is wrong with a model's results, a line an output; empty if they are right."""
    wrong = []
    for name, expected in model.outputs.items():
        wrong += _compare(name, np.asarray(results[name]), expected, model.tolerance)
    for name, expected in model.maps.items():
        rows = [[row[key] for key in sorted(row)] for row in results[name]]
        wrong += _compare(name, np.asarray(rows), expected, model.tolerance)
    return wrong


def _compare(name: str, given: np.ndarray, expected: np.ndarray, tolerance: float) -> list[str]:
    if given.shape != expected.shape:
        return [f"{name}: shape {given.shape}, expected {expected.shape}"]
    if expected.dtype.kind not in "fiu" or not expected.size:
        return [] if np.array_equal(given, expected) else [f"{name}: differs"]
    scale = max(float(np.abs(expected).max()), 1e-6)
    error = float(np.abs(given.astype(np.float64) - expected.astype(np.float64)).max()) / scale
    return [] if error <= tolerance else [f"{name}: error {error:.3g} of the scale, expected at most {tolerance:g}"]
