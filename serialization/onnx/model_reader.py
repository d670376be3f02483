"""Reading a whole model, and saying what a file is that is no model."""

from __future__ import annotations

from basalt.errors import ModelFormatError

from .faults import fault, root_path
from .foreign import foreign_format
from .graph import OnnxGraph
from .graph_reader import read_function, read_graph
from .message_reader import read_map, read_opsets, wire_notes
from .model import OnnxModel
from .schema import MODEL
from .varints import Buffer
from .wire import Reading, read_fields
from .wire_notes import WireNotes

__all__ = ["read_model"]


def read_model(buffer: Buffer, name: str, folder: str | None) -> OnnxModel:
    """The model in ``buffer``; ``name`` is the file's for messages, ``folder`` where external data is."""
    if len(buffer) == 0:
        raise ModelFormatError(f"{name}: the file is empty")
    try:
        return _read(Reading(buffer, name, folder))
    except ModelFormatError as error:
        found = foreign_format(buffer[:512])
        if found is None:
            raise
        raise ModelFormatError(f"{name}: this is no ONNX model, but {found}") from error


def _read(reading: Reading) -> OnnxModel:
    path = root_path(reading.name)
    fields = read_fields(reading, 0, len(reading.buffer), MODEL, path)
    graph, functions = fields[6], fields[10] or ()
    if graph is None and not functions:
        raise fault(path, 0, "there is neither a graph nor a function, so this is no ONNX model")
    notes = wire_notes(fields)
    if graph is None:
        notes = notes or WireNotes()
        notes.omitted = frozenset({"graph"})
    opsets, notes = read_opsets(reading, fields[7], path, notes)
    metadata, notes = read_map(reading, fields[8], path, "metadata_props", notes)
    return OnnxModel(
        OnnxGraph() if graph is None else read_graph(reading, graph, (path, "graph", None)),
        opsets,
        fields[0] or 0,
        fields[1] or "",
        fields[2] or "",
        fields[3] or "",
        fields[4] or 0,
        fields[5] or "",
        metadata,
        tuple(read_function(reading, span, (path, "functions", index)) for index, span in enumerate(functions)),
        tuple(reading.buffer[pos:end] for pos, end in fields[9] or ()),
        tuple(reading.buffer[pos:end] for pos, end in fields[11] or ()),
        notes,
    )
