"""Paths as callers give them, and operating system errors that name them."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager

from basalt.errors import ValidationError

__all__ = ["io_errors", "path_text", "require_regular"]


def path_text(path: str | os.PathLike[str]) -> str:
    """``path`` as a str. Raises ValidationError for other types and for a NUL in it."""
    if not isinstance(path, (str, os.PathLike)):
        raise ValidationError(f"a path was expected, not {type(path).__name__}")
    text = os.fsdecode(path)
    if "\0" in text:
        raise ValidationError(f"the path {text!r} contains a NUL character")
    return text


def require_regular(status: os.stat_result) -> None:
    """Raise IsADirectoryError or OSError unless ``status`` is that of a regular file."""
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, "it is a folder, not a file")
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "it is not a regular file")


@contextmanager
def io_errors(action: str, path: str) -> Iterator[None]:
    """Make every OSError of the block say what was attempted, why it failed and with which file.

    The error keeps its class (FileNotFoundError, PermissionError, ...), number and cause.
    """
    try:
        yield
    except OSError as error:
        if error.errno is None:
            raise OSError(f"cannot {action}: {error}: {path!r}") from error
        raise OSError(error.errno, f"cannot {action}: {error.strerror}", path) from error
