"""From calls to the records of an ONNX graph: what is read stays, everything gets a name of its own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from basalt.ops import Shape
from basalt.serialization.onnx import (
    OnnxAttribute,
    OnnxGraph,
    OnnxNode,
    OnnxTensor,
    OnnxType,
    OnnxValueInfo,
)

from ...shape_binding import shape_names
from .tensor import Body, Call, Tensor

__all__ = ["Names", "assemble", "declared", "live_calls"]

_HELPERS = frozenset({"Cast", "Transpose", "Reshape", "Expand", "Concat", "Slice", "Identity", "Shape"})
"""Operators that a node's label does not stand for, if there are others."""


class Names:
    """Names of values and of nodes, each given once."""

    def __init__(self, taken: Iterable[str]) -> None:
        self._taken = set(taken)
        self._numbers: dict[str, int] = {}
        self._names: dict[Tensor, str] = {}

    def fix(self, tensor: Tensor, name: str) -> None:
        """Give a tensor a name that is taken for it."""
        self._names[tensor] = name

    def of(self, tensor: Tensor, otherwise: str = "") -> str:
        """A tensor's name, made at the first call from what it would like or ``otherwise``."""
        if tensor not in self._names:
            self._names[tensor] = self.free(tensor.name or otherwise)
        return self._names[tensor]

    def has(self, tensor: Tensor) -> bool:
        """Whether a tensor has its name already."""
        return tensor in self._names

    def free(self, wanted: str) -> str:
        """The name if it is free, else with a number behind it."""
        name = wanted
        while name in self._taken:
            self._numbers[wanted] = self._numbers.get(wanted, 0) + 1
            name = f"{wanted}_{self._numbers[wanted]}"
        self._taken.add(name)
        return name


def live_calls(calls: Sequence[Call], outputs: Iterable[Tensor]) -> list[Call]:
    """The calls that outputs depend on."""
    needed = set(outputs)
    kept = []
    for call in reversed(calls):
        if needed.isdisjoint(call.outputs):
            continue
        for body in call.bodies():
            body.calls = live_calls(body.calls, [t for t, _ in body.outputs])
        needed.update(_read(call))
        kept.append(call)
    return kept[::-1]


def mark_main(calls: Sequence[Call]) -> None:
    """Choose which call of a node's bears the node's name: the first that does more than move data."""
    chosen = next((c for c in calls if c.op_type not in _HELPERS), calls[-1] if calls else None)
    if chosen is not None:
        chosen.is_main = True


def assemble(
    name: str,
    calls: Sequence[Call],
    inputs: Sequence[tuple[Tensor, Shape]],
    outputs: Sequence[tuple[Tensor, Shape]],
    values: Names,
) -> OnnxGraph:
    """A graph of calls that are all live; inputs and outputs have their names."""
    nodes = Names(call.base for call in calls if call.is_main)
    constants = list(dict.fromkeys(t for call in calls for t in _read(call) if t.array is not None))
    _name_constants(calls, values)
    return OnnxGraph(
        name=name,
        nodes=tuple(_node(call, values, nodes) for call in calls),
        inputs=tuple(declared(values.of(t), t.dtype, shape) for t, shape in inputs),
        outputs=tuple(declared(values.of(t), t.dtype, shape) for t, shape in outputs),
        initializers=tuple(_initializer(values.of(t), t) for t in constants),
    )


def declared(name: str, dtype: str, shape: Shape) -> OnnxValueInfo:
    """A value with its type; symbolic dimensions become names, or texts of expressions."""
    return OnnxValueInfo(name, OnnxType("tensor", dtype, shape_names(shape)))


def _read(call: Call) -> Iterator[Tensor]:
    """The tensors of the graph around it that a call reads."""
    yield from (t for t in call.inputs if t is not None)
    for body in call.bodies():
        inner = {t for t, _ in body.inputs}.union(*(c.outputs for c in body.calls))
        for each in body.calls:
            yield from (t for t in _read(each) if t not in inner)
        yield from (t for t, _ in body.outputs if t not in inner)


def _name_constants(calls: Sequence[Call], values: Names) -> None:
    for call in calls:
        for t in _read(call):
            if t.array is not None:
                values.of(t, f"{call.base}_constant")


def _node(call: Call, values: Names, nodes: Names) -> OnnxNode:
    name = call.base if call.is_main else nodes.free(f"{call.base}/{call.op_type}")
    suffixes = [""] if len(call.outputs) == 1 else [f"_{i}" for i in range(len(call.outputs))]
    return OnnxNode(
        call.op_type,
        _trimmed(tuple("" if t is None else values.of(t) for t in call.inputs)),
        tuple(values.of(t, f"{name}_output{suffix}") for t, suffix in zip(call.outputs, suffixes)),
        {key: _attribute(key, value, name, values, nodes) for key, value in call.attributes.items()},
        domain=call.domain,
        name=name,
    )


def _trimmed(names: tuple[str, ...]) -> tuple[str, ...]:
    """Inputs without the absent ones at the end."""
    while names and not names[-1]:
        names = names[:-1]
    return names


def _attribute(key: str, value: Any, node: str, values: Names, nodes: Names) -> OnnxAttribute:
    match value:
        case Body():
            return OnnxAttribute(key, "GRAPH", _body(value, f"{node}_{key}", values, nodes))
        case OnnxTensor():
            return OnnxAttribute(key, "TENSOR", value)
        case int():
            return OnnxAttribute(key, "INT", int(value))
        case float():
            return OnnxAttribute(key, "FLOAT", float(np.float32(value)))
        case str():
            return OnnxAttribute(key, "STRING", value.encode())
        case (str(), *_):
            return OnnxAttribute(key, "STRINGS", tuple(item.encode() for item in value))
        case (float(), *_):
            return OnnxAttribute(key, "FLOATS", tuple(float(np.float32(item)) for item in value))
    return OnnxAttribute(key, "INTS", tuple(int(item) for item in value))


def _body(body: Body, name: str, values: Names, nodes: Names) -> OnnxGraph:
    for kind, places in (("input", body.inputs), ("output", body.outputs)):
        for i, (t, _) in enumerate(places):
            values.of(t, f"{name}_{kind}_{i}")
    return OnnxGraph(
        name=name,
        nodes=tuple(_node(call, values, nodes) for call in body.calls),
        inputs=tuple(declared(values.of(t), t.dtype, shape) for t, shape in body.inputs),
        outputs=tuple(declared(values.of(t), t.dtype, shape) for t, shape in body.outputs),
    )


def _initializer(name: str, t: Tensor) -> OnnxTensor:
    assert t.array is not None
    return OnnxTensor.from_array(name, t.array)
