"""Nodes and values as plain data, each once however many of a pipeline's graphs hold it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import Any

import numpy as np

from ..ir import FUSED, Constants, Graph, Node, Value
from .provenance import numbers_of, own_number

__all__ = ["Records", "text_of"]

SHOWN_ELEMENTS = 8
LONGEST = 2000
"""Characters of an attribute."""


class Records:
    """Numbers values and nodes, and keeps what is to be shown of them.

    Nodes of equal content have one number, so that what a pass left alone keeps its number.

    Args:
        constants: the arrays beside the graphs.
        labels: the user's label of each place of the numbered graph (see :mod:`.provenance`).
    """

    def __init__(self, constants: Constants, labels: tuple[str, ...]) -> None:
        self.values: list[dict[str, Any]] = []
        self.nodes: list[dict[str, Any]] = []
        self._constants = constants
        self._labels = labels
        self._value_numbers: dict[Value, int] = {}
        self._node_numbers: dict[Node, int] = {}
        self._contents: dict[str, int] = {}

    def value(self, value: Value) -> int:
        """The number of a value."""
        number = self._value_numbers.get(value)
        if number is None:
            number = self._value_numbers[value] = len(self.values)
            entry: dict[str, Any] = {"type": value.dtype, "shape": _shape(value.shape)}
            if value.name:
                entry["name"] = value.name
            if value.is_constant:
                entry["constant"] = value.constant
                entry["data"] = _preview(self._constants.array(value))
            self.values.append(entry)
        return number

    def node(self, node: Node, body: Callable[[Graph], list[int]] | None = None) -> int:
        """The number of a node; ``body`` gives those of what is inside a fused one."""
        number = self._node_numbers.get(node)
        if number is None:
            entry = self._entry(node, body or self._inner)
            content = json.dumps(entry, sort_keys=True)
            number = self._contents.get(content)
            if number is None:
                number = self._contents[content] = len(self.nodes)
                self.nodes.append(entry)
            self._node_numbers[node] = number
        return number

    def _inner(self, body: Graph) -> list[int]:
        return [self.node(node) for node in body.nodes]

    def _entry(self, node: Node, body: Callable[[Graph], list[int]]) -> dict[str, Any]:
        own = own_number(node)
        entry: dict[str, Any] = {
            "op": node.op,
            "in": [None if v is None else self.value(v) for v in node.inputs],
            "out": [self.value(v) for v in node.outputs],
            "users": list(numbers_of(node)),
        }
        if own is not None:
            entry["own"] = own
        labels = list(dict.fromkeys(label for i in numbers_of(node) if (label := self._labels[i])))
        if labels:
            entry["labels"] = labels
        if node.origin:
            entry["origin"] = list(node.origin)
        if node.op == FUSED:
            entry["root"] = node.attrs["root"]
            entry["body"] = body(node.body)
        if attrs := _attributes(node.attrs):
            entry["attrs"] = attrs
        return entry


def _attributes(attrs: Mapping[str, Any]) -> dict[str, str]:
    return {
        name: text_of(value) for name, value in sorted(attrs.items()) if value is not None and not _hidden(name, value)
    }


def _hidden(name: str, value: Any) -> bool:
    return isinstance(value, Graph) or name == "root"


def text_of(value: Any) -> str:
    """An attribute's value for people."""
    text = _text(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}… ({len(text):,} characters)"


def _text(value: Any) -> str:
    if isinstance(value, (tuple, list)):
        return f"[{', '.join(map(_text, value))}]"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _shape(shape: Iterable[Any]) -> list[int | str]:
    """The sizes; the text of one that is not known."""
    return [int(d) if isinstance(d, (int, np.integer)) else str(d) for d in shape]


def _preview(array: np.ndarray) -> str:
    """The first elements."""
    shown = ", ".join(_element(array[place]) for place in islice(np.ndindex(array.shape), SHOWN_ELEMENTS))
    return f"{shown}{', …' if array.size > SHOWN_ELEMENTS else ''}"


def _element(x: Any) -> str:
    if isinstance(x, (str, bytes, bool, np.bool_, int, np.integer, complex)):
        return repr(x.item() if isinstance(x, np.generic) else x)
    return f"{float(x):.6g}"
