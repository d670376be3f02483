"""Makes the nodes that a pass puts in place of others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from basalt import ops
from basalt.ops import TensorType, numpy_dtype
from basalt.ops.schema import REQUIRED

from ..ir import Node, Value
from .context import Context
from .evaluation import evaluate


class Emitter:
    """Nodes that stand for others: checked by their operators' rules, and marked with their origin and sources.

    Args:
        context: the surroundings of the pass.
        origin: the pass' name.
        replaced: the nodes that the new ones stand for, the one to be replaced first.
    """

    __slots__ = ("context", "nodes", "origin", "sources")

    def __init__(self, context: Context, origin: str, replaced: Sequence[Node]) -> None:
        self.context = context
        self.nodes: list[Node] = []
        self.origin = (*replaced[0].origin, origin) if replaced else (origin,)
        self.sources = tuple(dict.fromkeys(label for node in replaced for label in node.labels()))

    def emit(self, op: str, *inputs: Value | None, **attrs: Any) -> Value:
        """The output of a new node that has one.

        Args:
            op: the operator.
            inputs: its operands in order, None for an absent optional one.
            attrs: attributes in converted form; those left out take their defaults.

        Raises:
            ValidationError: if the operator's rule refuses the operands.
        """
        (value,) = self.emit_all(op, *inputs, **attrs)
        return value

    def emit_all(self, op: str, *inputs: Value | None, **attrs: Any) -> tuple[Value, ...]:
        """The outputs of a new node; arguments as for :meth:`emit`."""
        types, completed = check(op, inputs, {**_defaults(op), **attrs})
        outputs = tuple(Value(t) for t in types)
        self.nodes.append(Node(op, inputs, outputs, completed, origin=self.origin, sources=self.sources))
        return outputs

    def scalar(self, number: float | int, dtype: str) -> Value:
        """A constant of shape ``()``."""
        return self.context.scalar(number, numpy_dtype(dtype))

    def fold(self, op: str, *inputs: Value, **attrs: Any) -> Value:
        """A constant: the output of an operator for constant operands; arguments as for :meth:`emit`."""
        types, completed = check(op, inputs, {**_defaults(op), **attrs})
        arrays = [self.context.constants.array(v) for v in inputs]
        (array,) = evaluate(op, arrays, completed, types)
        return self.constant(array)

    def constant(self, array: np.ndarray, name: str = "") -> Value:
        """A constant of an array that nobody writes to any more."""
        return self.context.constants.add(array, name)

    def number(self, value: Value | None) -> float | int | None:
        """The number that every element of a constant is (see :meth:`Context.number`)."""
        return self.context.number(value)

    def reshape(self, x: Value, shape: Sequence[Any]) -> Value:
        """The value in another shape; itself if it has that shape."""
        return x if x.shape == tuple(shape) else self.emit("reshape", x, new_shape=tuple(shape))

    def cast(self, x: Value, dtype: str) -> Value:
        """The value in another data type; itself if it has that data type."""
        return x if x.dtype == dtype else self.emit("cast", x, data_type=dtype)

    def expand(self, x: Value, shape: Sequence[Any]) -> Value:
        """The value stretched to a shape; itself if it has that shape."""
        return x if x.shape == tuple(shape) else self.emit("expand", x, new_shape=tuple(shape))


def check(
    op: str, inputs: Sequence[Value | None], attrs: Mapping[str, Any], label: str = ""
) -> tuple[tuple[TensorType, ...], dict[str, Any]]:
    """The output types and completed attributes of a node, data types of other formats allowed (see Operator.check)."""
    return ops.get(op).check([None if v is None else v.type for v in inputs], attrs, label, extended=True)


@cache
def _defaults(op: str) -> dict[str, Any]:
    operator = ops.get(op)
    return {o.name: o.default for o in operator.arguments + operator.options if o.default is not REQUIRED}
