"""Files with machine code for the command line's tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from basalt.runtime.host import host_platform
from basalt.serialization.program.file import open_program

X86 = host_platform().startswith(("x86_64", "amd64"))
LEVELS = "v2,v3" if X86 else "native"


def damage(path: Path, part: str) -> None:
    """Change one byte in the middle of a part."""
    file = open_program(path)
    place = _find(path, file.raw(part).tobytes())
    content = bytearray(path.read_bytes())
    content[place + file.parts[part] // 2] ^= 0x40
    path.write_bytes(content)


def _find(path: Path, piece: bytes) -> int:
    found = path.read_bytes().find(piece)
    assert found > 0
    return found


@contextmanager
def unchanged(path: Path) -> Iterator[Callable[[], bytes]]:
    """Check that a block leaves a file as it is, and nothing beside it."""
    before, others = path.read_bytes(), sorted(path.parent.iterdir())
    yield lambda: before
    assert path.read_bytes() == before
    assert sorted(path.parent.iterdir()) == others
