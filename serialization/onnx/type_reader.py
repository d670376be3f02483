"""Reading declared types and named values (TypeProto, ValueInfoProto)."""

from __future__ import annotations

from .faults import Path
from .message_reader import read_map, wire_notes
from .schema import DIMENSION, MAP_TYPE, OPAQUE_TYPE, SHAPE, TENSOR_TYPE, TYPE, VALUE_INFO, WRAPPER_TYPE
from .tensor_reader import element_type
from .value_type import Dim, OnnxType, OnnxValueInfo
from .varints import Buffer, read_varint
from .wire import Fields, Reading, Span, read_fields, read_merged, skip_field

__all__ = ["read_type", "read_value_info"]

_KINDS = ("tensor", "sequence", "map", "", "opaque", "sparse_tensor", "optional")
# Types up to this many bytes are read once for all values that have them.
_SHARED = 256


def read_value_info(reading: Reading, pos: int, end: int, path: Path) -> OnnxValueInfo:
    """The named value in ``[pos, end)``."""
    fields = read_fields(reading, pos, end, VALUE_INFO, path)
    name, declared, doc, metadata = fields[:4]
    notes = wire_notes(fields)
    props, notes = read_map(reading, metadata, path, "metadata_props", notes)
    kind = None if declared is None else read_type(reading, declared, (path, "type", None))
    return OnnxValueInfo(name or "", kind, doc or "", props, notes)


def read_type(reading: Reading, spans: list[Span], path: Path) -> OnnxType:
    """The type in ``spans``. Equal types of a file may be one object."""
    pos, end = spans[0]
    if len(spans) > 1 or end - pos > _SHARED:
        return _read_type(reading, spans, path)
    raw = reading.buffer[pos:end]
    known = reading.types.get(raw)
    if known is None:
        known = reading.types[raw] = _read_type(reading, spans, path)
    return known


def _read_type(reading: Reading, spans: list[Span], path: Path) -> OnnxType:
    reading.descend(2, path, spans[0][0])
    fields = read_merged(reading, spans, TYPE, path)
    members = [slot for slot in (0, 1, 2, 4, 5, 6) if fields[slot] is not None]
    denotation = fields[3] or ""
    exact = len(members) <= 1 and wire_notes(fields) is None
    if not members:
        found = OnnxType("none", denotation=denotation)
    else:
        slot, pieces = _last_member(fields, members)
        where: Path = (path, f"{_KINDS[slot]}_type", None)
        found, plain = _READERS[slot](reading, pieces, where, slot, denotation)
        exact = exact and plain
    if not exact:
        object.__setattr__(found, "encoded", b"".join(reading.buffer[pos:end] for pos, end in spans))
    reading.depth -= 2
    return found


def _last_member(fields: Fields, members: list[int]) -> tuple[int, list[Span]]:
    """Of the alternatives of a oneof that the file has, the last, with its pieces since another stood there."""
    if len(members) == 1:
        return members[0], fields[members[0]]
    order = sorted((span, slot) for slot in members for span in fields[slot])
    last = order[-1][1]
    start = max((index for index, (_, slot) in enumerate(order) if slot != last), default=-1)
    return last, [span for span, _ in order[start + 1 :]]


def _tensor(reading: Reading, spans: list[Span], path: Path, slot: int, denotation: str) -> tuple[OnnxType, bool]:
    fields = read_merged(reading, spans, TENSOR_TYPE, path)
    dtype = element_type(fields[0], (path, "elem_type", None), spans[0][0]).name
    shape: tuple[Dim, ...] | None = None
    names: tuple[str, ...] = ()
    exact = wire_notes(fields) is None
    if fields[1] is not None:
        shape, names, plain = _read_shape(reading, fields[1], (path, "shape", None))
        exact = exact and plain
    return OnnxType(_KINDS[slot], dtype, shape, denotation=denotation, dim_denotations=names), exact


def _wrapper(reading: Reading, spans: list[Span], path: Path, slot: int, denotation: str) -> tuple[OnnxType, bool]:
    fields = read_merged(reading, spans, WRAPPER_TYPE, path)
    element = None if fields[0] is None else read_type(reading, fields[0], (path, "elem_type", None))
    return OnnxType(_KINDS[slot], element=element, denotation=denotation), wire_notes(fields) is None


def _map(reading: Reading, spans: list[Span], path: Path, slot: int, denotation: str) -> tuple[OnnxType, bool]:
    fields = read_merged(reading, spans, MAP_TYPE, path)
    key = element_type(fields[0], (path, "key_type", None), spans[0][0]).name
    element = None if fields[1] is None else read_type(reading, fields[1], (path, "value_type", None))
    return OnnxType("map", key_dtype=key, element=element, denotation=denotation), wire_notes(fields) is None


def _opaque(reading: Reading, spans: list[Span], path: Path, slot: int, denotation: str) -> tuple[OnnxType, bool]:
    fields = read_merged(reading, spans, OPAQUE_TYPE, path)
    found = OnnxType("opaque", denotation=denotation, opaque_domain=fields[0] or "", opaque_name=fields[1] or "")
    return found, wire_notes(fields) is None


_READERS = {0: _tensor, 1: _wrapper, 2: _map, 4: _opaque, 5: _tensor, 6: _wrapper}


def _read_shape(reading: Reading, spans: list[Span], path: Path) -> tuple[tuple[Dim, ...], tuple[str, ...], bool]:
    """Sizes, denotations (empty if there are none), and whether that is all that the file says."""
    fields = read_merged(reading, spans, SHAPE, path)
    exact = wire_notes(fields) is None
    sizes: list[Dim] = []
    names: list[str] = []
    buffer = reading.buffer
    for index, (pos, end) in enumerate(fields[0] or ()):
        # A dim_value below 128, as nearly all are.
        if end - pos == 2 and buffer[pos] == 8 and buffer[pos + 1] < 128:
            sizes.append(buffer[pos + 1])
            names.append("")
            continue
        where: Path = (path, "dim", index)
        inner = read_fields(reading, pos, end, DIMENSION, where)
        size, plain = _dimension(buffer, inner, pos, end, where)
        exact = exact and plain
        sizes.append(size)
        names.append(inner[2] or "")
    return tuple(sizes), tuple(names) if any(names) else (), exact


def _dimension(buffer: Buffer, fields: Fields, pos: int, end: int, path: Path) -> tuple[Dim, bool]:
    value, symbol = fields[0], fields[1]
    exact = fields[-1] is None and (fields[-2] is None or fields[-2] == {"dim_value"})
    if value is not None and symbol is not None:
        exact = False
        if _last_number(buffer, pos, end, path) == 1:
            symbol = None
        else:
            value = None
    if value is not None:
        # Exporters write -1 for a size that they do not know.
        return (value, exact) if value >= 0 else (None, False)
    return symbol or None, exact


def _last_number(buffer: Buffer, pos: int, end: int, path: Path) -> int:
    """Which of the alternatives 1 and 2 of a dimension stands last: that one holds."""
    last = 0
    while pos < end:
        start = pos
        tag, pos = read_varint(buffer, pos, end, path)
        pos = skip_field(buffer, start, pos, end, tag, path)
        if tag >> 3 in (1, 2):
            last = tag >> 3
    return last
