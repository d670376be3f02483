"""What runs a model that is compared: compiled code, the operators' NumPy semantics, or ONNX Runtime."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

import numpy as np

import basalt
from basalt.cli import models, peers
from basalt.serialization.onnx import OnnxModel

__all__ = ["PEERS", "Engine", "Runs", "compiled", "numpy_semantics", "onnxruntime"]

Runs: TypeAlias = Any
"""What an engine runs: an Executable, an OnnxModel, or whatever else ``basalt.load`` gives and has ``run``."""
Progress: TypeAlias = Callable[[int, int, float], None]
Engine: TypeAlias = Callable[[Runs, Mapping[str, np.ndarray], Progress], dict[str, Any]]
"""Gives the outputs of a model by name for some feeds, and tells of the kernels that it compiles meanwhile."""


def compiled(model: Runs, feeds: Mapping[str, np.ndarray], show: Progress) -> dict[str, Any]:
    """Basalt as it runs models, without runs through NumPy while code is compiled."""
    if isinstance(model, OnnxModel):
        model = basalt.OnnxExecutable(model, eager=False)
    if not isinstance(model, (basalt.Executable, basalt.OnnxExecutable)):
        return dict(model.run(feeds))
    shapes = {name: array.shape for name, array in feeds.items()}
    program, _ = models.compile_for(model, shapes, show, feeds)
    return dict(program.run(feeds))


def numpy_semantics(model: Runs, feeds: Mapping[str, np.ndarray], show: Progress) -> dict[str, Any]:
    """Every node as it stands in the model, through NumPy: the oracle that kernels are tested with."""
    with _interpreting():
        if isinstance(model, basalt.Executable):
            # Programs that the model keeps are compiled ones.
            model = basalt.Model(model.graph, model.constants, eager=False)
        return compiled(model, feeds, show)


def onnxruntime(model: Runs, feeds: Mapping[str, np.ndarray], show: Progress) -> dict[str, Any]:
    """ONNX Runtime, of a graph as ``bslc export`` writes it."""
    source = model if isinstance(model, OnnxModel) else basalt.to_onnx(model)
    return peers.onnxruntime_call(source, feeds, "comparing with ort")()


PEERS: Mapping[str, tuple[str, Engine]] = {
    "numpy": ("the operators' NumPy semantics", numpy_semantics),
    "ort": ("ONNX Runtime", onnxruntime),
}
"""What stands for an engine on the command line in place of a second model, its name for people, and the engine."""


@contextlib.contextmanager
def _interpreting() -> Iterator[None]:
    before = os.environ.get("BASALT_DEBUG")
    os.environ["BASALT_DEBUG"] = f"{before},interpret" if before else "interpret"
    try:
        yield
    finally:
        if before is None:
            del os.environ["BASALT_DEBUG"]
        else:
            os.environ["BASALT_DEBUG"] = before
