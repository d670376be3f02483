"""The payload of a GRAPH file to GraphData; docs/bsl-format.md describes the bytes.

A value is referred to by its number, and only values before the reader's place have one: undefined values, forward
references and cycles are therefore all found by one comparison.
"""

from __future__ import annotations

from collections.abc import Container
from typing import NamedTuple

from .attributes import read_attribute
from .dtypes import DType, dtype_by_code
from .field_path import quote
from .graph_data import AttrValue, Dim, GraphData, NodeData, TensorSpec
from .graph_writer import GRAPH_LAYOUT, MAX_RANK
from .payload_reader import PayloadReader

__all__ = ["read_graph"]

# The fewest bytes that an entry of each kind can take.
_PAIR_SIZE, _SPEC_SIZE, _NODE_SIZE = 2, 3, 5


class _StoredArray(NamedTuple):
    owner: str
    dtype: DType
    shape: tuple[int, ...]


def read_graph(reader: PayloadReader) -> GraphData:
    """Read what :func:`write_graph` wrote; constants are read-only views of the payload, 4-bit ones copies.

    Raises ModelFormatError with offset and field path. Time and memory are bounded by the payload's length.
    """
    with reader.field("layout"):
        layout = reader.u8()
        if layout != GRAPH_LAYOUT:
            reader.fail(f"unknown layout {layout} of a graph, expected {GRAPH_LAYOUT}", reader.position - 1)
    with reader.field("name"):
        graph_name = reader.text()
    with reader.field("metadata"):
        metadata = _read_metadata(reader)
    scope = _Scope(reader)
    inputs = scope.read_specs("inputs")
    with reader.field("constants"):
        sources, stored = _read_constants(reader, scope)
    nodes = _read_nodes(reader, scope)
    outputs = _read_outputs(reader, scope)
    arrays = []
    for owner, dtype, shape in stored:
        with reader.field("constants", owner):
            arrays.append(reader.array(dtype, shape))
    constants = {name: arrays[source] for name, source in sources.items()}
    return GraphData(graph_name, inputs, constants, outputs, nodes, metadata)


class _Scope:
    """The values that are defined so far."""

    def __init__(self, reader: PayloadReader) -> None:
        self._reader = reader
        self._names: list[str] = []
        self._taken: set[str] = set()

    def define(self) -> str:
        """Read the name of a new value and number it."""
        start = self._reader.position
        name = _read_key(self._reader, self._taken, "value name")
        if not name:
            self._reader.fail("a value has an empty name", start)
        self._taken.add(name)
        self._names.append(name)
        return name

    def reference(self, first: int = 0) -> str | None:
        """Read the number of a value, counted from ``first``, and return its name; None for numbers below ``first``."""
        start = self._reader.position
        number = self._reader.varint() - first
        if number >= len(self._names):
            self._reader.fail(f"refers to value {number}, but only {len(self._names)} are defined before", start)
        return self._names[number] if number >= 0 else None

    def read_specs(self, field: str) -> tuple[TensorSpec, ...]:
        """Read a sequence of new values."""
        specs = []
        with self._reader.field(field):
            count = self._reader.count(_SPEC_SIZE)
        for index in range(count):
            with self._reader.field(field, index):
                name = self.define()
                dtype = _read_dtype(self._reader)
                specs.append(TensorSpec(name, dtype.name, _read_shape(self._reader)))
        return tuple(specs)


def _read_key(reader: PayloadReader, taken: Container[str], what: str) -> str:
    """Read a string that must not be in ``taken``."""
    start = reader.position
    key = reader.text()
    if key in taken:
        reader.fail(f"the {what} {quote(key)} occurs twice", start)
    return key


def _read_metadata(reader: PayloadReader) -> dict[str, str]:
    metadata: dict[str, str] = {}
    for _ in range(reader.count(_PAIR_SIZE)):
        key = _read_key(reader, metadata, "key")
        with reader.field("", key):
            metadata[key] = reader.text()
    return metadata


def _read_dtype(reader: PayloadReader) -> DType:
    with reader.field("dtype"):
        start = reader.position
        code = reader.u8()
        dtype = dtype_by_code(code)
        if dtype is None:
            reader.fail(f"unknown data type code {code}", start)
        return dtype


def _read_rank(reader: PayloadReader) -> int:
    start = reader.position
    rank = reader.count()
    if rank > MAX_RANK:
        reader.fail(f"a shape has {rank} dimensions, more than {MAX_RANK}", start)
    return rank


def _read_shape(reader: PayloadReader) -> tuple[Dim, ...]:
    """Read dimensions that may be symbolic."""
    with reader.field("shape"):
        rank = _read_rank(reader)
        shape: list[Dim] = []
        for _ in range(rank):
            start = reader.position
            stored = reader.varint()
            dim = reader.text() if stored == 0 else stored - 1
            if dim == "":
                reader.fail("a symbolic dimension has an empty text", start)
            if stored > 1 << 63:
                reader.fail(f"the dimension {dim} exceeds 63 bits", start)
            shape.append(dim)
        return tuple(shape)


def _read_constants(reader: PayloadReader, scope: _Scope) -> tuple[dict[str, int], list[_StoredArray]]:
    """Read the constants' names, types and shapes: name -> number of its array, and the arrays."""
    sources: dict[str, int] = {}
    stored: list[_StoredArray] = []
    for _ in range(reader.count(_PAIR_SIZE)):
        name = scope.define()
        with reader.field("", name):
            start = reader.position
            number = reader.varint()
            if number > len(stored):
                reader.fail(f"refers to array {number}, but only {len(stored)} came before", start)
            if number == 0:
                dtype = _read_dtype(reader)
                with reader.field("shape"):
                    shape = tuple([reader.varint() for _ in range(_read_rank(reader))])
                stored.append(_StoredArray(name, dtype, shape))
                number = len(stored)
            sources[name] = number - 1
    return sources, stored


def _read_nodes(reader: PayloadReader, scope: _Scope) -> tuple[NodeData, ...]:
    with reader.field("nodes"):
        count = reader.count(_NODE_SIZE)
    nodes = []
    for index in range(count):
        with reader.field("nodes", index):
            nodes.append(_read_node(reader, scope))
    return tuple(nodes)


def _read_node(reader: PayloadReader, scope: _Scope) -> NodeData:
    with reader.field("op"):
        start = reader.position
        op = reader.text()
        if not op:
            reader.fail("a node has an empty operator name", start)
    with reader.field("label"):
        label = reader.text()
    with reader.field("inputs"):
        inputs = tuple([scope.reference(first=1) for _ in range(reader.count())])
    attrs: dict[str, AttrValue] = {}
    with reader.field("attrs"):
        for _ in range(reader.count(_PAIR_SIZE)):
            key = _read_key(reader, attrs, "attribute")
            with reader.field("", key):
                attrs[key] = read_attribute(reader)
    return NodeData(op, inputs, scope.read_specs("outputs"), attrs, label)


def _read_outputs(reader: PayloadReader, scope: _Scope) -> tuple[tuple[str, str], ...]:
    outputs: dict[str, str] = {}
    with reader.field("outputs"):
        for _ in range(reader.count(_PAIR_SIZE)):
            start = reader.position
            name = _read_key(reader, outputs, "output name")
            if not name:
                reader.fail("an output has an empty name", start)
            value = scope.reference()
            assert value is not None
            outputs[name] = value
    return tuple(outputs.items())
