"""Writing a file so that, whatever happens, its name shows either the old content or the whole new one."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

from .paths import io_errors, require_regular

__all__ = ["atomic_file"]

_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)

# What file systems answer that cannot synchronise folders; there is nothing more to be done about it then.
_NO_FOLDER_SYNC = {errno.EINVAL, errno.ENOTSUP, errno.EBADF, errno.EACCES, errno.EPERM}


@contextmanager
def atomic_file(path: str) -> Iterator[BinaryIO]:
    """Give the block a binary file that takes the place of ``path`` when the block ends without an error.

    The new content goes to a temporary file in the same folder, is synchronised to disk, and is then renamed over the
    target, whose permission bits it takes on (a new file's follow the umask). A symbolic link stays and its target is
    replaced. On any error, interruption included, the temporary file is removed and the target is left as it was.

    Raises OSError subclasses that name ``path``: missing folder, a folder or device in the file's place, permission,
    full disk.
    """
    with io_errors("save", path):
        target = os.path.realpath(path)
        mode = _existing_mode(target)
        descriptor, temporary = _create_temporary(os.path.dirname(target), mode)
        try:
            with open(descriptor, "wb") as file:
                if mode is not None and hasattr(os, "fchmod"):
                    os.fchmod(descriptor, mode)
                yield file
                file.flush()
                os.fsync(descriptor)
            os.replace(temporary, target)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise
        _sync_folder(os.path.dirname(target))


def _existing_mode(target: str) -> int | None:
    try:
        status = os.stat(target)
    except FileNotFoundError:
        return None
    require_regular(status)
    return stat.S_IMODE(status.st_mode) & 0o777


def _create_temporary(folder: str, mode: int | None) -> tuple[int, str]:
    """Create a file with a name of its own; never with more permissions than the target's, not even for a moment."""
    import secrets

    while True:
        temporary = os.path.join(folder, f".bsl-{secrets.token_hex(8)}.tmp")
        with contextlib.suppress(FileExistsError):
            return os.open(temporary, _CREATE, 0o666 if mode is None else mode), temporary


def _sync_folder(folder: str) -> None:
    """Make the renaming durable."""
    if os.name != "posix":
        return
    try:
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        if error.errno not in _NO_FOLDER_SYNC:
            raise OSError(
                error.errno, f"the file is complete, but its folder failed to reach the disk: {error.strerror}"
            ) from error
