"""The file in which perf looks up functions that no file on disk holds.

Format: a line a function of start and size in hexadecimal, and name (Linux, tools/perf/Documentation,
jit-interface.txt).
"""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Iterable

__all__ = ["add_to_map"]

_lock = threading.Lock()
_lines: list[str] = []
_follows_forks = False


def add_to_map(functions: Iterable[tuple[int, int, str]]) -> None:
    """Append functions, given as (address, size, name), to this process's map. What cannot be written is left out."""
    global _follows_forks
    new = [f"{address:x} {size:x} {name}\n" for address, size, name in functions]
    with _lock:
        _lines.extend(new)
        if not _follows_forks:
            _follows_forks = True
            os.register_at_fork(after_in_child=_start_again)
    _append(new)


def _start_again() -> None:
    """A child has the code of its parent, but a map of its own."""
    global _lock
    _lock = threading.Lock()
    _append(_lines)


def _append(lines: Iterable[str]) -> None:
    # Everybody can write to the folder: a link, or a file that another user put there, is not written to.
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        file = os.open(f"/tmp/perf-{os.getpid()}.map", flags, 0o600)
    except OSError:
        return
    try:
        status = os.fstat(file)
        if stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid() and status.st_nlink == 1:
            os.write(file, "".join(lines).encode("utf-8", "replace"))
    except OSError:
        return
    finally:
        os.close(file)
