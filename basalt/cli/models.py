"""The few calls of Basalt's interface that the commands share."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import basalt

__all__ = ["compile_for", "load", "set_threads"]


def load(path: Path) -> Any:
    """The model in a .bsl or .onnx file."""
    return basalt.load(path)


def compile_for(model: Any, shapes: Mapping[str, tuple[int, ...]]) -> Any:
    """A program for these input shapes."""
    return model.compile(dict(shapes))


def set_threads(count: int) -> None:
    """Run on ``count`` threads from now on."""
    basalt.set_num_threads(count)
