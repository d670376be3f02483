"""Machine code by key: in memory for the process, on disk for the next ones."""

from __future__ import annotations

import os
import threading
import warnings
import weakref
from collections import OrderedDict
from collections.abc import Callable
from typing import NamedTuple

from basalt.errors import ValidationError

from .cache_files import KernelKey, pack, unpack
from .cache_folder import CacheFolder, cache_path
from .code import LoadedKernel

__all__ = ["CACHE", "CacheInfo", "KernelCache", "cache_clear", "cache_info", "cache_prune"]

_MEMORY_BYTES = 64 << 20
_DISK_BYTES = 1 << 30


class CacheInfo(NamedTuple):
    """State of the kernel cache."""

    folder: str | None
    """Where the files are; None if there is no place for them."""
    files: int
    nbytes: int
    """Bytes of the files."""
    hits: int
    """Kernels of this process that were found, in memory or on disk."""
    compiled: int
    """Kernels of this process that were compiled."""


class KernelCache:
    """Finds object code by key, or has it made; loads kernels, each once however many programs use it.

    All methods may be called from several threads. Two that miss one key at the same time make it once.
    """

    def __init__(self, folder: CacheFolder | None = None) -> None:
        self._fixed_folder = folder
        self._folders: dict[object, CacheFolder] = {}
        self._lock = threading.Lock()
        self._making = threading.RLock()
        self._loaded: weakref.WeakValueDictionary[str, LoadedKernel] = weakref.WeakValueDictionary()
        self._codes: OrderedDict[str, bytes] = OrderedDict()
        self._codes_bytes = 0
        self._pruned = False
        self.hits = 0
        self.compiled = 0

    @property
    def folder(self) -> CacheFolder:
        """The folder that the environment names now."""
        if self._fixed_folder is not None:
            return self._fixed_folder
        path = cache_path()
        with self._lock:
            if path not in self._folders:
                self._folders[path] = CacheFolder(path)
            return self._folders[path]

    def find(self, key: KernelKey) -> bytes | None:
        """Object code from memory or disk; None if it is in neither."""
        with self._lock:
            code = self._codes.get(key.name)
            if code is not None:
                self._codes.move_to_end(key.name)
                return code
        content = self.folder.read(key.name)
        code = None if content is None else unpack(key, content)
        if code is not None:
            self._remember(key.name, code)
        return code

    def code(self, key: KernelKey, make: Callable[[], bytes]) -> bytes:
        """Object code from the cache, or from ``make``, which is then kept."""
        code = self.find(key)
        if code is None:
            with self._making:
                code = self.find(key)
                if code is None:
                    code = make()
                    self.keep(key, code)
                    return code
        self.hits += 1
        return code

    def kernel(self, key: KernelKey, make: Callable[[], bytes], label: str = "") -> LoadedKernel:
        """The kernel in memory: already loaded, loaded from the cache, or compiled by ``make``.

        ``label`` is its name in debuggers if it is loaded now.
        """
        kernel = self._loaded.get(key.name)
        if kernel is not None:
            self.hits += 1
            return kernel
        code = self.code(key, make)
        with self._lock:
            kernel = self._loaded.get(key.name)
            if kernel is None:
                kernel = self._loaded[key.name] = LoadedKernel(code, label)
            return kernel

    def has(self, key: KernelKey) -> bool:
        """Whether :meth:`kernel` would find this key without compiling."""
        return key.name in self._loaded or self.find(key) is not None

    def info(self) -> CacheInfo:
        entries = self.folder.entries()
        path = self.folder.path
        nbytes = sum(entry.nbytes for entry in entries)
        return CacheInfo(None if path is None else str(path), len(entries), nbytes, self.hits, self.compiled)

    def prune(self, max_bytes: int) -> int:
        """Removes the files unused for longest until the others take at most ``max_bytes``; returns bytes removed."""
        self.folder.remove_abandoned()
        entries = self.folder.entries()
        excess = sum(entry.nbytes for entry in entries) - max_bytes
        removed = 0
        for entry in entries:
            if removed >= excess:
                break
            if self.folder.remove(entry.path):
                removed += entry.nbytes
        return removed

    def clear(self) -> int:
        """Forgets all code that no program uses, in memory and on disk; returns bytes removed from the disk."""
        with self._lock:
            self._codes.clear()
            self._codes_bytes = 0
        return self.prune(0)

    def keep(self, key: KernelKey, code: bytes) -> None:
        """Take in object code that was made elsewhere."""
        self.compiled += 1
        self._remember(key.name, code)
        folder = self.folder
        written = folder.write(key.name, pack(key, code), lambda content: unpack(key, content) is not None)
        if written and not self._pruned:
            self._pruned = True
            if folder.is_due():
                self.prune(_disk_limit())

    def _remember(self, name: str, code: bytes) -> None:
        with self._lock:
            self._codes_bytes += len(code) - len(self._codes.pop(name, b""))
            self._codes[name] = code
            while self._codes_bytes > _MEMORY_BYTES:
                _, oldest = self._codes.popitem(last=False)
                self._codes_bytes -= len(oldest)


def _disk_limit() -> int:
    text = os.environ.get("BASALT_CACHE_MAX_BYTES", "").strip()
    if text.isdigit():
        return int(text)
    if text:
        warnings.warn(f"BASALT_CACHE_MAX_BYTES is {text!r}, no number of bytes: ignored", RuntimeWarning, stacklevel=2)
    return _DISK_BYTES


CACHE = KernelCache()
"""The cache of this process."""


def cache_info() -> CacheInfo:
    """Folder, size and use of the cache of compiled kernels."""
    return CACHE.info()


def cache_prune(max_bytes: int) -> int:
    """Removes cached kernels, those unused for longest first, until the rest takes at most ``max_bytes``.

    Returns the bytes removed. Programs that use the kernels keep them. Raises ValidationError for a negative number.
    """
    if max_bytes < 0:
        raise ValidationError(f"cache_prune: {max_bytes} bytes given, expected 0 or more")
    return CACHE.prune(max_bytes)


def cache_clear() -> int:
    """Removes all cached kernels, in memory and on disk; returns the bytes removed. Programs in use are unaffected."""
    return CACHE.clear()
