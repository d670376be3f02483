"""A region: core nodes emitted between two steps of a script, which become one compiled program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from basalt import ops
from basalt.errors import ValidationError
from basalt.ops import SymDim, TensorType
from basalt.ops.dims import symbols_of
from basalt.ops.schema import REQUIRED

from ..ir import Constants, Graph, Node, Value
from ..passes.evaluation import evaluate
from .errors import OnHostError
from .sizes import evaluate_sizes
from .tensor import Tensor, carrier, carrier_array, logical_array, of_elements

__all__ = ["Region"]

FOLD_BYTES = 1 << 16
"""Results up to this size are computed at once where all operands are known; larger ones if they take no more room."""
MOVES = frozenset(
    ("reshape", "transpose", "slice", "split", "concat", "expand", "tile", "pad", "reverse", "identity", "triangular")
) | frozenset(("gather", "gather_elements", "gather_nd", "scatter_elements", "scatter_nd"))
"""Operators whose output has the ONNX data type of their first operand."""


class Region:
    """Emits core nodes; what is known of their results is computed at once."""

    def __init__(self, symbol_sources: Mapping[str, Tensor] | None = None) -> None:
        self.nodes: list[Node] = []
        self.constants = Constants()
        self.inputs: dict[str, Value] = {}
        self.input_dtypes: dict[str, str] = {}
        self._sources = dict(symbol_sources or {})
        self._constant_values: dict[int, tuple[Tensor, Value]] = {}
        self._input_values: dict[str, Value] = {}

    def emit(
        self, op: str, inputs: Sequence[Tensor | None], attrs: Mapping[str, Any], label: str = "", dtype: str = ""
    ) -> tuple[Tensor, ...]:
        """The results of a core operator.

        Args:
            op: the operator's name.
            inputs: its operands; None for an absent one.
            attrs: attributes in converted form (sequences may be lists); those left out take their defaults.
            label: the ONNX node's name, for messages and listings.
            dtype: the ONNX data type of the outputs where it is not that of the core's type, or of what is moved.

        Raises:
            ValidationError: if the operator's rule refuses the operands; names the label.
        """
        given = [None if t is None else TensorType(carrier(t.dtype), t.shape) for t in inputs]
        if any(g is not None and g.rank > ops.schema.MAX_RANK for g in given):
            raise OnHostError
        settled = {**_defaults(op), **{name: _settled(value) for name, value in attrs.items()}}
        types, completed = ops.get(op).check(given, settled, label, extended=True)
        names = [dtype or self._logical(op, inputs, t.dtype) for t in types]
        found = self._fold(op, inputs, completed, types, names)
        if found is not None:
            return found
        values = tuple([None if t is None else self.value(t, label) for t in inputs])
        outputs = tuple([Value(t) for t in types])
        self.nodes.append(Node(op, values, outputs, completed, label))
        sized = all(t is None or t.sized for t in inputs)
        return tuple(
            Tensor(name, t.shape, value=v, owner=self, sized=sized) for name, t, v in zip(names, types, outputs)
        )

    def value(self, tensor: Tensor, label: str = "") -> Value:
        """The value by which this region's nodes read a tensor."""
        if tensor.owner is self and tensor.value is not None:
            return tensor.value
        if tensor.array is not None:
            return self._constant(tensor)
        if tensor.sizes is not None:
            return self._of_sizes(tensor, label)
        if tensor.slot:
            return self._input(tensor, label)
        raise AssertionError(f"{tensor} belongs to another region")

    def graph(self, outputs: Sequence[tuple[str, Tensor]], name: str = "") -> Graph:
        """The region as a graph that computes some tensors by name; what they don't depend on is left out."""
        named = tuple((slot, self._leaving(t)) for slot, t in outputs)
        nodes, used = _reachable(self.nodes, [v for _, v in named])
        for symbol in sorted(_symbols(nodes)):
            self._require_source(symbol, used)
        inputs = tuple(v for v in self.inputs.values() if v in used)
        return Graph(inputs, named, nodes, name)

    def _leaving(self, tensor: Tensor) -> Value:
        """A tensor as a value that leaves the region: bool as itself, never an input or a constant."""
        value = self.value(tensor)
        if tensor.dtype == "bool":
            return self._node("cast", [value], {"data_type": "bool"})
        if value.is_constant or value.name:
            return self._node("identity", [value], {})
        return value

    def _require_source(self, symbol: str, used: set[Value]) -> None:
        """Have an input whose shape says what a symbol is."""
        for value in self.inputs.values():
            if value in used and any(d == _plain(symbol) for d in value.shape):
                return
        tensor = self._sources.get(symbol)
        if tensor is not None:
            self._input(tensor, "")
            used.add(self.inputs[tensor.slot])

    def _logical(self, op: str, inputs: Sequence[Tensor | None], dtype: str) -> str:
        place = 1 if op == "where" else 0
        first = inputs[place] if len(inputs) > place else None
        if first is not None and (op in MOVES or op == "where") and carrier(first.dtype) == dtype:
            return first.dtype
        return dtype

    def _fold(
        self,
        op: str,
        inputs: Sequence[Tensor | None],
        attrs: dict[str, Any],
        types: Sequence[TensorType],
        names: Sequence[str],
    ) -> tuple[Tensor, ...] | None:
        """The results where they are known now."""
        if all(t is None or t.array is not None for t in inputs):
            return self._evaluate(op, inputs, attrs, types, names)
        if not all(t is None or t.array is not None or t.sizes is not None for t in inputs):
            return None
        results = evaluate_sizes(op, [_elements(t) for t in inputs], attrs, types[0].dtype)
        if results is None:
            return None
        return tuple(of_elements(name, r) for name, r in zip(names, results))

    def _evaluate(
        self, op: str, inputs: Sequence[Tensor | None], attrs: Any, types: Sequence[TensorType], names: Sequence[str]
    ) -> tuple[Tensor, ...] | None:
        if not all(t.is_static for t in types) or any(_has_symbols(a) for a in attrs.values()):
            return None
        if op == "dequantize_linear" and types[0].rank > 1:
            # Passes make products of integers of quantised weights, or fold them themselves.
            return None
        size = sum(t.nbytes for t in types)
        if size > max(FOLD_BYTES, sum(t.array.nbytes for t in inputs if t is not None and t.array is not None)):
            return None
        arrays = [None if t is None or t.array is None else carrier_array(t.array, t.dtype) for t in inputs]
        results = evaluate(op, arrays, attrs, types)
        return tuple(
            Tensor(name, tuple(r.shape), array=logical_array(r, name), sized=True) for name, r in zip(names, results)
        )

    def _constant(self, tensor: Tensor) -> Value:
        found = self._constant_values.get(id(tensor))
        if found is None:
            assert tensor.array is not None
            held = np.require(carrier_array(tensor.array, tensor.dtype), requirements=["C", "A"])
            held = held.reshape(tensor.array.shape)
            found = self._constant_values[id(tensor)] = (tensor, self.constants.add(held))
        return found[1]

    def _of_sizes(self, tensor: Tensor, label: str) -> Value:
        assert tensor.sizes is not None
        value = self._node("sizes", [], {"dims": tuple(tensor.sizes.reshape(-1))}, label)
        if tensor.rank != 1:
            value = self._node("reshape", [value], {"new_shape": tensor.shape}, label)
        if carrier(tensor.dtype) != "int64":
            value = self._node("cast", [value], {"data_type": carrier(tensor.dtype)}, label)
        return value

    def _input(self, tensor: Tensor, label: str) -> Value:
        found = self._input_values.get(tensor.slot)
        if found is None:
            self.input_dtypes[tensor.slot] = tensor.dtype
            held = "bool" if tensor.dtype == "bool" else carrier(tensor.dtype)
            entry = self.inputs[tensor.slot] = Value(TensorType(held, tensor.shape), tensor.slot)
            found = self._node("cast", [entry], {"data_type": "uint8"}, label) if held == "bool" else entry
            self._input_values[tensor.slot] = found
        return found

    def _node(self, op: str, inputs: Sequence[Value], attrs: Mapping[str, Any], label: str = "") -> Value:
        types, completed = ops.get(op).check([v.type for v in inputs], {**_defaults(op), **attrs}, label, extended=True)
        (type_,) = types
        value = Value(type_)
        self.nodes.append(Node(op, tuple(inputs), (value,), completed, label))
        return value


