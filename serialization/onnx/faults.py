"""Errors of the reader: which file, which field, which byte."""

from __future__ import annotations

from basalt.errors import ModelFormatError

__all__ = ["Path", "fault", "path_text", "root_path"]

Path = tuple["Path | None", str, "int | str | None"]
"""Where in a model something stands: the enclosing path, a field's name, and an entry's index or name.

Made for every message that is read, so no more than a tuple; turned into text only when an error needs it.
"""


_QUOTE_LIMIT = 60


def root_path(source: str) -> Path:
    """The path of a whole model; ``source`` is the file's name."""
    return (None, source, None)


def path_text(path: Path) -> str:
    """``path`` as text, such as ``graph.node[3].attribute["axis"].t``; empty for a whole model."""
    pieces: list[str] = []
    parent, name, key = path
    while parent is not None:
        index = "" if key is None else f"[{key}]" if isinstance(key, int) else f"[{_quoted(key)}]"
        pieces.append(name + index)
        parent, name, key = parent
    return ".".join(reversed(pieces))


def fault(path: Path, offset: int, what: str) -> ModelFormatError:
    """An error that says what is wrong at byte ``offset`` of the file, in the field ``path``."""
    where = path_text(path)
    root = path
    while root[0] is not None:
        root = root[0]
    return ModelFormatError(f"{root[1]}: {where + ': ' if where else ''}at byte {offset}: {what}")


def _quoted(text: str) -> str:
    """``text`` in quotes, cut short so that a hostile name cannot fill a message."""
    # A tenth of the codec's import time, for errors only.
    import json

    return json.dumps(text if len(text) <= _QUOTE_LIMIT else text[:_QUOTE_LIMIT] + "...", ensure_ascii=False)
