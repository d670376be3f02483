"""Writing small ELF files for debuggers: symbols of code that is in memory already, and a library that exports some.

Format: System V ABI and its AMD64 supplement.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import NamedTuple

__all__ = ["Name", "library_file", "symbol_file"]

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SEGMENT = struct.Struct("<IIQQQQQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_RELOCATABLE, _SHARED, _X86_64 = 1, 3, 62
_PROGBITS, _SYMTAB, _STRTAB, _HASH, _DYNAMIC, _NOBITS, _DYNSYM = 1, 2, 3, 5, 6, 8, 11
_WRITE, _ALLOC, _EXECUTE = 1, 2, 4
_LOAD, _DYNAMIC_SEGMENT, _STACK = 1, 2, 0x6474E551
_PAGE = 4096


class Name(NamedTuple):
    """A symbol ``offset`` bytes into section number ``section``; ``kind`` is 1 for data, 2 for functions."""

    name: str
    section: int
    offset: int
    size: int
    kind: int = 2


class _Part(NamedTuple):
    """A section of a file: it stands at ``position``, and belongs at ``address`` in memory."""

    name: str
    kind: int
    flags: int
    address: int
    position: int
    content: bytes
    size: int
    link: int = 0
    info: int = 0
    entry_size: int = 0


def symbol_file(base: int, size: int, names: Sequence[Name], frames: tuple[int, bytes] | None = None) -> bytes:
    """An object file that names what lies in ``size`` bytes of code at ``base``; ``frames`` are at an address too."""
    strings, entries = _symbols(names, 0)
    position = _HEADER.size
    parts = [_Part(".text", _NOBITS, _ALLOC | _EXECUTE, base, position, b"", size)]
    if frames is not None:
        parts.append(_Part(".eh_frame", _PROGBITS, _ALLOC, frames[0], position, frames[1], len(frames[1])))
        position = _aligned(position + len(frames[1]))
    link = len(parts) + 2
    parts.append(_Part(".symtab", _SYMTAB, 0, 0, position, entries, len(entries), link, 1, _SYMBOL.size))
    position += len(entries)
    parts.append(_Part(".strtab", _STRTAB, 0, 0, position, strings, len(strings)))
    return _file(_RELOCATABLE, parts, [])


def library_file(code: bytes, data: bytes, names: Sequence[Name]) -> bytes:
    """A shared library of a section of code (number 1) and one of data (number 2) that exports ``names``."""
    strings, entries = _symbols(names, _PAGE)
    count = len(names) + 1
    chains = [0, *range(2, count), 0]  # one bucket, whose chain runs through all symbols
    table = struct.pack(f"<{3 + count}I", 1, count, 1, *chains)
    places = [_HEADER.size + 5 * _SEGMENT.size]
    for part in (entries, strings, table):
        places.append(_aligned(places[-1] + len(part)))
    pairs = [(4, places[2]), (5, places[1]), (6, places[0]), (10, len(strings)), (11, _SYMBOL.size), (0, 0)]
    dynamic = b"".join(struct.pack("<QQ", *pair) for pair in pairs)
    at = _aligned(2 * _PAGE + len(data))
    end = at + len(dynamic)
    parts = [
        _Part(".text", _PROGBITS, _ALLOC | _EXECUTE, _PAGE, _PAGE, code, len(code)),
        _Part(".data", _PROGBITS, _ALLOC | _WRITE, 2 * _PAGE, 2 * _PAGE, data, len(data)),
        _Part(".dynamic", _DYNAMIC, _ALLOC | _WRITE, at, at, dynamic, len(dynamic), 5, 0, 16),
        _Part(".dynsym", _DYNSYM, _ALLOC, places[0], places[0], entries, len(entries), 5, 1, _SYMBOL.size),
        _Part(".dynstr", _STRTAB, _ALLOC, places[1], places[1], strings, len(strings)),
        _Part(".hash", _HASH, _ALLOC, places[2], places[2], table, len(table), 4, 0, 4),
    ]
    segments = [
        (_LOAD, 4, 0, places[3]),
        (_LOAD, 5, _PAGE, len(code)),
        (_LOAD, 6, 2 * _PAGE, end - 2 * _PAGE),
        (_DYNAMIC_SEGMENT, 6, at, len(dynamic)),
        (_STACK, 6, 0, 0),
    ]
    return _file(_SHARED, parts, segments)


def _aligned(position: int) -> int:
    return -(-position // 16) * 16


def _symbols(names: Sequence[Name], spacing: int) -> tuple[bytes, bytes]:
    """Strings and entries of a symbol table whose sections start ``spacing`` apart."""
    strings, entries = bytearray(b"\0"), bytearray(_SYMBOL.size)
    for name in names:
        value = name.section * spacing + name.offset
        entries += _SYMBOL.pack(len(strings), 0x10 | name.kind, 0, name.section, value, name.size)
        strings += name.name.encode("utf-8", "replace") + b"\0"
    return bytes(strings), bytes(entries)


def _file(kind: int, parts: Sequence[_Part], segments: Sequence[tuple[int, int, int, int]]) -> bytes:
    names, starts = bytearray(b"\0"), []
    for name in (*(part.name for part in parts), ".shstrtab"):
        starts.append(len(names))
        names += name.encode() + b"\0"
    end = _aligned(max(part.position + len(part.content) for part in parts))
    content = bytearray(end)
    for part in parts:
        content[part.position : part.position + len(part.content)] = part.content
    for index, (segment, flags, at, size) in enumerate(segments):
        place = _HEADER.size + index * _SEGMENT.size
        _SEGMENT.pack_into(content, place, segment, flags, at, at, at, size, size, _PAGE)
    content += names.ljust(_aligned(len(names)), b"\0")
    table = len(content)
    content += bytes(_SECTION.size)
    for part, start in zip(parts, starts):
        extent = (part.flags, part.address, part.position, part.size)
        content += _SECTION.pack(start, part.kind, *extent, part.link, part.info, 16, part.entry_size)
    content += _SECTION.pack(starts[-1], _STRTAB, 0, 0, end, len(names), 0, 0, 1, 0)
    ident = b"\x7fELF\x02\x01\x01".ljust(16, b"\0")
    first = _HEADER.size if segments else 0
    sizes = (_HEADER.size, _SEGMENT.size if segments else 0, len(segments), _SECTION.size, len(parts) + 2)
    _HEADER.pack_into(content, 0, ident, kind, _X86_64, 1, 0, first, table, 0, *sizes, len(parts) + 1)
    return bytes(content)
