"""Moves dequantisation behind what only moves elements, so that bytes are moved and stay bytes.

Tables that are looked up keep their size; products see their operands quantised; and what is quantised again as it was
is not dequantised at all.
"""

from __future__ import annotations

from math import prod

import numpy as np

from ..ir import Graph, Value
from .context import Context
from .emitter import Emitter
from .patterns import Match, op
from .rewriting import apply_rewrites, index, only_if, rewrite

_MOVING = ("transpose", "reshape", "slice", "reverse")
_BYTES = ("int8", "uint8")
_DEQUANTISED = op("dequantize_linear", name="inner")


def dequantise_late(graph: Graph, context: Context) -> Graph:
    """The graph with elements moved before they are dequantised."""
    return apply_rewrites(graph, context, _RULES, "dequantise_late")


def _single(m: Match) -> bool:
    """Whether one scale and zero point serve all elements, which are bytes."""
    return _is_bytes(m) and all(prod(v.shape) == 1 for v in m.node("inner").present[1:])


def _is_bytes(m: Match) -> bool:
    return m.node("inner").present[0].dtype in _BYTES


def _lone(m: Match) -> bool:
    return m.alone("inner") or m.node("inner").present[0].is_constant


@rewrite(op(_MOVING, _DEQUANTISED), only_if(_single), ("other nodes read what is dequantised as well", _lone))
def movement(m: Match, e: Emitter) -> Value:
    """Each element is dequantised by itself, wherever it is."""
    x, *numbers = m.node("inner").present
    moved = e.emit(m.root.op, x, **m.root.attrs)
    return e.emit("dequantize_linear", moved, *(e.reshape(v, (1,) * len(moved.shape)) for v in numbers))


@rewrite(op("transpose", _DEQUANTISED), only_if(_is_bytes), ("other nodes read what is dequantised as well", _lone))
def transpose_of_blocks(m: Match, e: Emitter) -> Value:
    """Scales and zero points of blocks are transposed with their blocks."""
    turned = [e.emit("transpose", v, permutation=m.root.attrs["permutation"]) for v in m.node("inner").present]
    return e.emit("dequantize_linear", *turned)


def _looks_up_less(m: Match) -> bool:
    table = m.node("inner").present[0]
    return m.root.inputs[0] is m.node("inner").output and prod(m.output.shape) <= prod(table.shape)


@rewrite(op("gather", _DEQUANTISED), only_if(_looks_up_less), only_if(_single))
def lookup(m: Match, e: Emitter) -> Value:
    """What is looked up in a table is less than the table, which is stored as bytes then."""
    table, *numbers = m.node("inner").present
    found = e.emit("gather", table, m.root.present[1], axis=m.root.attrs["axis"])
    return e.emit("dequantize_linear", found, *(e.reshape(v, (1,) * len(found.shape)) for v in numbers))


def _of_rows(m: Match) -> bool:
    table, *numbers = m.node("inner").present
    rows = (table.shape[0], *(1,) * (len(table.shape) - 1))
    return _is_bytes(m) and m.root.attrs["axis"] == 0 and all(v.shape == rows for v in numbers)


@rewrite(op("gather", _DEQUANTISED), only_if(_looks_up_less), only_if(_of_rows))
def lookup_of_rows(m: Match, e: Emitter) -> Value:
    """Each row brings its scale and zero point along."""
    found = [e.emit("gather", v, m.root.present[1], axis=0) for v in m.node("inner").present]
    return e.emit("dequantize_linear", *found)


def _quantises_back(m: Match) -> bool:
    """Whether quantisation undoes dequantisation: one known scale that loses nothing, and the same data type."""
    x, *numbers = m.node("inner").present
    others = m.root.present[1:]
    if x.dtype != m.output.dtype or not _single(m):
        return False
    known = [m.graph.context.number(v) for v in (*numbers, *others)]
    if None in known or known[:2] != known[2:]:
        return False
    scale, limits = abs(known[0] or 0), np.finfo(np.float32)
    return numbers[0].dtype == "float32" and float(limits.tiny) <= scale and scale * 256 < float(limits.max)


@rewrite(op("quantize_linear", _DEQUANTISED), only_if(_quantises_back))
def quantised_again(m: Match, e: Emitter) -> Value:
    """A product of few digits by a scale, divided by it, rounds to what it was."""
    return m.node("inner").present[0]


REWRITES = (movement, transpose_of_blocks, lookup, lookup_of_rows, quantised_again)
_RULES = index(REWRITES)
