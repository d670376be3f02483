"""Parts that many messages share: notes on what a record leaves out, maps of strings, opset imports."""

from __future__ import annotations

from typing import Any

from .faults import Path, fault
from .schema import ENTRY, OPSET
from .wire import Fields, Reading, Span, read_fields
from .wire_notes import WireNotes

__all__ = ["domain_name", "keep_original", "read_domain", "read_map", "read_opsets", "wire_notes"]


def wire_notes(fields: Fields) -> WireNotes | None:
    """Notes on explicit defaults and unknown fields, or None if there are none."""
    explicit, unknown = fields[-2], fields[-1]
    if explicit is None and unknown is None:
        return None
    return WireNotes(b"".join(unknown or ()), frozenset(explicit or ()))


def keep_original(notes: WireNotes | None, name: str, value: Any, encoded: tuple[bytes, ...]) -> WireNotes:
    """Notes with the file's form of field ``name``, which holds while the record's value equals ``value``."""
    notes = notes or WireNotes()
    notes.originals[name] = (value, encoded)
    return notes


def read_map(
    reading: Reading, spans: list[Span] | None, path: Path, name: str, notes: WireNotes | None
) -> tuple[dict[str, str], WireNotes | None]:
    """A repeated StringStringEntryProto as a dict, the last of equal keys counting."""
    if spans is None:
        return {}, notes
    entries: dict[str, str] = {}
    exact = True
    for index, (pos, end) in enumerate(spans):
        fields = read_fields(reading, pos, end, ENTRY, (path, name, index))
        key, value = fields[0], fields[1]
        if key is None or value is None or fields[-1] is not None or key in entries:
            exact = False
        entries[key or ""] = value or ""
    if not exact:
        notes = keep_original(notes, name, dict(entries), tuple(reading.buffer[pos:end] for pos, end in spans))
    return entries, notes


def domain_name(domain: str) -> str:
    """``domain`` with both names of the standard's own domain as ""."""
    return "" if domain == "ai.onnx" else domain


def read_domain(domain: str | None, notes: WireNotes | None) -> tuple[str, WireNotes | None]:
    """The domain of a node or function, and notes that keep the spelling "ai.onnx"."""
    if domain == "ai.onnx":
        return "", keep_original(notes, "domain", "", (b"ai.onnx",))
    return domain or "", notes


def read_opsets(
    reading: Reading, spans: list[Span] | None, path: Path, notes: WireNotes | None
) -> tuple[dict[str, int], WireNotes | None]:
    """Opset imports as domain -> version. Raises ModelFormatError if a domain is imported at two versions."""
    versions: dict[str, int] = {}
    exact = True
    for index, (pos, end) in enumerate(spans or ()):
        where: Path = (path, "opset_import", index)
        fields = read_fields(reading, pos, end, OPSET, where)
        stated, version = fields[0], fields[1]
        domain = domain_name(stated or "")
        if versions.get(domain, version) != version:
            raise fault(where, pos, f"domain {domain or 'ai.onnx'!r} is imported at {versions[domain]} and {version}")
        if stated != domain or version is None or fields[-1] is not None or domain in versions:
            exact = False
        versions[domain] = version or 0
    if not exact and spans:
        encoded = tuple(reading.buffer[pos:end] for pos, end in spans)
        notes = keep_original(notes, "opset_import", dict(versions), encoded)
    return versions, notes
