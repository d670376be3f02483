"""Reading x86-64 ELF object files into a plan that says what to place where; maps nothing and runs nothing.

Every offset and size is checked against the file before it is used, so bytes that are no object file raise
ModelFormatError. What a valid file may hold but this reader does not handle raises NotHandled: the caller then
turns to LLVM's own loader. Format: System V ABI and its AMD64 supplement.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

from basalt.errors import ModelFormatError, UnsupportedError

__all__ = [
    "EXECUTE",
    "PAGE",
    "READ",
    "WRITE",
    "Area",
    "NotHandled",
    "Placement",
    "Plan",
    "Relocation",
    "Symbol",
    "imports_of",
    "plan_object",
]

PAGE = 4096
READ, WRITE, EXECUTE = 1, 2, 4

_MAX_IMAGE = 1 << 30
_RELOCATABLE, _X86_64 = 1, 62
_NULL, _SYMTAB, _STRTAB, _RELA, _NOBITS, _REL = 0, 2, 3, 4, 8, 9
_UNWIND = 0x70000001
_SHF_WRITE, _SHF_ALLOC, _SHF_EXEC, _SHF_TLS = 1, 2, 4, 0x400
_UNDEFINED, _RESERVED, _ABSOLUTE, _COMMON = 0, 0xFF00, 0xFFF1, 0xFFF2
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_RELOCATION = struct.Struct("<QQq")
_WIDTHS = {1: 8, 2: 4, 4: 4, 24: 8}  # R_X86_64_64, PC32, PLT32, PC64


class NotHandled(UnsupportedError):
    """Valid object code that only LLVM's loader can place."""


class Area(NamedTuple):
    """A run of whole pages with one protection."""

    offset: int
    size: int
    protection: int


class Placement(NamedTuple):
    """Bytes of the file that go to ``offset`` in the image."""

    offset: int
    source: int
    size: int


class Symbol(NamedTuple):
    """``offset`` in the image, or None if the symbol must be found elsewhere; ``absolute`` values stand as they are."""

    name: str
    offset: int | None
    exported: bool = False
    absolute: bool = False


class Relocation(NamedTuple):
    """At ``offset`` in the image write symbol + addend, minus the place's own address if ``relative``."""

    offset: int
    symbol: int
    addend: int
    width: int
    relative: bool


class Plan(NamedTuple):
    """An image of ``size`` bytes (whole pages): what to copy, what to relocate, how to protect."""

    size: int
    areas: tuple[Area, ...]
    placements: tuple[Placement, ...]
    symbols: tuple[Symbol, ...]
    relocations: tuple[Relocation, ...]


class _Section(NamedTuple):
    name: int
    kind: int
    flags: int
    offset: int
    size: int
    link: int
    info: int
    align: int
    entry_size: int


def plan_object(data: bytes) -> Plan:
    """Plan how to load the x86-64 object file ``data``.

    Raises ModelFormatError for damaged bytes, NotHandled for a feature or relocation that is not handled.
    """
    sections = _sections(data)
    if struct.unpack_from("<HH", data, 16) != (_RELOCATABLE, _X86_64):
        raise NotHandled("object code is ELF, but not for x86-64")
    layout = _Layout(sections)
    symbols = _symbols(data, sections, layout)
    relocations = tuple(_relocations(data, sections, layout.offsets, len(symbols)))
    placements = tuple(
        Placement(offset, sections[index].offset, sections[index].size)
        for index, offset in layout.offsets.items()
        if sections[index].kind != _NOBITS
    )
    return Plan(layout.size, tuple(layout.areas), placements, symbols, relocations)


def imports_of(data: bytes) -> list[str]:
    """Names that a 64-bit object file of any architecture takes from elsewhere. Raises ModelFormatError."""
    sections = _sections(data)
    names, entries = _symbol_table(data, sections)
    return [name for name in (_name(names, e) for e in entries if e[3] == _UNDEFINED) if name]


def _sections(data: bytes) -> list[_Section]:
    if len(data) < 64 or data[:4] != b"\x7fELF":
        raise ModelFormatError(f"object code of {len(data)} bytes is not an ELF file")
    if data[4:6] != b"\x02\x01":
        raise NotHandled("object code is ELF, but not 64-bit little-endian")
    (table,) = struct.unpack_from("<Q", data, 40)
    entry_size, count = struct.unpack_from("<HH", data, 58)
    if entry_size != _SECTION.size or count == 0:
        raise ModelFormatError(f"object code has section headers of {entry_size} bytes, {count} of them")
    _check_inside(data, table, count * _SECTION.size, "section header table")
    sections = []
    for index in range(count):
        name, kind, flags, _, offset, size, link, info, align, entry = _SECTION.unpack_from(data, table + 64 * index)
        if kind not in (_NULL, _NOBITS):
            _check_inside(data, offset, size, f"section {index}")
        sections.append(_Section(name, kind, flags, offset, size, link, info, max(align, 1), entry))
    return sections


def _check_inside(data: bytes, offset: int, size: int, what: str) -> None:
    if offset + size > len(data):
        raise ModelFormatError(f"object code: {what} ends at byte {offset + size}, the file at {len(data)}")


