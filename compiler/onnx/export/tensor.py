"""What an ONNX graph is while it is being written: tensors by identity, calls, bodies. Names come last."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from basalt.ops import Shape

__all__ = ["Body", "Call", "Tensor"]


@dataclass(eq=False, slots=True)
class Tensor:
    """A value of the ONNX graph.

    ``dtype`` is the data type that the value has in ONNX. ``name`` is what it would like to be called; the assembly
    makes names unique. ``array`` holds a constant's elements. ``truth`` is the bool tensor that a uint8 one of zeros
    and ones was cast from.
    """

    dtype: str
    name: str = ""
    array: np.ndarray | None = None
    truth: Tensor | None = None

    @property
    def is_constant(self) -> bool:
        return self.array is not None


@dataclass(eq=False, slots=True)
class Body:
    """A graph inside a node; it may read any tensor of the graph around it."""

    inputs: list[tuple[Tensor, Shape]]
    outputs: list[tuple[Tensor, Shape]] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)


@dataclass(eq=False, slots=True)
class Call:
    """A node. ``base`` is what its name starts from, and all of it where ``is_main``."""

    op_type: str
    inputs: tuple[Tensor | None, ...]
    outputs: tuple[Tensor, ...]
    attributes: dict[str, Any]
    base: str = ""
    domain: str = ""
    is_main: bool = False

    def bodies(self) -> list[Body]:
        return [value for value in self.attributes.values() if isinstance(value, Body)]
