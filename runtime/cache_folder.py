"""The folder of the kernel cache: where it is, whether it may be trusted, reading and replacing its files."""

from __future__ import annotations

import contextlib
import os
import stat
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

__all__ = ["CacheFolder", "Entry", "cache_path"]

_SUFFIX = ".kernel"
_TEMPORARY = ".tmp-"
_STAMP = ".last-pruned"
_LARGEST = 256 << 20
_FRESH = 3600.0
"""Seconds for which a file's time of last use stays as it is, so that a hit rarely writes to the disk."""


class Entry(NamedTuple):
    """One file of the cache."""

    path: Path
    nbytes: int
    last_use: float


def cache_path() -> Path | None:
    """BASALT_CACHE_DIR, or ``basalt`` in the user's folder for caches; None if there is no such place."""
    chosen = os.environ.get("BASALT_CACHE_DIR")
    if chosen:
        return Path(chosen).expanduser().absolute()
    base = _user_caches()
    return None if base is None or not base.is_absolute() else base / "basalt"


def _user_caches() -> Path | None:
    if os.environ.get("XDG_CACHE_HOME"):
        return Path(os.environ["XDG_CACHE_HOME"])
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        return Path(local) if local else None
    try:
        home = Path.home()
    except (RuntimeError, KeyError):
        return None
    return home / "Library" / "Caches" if sys.platform == "darwin" else home / ".cache"


class CacheFolder:
    """Kernel files in ``path``, created on the first write. Trouble of any kind is told once and costs only time."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._warned: set[str] = set()

    def read(self, name: str) -> bytes | None:
        """The content of a file, or None if it cannot be had."""
        if self.path is None or not self._is_trusted():
            return None
        path = self.path / (name + _SUFFIX)
        try:
            content, last_use = _read_file(path)
        except OSError:
            return None
        if time.time() - last_use > _FRESH:
            with contextlib.suppress(OSError):
                os.utime(path)
        return content

    def write(self, name: str, content: bytes, is_good: Callable[[bytes], bool] | None = None) -> bool:
        """Writes a file in one step, so that readers see the old content or the new one. False if it cannot.

        ``is_good`` tells whether what another process has written meanwhile will do; then it stays.
        """
        if self.path is None:
            self._warn("place", "no folder for compiled kernels: neither BASALT_CACHE_DIR nor a home folder is set")
            return False
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not self._is_trusted():
                return False
            self._put(self.path / (name + _SUFFIX), content, is_good)
        except OSError as error:
            self._warn("write", f"compiled kernels cannot be kept in {self.path}: {error.strerror or error}")
            return False
        return True

    def _put(self, path: Path, content: bytes, is_good: Callable[[bytes], bool] | None) -> None:
        temporary = path.parent / f"{_TEMPORARY}{os.getpid()}-{os.urandom(8).hex()}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
        handle = os.open(temporary, flags, 0o600)
        try:
            with open(handle, "wb") as file:
                file.write(content)
            if is_good is None or not _add(temporary, path):
                there = None if is_good is None else self.read(path.name.removesuffix(_SUFFIX))
                if is_good is None or there is None or not is_good(there):
                    os.replace(temporary, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise
        with contextlib.suppress(OSError):
            os.unlink(temporary)

    def entries(self) -> list[Entry]:
        """All files, the one unused for longest first."""
        return sorted(self._scan(_SUFFIX), key=lambda entry: entry.last_use)

    def remove(self, path: Path) -> bool:
        try:
            path.unlink()
        except OSError:
            return False
        return True

    def is_due(self) -> bool:
        """Whether nobody has asked this for an hour: looking through thousands of files is not for every process."""
        if self.path is None:
            return False
        stamp = self.path / _STAMP
        try:
            if time.time() - stamp.stat().st_mtime < _FRESH:
                return False
        except OSError:
            pass
        with contextlib.suppress(OSError):
            stamp.touch(mode=0o600)
        return True

    def remove_abandoned(self) -> None:
        """Removes what interrupted writers left behind."""
        for entry in self._scan(""):
            if entry.path.name.startswith(_TEMPORARY) and time.time() - entry.last_use > _FRESH:
                self.remove(entry.path)

    def _scan(self, suffix: str) -> Iterator[Entry]:
        if self.path is None:
            return
        try:
            with os.scandir(self.path) as found:
                items = [item for item in found if item.name.endswith(suffix)]
        except OSError:
            return
        for item in items:
            with contextlib.suppress(OSError):
                state = item.stat(follow_symlinks=False)
                if stat.S_ISREG(state.st_mode):
                    yield Entry(Path(item.path), state.st_size, state.st_mtime)

    def _is_trusted(self) -> bool:
        """Whether only this user can have written the files: they are machine code, which we are going to run."""
        if self.path is None:
            return False
        try:
            state = os.stat(self.path)
        except OSError:
            return False
        if not stat.S_ISDIR(state.st_mode):
            return False
        if not _is_ours(state):
            self._warn("owner", f"compiled kernels in {self.path} are not used: the folder belongs to another user")
            return False
        if os.name == "posix" and state.st_mode & stat.S_IWOTH:
            self._warn("mode", f"compiled kernels in {self.path} are not used: everybody may write to that folder")
            return False
        return True

    def _warn(self, kind: str, message: str) -> None:
        if kind not in self._warned:
            self._warned.add(kind)
            warnings.warn(f"{message}; they are kept in memory only", RuntimeWarning, stacklevel=4)


def _read_file(path: Path) -> tuple[bytes, float]:
    """Content and time of last use. Raises OSError unless it is a plain file of this user and of a sane size."""
    # Without O_NONBLOCK, opening a named pipe would wait for its writer.
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
    handle = os.open(path, flags)
    try:
        state = os.fstat(handle)
        if not stat.S_ISREG(state.st_mode) or state.st_size > _LARGEST or not _is_ours(state):
            raise OSError(f"{path} is no kernel file")
        content = b""
        while len(content) < state.st_size and (piece := os.read(handle, state.st_size - len(content))):
            content += piece
        return content, state.st_mtime
    finally:
        os.close(handle)


def _add(temporary: Path, path: Path) -> bool:
    """Gives a file its name unless there is one of that name, or the file system has no links; False then."""
    try:
        os.link(temporary, path)
    except OSError:
        return False
    return True


def _is_ours(state: os.stat_result) -> bool:
    return not hasattr(os, "geteuid") or state.st_uid == os.geteuid()
