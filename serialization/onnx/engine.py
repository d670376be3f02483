"""Who executes a model: an engine that the compiler registers here."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Protocol

import numpy as np

from basalt.errors import InvalidStateError

if TYPE_CHECKING:
    from .model import OnnxModel

__all__ = ["Engine", "engine_for", "register_engine"]


class Engine(Protocol):
    """Executes one model, as often as asked."""

    def run(self, feeds: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Values of all graph outputs by name, given those of the inputs."""
        ...


# Loaded by name: serialization stands alone (no import of a sibling), and reading a model must not cost the time that
# importing the compiler takes. The module registers itself when it is imported.
_DEFAULT = "basalt.compiler.onnx"

_make: Callable[[OnnxModel], Engine] | None = None


def register_engine(make: Callable[[OnnxModel], Engine]) -> None:
    """Let ``make(model)`` give the engine that ``OnnxModel.run`` uses; the latest registration counts."""
    global _make
    _make = make


def engine_for(model: OnnxModel) -> Engine:
    """A new engine for ``model``. Raises InvalidStateError if there is none, and what the engine's maker raises."""
    if _make is None:
        importlib.import_module(_DEFAULT)
    if _make is None:
        raise InvalidStateError(f"no engine executes ONNX models: {_DEFAULT} registered none")
    return _make(model)
