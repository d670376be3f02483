"""The shapes that a file has programs for."""

from __future__ import annotations

from basalt.serialization.program.fields import Fields

__all__ = ["Shapes", "UnseenError", "signatures"]

Shapes = tuple[tuple[int, ...], ...]
"""The shape of each input."""


class UnseenError(Exception):
    """The file has nothing for these shapes or values."""


def signatures(fields: Fields) -> list[tuple[Shapes, int]]:
    """The shapes of a stage's inputs that there are programs for, with their numbers."""
    found = fields.plain("programs")
    for entry in found if isinstance(found, tuple) else (None,):
        match entry:
            case (tuple() as shapes, int()) if all(isinstance(shape, tuple) for shape in shapes):
                continue
        fields.fail("programs", f"{entry!r} given, expected shapes and a number")
    return list(found)
