"""Where in a structure a codec stands, for error messages such as ``nodes[3].attrs['axis']``."""

from __future__ import annotations

from types import TracebackType

__all__ = ["FieldPath", "quote"]

_QUOTE_LIMIT = 60


def quote(text: str) -> str:
    """``text`` as a Python literal, cut short so that a hostile name cannot fill a message."""
    return repr(text) if len(text) <= _QUOTE_LIMIT else repr(text[:_QUOTE_LIMIT]) + "..."


class FieldPath:
    """A stack of field names. ``with path.enter("nodes", 3):`` holds a field for the block; ``str`` shows the path.

    Nothing is formatted until an error needs it: codecs enter a field for nearly every value.
    """

    def __init__(self) -> None:
        self._parts: list[tuple[str, int | str | None]] = []

    def enter(self, name: str, key: int | str | None = None) -> FieldPath:
        """Step into field ``name`` (of a sequence or mapping: its entry ``key``) until the ``with`` block ends."""
        self._parts.append((name, key))
        return self

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._parts.pop()

    def __str__(self) -> str:
        text = ""
        for name, key in self._parts:
            if name:
                text += f".{name}" if text else name
            if key is not None:
                text += f"[{quote(key) if isinstance(key, str) else key}]"
        return text