class _Layout:
    """Places sections by protection: code, constants, data; then the common symbols among the data."""

    def __init__(self, sections: list[_Section]) -> None:
        self.offsets: dict[int, int] = {}
        self.areas: list[Area] = []
        self.size = 0
        loaded = [(i, s) for i, s in enumerate(sections) if s.flags & _SHF_ALLOC and s.kind != _UNWIND and s.size]
        for wanted, protection in ((_SHF_EXEC, READ | EXECUTE), (0, READ), (_SHF_WRITE, READ | WRITE)):
            start = self.size
            for index, section in loaded:
                if section.flags & _SHF_TLS or section.flags & (_SHF_EXEC | _SHF_WRITE) == _SHF_EXEC | _SHF_WRITE:
                    raise NotHandled(f"object code: section {index} has flags {section.flags:#x}")
                if section.flags & (_SHF_EXEC | _SHF_WRITE) == wanted:
                    self.offsets[index] = self._reserve(section.size, section.align)
            self._close_area(start, protection)

    def _reserve(self, size: int, align: int) -> int:
        if align & (align - 1) or align > PAGE:
            raise NotHandled(f"object code: alignment {align}")
        offset = -(-self.size // align) * align
        self.size = offset + size
        if self.size > _MAX_IMAGE:
            raise ModelFormatError(f"object code asks for more than {_MAX_IMAGE} bytes")
        return offset

    def _close_area(self, start: int, protection: int) -> None:
        self.size = -(-self.size // PAGE) * PAGE
        if self.size > start:
            self.areas.append(Area(start, self.size - start, protection))

    def reserve_commons(self, sizes: list[tuple[int, int]]) -> list[int]:
        """Offsets of zeroed storage, given (size, alignment) of each."""
        start = self.size
        offsets = [self._reserve(size, max(align, 1)) for size, align in sizes]
        self._close_area(start, READ | WRITE)
        return offsets


_Entry = tuple[int, int, int, int, int, int]


def _symbol_table(data: bytes, sections: list[_Section]) -> tuple[bytes, list[_Entry]]:
    """The bytes of the symbols' names, and the symbols as in the file."""
    tables = [s for s in sections if s.kind == _SYMTAB]
    if len(tables) != 1 or tables[0].entry_size != _SYMBOL.size or tables[0].size % _SYMBOL.size:
        raise ModelFormatError("object code has no usable symbol table")
    table = tables[0]
    if table.link >= len(sections) or sections[table.link].kind != _STRTAB:
        raise ModelFormatError(f"object code: section {table.link} is no string table")
    names = sections[table.link]
    entries = [_SYMBOL.unpack_from(data, table.offset + i) for i in range(0, table.size, _SYMBOL.size)]
    return data[names.offset : names.offset + names.size], entries


def _name(names: bytes, entry: _Entry) -> str:
    end = names.find(b"\0", entry[0])
    if end < 0:
        raise ModelFormatError(f"object code: symbol name at {entry[0]} lies outside the string table")
    return names[entry[0] : end].decode("latin-1")


def _symbols(data: bytes, sections: list[_Section], layout: _Layout) -> tuple[Symbol, ...]:
    names, entries = _symbol_table(data, sections)
    commons = iter(layout.reserve_commons([(e[5], e[4]) for e in entries if e[3] == _COMMON]))
    return tuple(_symbol(_name(names, entry), entry, sections, layout, commons) for entry in entries)


def _symbol(name: str, entry: _Entry, sections: list[_Section], layout: _Layout, commons: Iterator[int]) -> Symbol:
    _, info, _, section, value, _ = entry
    exported = info >> 4 != 0
    if section == _UNDEFINED:
        return Symbol(name, None)
    if section == _ABSOLUTE:
        return Symbol(name, value, exported, absolute=True)
    if section == _COMMON:
        return Symbol(name, next(commons), exported)
    if section >= _RESERVED:
        raise NotHandled(f"object code: symbol {name!r} in special section {section:#x}")
    if section >= len(sections) or value > sections[section].size:
        raise ModelFormatError(f"object code: symbol {name!r} lies outside section {section}")
    offset = layout.offsets.get(section)
    return Symbol(name, None if offset is None else offset + value, exported)


def _relocations(
    data: bytes, sections: list[_Section], offsets: dict[int, int], symbol_count: int
) -> Iterator[Relocation]:
    for index, section in enumerate(sections):
        if section.kind == _REL and section.info in offsets:
            raise NotHandled(f"object code: section {index} holds relocations without addends")
        if section.kind != _RELA or section.info not in offsets:
            continue
        if section.entry_size != _RELOCATION.size or section.size % _RELOCATION.size:
            raise ModelFormatError(f"object code: section {index} has relocations of {section.entry_size} bytes")
        target = sections[section.info]
        for start in range(section.offset, section.offset + section.size, _RELOCATION.size):
            offset, info, addend = _RELOCATION.unpack_from(data, start)
            kind, symbol = info & 0xFFFFFFFF, info >> 32
            if kind == 0:
                continue
            if kind not in _WIDTHS:
                raise NotHandled(f"object code: relocation of kind {kind}")
            if offset + _WIDTHS[kind] > target.size or symbol >= symbol_count:
                raise ModelFormatError(f"object code: relocation at {offset} lies outside its section or symbol table")
            yield Relocation(offsets[section.info] + offset, symbol, addend, _WIDTHS[kind], kind != 1)
