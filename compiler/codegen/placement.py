"""Decides which values are computed right where they are needed: in an output's memory or inside a concatenation."""

from __future__ import annotations

from collections.abc import Sequence

from ..ir import Graph, Node, Value
from ..views import View
from .layouts import allocate_in

_THROUGH = frozenset({"reshape", "transpose", "concat", "pad"})


def place_outputs(graph: Graph, outputs: Sequence[View], last: frozenset[Value] = frozenset()) -> dict[Value, View]:
    """A place for every value that an output or a concatenation asks to have there.

    Walks backwards from the outputs, through reshapes and transposes, into the operands of concatenations. A value that
    is asked for twice gets the first place and is copied to the second.

    Args:
        graph: the graph to be lowered.
        outputs: the view of each graph output's memory.
        last: the values that are stored with their channels last where nothing else asks for them.
    """
    producers = graph.producers()
    placed: dict[Value, View] = {}
    for (_, value), view in zip(graph.outputs, outputs):
        if value in producers and value not in placed:
            placed[value] = view
    for node in reversed(graph.nodes):
        if node.op not in _THROUGH:
            continue
        into = placed.get(node.output)
        if into is None and node.op in ("concat", "pad"):
            into = placed[node.output] = allocate_in(node.output, last)
        if into is not None:
            _push_back(node, into, placed, producers)
    return placed


def _push_back(node: Node, view: View, placed: dict[Value, View], producers: dict[Value, Node]) -> None:
    wanted: list[tuple[Value, View | None]] = []
    if node.op == "reshape":
        wanted = [(node.present[0], view.reshaped(node.present[0].shape))]
    elif node.op == "transpose":
        order = node.attrs["permutation"]
        inverse = sorted(range(len(order)), key=order.__getitem__)
        wanted = [(node.present[0], view.permuted(inverse))]
    elif node.op == "concat":
        axis, start = node.attrs["axis"], 0
        for value in node.present:
            wanted.append((value, concat_slot(view, axis, start, value.shape)))
            start += value.shape[axis]
    elif node.op == "pad":
        wanted = [(node.present[0], interior(view, node.attrs["beginning_padding"], node.present[0].shape))]
    for value, place in wanted:
        if place is not None and value in producers and value not in placed:
            placed[value] = place


def concat_slot(view: View, axis: int, start: int, shape: tuple[int, ...]) -> View:
    """The part of a concatenation that one operand fills."""
    starts = [start if i == axis else 0 for i in range(len(shape))]
    return view.sliced(starts, shape, (1,) * len(shape))


def interior(view: View, before: Sequence[int], shape: tuple[int, ...]) -> View:
    """The part of a padded tensor that its operand fills."""
    return view.sliced(before, shape, (1,) * len(shape))
