"""Gives a graph with symbolic sizes the concrete ones of a call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from basalt.errors import ValidationError
from basalt.ops import SymDim, TensorType, bind_shape

from ..ir import Graph, Value, fresh
from .infer_shapes import recheck


def specialise(graph: Graph, bindings: Mapping[str, int]) -> Graph:
    """The graph for known sizes: every node is checked again by its operator's rule, which completes its attributes.

    Args:
        graph: a graph whose inputs may have symbolic dimensions.
        bindings: the size of each symbol of its inputs' shapes (see :meth:`Graph.symbols`).

    Returns:
        A graph all of whose shapes are known; the same one if they were.

    Raises:
        ValidationError: for a symbol without a size, a size without a symbol, a size that is no number of elements, and
            for sizes that an operator's rule refuses.
    """
    symbols = graph.symbols()
    _check_bindings(symbols, bindings)
    if not symbols:
        return graph
    values = {v: fresh(v, _bind_type(v, bindings)) for v in graph.inputs if not v.type.is_static}
    static = recheck(graph, dict(values), lambda attrs: {name: _bind(a, bindings) for name, a in attrs.items()})
    for node in static.nodes:
        for v in node.outputs:
            if not v.type.is_static:
                raise ValidationError(f"{node!r} has a size that does not follow from the inputs' sizes")
    return static


def _check_bindings(symbols: frozenset[str], bindings: Mapping[str, int]) -> None:
    missing, unknown = sorted(symbols - bindings.keys()), sorted(bindings.keys() - symbols)
    if missing:
        raise ValidationError(f"no size is given for {', '.join(missing)}; given are {dict(bindings)}")
    if unknown:
        known = ", ".join(sorted(symbols)) or "none"
        raise ValidationError(f"sizes are given for {', '.join(unknown)}, but the graph's symbols are: {known}")
    for name, size in bindings.items():
        if isinstance(size, bool) or not isinstance(size, int) or size < 0:
            raise ValidationError(f"the size of {name} is {size!r}, expected an integer of at least 0")


def _bind_type(v: Value, bindings: Mapping[str, int]) -> TensorType:
    shape = bind_shape(v.shape, bindings)
    bad = [d for d in shape if not isinstance(d, int) or d < 0]
    if bad:
        raise ValidationError(f"input {v.name} ({v.type}) would have size {bad[0]} for {dict(bindings)}")
    return TensorType(v.dtype, shape)


def _bind(attr: Any, bindings: Mapping[str, int]) -> Any:
    if isinstance(attr, SymDim):
        return attr.bind(bindings)
    if isinstance(attr, tuple):
        return tuple(_bind(a, bindings) for a in attr)
    return attr
