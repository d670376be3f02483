"""Linking: several object files become one image, with all done ahead of time that does not depend on its address."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from basalt.errors import ModelFormatError

from ..layout import KERNEL_SYMBOL
from .elf import NotHandled, ObjectFile, Symbol, read_object
from .linked import EXECUTE, MAX_ADDEND, MAX_IMAGE, Export, LinkedImage, check_unwind
from .placing import Placing
from .symbols import check_allowed

__all__ = ["link", "link_object"]

_WORD, _HALF = 8, 4
_ABSOLUTE_64, _TO_SLOT = 1, (9, 41, 42)  # R_X86_64_64; GOTPCREL, GOTPCRELX, REX_GOTPCRELX
_RELATIVE = {2: _HALF, 4: _HALF, 24: _WORD}  # PC32, PLT32, PC64
_WIDTHS = {_ABSOLUTE_64: _WORD, **dict.fromkeys(_TO_SLOT, _HALF), **_RELATIVE}
_MAX_ADDEND = MAX_ADDEND - MAX_IMAGE
_TRAP = 0xCC
"""What lies between functions: int3, so that a stray jump stops at once."""


def link(objects: Mapping[str, bytes]) -> LinkedImage:
    """Link x86-64 object files by name, each of which stands for itself: none can refer to another.

    A kernel's function is exported under the name of its object, any other function as ``name:symbol``. Raises
    ModelFormatError for damaged bytes, UnsupportedError for an import that is not on the allow-list, and NotHandled
    for a feature or a kind of relocation that is not handled.
    """
    files = [(name, read_object(data)) for name, data in objects.items()]
    return _link(files, lambda name, symbol: name if symbol == KERNEL_SYMBOL else f"{name}:{symbol}")


def link_object(data: bytes) -> LinkedImage:
    """Link one object file; its functions keep their names. Raises as :func:`link` does."""
    return _link([("", read_object(data))], lambda _, symbol: symbol)


def _link(files: list[tuple[str, ObjectFile]], export_name: Callable[[str, str], str]) -> LinkedImage:
    if not any(file.sections for _, file in files):
        raise ModelFormatError("object code holds nothing that takes memory")
    linker = _Linker([file for _, file in files])
    exports = []
    for index, (name, file) in enumerate(files):
        for symbol in file.symbols:
            offset = linker.code_offset(index, symbol)
            if offset is not None:
                exports.append(Export(export_name(name, symbol.name), offset, symbol.size))
    return linker.image(tuple(exports))


class _Slot(NamedTuple):
    """A word that holds an address: of an import by name, or of a symbol of one file."""

    file: int
    symbol: int
    name: str


class _Linker:
    def __init__(self, files: list[ObjectFile]) -> None:
        self._files = files
        self._imports: dict[str, int] = {}
        self._base: list[tuple[int, int]] = []
        self._elsewhere: list[tuple[int, int, int]] = []
        self._find_slots()
        self._place()
        self._content = self._copy()
        for index, file in enumerate(files):
            self._relocate_all(index, file)
        for slot, offset in self._slots.items():
            self._fill_slot(slot, offset)
        for name, offset in self._stubs.items():
            self._write_stub(offset, self._slots[_import_slot(name)])

    def _find_slots(self) -> None:
        """What needs a word with its address, and which imports need a jump near the code that calls them."""
        self._slots: dict[_Slot, int] = {}
        self._stubs: dict[str, int] = {}
        for index, file in enumerate(self._files):
            for _, _, kind, target, _ in file.relocations:
                if kind in _TO_SLOT:
                    self._slots[self._slot(index, target)] = 0
                elif kind in _RELATIVE and _is_import(file.symbols[target]):
                    name = file.symbols[target].name
                    self._slots[_import_slot(name)] = 0
                    self._stubs[name] = 0

    def _slot(self, file: int, number: int) -> _Slot:
        symbol = self._files[file].symbols[number]
        return _import_slot(symbol.name) if _is_import(symbol) else _Slot(file, number, "")

    def _place(self) -> None:
        placing = Placing(self._files)
        placing.place_code()
        self._stubs = {name: placing.reserve(_HALF * 2, _WORD) for name in self._stubs}
        placing.close_code()
        placing.place_constants()
        self._slots = {slot: placing.reserve(_WORD, _WORD) for slot in self._slots}
        self._unwind = placing.place_unwind()
        placing.close_constants()
        placing.place_data()
        self._offsets = placing.offsets
        self._areas = tuple(placing.areas)
        self._initialised = placing.initialised
        self._size = placing.size

    def _copy(self) -> np.ndarray:
        content = np.zeros(self._initialised, np.uint8)
        if self._areas and self._areas[0].protection & EXECUTE:
            content[: self._areas[0].size] = _TRAP
        for index, file in enumerate(self._files):
            for number, section in file.sections.items():
                if section.content is not None:
                    offset = self._offsets[index, number]
                    content[offset : offset + section.size] = np.frombuffer(section.content, np.uint8)
        return content

    def code_offset(self, file: int, symbol: Symbol) -> int | None:
        """Where an exported function lies; None for any other symbol."""
        if not symbol.exported or symbol.section is None or not symbol.name:
            return None
        section = self._files[file].sections.get(symbol.section)
        if section is None or not section.executable or symbol.value >= section.size:
            return None
        return self._offsets[file, symbol.section] + symbol.value

    def _relocate_all(self, index: int, file: ObjectFile) -> None:
        for number, offset, kind, target, addend in file.relocations:
            section, symbol = file.sections[number], file.symbols[target]
            width = _WIDTHS.get(kind)
            if width is None:
                raise NotHandled(f"object code: relocation of kind {kind}")
            if section.content is None or offset > section.size - width:
                raise ModelFormatError(f"object code: relocation at {offset} lies outside its section")
            if not -_MAX_ADDEND <= addend <= _MAX_ADDEND:
                raise ModelFormatError(f"object code: relocation over {addend} bytes")
            place = self._offsets[index, number] + offset
            if kind == _ABSOLUTE_64:
                self._write_address(place, index, symbol, addend)
            elif kind in _TO_SLOT:
                self._write(place, self._slots[self._slot(index, target)] + addend - place, width)
            else:
                self._write(place, self._near(index, symbol) + addend - place, width)

    def _near(self, file: int, symbol: Symbol) -> int:
        """Where in the image to go for a symbol: for an import, to the jump that leads to it."""
        if symbol.absolute:
            raise NotHandled(f"object code: {symbol.name!r} is a number, and no address relative to code")
        return self._stubs[symbol.name] if symbol.section is None else self._offset(file, symbol)

    def _offset(self, file: int, symbol: Symbol) -> int:
        assert symbol.section is not None
        try:
            return self._offsets[file, symbol.section] + symbol.value
        except KeyError:
            raise NotHandled(f"object code: {symbol.name!r} lies in a section that takes no memory") from None

    def _write_address(self, place: int, file: int, symbol: Symbol, addend: int) -> None:
        if symbol.section is not None:
            self._base.append((place, self._offset(file, symbol) + addend))
        elif symbol.absolute:
            self._write(place, (symbol.value + addend) % (1 << 64), _WORD)
        else:
            self._elsewhere.append((place, self._import(symbol.name), addend))

    def _import(self, name: str) -> int:
        check_allowed(name)
        return self._imports.setdefault(name, len(self._imports))

    def _fill_slot(self, slot: _Slot, offset: int) -> None:
        if slot.name:
            self._elsewhere.append((offset, self._import(slot.name), 0))
        else:
            self._write_address(offset, slot.file, self._files[slot.file].symbols[slot.symbol], 0)

    def _write_stub(self, place: int, slot: int) -> None:
        self._content[place : place + 2] = (0xFF, 0x25)  # jmp *slot(%rip)
        self._write(place + 2, slot - (place + 6), _HALF)

    def _write(self, place: int, value: int, width: int) -> None:
        bits = 8 * width
        if width == _HALF and not -(1 << bits - 1) <= value < 1 << bits - 1:
            raise ModelFormatError(f"object code: a reference over {value} bytes does not fit into {bits} bits")
        data = (value % (1 << bits)).to_bytes(width, "little")
        self._content[place : place + width] = np.frombuffer(data, np.uint8)

    def image(self, exports: tuple[Export, ...]) -> LinkedImage:
        base = np.array(self._base, np.int64).reshape(-1, 2)
        elsewhere = np.array(self._elsewhere, np.int64).reshape(-1, 3)
        image = LinkedImage(self._content, self._areas, base, tuple(self._imports), elsewhere, exports, self._unwind)
        try:
            check_unwind(image)
        except ModelFormatError:
            # Code runs without; what is in a form that is not known is left unused.
            return image._replace(unwind=(0, 0))
        return image


def _import_slot(name: str) -> _Slot:
    return _Slot(0, 0, name)


def _is_import(symbol: Symbol) -> bool:
    return symbol.section is None and not symbol.absolute
