"""The intermediate representation: frozen values, nodes and graphs; constants live beside the graph.

Values are compared by identity. A node names an operator of :mod:`basalt.ops` or, after fusion, is a ``fused`` node
whose ``body`` attribute holds the graph of what it computes. Behaviour lives elsewhere: printing in :mod:`.text`,
rules in :mod:`.verify`, rewriting in :mod:`.passes`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from basalt.ops import TensorType, dtype_name

FUSED = "fused"
"""The operator name of a group of nodes that become one kernel."""

_NO_ATTRS: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True, eq=False)
class Value:
    """A tensor in a graph: an input, a constant, or one output of a node.

    ``constant`` is the key of its array in the :class:`Constants` beside the graph, None for computed values.
    """

    type: TensorType
    name: str = ""
    constant: int | None = None

    @property
    def dtype(self) -> str:
        return self.type.dtype

    @property
    def shape(self) -> tuple[Any, ...]:
        return self.type.shape

    @property
    def is_constant(self) -> bool:
        return self.constant is not None

    def __repr__(self) -> str:
        return f"<{'constant' if self.is_constant else 'value'} {self.name or hex(id(self))}: {self.type}>"


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """One operation.

    ``label`` is the user's; ``origin`` the names of the passes that made the node, latest last (empty: the user's own);
    ``sources`` the labels of the user's nodes that it stands for.
    """

    op: str
    inputs: tuple[Value | None, ...]
    outputs: tuple[Value, ...]
    attrs: Mapping[str, Any] = field(default_factory=lambda: _NO_ATTRS)
    label: str = ""
    origin: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()

    @property
    def output(self) -> Value:
        """The only output."""
        (value,) = self.outputs
        return value

    @property
    def body(self) -> Graph:
        """The graph inside a fused node."""
        body: Graph = self.attrs["body"]
        return body

    @property
    def present(self) -> tuple[Value, ...]:
        """The inputs that are there."""
        return tuple(v for v in self.inputs if v is not None)

    def labels(self) -> tuple[str, ...]:
        """The user's labels behind this node, its own first."""
        own = (self.label,) if self.label else ()
        return tuple(dict.fromkeys(own + self.sources))

    def __repr__(self) -> str:
        return f"<{self.op}{f' {self.label!r}' if self.label else ''}: {', '.join(str(o.type) for o in self.outputs)}>"


@dataclass(frozen=True, slots=True, eq=False)
class Graph:
    """Nodes in topological order, between inputs and named outputs."""

    inputs: tuple[Value, ...]
    outputs: tuple[tuple[str, Value], ...]
    nodes: tuple[Node, ...]
    name: str = ""

    def with_nodes(self, nodes: Iterable[Node], outputs: Iterable[tuple[str, Value]] | None = None) -> Graph:
        """This graph with other nodes (and outputs)."""
        return replace(self, nodes=tuple(nodes), outputs=self.outputs if outputs is None else tuple(outputs))

    def producers(self) -> dict[Value, Node]:
        """The node that makes each computed value."""
        return {v: node for node in self.nodes for v in node.outputs}

    def consumers(self) -> dict[Value, list[Node]]:
        """The nodes that read each value, in order; a node that reads one twice is listed once."""
        readers: dict[Value, list[Node]] = {}
        for node in self.nodes:
            for v in dict.fromkeys(node.present):
                readers.setdefault(v, []).append(node)
        return readers

    def output_values(self) -> frozenset[Value]:
        """The values that leave the graph."""
        return frozenset(v for _, v in self.outputs)

    def constants(self) -> tuple[Value, ...]:
        """The constants that nodes or outputs read, in order of first use."""
        seen: dict[Value, None] = {}
        for v in _read_values(self):
            if v.is_constant:
                seen[v] = None
        return tuple(seen)

    def symbols(self) -> frozenset[str]:
        """The names of the unknown sizes in the inputs' shapes."""
        from basalt.ops.dims import symbols_of

        return frozenset(s for v in self.inputs for d in v.shape for s in symbols_of(d))

    @property
    def is_static(self) -> bool:
        """Whether the size of every input is known."""
        return all(v.type.is_static for v in self.inputs)


