"""Plain data of a fitted estimator and its codec: what ``.bsl`` files of ESTIMATOR_KINDS hold (docs/bsl-format.md)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .attributes import read_attribute, write_attribute
from .graph_data import AttrValue, GraphData
from .graph_reader import read_graph
from .graph_writer import write_graph
from .kind_numbers import Kind
from .payload_reader import PayloadReader
from .payload_writer import PayloadWriter

__all__ = ["EstimatorData", "read_estimator", "write_estimator"]

ESTIMATOR_LAYOUT = 1
"""Version of the ESTIMATOR payload's layout, its first byte."""


@dataclass(frozen=True)
class EstimatorData:
    """The graph of an estimator's methods, and facts about it by name, whose meaning the compiler checks.

    ``kind``, one of ESTIMATOR_KINDS, is its family's.
    """

    facts: Mapping[str, AttrValue]
    graph: GraphData
    kind: Kind = Kind.ESTIMATOR


def write_estimator(writer: PayloadWriter, estimator: EstimatorData) -> None:
    """Write ``estimator``; raises ValidationError, with the path of the field, where it is not well-formed."""
    writer.u8(ESTIMATOR_LAYOUT)
    writer.varint(len(estimator.facts))
    for name, value in estimator.facts.items():
        with writer.field("facts", name):
            writer.text(name)
            write_attribute(writer, value)
    with writer.field("graph"):
        write_graph(writer, estimator.graph)


def read_estimator(reader: PayloadReader, kind: Kind = Kind.ESTIMATOR) -> EstimatorData:
    """Read an estimator of ``kind``; raises ModelFormatError, with offset and field path, for other bytes."""
    with reader.field("layout"):
        layout = reader.u8()
        if layout != ESTIMATOR_LAYOUT:
            reader.fail(f"unknown layout {layout} of an estimator, expected {ESTIMATOR_LAYOUT}", reader.position - 1)
    facts: dict[str, AttrValue] = {}
    with reader.field("facts"):
        count = reader.count(2)
    for index in range(count):
        with reader.field("facts", index):
            start = reader.position
            name = reader.text()
            if name in facts:
                reader.fail(f"the fact {name!r} is given twice", start)
            facts[name] = read_attribute(reader)
    with reader.field("graph"):
        graph = read_graph(reader)
    return EstimatorData(facts, graph, kind)
