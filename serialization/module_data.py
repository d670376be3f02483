"""Plain data of a module and its codec: what ``.bsl`` files of MODULE_KINDS hold (docs/bsl-format.md)."""

from __future__ import annotations

from dataclasses import dataclass

from .attributes import read_attribute, write_attribute
from .graph_data import AttrValue, GraphData
from .graph_reader import read_graph
from .graph_writer import write_graph
from .kind_numbers import Kind
from .payload_reader import PayloadReader
from .payload_writer import PayloadWriter

__all__ = ["ModuleData", "read_module", "write_module"]

MODULE_LAYOUT = 1
"""Version of the MODULE payload's layout, its first byte."""


@dataclass(frozen=True)
class ModuleData:
    """A graph that is called like a function.

    ``arguments`` and ``results`` say how the graph's inputs and outputs nest in what callers give and get: nested
    tuples, whose meaning the compiler checks. ``kind``, one of MODULE_KINDS, is its family's.
    """

    graph: GraphData
    arguments: tuple[AttrValue, ...]
    results: tuple[AttrValue, ...]
    kind: Kind = Kind.MODULE


def write_module(writer: PayloadWriter, module: ModuleData) -> None:
    """Write ``module``; raises ValidationError, with the path of the field, where it is not well-formed."""
    writer.u8(MODULE_LAYOUT)
    for name, structure in (("arguments", module.arguments), ("results", module.results)):
        with writer.field(name):
            if not isinstance(structure, tuple):
                writer.fail(f"a tuple was expected, not {type(structure).__name__}")
            write_attribute(writer, structure)
    with writer.field("graph"):
        write_graph(writer, module.graph)


def read_module(reader: PayloadReader, kind: Kind = Kind.MODULE) -> ModuleData:
    """Read a module of ``kind``; raises ModelFormatError, with offset and field path, for other bytes."""
    with reader.field("layout"):
        layout = reader.u8()
        if layout != MODULE_LAYOUT:
            reader.fail(f"unknown layout {layout} of a module, expected {MODULE_LAYOUT}", reader.position - 1)
    structures = []
    for name in ("arguments", "results"):
        with reader.field(name):
            start = reader.position
            structure = read_attribute(reader)
            if not isinstance(structure, tuple):
                reader.fail(f"a tuple was expected, not {type(structure).__name__}", start)
            structures.append(structure)
    with reader.field("graph"):
        graph = read_graph(reader)
    arguments, results = structures
    return ModuleData(graph, arguments, results, kind)
