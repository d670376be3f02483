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

_COMMON = getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _COMMON
_UNNAMED = getattr(os, "O_TMPFILE", 0)
"""What opens a file without a name in a folder (Linux, most file systems); the system frees it if the process dies."""

# What file systems answer that cannot synchronise folders; there is nothing more to be done about it then.
_NO_FOLDER_SYNC = {errno.EINVAL, errno.ENOTSUP, errno.EBADF, errno.EACCES, errno.EPERM}


@contextmanager
def atomic_file(path: str) -> Iterator[BinaryIO]:
    """Give the block a binary file that takes the place of ``path`` when the block ends without an error.

    The new content goes to a temporary file in the same folder, is synchronised to disk, and is then renamed over the
    target, whose permission bits it takes on (a new file's follow the umask). A symbolic link stays and its target is
    replaced. On any error, interruption included, the temporary file is removed and the target is left as it was.
    Where the file system can, the temporary file has no name until it is complete, so that nothing is left of it even
    if the process is killed; else that leaves a ``.bsl-*.tmp``, which nobody uses again.

    Raises OSError subclasses that name ``path``: missing folder, a folder or device in the file's place, permission,
    full disk.
    """
    with io_errors("save", path):
        target = os.path.realpath(path)
        folder, mode = os.path.dirname(target), _existing_mode(target)
        descriptor, temporary = _create(folder, mode)
        try:
            with open(descriptor, "wb") as file:
                if mode is not None and hasattr(os, "fchmod"):
                    os.fchmod(descriptor, mode)
                yield file
                file.flush()
                os.fsync(descriptor)
                temporary = temporary or _named(descriptor, folder, mode)
            os.replace(temporary, target)
        except BaseException:
            if temporary is not None:
                with contextlib.suppress(OSError):
                    os.unlink(temporary)
            raise
        _sync_folder(folder)


def _existing_mode(target: str) -> int | None:
    try:
        status = os.stat(target)
    except FileNotFoundError:
        return None
    require_regular(status)
    return stat.S_IMODE(status.st_mode) & 0o777


def _create(folder: str, mode: int | None) -> tuple[int, str | None]:
    """Create a file without a name, or else with one of its own, which is given too.

    It never has more permissions than the target, not even for a moment.
    """
    if _UNNAMED:
        with contextlib.suppress(OSError):
            descriptor = os.open(folder, os.O_RDWR | _UNNAMED | _COMMON, 0o666 if mode is None else mode)
            if os.path.exists(_place(descriptor)):
                return descriptor, None
            os.close(descriptor)
    return _create_named(folder, mode)


def _create_named(folder: str, mode: int | None) -> tuple[int, str]:
    while True:
        temporary = _free_name(folder)
        with contextlib.suppress(FileExistsError):
            return os.open(temporary, _CREATE, 0o666 if mode is None else mode), temporary


def _named(descriptor: int, folder: str, mode: int | None) -> str:
    """Give a file without a name one, or what is in it to a file with a name where the file system knows no links."""
    while True:
        temporary = _free_name(folder)
        try:
            # Given as a descriptor, the folder has Python follow the link that stands in /proc.
            with _opened_folder(folder) as parent:
                os.link(_place(descriptor), os.path.basename(temporary), dst_dir_fd=parent)
            return temporary
        except FileExistsError:
            continue
        except OSError:
            return _copied(descriptor, folder, mode)


def _copied(descriptor: int, folder: str, mode: int | None) -> str:
    import shutil

    named, temporary = _create_named(folder, mode)
    try:
        with open(named, "wb") as copy, open(os.dup(descriptor), "rb") as content:
            if mode is not None:
                os.fchmod(named, mode)
            content.seek(0)
            shutil.copyfileobj(content, copy, 1 << 20)
            copy.flush()
            os.fsync(named)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    return temporary


def _free_name(folder: str) -> str:
    import secrets

    return os.path.join(folder, f".bsl-{secrets.token_hex(8)}.tmp")


def _place(descriptor: int) -> str:
    return f"/proc/self/fd/{descriptor}"


@contextmanager
def _opened_folder(folder: str) -> Iterator[int]:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _sync_folder(folder: str) -> None:
    """Make the renaming durable."""
    if os.name != "posix":
        return
    try:
        with _opened_folder(folder) as descriptor:
            os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _NO_FOLDER_SYNC:
            raise OSError(
                error.errno, f"the file is complete, but its folder failed to reach the disk: {error.strerror}"
            ) from error
