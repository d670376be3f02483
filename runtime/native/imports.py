"""What object files of any system take from elsewhere, to be looked up before LLVM ends the process over it.

Formats: System V ABI; Apple, "Mach-O file format" (mach-o/loader.h, nlist.h); Microsoft, "PE Format", COFF.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from basalt.errors import ModelFormatError, UnsupportedError

from .elf import imports_of as elf_imports

__all__ = ["imports_of"]

_MACH_O = b"\xcf\xfa\xed\xfe"
_COFF_MACHINES = (0x8664, 0xAA64)
_TABLE_OF_SYMBOLS = 2  # LC_SYMTAB
_STAB, _TYPE, _EXTERNAL = 0xE0, 0x0E, 0x01
_EXTERNAL_CLASS = 2  # IMAGE_SYM_CLASS_EXTERNAL
_COFF_SYMBOL = struct.Struct("<8sIhHBB")


def imports_of(data: bytes) -> list[str]:
    """Names that an object file takes from elsewhere, as C knows them.

    Raises ModelFormatError for damaged bytes, UnsupportedError for another format.
    """
    try:
        if data[:4] == b"\x7fELF":
            return [name for name in elf_imports(data) if name != "_GLOBAL_OFFSET_TABLE_"]
        if data[:4] == _MACH_O:
            return [name.removeprefix("_") for name in _mach_o(data)]
        if len(data) >= 20 and struct.unpack_from("<H", data)[0] in _COFF_MACHINES:
            return list(_coff(data))
    except struct.error:
        raise ModelFormatError(f"object code of {len(data)} bytes refers to what lies outside of it") from None
    raise UnsupportedError(f"object code starts with {data[:4].hex()!r}, which is no ELF, Mach-O or COFF for 64 bits")


def _mach_o(data: bytes) -> Iterator[str]:
    (commands,) = struct.unpack_from("<I", data, 16)
    position = 32
    for _ in range(commands):
        command, size = struct.unpack_from("<II", data, position)
        if command == _TABLE_OF_SYMBOLS:
            start, count, names, _ = struct.unpack_from("<4I", data, position + 8)
            for index in range(count):
                name, kind, _, _, value = struct.unpack_from("<IBBHQ", data, start + 16 * index)
                if kind & (_STAB | _TYPE) == 0 and kind & _EXTERNAL and value == 0:
                    yield _string(data, names + name)
        if size < 8:
            raise ModelFormatError(f"object code: a load command of {size} bytes")
        position += size


def _coff(data: bytes) -> Iterator[str]:
    start, count = struct.unpack_from("<II", data, 8)
    strings = start + _COFF_SYMBOL.size * count
    index = 0
    while index < count:
        name, value, section, _, storage, more = _COFF_SYMBOL.unpack_from(data, start + _COFF_SYMBOL.size * index)
        if section == 0 and storage == _EXTERNAL_CLASS and value == 0:
            if name[:4] == bytes(4):
                yield _string(data, strings + int.from_bytes(name[4:], "little"))
            else:
                yield name.rstrip(b"\0").decode("latin-1")
        index += 1 + more


def _string(data: bytes, start: int) -> str:
    end = data.find(b"\0", start)
    if end < 0:
        raise ModelFormatError(f"object code: a name at {start} lies outside of it")
    return data[start:end].decode("latin-1")
