"""Leave to use the tile registers of Intel's Advanced Matrix Extensions, which Linux gives a process that asks."""

from __future__ import annotations

import ctypes
import functools
import platform
import sys

__all__ = ["may_use_tiles", "without_tiles"]

_ARCH_PRCTL = 158
_REQUEST_PERMISSION, _TILE_DATA = 0x1023, 18  # ARCH_REQ_XCOMP_PERM, XFEATURE_XTILE_DATA


@functools.cache
def may_use_tiles() -> bool:
    """Asks for the tile registers, for all threads of this process and its forks; whether they may be used.

    An instruction on them without leave ends the process. Source: Linux, "Using XSTATE features in user space
    applications" (Documentation/arch/x86/xstate.rst).
    """
    if not sys.platform.startswith("linux") or platform.machine() != "x86_64":
        return False
    try:
        return int(ctypes.CDLL(None).syscall(_ARCH_PRCTL, _REQUEST_PERMISSION, _TILE_DATA)) == 0
    except (OSError, AttributeError):
        return False


def without_tiles(features: str) -> str:
    """A list of CPU features, separated by spaces, less those for tiles unless they may be used."""
    found = features.split()
    if not any(feature.startswith("amx") for feature in found) or may_use_tiles():
        return features
    return " ".join(feature for feature in found if not feature.startswith("amx"))