def _read_values(graph: Graph) -> Iterator[Value]:
    for node in graph.nodes:
        yield from node.present
    for _, v in graph.outputs:
        yield v


class Constants:
    """The arrays behind constant values, each held once and never copied or hashed as a whole by a pass."""

    def __init__(self) -> None:
        self._arrays: list[np.ndarray] = []
        self._keys: dict[int, int] = {}
        self._derived: dict[tuple[Any, ...], np.ndarray] = {}
        self._inherited = 0

    def __len__(self) -> int:
        return len(self._arrays)

    def copy(self) -> Constants:
        """A store with the same arrays under the same keys; what is added to one is not added to the other."""
        other = Constants()
        other._arrays, other._keys = list(self._arrays), dict(self._keys)
        other._derived, other._inherited = self._derived, len(self._arrays)
        return other

    def add(self, array: np.ndarray, name: str = "") -> Value:
        """A constant value of an array, which must not be written to afterwards; the array is made read-only."""
        array = np.asarray(array)
        if array.flags.writeable:
            array = array.view()
            array.flags.writeable = False
        key = self._keys.get(id(array))
        if key is None:
            key = self._keys[id(array)] = len(self._arrays)
            self._arrays.append(array)
        return Value(TensorType(dtype_name(array.dtype), array.shape), name, key)

    def array(self, value: Value) -> np.ndarray:
        """The array of a constant value."""
        if value.constant is None:
            raise KeyError(f"{value!r} is no constant")
        return self._arrays[value.constant]

    def derived(self, value: Value, layout: tuple[object, ...], make: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """What ``make`` gives for a constant's array, made once for this store and all copies if they share the array.

        ``layout`` names what is made of it.
        """
        array = self.array(value)
        assert value.constant is not None
        if value.constant >= self._inherited:
            # An array of this copy alone: another copy may have another one under its key.
            return make(array)
        key = (value.constant, *layout)
        found = self._derived.get(key)
        return self._derived.setdefault(key, make(array)) if found is None else found

    def scalar(self, value: Value | None) -> float | int | None:
        """The number that every element of a constant equals, if it is a one-element constant; else None."""
        if value is None or value.constant is None:
            return None
        array = self._arrays[value.constant]
        return array.reshape(-1)[0].item() if array.size == 1 else None


def fresh(value: Value, type: TensorType | None = None) -> Value:
    """A new computed value like another one."""
    return Value(type or value.type, value.name)


def substitute(graph: Graph, replacements: Mapping[Value, Value]) -> Graph:
    """The graph with values replaced wherever they are read; chains of replacements are followed."""
    if not replacements:
        return graph

    def final(v: Value) -> Value:
        while v in replacements:
            v = replacements[v]
        return v

    nodes = [
        replace(n, inputs=tuple(v if v is None else final(v) for v in n.inputs))
        if any(v in replacements for v in n.present)
        else n
        for n in graph.nodes
    ]
    return graph.with_nodes(nodes, [(name, final(v)) for name, v in graph.outputs])


def sort_nodes(nodes: Sequence[Node]) -> list[Node]:
    """Nodes in topological order, otherwise in the order given.

    Raises:
        ValueError: for a cycle.
    """
    producer = {v: n for n in nodes for v in n.outputs}
    done: dict[Node, bool] = {}
    order: list[Node] = []
    for root in nodes:
        stack = [root]
        while stack:
            node = stack[-1]
            if done.get(node):
                stack.pop()
                continue
            done.setdefault(node, False)
            waiting = [p for v in node.present if (p := producer.get(v)) is not None and not done.get(p)]
            if not waiting:
                done[node] = True
                order.append(stack.pop())
            elif any(p in done and p in stack for p in waiting):
                raise ValueError(f"the graph has a cycle through {node!r}")
            else:
                stack.extend(waiting)
    return order
