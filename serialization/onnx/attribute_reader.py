"""Reading attributes: the kind that is stated, and the value that is there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .faults import Path, fault
from .graph import OnnxAttribute
from .numbers import count_fixed, fixed_array, int_tuple
from .schema import ATTRIBUTE
from .tensor_reader import read_sparse_tensor, read_tensor
from .type_reader import read_type
from .wire import Fields, Reading, Span, read_fields
from .wire_notes import WireNotes

__all__ = ["ATTRIBUTE_KINDS", "read_attribute"]

GraphReader = Callable[[Reading, "list[Span]", Path], Any]

ATTRIBUTE_KINDS = {
    "UNDEFINED": 0,
    "FLOAT": 1,
    "INT": 2,
    "STRING": 3,
    "TENSOR": 4,
    "GRAPH": 5,
    "FLOATS": 6,
    "INTS": 7,
    "STRINGS": 8,
    "TENSORS": 9,
    "GRAPHS": 10,
    "SPARSE_TENSOR": 11,
    "SPARSE_TENSORS": 12,
    "TYPE_PROTO": 13,
    "TYPE_PROTOS": 14,
}
"""AttributeProto.AttributeType by name."""

_KINDS = {code: kind for kind, code in ATTRIBUTE_KINDS.items()}
_SLOTS = {
    "FLOAT": 1,
    "INT": 2,
    "STRING": 3,
    "TENSOR": 4,
    "GRAPH": 5,
    "FLOATS": 6,
    "INTS": 7,
    "STRINGS": 8,
    "TENSORS": 9,
    "GRAPHS": 10,
    "TYPE_PROTO": 12,
    "TYPE_PROTOS": 13,
    "SPARSE_TENSOR": 16,
    "SPARSE_TENSORS": 17,
}
_KIND_OF_SLOT = {slot: kind for kind, slot in _SLOTS.items()}
# Files written by proto3 code leave out values that are zero or empty.
_DEFAULTS: dict[str, Any] = {"FLOAT": 0.0, "INT": 0, "STRING": b""} | {
    kind: () for kind in _SLOTS if kind.endswith("S")
}


def read_attribute(reading: Reading, pos: int, end: int, path: Path, index: int, graph: GraphReader) -> OnnxAttribute:
    """Attribute ``index`` of the message at ``path``, in ``[pos, end)``; ``graph`` reads graphs in it.

    Raises ModelFormatError if the stated kind and the fields present differ, or if there is neither.
    """
    fields = read_fields(reading, pos, end, ATTRIBUTE, (path, "attribute", index))
    name, code = fields[0] or "", fields[14]
    where: Path = (path, "attribute", name or index)
    kind = _KINDS.get(code or 0)
    if kind is None:
        raise fault((where, "type", None), pos, f"there is no attribute type {code}")
    notes = None
    # The usual case: name, type and value, and nothing else.
    if not code or len(fields) - fields.count(None) != 3 or fields[_SLOTS[kind]] is None or fields[0] is None:
        kind, notes = _settle_kind(fields, kind, where, pos)
    slot = _SLOTS.get(kind)
    if slot is None or fields[slot] is None:
        value = None if fields[15] else _DEFAULTS[kind]
    else:
        value = _value(reading, kind, fields[slot], (where, ATTRIBUTE.names[slot], None), graph)
    return OnnxAttribute(name, kind, value, fields[15] or "", fields[11] or "", notes)


def _settle_kind(fields: Fields, kind: str, path: Path, at: int) -> tuple[str, WireNotes | None]:
    """The attribute's kind, checked against the fields present, and the notes that writing it back needs."""
    present = [slot for slot in _KIND_OF_SLOT if fields[slot] is not None]
    names = ", ".join(ATTRIBUTE.names[slot] for slot in present)
    omitted = set()
    if kind == "UNDEFINED":
        if len(present) > 1 or not (present or fields[15]):
            raise fault(path, at, f"no type, and {'no value' if not present else f'more than one value: {names}'}")
        if present:
            kind = _KIND_OF_SLOT[present[0]]
            omitted.add("type")
    elif present and present != [_SLOTS[kind]]:
        raise fault(path, at, f"the type is {kind}, but the values present are: {names}")
    elif not present:
        omitted.add("value")
        if not fields[15] and kind not in _DEFAULTS:
            raise fault(path, at, f"the type is {kind}, but there is no value")
    if present and fields[15]:
        raise fault(path, at, f"both a value ({names}) and a reference to attribute {fields[15]!r}")
    # An integer that is present is always written, so nothing needs to be noted of a zero.
    explicit = frozenset(fields[-2] or ()) - {"i"}
    unknown = b"".join(fields[-1] or ())
    return kind, WireNotes(unknown, explicit, frozenset(omitted)) if explicit or omitted or unknown else None


def _value(reading: Reading, kind: str, found: Any, path: Path, graph: GraphReader) -> Any:
    buffer = reading.buffer
    match kind:
        case "INT" | "FLOAT":
            return found
        case "INTS":
            return int_tuple(buffer, found, path)
        case "STRING":
            return buffer[found[0] : found[1]]
        case "FLOATS":
            count_fixed(found, 4, path)
            return tuple(fixed_array(buffer, found, "<f4").tolist())
        case "STRINGS":
            return tuple(buffer[pos:end] for pos, end in found)
        case "TENSOR" | "GRAPH" | "SPARSE_TENSOR" | "TYPE_PROTO":
            return _nested(reading, kind, found, path, graph)
    parent, name, _ = path
    return tuple(_nested(reading, kind[:-1], [span], (parent, name, index), graph) for index, span in enumerate(found))


def _nested(reading: Reading, kind: str, spans: list[Span], path: Path, graph: GraphReader) -> Any:
    if kind == "TENSOR":
        return read_tensor(reading, spans, path)
    if kind == "GRAPH":
        return graph(reading, spans, path)
    if kind == "TYPE_PROTO":
        return read_type(reading, spans, path)
    return read_sparse_tensor(reading, spans, path)
