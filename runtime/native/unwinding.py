"""Call frame information: checking it, and handing it to the library that unwinds stacks.

Format: Linux Standard Base, "Exception Frames"; DWARF 4, section 6.4.
"""

from __future__ import annotations

import ctypes
import functools
import struct
from collections.abc import Callable

import numpy as np

from basalt.errors import ModelFormatError

__all__ = ["check_frames", "register_frames"]

_RELATIVE_32, _RELATIVE_64 = 0x1B, 0x1C  # DW_EH_PE_pcrel with sdata4, sdata8
_LENGTH_FOLLOWS = 0xFFFFFFF0


def check_frames(content: np.ndarray, offset: int, size: int, code: tuple[int, int]) -> None:
    """Make sure that records in ``content`` can be walked, end in a terminator and tell of ``code`` (start, end) only.

    Whoever unwinds the stack believes what stands there. Raises ModelFormatError.
    """
    data = content[offset : offset + size].tobytes().ljust(size, b"\0")
    encodings: dict[int, int] = {}
    position = 0
    while position < size - 4:
        (length,) = struct.unpack_from("<I", data, position)
        start, end = position + 4, position + 4 + length
        if length < 12 or length >= _LENGTH_FOLLOWS or length % 4 or end > size - 4:
            raise _fault(offset + position, f"a record of {length} bytes")
        (distance,) = struct.unpack_from("<I", data, start)
        if distance == 0:
            encodings[position] = _encoding(data[start + 4 : end], offset + position)
        elif start - distance in encodings:
            _check_range(data[start + 4 : end], encodings[start - distance], offset + start + 4, code)
        else:
            raise _fault(offset + position, f"a record that refers {distance} bytes back")
        position = end
    if data[position:] != bytes(4):
        raise _fault(offset + position, "no terminator")


def _fault(offset: int, what: str) -> ModelFormatError:
    return ModelFormatError(f"machine code: call frame information at {offset}: {what}")


def _encoding(record: bytes, offset: int) -> int:
    """How the records that refer to this one (version, augmentation, three numbers in LEB128, data) give addresses."""
    version, augmentation, rest = record[0], *record[1:].partition(b"\0")[::2]
    if version != 1 or augmentation != b"zR":
        raise _fault(offset, f"version {version} with augmentation {augmentation!r}, expected 1 and b'zR'")
    for _ in range(3):
        rest = _after_number(rest, offset)
    if len(rest) < 2 or rest[0] != 1 or rest[1] not in (_RELATIVE_32, _RELATIVE_64):
        raise _fault(offset, f"addresses encoded as {rest[:2].hex()!r}")
    return rest[1]


def _after_number(data: bytes, offset: int) -> bytes:
    for index, byte in enumerate(data[:5]):
        if byte < 0x80:
            return data[index + 1 :]
    raise _fault(offset, "a number without end")


def _check_range(record: bytes, encoding: int, offset: int, code: tuple[int, int]) -> None:
    form = "<iIB" if encoding == _RELATIVE_32 else "<qQB"
    if len(record) < struct.calcsize(form):
        raise _fault(offset, "a record that is too short")
    distance, length, augmentation = struct.unpack_from(form, record)
    if augmentation or not code[0] <= offset + distance <= offset + distance + length <= code[1]:
        raise _fault(offset, f"{length} bytes at {offset + distance} lie outside the code")


def register_frames(address: int) -> Callable[[], None] | None:
    """Make frames known to GCC's unwinder; returns what makes them unknown again. None where it is not there.

    Other unwinders' functions of this name take a single record and are not called.
    """
    library = _unwinder()
    if library is None:
        return None
    library.__register_frame(address)
    return functools.partial(library.__deregister_frame, address)


@functools.cache
def _unwinder() -> ctypes.CDLL | None:
    try:
        library = ctypes.CDLL("libgcc_s.so.1")
        for function in (library.__register_frame, library.__deregister_frame):
            function.argtypes, function.restype = [ctypes.c_void_p], None
    except (OSError, AttributeError):
        return None
    return library
