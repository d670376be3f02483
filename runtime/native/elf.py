"""Reading x86-64 ELF object files; maps nothing and runs nothing.

Every offset and size is checked against the file before it is used, so bytes that are no object file raise
ModelFormatError. What a valid file may hold but this reader does not handle raises NotHandled: the caller then
turns to LLVM's own loader. Format: System V ABI and its AMD64 supplement.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

from basalt.errors import ModelFormatError, UnsupportedError

from .linked import MAX_IMAGE, PAGE

__all__ = ["NotHandled", "ObjectFile", "Relocation", "Section", "Symbol", "imports_of", "read_object"]

_RELOCATABLE, _X86_64 = 1, 62
_NULL, _PROGBITS, _SYMTAB, _STRTAB, _RELA, _NOTE, _NOBITS, _REL = 0, 1, 2, 3, 4, 7, 8, 9
_UNWIND = 0x70000001
_SHF_WRITE, _SHF_ALLOC, _SHF_EXEC, _SHF_TLS = 1, 2, 4, 0x400
_UNDEFINED, _RESERVED, _ABSOLUTE, _COMMON = 0, 0xFF00, 0xFFF1, 0xFFF2
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_RELOCATION = struct.Struct("<QQq")


class NotHandled(UnsupportedError):
    """Valid object code that only LLVM's loader can place."""


class Section(NamedTuple):
    """A section that takes memory: ``size`` bytes, zero if ``content`` is None."""

    content: memoryview | None
    size: int
    align: int
    writable: bool
    executable: bool
    unwind: bool


class Symbol(NamedTuple):
    """``value`` bytes into section number ``section``; a plain number if ``absolute``, else an import if None."""

    name: str
    section: int | None
    value: int
    size: int
    exported: bool
    absolute: bool = False


class Relocation(NamedTuple):
    """At ``offset`` in section number ``section``: a relocation of ``kind`` (R_X86_64_...) for symbol + addend."""

    section: int
    offset: int
    kind: int
    symbol: int
    addend: int


class ObjectFile(NamedTuple):
    """What an object file defines. ``sections`` holds by number those that take memory."""

    sections: dict[int, Section]
    symbols: tuple[Symbol, ...]
    relocations: tuple[Relocation, ...]


class _Header(NamedTuple):
    name: int
    kind: int
    flags: int
    offset: int
    size: int
    link: int
    info: int
    align: int
    entry_size: int


def read_object(data: bytes) -> ObjectFile:
    """Read the x86-64 object file ``data``.

    Raises ModelFormatError for damaged bytes, NotHandled for a feature that is not handled.
    """
    headers = _headers(data)
    if struct.unpack_from("<HH", data, 16) != (_RELOCATABLE, _X86_64):
        raise NotHandled("object code is ELF, but not for x86-64")
    view = memoryview(data)
    sections = {index: _section(view, index, header) for index, header in enumerate(headers) if _is_loaded(header)}
    symbols = _symbols(data, headers, sections)
    relocations = tuple(_relocations(data, headers, sections, len(symbols)))
    return ObjectFile(sections, symbols, relocations)


def imports_of(data: bytes) -> list[str]:
    """Names that a 64-bit object file of any architecture takes from elsewhere. Raises ModelFormatError."""
    names, entries = _symbol_table(data, _headers(data))
    return [name for name in (_name(names, e) for e in entries if e[3] == _UNDEFINED) if name]


def _headers(data: bytes) -> list[_Header]:
    if len(data) < 64 or data[:4] != b"\x7fELF":
        raise ModelFormatError(f"object code of {len(data)} bytes is not an ELF file")
    if data[4:6] != b"\x02\x01":
        raise NotHandled("object code is ELF, but not 64-bit little-endian")
    (table,) = struct.unpack_from("<Q", data, 40)
    entry_size, count = struct.unpack_from("<HH", data, 58)
    if entry_size != _SECTION.size or count == 0:
        raise ModelFormatError(f"object code has section headers of {entry_size} bytes, {count} of them")
    _check_inside(data, table, count * _SECTION.size, "section header table")
    headers = []
    end = len(data)
    entries = _SECTION.iter_unpack(data[table : table + count * _SECTION.size])
    for index, (name, kind, flags, _, offset, size, link, info, align, entry) in enumerate(entries):
        if offset + size > end and kind not in (_NULL, _NOBITS):
            _check_inside(data, offset, size, f"section {index}")
        headers.append(_Header(name, kind, flags, offset, size, link, info, align or 1, entry))
    return headers


def _check_inside(data: bytes, offset: int, size: int, what: str) -> None:
    if offset + size > len(data):
        raise ModelFormatError(f"object code: {what} ends at byte {offset + size}, the file at {len(data)}")


