"""GraphData to the payload of a GRAPH file; docs/bsl-format.md describes the bytes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .attributes import write_attribute
from .dtypes import DTYPES
from .field_path import quote
from .graph_data import Dim, GraphData, NodeData, TensorSpec
from .payload_writer import PayloadWriter

__all__ = ["GRAPH_LAYOUT", "MAX_RANK", "write_graph"]

GRAPH_LAYOUT = 1
"""Version of the GRAPH payload's layout, its first byte."""

MAX_RANK = 64
"""Dimensions that a shape may have: NumPy's own limit."""


def write_graph(writer: PayloadWriter, graph: GraphData) -> None:
    """Write ``graph``; raises ValidationError, with the path of the field, where it is not well-formed."""
    values: dict[str, int] = {}
    writer.u8(GRAPH_LAYOUT)
    with writer.field("name"):
        writer.text(graph.name)
    with writer.field("metadata"):
        _write_metadata(writer, graph.metadata)
    for index, spec in enumerate(_sequence(writer, "inputs", graph.inputs)):
        with writer.field("inputs", index):
            _write_spec(writer, values, spec)
    with writer.field("constants"):
        arrays = _write_constants(writer, values, graph.constants)
    for index, node in enumerate(_sequence(writer, "nodes", graph.nodes)):
        with writer.field("nodes", index):
            _write_node(writer, values, node)
    _write_outputs(writer, values, graph)
    for name, array in arrays.items():
        with writer.field("constants", name):
            writer.array(array)


def _sequence(writer: PayloadWriter, name: str, items: Any) -> tuple[Any, ...] | list[Any]:
    """Check that ``items`` is a tuple (or a list) and write its length."""
    if not isinstance(items, (tuple, list)):
        with writer.field(name):
            writer.fail(f"a tuple was expected, not {type(items).__name__}")
    writer.varint(len(items))
    return items


def _mapping(writer: PayloadWriter, items: Any) -> Mapping[str, Any]:
    if not isinstance(items, Mapping):
        writer.fail(f"a mapping was expected, not {type(items).__name__}")
    writer.varint(len(items))
    return items


def _write_metadata(writer: PayloadWriter, metadata: Mapping[str, str]) -> None:
    for key, text in _mapping(writer, metadata).items():
        writer.text(key)
        with writer.field("", key):
            writer.text(text)


def _write_spec(writer: PayloadWriter, values: dict[str, int], spec: TensorSpec) -> None:
    if not isinstance(spec, TensorSpec):
        writer.fail(f"a TensorSpec was expected, not {type(spec).__name__}")
    with writer.field("name"):
        _define(writer, values, spec.name)
    with writer.field("dtype"):
        if not isinstance(spec.dtype, str) or spec.dtype not in DTYPES:
            writer.fail(f"{spec.dtype!r} is no data type of the format; known: {', '.join(DTYPES)}")
        writer.u8(DTYPES[spec.dtype].code)
    shape = _sequence(writer, "shape", spec.shape)
    if len(shape) > MAX_RANK:
        writer.fail(f"the shape has {len(shape)} dimensions, more than {MAX_RANK}")
    for index, dim in enumerate(shape):
        with writer.field("shape", index):
            _write_dim(writer, dim)


def _write_dim(writer: PayloadWriter, dim: Dim) -> None:
    if isinstance(dim, str):
        if not dim:
            writer.fail("a symbolic dimension must have a name or expression")
        writer.varint(0)
        writer.text(dim)
        return
    if type(dim) is not int or not 0 <= dim < 1 << 63:
        writer.fail(f"a dimension must be a str or an int in [0, 2**63), not {dim!r}")
    writer.varint(dim + 1)


def _define(writer: PayloadWriter, values: dict[str, int], name: str) -> None:
    """Write the name of a new value and number it."""
    writer.text(name)
    if not name:
        writer.fail("a value must have a name")
    if name in values:
        writer.fail(f"the name {quote(name)} is taken by an earlier value")
    values[name] = len(values)


def _reference(writer: PayloadWriter, values: dict[str, int], name: str) -> int:
    """The number of an earlier value."""
    number = values.get(name) if isinstance(name, str) else None
    if number is None:
        shown = quote(name) if isinstance(name, str) else repr(name)
        writer.fail(f"no graph input, constant or earlier node defines a value named {shown}")
    return number


def _write_constants(
    writer: PayloadWriter, values: dict[str, int], constants: Mapping[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """Write name, type and shape of each constant; return those whose elements are to follow."""
    stored: dict[tuple[object, ...], int] = {}
    arrays: dict[str, np.ndarray] = {}
    for name, array in _mapping(writer, constants).items():
        _define(writer, values, name)
        with writer.field("", name):
            dtype = writer.dtype_of(array)
            identity = _identity(array)
            if identity in stored:
                writer.varint(stored[identity])
                continue
            stored[identity] = len(stored) + 1
            arrays[name] = array
            writer.varint(0)
            writer.u8(dtype.code)
            writer.varint(array.ndim)
            for dim in array.shape:
                writer.varint(dim)
    return arrays


def _identity(array: np.ndarray) -> tuple[object, ...]:
    """What is equal for one array under two names, and for two equal views of the same memory.

    An empty array has no memory of its own, so that its address says nothing.
    """
    if array.size == 0:
        return (id(array),)
    return array.__array_interface__["data"], array.dtype.str, array.dtype.name, array.shape, array.strides


def _write_node(writer: PayloadWriter, values: dict[str, int], node: NodeData) -> None:
    if not isinstance(node, NodeData):
        writer.fail(f"a NodeData was expected, not {type(node).__name__}")
    with writer.field("op"):
        writer.text(node.op)
        if not node.op:
            writer.fail("a node must name its operator")
    with writer.field("label"):
        writer.text(node.label)
    for index, name in enumerate(_sequence(writer, "inputs", node.inputs)):
        with writer.field("inputs", index):
            writer.varint(0 if name is None else _reference(writer, values, name) + 1)
    with writer.field("attrs"):
        for key, value in _mapping(writer, node.attrs).items():
            writer.text(key)
            with writer.field("", key):
                write_attribute(writer, value)
    for index, spec in enumerate(_sequence(writer, "outputs", node.outputs)):
        with writer.field("outputs", index):
            _write_spec(writer, values, spec)


def _write_outputs(writer: PayloadWriter, values: dict[str, int], graph: GraphData) -> None:
    names: set[str] = set()
    for index, pair in enumerate(_sequence(writer, "outputs", graph.outputs)):
        with writer.field("outputs", index):
            if not isinstance(pair, tuple) or len(pair) != 2:
                writer.fail(f"a pair (output name, value name) was expected, not {type(pair).__name__}")
            name, value = pair
            writer.text(name)
            if not name or name in names:
                writer.fail(f"the output name {quote(name)} is {'taken by an earlier output' if name else 'empty'}")
            names.add(name)
            writer.varint(_reference(writer, values, value))
