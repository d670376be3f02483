"""Linked machine code as plain data: what a program's file holds, and what can be checked of it before it is loaded."""

from __future__ import annotations

import operator
from typing import NamedTuple

import numpy as np

from basalt.errors import ModelFormatError

from .symbols import check_allowed

__all__ = [
    "EXECUTE",
    "MAX_ADDEND",
    "MAX_IMAGE",
    "PAGE",
    "PROTECTIONS",
    "READ",
    "WRITE",
    "Area",
    "Export",
    "LinkedImage",
    "check_image",
    "check_unwind",
]

PAGE = 4096
READ, WRITE, EXECUTE = 1, 2, 4
PROTECTIONS = (READ | EXECUTE, READ, READ | WRITE)
"""What an area may be; never writable and executable at once."""
MAX_IMAGE = 1 << 30
"""Most bytes of an image, so that a damaged size does not exhaust the memory."""
MAX_ADDEND = 1 << 31
"""Furthest that an address may lie from what it is given by."""

_WORD = 8


class Area(NamedTuple):
    """A run of whole pages with one protection, in bytes from the image's base."""

    offset: int
    size: int
    protection: int


class Export(NamedTuple):
    """A function of ``size`` bytes (0: unknown) at ``offset`` from the image's base."""

    name: str
    offset: int
    size: int


class LinkedImage(NamedTuple):
    """Machine code for x86-64 with everything resolved that does not depend on where it is placed.

    Args:
        content: uint8; the image's first bytes. What follows up to ``size`` is zero.
        areas: the whole image from 0 on, without gaps.
        relocations: int64 of shape (n, 2): at offset [0] belongs the base + [1], in 64 bits.
        imports: names of functions elsewhere.
        import_relocations: int64 of shape (m, 3): at offset [0] belongs the address of import number [1] + [2], in 64
            bits.
        exports: functions that may be called.
        unwind: offset and size of the call frame information with its terminator; (0, 0) if there is none.
    """

    content: np.ndarray
    areas: tuple[Area, ...]
    relocations: np.ndarray
    imports: tuple[str, ...]
    import_relocations: np.ndarray
    exports: tuple[Export, ...]
    unwind: tuple[int, int] = (0, 0)

    @property
    def size(self) -> int:
        """Bytes in memory, whole pages."""
        return sum(area.size for area in self.areas)


def check_image(image: LinkedImage) -> None:
    """Makes sure that loading the image writes only inside of it; what its code does cannot be checked.

    Raises ModelFormatError naming the fault, UnsupportedError for an import that is not on the allow-list.
    """
    size = _check_areas(image)
    content = image.content
    if not isinstance(content, np.ndarray) or content.dtype != np.uint8 or content.ndim != 1:
        raise _fault("the content is no array of bytes")
    if len(content) > size:
        raise _fault(f"{len(content)} bytes of content, in areas of {size}")
    for name in image.imports:
        if not isinstance(name, str):
            raise _fault(f"import {name!r} is no name")
        check_allowed(name)
    _check_relocations(image, size)
    _check_exports(image)
    check_unwind(image)


def _fault(what: str) -> ModelFormatError:
    return ModelFormatError(f"machine code: {what}")


def _whole(value: object, what: str) -> int:
    try:
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise _fault(f"{what} is {value!r}, no whole number") from None


def _check_areas(image: LinkedImage) -> int:
    end = 0
    for index, area in enumerate(image.areas):
        offset, size, protection = (_whole(value, f"area {index}") for value in area)
        if offset != end or size <= 0 or size % PAGE:
            raise _fault(f"area {index} has {size} bytes at {offset}, expected whole pages at {end}")
        if protection not in PROTECTIONS:
            raise _fault(f"area {index} has protection {protection}, expected one of {PROTECTIONS}")
        end += size
    if not 0 < end <= MAX_IMAGE:
        raise _fault(f"areas of {end} bytes, expected 1 to {MAX_IMAGE}")
    return end


def _check_relocations(image: LinkedImage, size: int) -> None:
    tables = ((image.relocations, 2, "relocations"), (image.import_relocations, 3, "import relocations"))
    for table, columns, what in tables:
        if not isinstance(table, np.ndarray) or table.dtype != np.int64 or table.shape[1:] != (columns,):
            raise _fault(f"the {what} are no int64 array of {columns} columns")
        addends = table[:, -1]
        if len(table) and not (addends.min() >= -MAX_ADDEND and addends.max() < MAX_ADDEND):
            raise _fault(f"{what} lead further than {MAX_ADDEND} bytes")
    numbers = image.import_relocations[:, 1]
    if len(numbers) and not (numbers.min() >= 0 and numbers.max() < len(image.imports)):
        raise _fault(f"imports number {numbers.min()} to {numbers.max()} are used, of {len(image.imports)}")
    places = np.sort(np.concatenate([image.relocations[:, 0], image.import_relocations[:, 0]]))
    if not len(places):
        return
    # In this order no sum or difference can overflow.
    if places[0] < 0 or places[-1] > size - _WORD:
        raise _fault(f"relocations at {places[0]} to {places[-1]}, in an image of {size} bytes")
    gaps = np.diff(places)
    if len(gaps) and gaps.min() < _WORD:
        raise _fault(f"two relocations overlap at {places[gaps.argmin()]}")


def _check_exports(image: LinkedImage) -> None:
    if not image.exports:
        return
    try:
        names, starts, lengths = zip(*image.exports, strict=True)
        offsets, sizes = np.array(starts), np.array(lengths)
    except ValueError:
        raise _fault("functions are not given by name, offset and size") from None
    if not all(isinstance(name, str) and name for name in names):
        raise _fault(f"a function without a name among {names}")
    if len(set(names)) != len(names):
        raise _fault(f"two functions of one name among {names}")
    if (offsets.dtype, sizes.dtype) != (np.int64, np.int64) or offsets.ndim != 1 or sizes.ndim != 1:
        raise _fault(f"places of functions are no 64-bit numbers: {starts}, {lengths}")
    inside = np.zeros(len(names), bool)
    for start, length, protection in image.areas:
        if protection & EXECUTE:
            # Every function has at least its return instruction. What overflows here has a wrong offset anyway.
            fits = np.maximum(sizes, 1) <= start + length - offsets
            inside |= (start <= offsets) & (offsets < start + length) & (sizes >= 0) & fits
    if not inside.all():
        name, offset, size = image.exports[inside.argmin()]
        raise _fault(f"function {name!r} of {size} bytes at {offset} lies outside the code")


def check_unwind(image: LinkedImage) -> None:
    """The part of :func:`check_image` for call frame information."""
    offset, size = (_whole(value, "call frame information") for value in image.unwind)
    if (offset, size) == (0, 0):
        return
    readable = [area for area in image.areas if area.protection == READ]
    if size < _WORD or not any(a.offset <= offset and offset + size <= a.offset + a.size for a in readable):
        raise _fault(f"call frame information of {size} bytes at {offset} lies outside the constants")
    places = np.concatenate([image.relocations[:, 0], image.import_relocations[:, 0]])
    if ((places > offset - _WORD) & (places < offset + size)).any():
        raise _fault("a relocation changes the call frame information")
    from .unwinding import check_frames

    code = [area for area in image.areas if area.protection & EXECUTE]
    bounds = (code[0].offset, code[-1].offset + code[-1].size) if code else (0, 0)
    check_frames(image.content, offset, size, bounds)
