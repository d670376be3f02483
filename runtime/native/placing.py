"""Where sections of object files go in an image: by protection, code first, then constants, then data."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from basalt.errors import ModelFormatError

from .elf import NotHandled, ObjectFile, Section
from .linked import EXECUTE, MAX_IMAGE, PAGE, READ, WRITE, Area

__all__ = ["Placing"]

_CACHE_LINE = 64
_TERMINATOR = 4


class Placing:
    """Offsets of sections by (number of file, number of section); the steps are taken in the order given here."""

    def __init__(self, files: list[ObjectFile]) -> None:
        self._files = files
        self._relocated = {(i, r.section) for i, file in enumerate(files) for r in file.relocations}
        self._shared: dict[bytes, int] = {}
        self._start = 0
        self.offsets: dict[tuple[int, int], int] = {}
        self.areas: list[Area] = []
        self.size = 0
        self.initialised = 0

    def place_code(self) -> None:
        # A function's speed depends on where in cache lines its loops lie: that must not depend on its neighbours.
        for key, section in self._sections(lambda s: s.executable):
            self.offsets[key] = self.reserve(section.size, max(section.align, _CACHE_LINE))

    def close_code(self) -> None:
        self._close(READ | EXECUTE)

    def place_constants(self) -> None:
        for key, section in self._sections(lambda s: not (s.executable or s.writable or s.unwind)):
            self.offsets[key] = self._constant(key, section)

    def place_unwind(self) -> tuple[int, int]:
        """Offset and size of the call frame information of all files, one after the other, with its terminator."""
        found = list(self._sections(lambda s: s.unwind))
        if not found:
            return 0, 0
        start = self.reserve(0, max(section.align for _, section in found))
        for key, section in found:
            before = self.size
            self.offsets[key] = self.reserve(section.size, section.align)
            if self.offsets[key] != before:
                raise NotHandled("object code: call frame information that does not fill its alignment")
        self.reserve(_TERMINATOR, 1)
        return start, self.size - start

    def close_constants(self) -> None:
        self._close(READ)

    def place_data(self) -> None:
        # What is zero comes last: it takes no room in the image's content.
        for zero in (False, True):
            for key, section in self._sections(lambda s: s.writable):
                if (section.content is None) is zero:
                    self.offsets[key] = self.reserve(section.size, section.align, zero)
        self._close(READ | WRITE)

    def reserve(self, size: int, align: int, zero: bool = False) -> int:
        offset = -(-self.size // align) * align
        self.size = offset + size
        if self.size > MAX_IMAGE:
            raise ModelFormatError(f"object code asks for more than {MAX_IMAGE} bytes")
        if not zero:
            self.initialised = self.size
        return offset

    def _constant(self, key: tuple[int, int], section: Section) -> int:
        """The place of constants: kernels often have the same, which are kept once."""
        if key in self._relocated or section.content is None:
            return self.reserve(section.size, section.align)
        content = bytes(section.content)
        offset = self._shared.get(content)
        if offset is None or offset % section.align:
            offset = self._shared[content] = self.reserve(section.size, section.align)
        return offset

    def _sections(self, wanted: Callable[[Section], bool]) -> Iterator[tuple[tuple[int, int], Section]]:
        for index, file in enumerate(self._files):
            for number, section in file.sections.items():
                if wanted(section):
                    yield (index, number), section

    def _close(self, protection: int) -> None:
        self.size = -(-self.size // PAGE) * PAGE
        if self.size > self._start:
            self.areas.append(Area(self._start, self.size - self._start, protection))
        self._start = self.size
