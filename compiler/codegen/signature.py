"""What a node computes, as a text that is equal for equal nodes of any model: measured choices are known by it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Set
from typing import Any

from ..ir import FUSED, Graph, Node, Value

__all__ = ["node_signature"]

_LENGTH = 24


def node_signature(node: Node, channels_last: Set[Value]) -> str:
    """A hash of a node's operators, attributes, and its operands' and results' types.

    Args:
        node: the node, fused or not.
        channels_last: the values that are stored with their channels last.
    """
    numbers: dict[Value, int] = {}
    values = (*node.present, *node.outputs)
    parts = [_value(v, channels_last) for v in values]
    parts.append(_body(node.body, numbers) if node.op == FUSED else _operation(node, numbers))
    return hashlib.sha256(" ".join(parts).encode()).hexdigest()[:_LENGTH]


def _value(value: Value, channels_last: Set[Value]) -> str:
    order = "last" if value in channels_last else ""
    return f"{value.dtype}{list(value.shape)}{'constant' if value.is_constant else ''}{order}"


def _body(body: Graph, numbers: dict[Value, int]) -> str:
    for value in body.inputs:
        numbers.setdefault(value, len(numbers))
    inside = [_operation(node, numbers) for node in body.nodes]
    return "; ".join([*inside, str([numbers[v] for _, v in body.outputs])])


def _operation(node: Node, numbers: dict[Value, int]) -> str:
    operands = [None if v is None else numbers.setdefault(v, len(numbers)) for v in node.inputs]
    for value in node.outputs:
        numbers.setdefault(value, len(numbers))
    types = [f"{v.dtype}{list(v.shape)}" for v in node.outputs]
    return f"{node.op}{operands}{types}{_attributes(node.attrs)}"


def _attributes(attrs: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in sorted(attrs.items()) if not isinstance(value, Graph))