def _is_loaded(header: _Header) -> bool:
    return bool(header.flags & _SHF_ALLOC) and header.size > 0 and header.kind != _NULL


def _section(data: memoryview, index: int, header: _Header) -> Section:
    writable, executable = bool(header.flags & _SHF_WRITE), bool(header.flags & _SHF_EXEC)
    if header.flags & _SHF_TLS or (writable and executable):
        raise NotHandled(f"object code: section {index} has flags {header.flags:#x}")
    if header.kind not in (_PROGBITS, _NOTE, _NOBITS, _UNWIND) or (executable and header.kind != _PROGBITS):
        raise NotHandled(f"object code: section {index} is of kind {header.kind:#x}")
    _check_reservation(header.size, header.align)
    content = None if header.kind == _NOBITS else data[header.offset : header.offset + header.size]
    return Section(content, header.size, header.align, writable, executable, header.kind == _UNWIND)


def _check_reservation(size: int, align: int) -> None:
    if align & (align - 1) or align > PAGE:
        raise NotHandled(f"object code: alignment {align}")
    if size > MAX_IMAGE:
        raise ModelFormatError(f"object code asks for more than {MAX_IMAGE} bytes")


_Entry = tuple[int, int, int, int, int, int]


def _symbol_table(data: bytes, headers: list[_Header]) -> tuple[bytes, list[_Entry]]:
    """The bytes of the symbols' names, and the symbols as in the file."""
    tables = [header for header in headers if header.kind == _SYMTAB]
    if len(tables) != 1 or tables[0].entry_size != _SYMBOL.size or tables[0].size % _SYMBOL.size:
        raise ModelFormatError("object code has no usable symbol table")
    table = tables[0]
    if table.link >= len(headers) or headers[table.link].kind != _STRTAB:
        raise ModelFormatError(f"object code: section {table.link} is no string table")
    names = headers[table.link]
    entries = list(_SYMBOL.iter_unpack(data[table.offset : table.offset + table.size]))
    return data[names.offset : names.offset + names.size], entries


def _name(names: bytes, entry: _Entry) -> str:
    end = names.find(b"\0", entry[0])
    if end < 0:
        raise ModelFormatError(f"object code: symbol name at {entry[0]} lies outside the string table")
    return names[entry[0] : end].decode("latin-1")


def _symbols(data: bytes, headers: list[_Header], sections: dict[int, Section]) -> tuple[Symbol, ...]:
    """The symbols; storage for common ones is added to ``sections``."""
    names, entries = _symbol_table(data, headers)
    return tuple(_symbol(_name(names, entry), entry, headers, sections) for entry in entries)


def _symbol(name: str, entry: _Entry, headers: list[_Header], sections: dict[int, Section]) -> Symbol:
    _, info, _, section, value, size = entry
    exported = info >> 4 != 0
    if section == _UNDEFINED:
        return Symbol(name, None, 0, 0, False, absolute=not name)
    if section == _ABSOLUTE:
        return Symbol(name, None, value, 0, exported, absolute=True)
    if section == _COMMON:
        _check_reservation(size, max(value, 1))
        number = max(len(headers), *(index + 1 for index in sections))
        sections[number] = Section(None, size, max(value, 1), writable=True, executable=False, unwind=False)
        return Symbol(name, number, 0, size, exported)
    if section >= _RESERVED:
        raise NotHandled(f"object code: symbol {name!r} in special section {section:#x}")
    if section >= len(headers) or value > headers[section].size or size > headers[section].size - value:
        raise ModelFormatError(f"object code: symbol {name!r} lies outside section {section}")
    return Symbol(name, section, value, size, exported)


def _relocations(
    data: bytes, headers: list[_Header], sections: dict[int, Section], symbol_count: int
) -> Iterator[Relocation]:
    for index, header in enumerate(headers):
        if header.kind == _REL and header.info in sections:
            raise NotHandled(f"object code: section {index} holds relocations without addends")
        if header.kind != _RELA or header.info not in sections:
            continue
        if header.entry_size != _RELOCATION.size or header.size % _RELOCATION.size:
            raise ModelFormatError(f"object code: section {index} has relocations of {header.entry_size} bytes")
        number = header.info
        for offset, info, addend in _RELOCATION.iter_unpack(data[header.offset : header.offset + header.size]):
            kind, symbol = info & 0xFFFFFFFF, info >> 32
            if symbol >= symbol_count:
                raise ModelFormatError(f"object code: relocation at {offset} names symbol {symbol} of {symbol_count}")
            if kind:
                yield Relocation(number, offset, kind, symbol, addend)
