"""Finding the TBB library: the one on the loader's path, or the one that pip installed beside Python."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator

__all__ = ["load_tbb"]

_NAMES = {"linux": "libtbb.so.12", "darwin": "libtbb.12.dylib", "win32": "tbb12.dll"}
_OLDEST_INTERFACE = 12060  # TBB 2021.6, what Numba's layer is built for


def load_tbb() -> bool:
    """Loads TBB for all to see, so that Numba's layer finds it by name. False if there is no TBB of a fit version."""
    name = _NAMES.get(sys.platform)
    if name is None:
        return False
    return any(_load(path) for path in _candidates(name))


def _candidates(name: str) -> Iterator[str]:
    yield name
    for folder in ("lib", os.path.join("Library", "bin")):
        yield os.path.join(sys.prefix, folder, name)
    import importlib.metadata  # slow to import, and rarely needed

    try:
        files = importlib.metadata.files("tbb") or []
    except importlib.metadata.PackageNotFoundError:
        return
    for file in files:
        if file.name == name:
            yield str(file.locate())


def _load(path: str) -> bool:
    if os.path.isabs(path) and not os.path.exists(path):
        return False
    try:
        library = ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)
        version = library.TBB_runtime_interface_version
    except (OSError, AttributeError):
        return False
    version.restype = ctypes.c_int
    return bool(version() >= _OLDEST_INTERFACE)
