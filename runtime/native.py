"""Loading object code: our own loader on x86-64 Linux, LLVM's elsewhere."""

from __future__ import annotations

import platform
import sys
from typing import Protocol

from basalt.errors import BasaltError

from .elf import NotHandled, Plan, Relocation, imports_of, plan_object
from .mapping import CodePages
from .symbols import resolve

__all__ = ["Image", "load_object"]

_OWN_LOADER = sys.platform == "linux" and platform.machine() == "x86_64"


class Image(Protocol):
    """Object code in memory; it stays there as long as this object lives."""

    nbytes: int
    """Bytes of memory that the code takes."""

    def address(self, name: str) -> int:
        """Address of an exported function. Raises BasaltError if there is none of this name."""


def load_object(data: bytes) -> Image:
    """Load relocatable object code.

    Raises ModelFormatError for damaged bytes and UnsupportedError for code that needs functions outside the allow-list
    or that this system cannot load. The bytes must come from a trusted place: code can do anything once it runs.
    """
    if not _OWN_LOADER:
        return _load_by_llvm(data)
    try:
        return MappedImage(data, plan_object(data))
    except NotHandled:
        return _load_by_llvm(data)


class MappedImage:
    """Object code placed by our own loader."""

    def __init__(self, data: bytes, plan: Plan) -> None:
        self._pages = CodePages(plan.size)
        base = self._pages.address
        image = bytearray(plan.size)
        for place in plan.placements:
            image[place.offset : place.offset + place.size] = data[place.source : place.source + place.size]
        for relocation in plan.relocations:
            _relocate(image, relocation, plan, base)
        self._pages.fill(image)
        self._pages.protect(plan.areas)
        self._exports = {
            s.name: base + s.offset for s in plan.symbols if s.exported and s.offset is not None and not s.absolute
        }
        self.nbytes = plan.size

    def address(self, name: str) -> int:
        try:
            return self._exports[name]
        except KeyError:
            raise BasaltError(f"object code defines no {name!r}, only {sorted(self._exports)}") from None


def _relocate(image: bytearray, place: Relocation, plan: Plan, base: int) -> None:
    symbol = plan.symbols[place.symbol]
    if symbol.offset is not None:
        address = symbol.offset if symbol.absolute else base + symbol.offset
    else:
        address = resolve(symbol.name)
    value = address + place.addend
    if place.relative:
        value -= base + place.offset
    if place.width == 4 and not -(1 << 31) <= value < 1 << 31:
        raise NotHandled(f"object code refers to {symbol.name!r}, which is too far away")
    image[place.offset : place.offset + place.width] = (value % (1 << 8 * place.width)).to_bytes(place.width, "little")


def _load_by_llvm(data: bytes) -> Image:
    # LLVM ends the process when a name cannot be found, so every name is looked up before.
    if data[:4] == b"\x7fELF":
        for name in imports_of(data):
            if name != "_GLOBAL_OFFSET_TABLE_":
                resolve(name)
    from .native_llvm import LlvmImage

    return LlvmImage(data)
