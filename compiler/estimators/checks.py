"""What a method's graph finds out about its rows on the way: whether they are to be refused."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from basalt import ops
from basalt.errors import ValidationError

from ..ir import Graph, Node, Value
from .facts import CHECK_OUTPUTS, Facts
from .pruning import pruned

__all__ = ["checked_graph", "look_of"]

REFUSALS = {
    "unknown": "input X has a category that {} was not fitted with",
    "strays": "a step of {} makes NaN or infinity of input X, which the next one does not take",
}
"""Why rows are refused where an output of ``CHECK_OUTPUTS`` says so, by its kind."""
_REFUSED = "input X contains NaN or infinity, which {} does not take"
_SQUARES = "check.squares"
_INFINITY = float("inf")


def checked_graph(graph: Graph, outputs: Sequence[str]) -> Graph:
    """The part of an estimator's graph for some outputs, with flags after them.

    Flags are those of ``REFUSALS``, then one of elements that are no finite numbers: the sum of the squares of all
    elements, which such ones make none either, costs little. Where NaN are taken, the graph's own flag says more.
    """
    names = [name for name, _ in graph.outputs]
    refused = CHECK_OUTPUTS["refused"]
    wanted = [*outputs, *(flag for kind in REFUSALS if (flag := CHECK_OUTPUTS[kind]) in names)]
    if refused not in names:
        return pruned(graph, wanted)
    if _takes_nan(graph):
        return pruned(graph, [*wanted, refused])
    part = pruned(graph, wanted)
    if len(part.inputs) != 1:
        return pruned(graph, [*wanted, refused])
    return _with_squares(part)


def _takes_nan(graph: Graph) -> bool:
    return not any(node.op == "is_nan" for node in pruned(graph, [CHECK_OUTPUTS["refused"]]).nodes)


def _with_squares(graph: Graph) -> Graph:
    (entry,) = graph.inputs
    operator = ops.get("reduce_sum_square")
    given = {"axes": (0, 1), "keep_dimensions": False}
    settled = {o.name: given.get(o.name, o.default) for o in (*operator.arguments, *operator.options)}
    types, attrs = operator.check([entry.type], settled, "check", extended=True)
    total = Value(types[0])
    node = Node("reduce_sum_square", (entry,), (total,), attrs, "check")
    return Graph(graph.inputs, (*graph.outputs, (_SQUARES, total)), (node, *graph.nodes), graph.name)


def look_of(
    graph: Graph, facts: Facts, method: str, is_refused: Callable[[np.ndarray], bool]
) -> Callable[[np.ndarray, Sequence[np.ndarray]], None] | None:
    """What looks at the outputs of a graph that :func:`checked_graph` gave, and raises for rows to be refused.

    ``is_refused`` says of rows whose squares do not add up to a number whether they really are. None where nothing is
    refused.
    """
    names = [name for name, _ in graph.outputs]
    reasons = {CHECK_OUTPUTS[kind]: f"{method}: {reason}" for kind, reason in REFUSALS.items()}
    reasons[CHECK_OUTPUTS["refused"]] = _REFUSED
    flags = [(place, reasons[name].format(facts.class_name)) for place, name in enumerate(names) if name in reasons]
    squares = names.index(_SQUARES) if _SQUARES in names else None

    def look(rows: np.ndarray, found: Sequence[np.ndarray]) -> None:
        if squares is not None and not found[squares].item() < _INFINITY and is_refused(rows):
            raise ValidationError(_REFUSED.format(facts.class_name))
        for place, reason in flags:
            if found[place].item():
                raise ValidationError(reason)

    return look if flags or squares is not None else None
