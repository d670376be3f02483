"""Plain data of a graph with its weights: what a ``.bsl`` file of kind GRAPH holds.

These records carry no behaviour and know no operator; the compiler converts its own representation to and from them.
Equality is exact: floats and weights compare by their bits, so that NaN equals itself and 0.0 differs from -0.0.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from .dtypes import same_array

__all__ = ["AttrValue", "Dim", "GraphData", "NodeData", "TensorSpec"]

Dim: TypeAlias = int | str
"""A static size, or a symbolic one: a name or an expression text such as ``"batch"`` or ``"2*n + 1"``."""

AttrValue: TypeAlias = bool | int | float | str | bytes | tuple["AttrValue", ...] | None
"""An attribute. Integers lie in [-2**63, 2**64); floats are binary64; tuples may nest, 16 levels at most."""


@dataclass(frozen=True)
class TensorSpec:
    """Name, data type and shape of one value.

    ``dtype`` is a name of :data:`basalt.serialization.dtypes.DTYPES`; ``shape`` has at most 64 dimensions.
    """

    name: str
    dtype: str
    shape: tuple[Dim, ...]


@dataclass(frozen=True, eq=False)
class NodeData:
    """One operator call.

    ``inputs`` are names of values that graph inputs, constants or earlier nodes define; ``None`` stands for an optional
    operand that is absent. ``outputs`` define new values.
    """

    op: str
    inputs: tuple[str | None, ...]
    outputs: tuple[TensorSpec, ...]
    attrs: Mapping[str, AttrValue] = field(default_factory=dict)
    label: str = ""

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, NodeData):
            return NotImplemented
        mine = (self.op, self.inputs, self.outputs, self.label, _exact(dict(self.attrs)))
        return mine == (other.op, other.inputs, other.outputs, other.label, _exact(dict(other.attrs)))


@dataclass(frozen=True, eq=False)
class GraphData:
    """A graph with its weights.

    ``constants`` maps value names to arrays of any shape (0-d and empty ones included); ``outputs`` pairs each public
    output name with the name of the value it shows; ``nodes`` stand in topological order; ``metadata`` is free text.
    Inputs, constants and node outputs share one namespace of values, in which every name is unique.
    """

    name: str
    inputs: tuple[TensorSpec, ...]
    constants: Mapping[str, np.ndarray]
    outputs: tuple[tuple[str, str], ...]
    nodes: tuple[NodeData, ...]
    metadata: Mapping[str, str] = field(default_factory=dict)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, GraphData):
            return NotImplemented
        if (self.name, self.inputs, self.outputs) != (other.name, other.inputs, other.outputs):
            return False
        if self.nodes != other.nodes or dict(self.metadata) != dict(other.metadata):
            return False
        mine, theirs = self.constants, other.constants
        return mine.keys() == theirs.keys() and all(same_array(mine[name], theirs[name]) for name in mine)


def _exact(value: object) -> object:
    """Wrap ``value`` so that ``==`` tells 1, 1.0 and True apart and compares floats by their bits."""
    if isinstance(value, dict):
        return {key: _exact(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return tuple(_exact(item) for item in value)
    if isinstance(value, float):
        return "float", struct.pack("<d", value)
    if isinstance(value, bool):
        return "bool", value
    return value
