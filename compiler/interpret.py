"""Runs a graph through the operators' NumPy semantics: the oracle, and the first run while code is being made."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from basalt import ops
from basalt.errors import BasaltError
from basalt.ops import TensorType, numpy_dtype

from .ir import FUSED, Constants, Graph, Node, Value
from .passes.specialise import specialise
from .shape_binding import bind_sizes

__all__ = ["Interpreter", "StoppedError", "interpret"]

Feeds = Mapping[str, np.ndarray]


class StoppedError(BasaltError):
    """An interpretation was given up because its ``stop`` said so."""


class Interpreter:
    """A graph without symbols, ready to be interpreted any number of times, by several threads at once."""

    def __init__(self, graph: Graph, constants: Constants) -> None:
        self._graph = graph
        self._constants = constants
        self._dead_after = _last_uses(graph)

    def run(self, feeds: Feeds, stop: Callable[[], bool] | None = None) -> dict[str, np.ndarray]:
        """The outputs, in arrays of their own.

        Args:
            feeds: an array for each input, of its data type and shape.
            stop: asked before each node; True gives the run up.

        Raises:
            StoppedError: if ``stop`` said so.
        """
        values = {v: np.asarray(feeds[v.name]) for v in self._graph.inputs}
        self._walk(values, stop)
        taken = {id(array) for array in feeds.values()}
        return {name: _own(self._value(v, values), taken) for name, v in self._graph.outputs}

    def _walk(self, values: dict[Value, np.ndarray], stop: Callable[[], bool] | None) -> None:
        for node, dead in zip(self._graph.nodes, self._dead_after):
            if stop is not None and stop():
                raise StoppedError("the run was given up")
            operands = [None if v is None else self._value(v, values) for v in node.inputs]
            for value, result in zip(node.outputs, self._evaluate(node, operands)):
                values[value] = result
            for value in dead:
                del values[value]

    def _value(self, value: Value, values: Mapping[Value, np.ndarray]) -> np.ndarray:
        return self._constants.array(value) if value.is_constant else values[value]

    def _evaluate(self, node: Node, operands: list[np.ndarray | None]) -> list[np.ndarray]:
        if node.op == FUSED:
            return self._evaluate_body(node, [x for x in operands if x is not None])
        operator = ops.get(node.op)
        types = [v.type for v in node.outputs]
        with np.errstate(all="ignore"):
            results = [np.asarray(r) for r in operator.evaluate(operator.bind(operands), dict(node.attrs), types)]
        _check_results(node, results, types)
        return results

    def _evaluate_body(self, node: Node, operands: list[np.ndarray]) -> list[np.ndarray]:
        body = Interpreter(node.body, self._constants)
        values = dict(zip(node.body.inputs, operands))
        kept = {v for _, v in node.body.outputs}
        body._dead_after = [tuple(v for v in dead if v not in kept) for dead in body._dead_after]
        body._walk(values, None)
        return [body._value(v, values) for _, v in node.body.outputs]


def interpret(graph: Graph, constants: Constants, feeds: Feeds) -> dict[str, np.ndarray]:
    """The outputs of a graph, symbols taking their sizes from the feeds' shapes.

    Args:
        graph: any graph, fused nodes included.
        constants: the arrays beside it.
        feeds: an array for each input.

    Raises:
        ValidationError: for shapes that the graph does not allow.
    """
    if not graph.is_static:
        graph = specialise(graph, bind_sizes(graph.inputs, {name: np.shape(x) for name, x in feeds.items()}))
    return Interpreter(graph, constants).run(feeds)


def _last_uses(graph: Graph) -> list[tuple[Value, ...]]:
    """For each node the values that nothing reads after it."""
    kept = graph.output_values()
    seen: set[Value] = set()
    dead: list[tuple[Value, ...]] = []
    for node in reversed(graph.nodes):
        last = [v for v in dict.fromkeys((*node.present, *node.outputs)) if v not in seen and v not in kept]
        dead.append(tuple(v for v in last if not v.is_constant))
        seen.update(node.present)
    dead.reverse()
    return dead


def _own(array: np.ndarray, taken: set[int]) -> np.ndarray:
    """An output's array that shares memory with no feed, constant (those are read-only) or other output."""
    fresh = array.flags.owndata and array.flags.c_contiguous and array.flags.writeable
    if not fresh or id(array) in taken:
        return np.array(array, order="C", copy=True)
    taken.add(id(array))
    return array


def _check_results(node: Node, results: list[np.ndarray], types: list[TensorType]) -> None:
    given = [(r.dtype, r.shape) for r in results]
    wanted = [(numpy_dtype(t.dtype), t.shape) for t in types]
    if given != wanted:
        shown = ", ".join(f"{dtype.name}{list(shape)}" for dtype, shape in given)
        raise BasaltError(f"internal error: {node!r} evaluated to {shown}, not to {', '.join(map(str, types))}")
