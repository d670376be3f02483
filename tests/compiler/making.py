"""Builds graphs for tests, each node through its operator's check."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from basalt import ops
from basalt.compiler.ir import Constants, Graph, Node, Value
from basalt.ops import TensorType, numpy_dtype


class Maker:
    """``m = Maker(); x = m.input("x", "float32", (2, 3)); graph = m.graph(y=m.relu(x))``.

    Every operator is a method: operands, then arguments, then keyword options and optional operands, and ``label=``.
    """

    def __init__(self, constants: Constants | None = None) -> None:
        self.constants = Constants() if constants is None else constants
        self.inputs: list[Value] = []
        self.nodes: list[Node] = []

    def input(self, name: str, dtype: str, shape: Sequence[Any]) -> Value:
        value = Value(TensorType(dtype, tuple(shape)), name)
        self.inputs.append(value)
        return value

    def constant(self, array: Any, dtype: str = "float32", name: str = "") -> Value:
        return self.constants.add(np.asarray(array, numpy_dtype(dtype)), name)

    def call(self, op: str, *args: Any, label: str = "", **options: Any) -> Any:
        """The output of a node, or a tuple of several."""
        operator = ops.get(op)
        inputs, rest = _operands(operator, args, options)
        attrs = {o.name: o.default for o in operator.arguments + operator.options}
        given = {**dict(zip((o.name for o in operator.arguments), rest)), **options}
        assert given.keys() <= attrs.keys(), f"{op} has no {given.keys() - attrs.keys()}"
        converters = {o.name: o.convert for o in operator.arguments + operator.options}
        attrs |= {k: v if v is None or k == "data_type" else converters[k](v) for k, v in given.items()}
        types, completed = operator.check([None if v is None else v.type for v in inputs], attrs, label, extended=True)
        outputs = tuple(Value(t) for t in types)
        self.nodes.append(Node(op, inputs, outputs, completed, label))
        return outputs[0] if len(outputs) == 1 and not operator.outputs[0].variadic else outputs

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name not in ops.all_operators():
            raise AttributeError(name)
        return lambda *args, **options: self.call(name, *args, **options)

    def graph(self, **outputs: Value) -> Graph:
        return Graph(tuple(self.inputs), tuple(outputs.items()), tuple(self.nodes))


def _operands(
    operator: ops.Operator, args: tuple[Any, ...], options: dict[str, Any]
) -> tuple[tuple[Value | None, ...], tuple[Any, ...]]:
    if operator.variadic:
        return tuple(args[0]), args[1:]
    required = [o for o in operator.operands if not o.optional]
    given = dict(zip((o.name for o in required), args))
    inputs = [given[o.name] if not o.optional else options.pop(o.name, None) for o in operator.operands]
    while inputs and inputs[-1] is None:
        inputs.pop()
    return tuple(inputs), args[len(required) :]
