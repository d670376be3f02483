"""The sizes of this machine's caches, by which kernels divide their work; no result depends on them."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import NamedTuple

__all__ = ["CacheSizes", "cache_sizes", "read_sizes"]

_PLACE = Path("/sys/devices/system/cpu/cpu0/cache")
_UNITS = {"K": 10, "M": 20, "G": 30}


class CacheSizes(NamedTuple):
    """Bytes of the first and second level, each a core's own."""

    first: int = 32 << 10
    second: int = 512 << 10


@functools.cache
def cache_sizes() -> CacheSizes:
    """What Linux says of the first processor; common sizes where it says nothing."""
    return read_sizes(_PLACE)


def read_sizes(place: Path) -> CacheSizes:
    """The sizes that the folders ``index*`` of ``place`` describe as Linux does."""
    found: dict[str, int] = {}
    for folder in sorted(place.glob("index*")):
        try:
            level, kind, size = ((folder / name).read_text().strip() for name in ("level", "type", "size"))
        except OSError:
            continue
        number = size[:-1] if size[-1:] in _UNITS else size
        if kind != "Instruction" and number.isdigit() and int(number) > 0:
            found[level] = int(number) << _UNITS.get(size[-1:], 0)
    usual = CacheSizes()
    return CacheSizes(found.get("1", usual.first), found.get("2", usual.second))