def _elements(tensor: Tensor | None) -> np.ndarray | None:
    if tensor is None:
        return None
    return tensor.array if tensor.array is not None else tensor.sizes


def _reachable(nodes: Sequence[Node], outputs: Sequence[Value]) -> tuple[tuple[Node, ...], set[Value]]:
    used = set(outputs)
    kept = []
    for node in reversed(nodes):
        if not used.isdisjoint(node.outputs):
            used.update(node.present)
            kept.append(node)
    return tuple(reversed(kept)), used


def _symbols(nodes: Sequence[Node]) -> set[str]:
    found: set[str] = set()
    for node in nodes:
        for attr in node.attrs.values():
            for entry in attr if isinstance(attr, tuple) else (attr,):
                if isinstance(entry, SymDim):
                    found |= symbols_of(entry)
    return found


def _has_symbols(attr: Any) -> bool:
    return any(isinstance(a, SymDim) for a in (attr if isinstance(attr, tuple) else (attr,)))


@cache
def _plain(symbol: str) -> SymDim:
    return ops.symbol(symbol)


def _settled(value: Any) -> Any:
    """An attribute with tuples for lists and Python numbers for NumPy's."""
    if isinstance(value, (list, tuple)):
        return tuple(_settled(v) for v in value)
    return value.item() if isinstance(value, np.generic) else value


@cache
def _defaults(op: str) -> dict[str, Any]:
    try:
        operator = ops.get(op)
    except KeyError:
        raise ValidationError(f"there is no core operator {op!r}") from None
    return {o.name: o.default for o in operator.arguments + operator.options if o.default is not REQUIRED}
