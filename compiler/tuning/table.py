"""The choices that were measured to be best on this machine: a file of the kernel cache, that all processes read."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from pathlib import Path

from basalt.runtime.cache_files import KernelKey, pack, unpack
from basalt.runtime.host import host_cpu, host_platform
from basalt.runtime.kernel_cache import CACHE

from ..kernels.target import target

__all__ = ["keep_choices", "measured_choices"]

_FORMAT = "1"

_lock = threading.Lock()
_read: dict[tuple[Path | None, str], dict[str, int]] = {}


def measured_choices() -> Mapping[str, int]:
    """Options by :attr:`basalt.compiler.codegen.choices.Decision.key`; empty if nothing was measured here.

    They hold for this machine: there are none while another target is compiled for.
    """
    if not target().is_native:
        return {}
    key = _key()
    place = CACHE.folder.path, key.name
    with _lock:
        if place not in _read:
            _read[place] = _load(key)
        return _read[place]


def keep_choices(found: Mapping[str, int]) -> bool:
    """Add choices to those that are remembered, in this process and on disk; False if the disk does not take them."""
    key = _key()
    with _lock:
        # What another process measured meanwhile is kept.
        merged = {**_load(key), **found}
        _read[CACHE.folder.path, key.name] = merged
        return CACHE.folder.write(key.name, pack(key, json.dumps(merged, sort_keys=True).encode()))


def _key() -> KernelKey:
    from basalt import __version__

    name, features = host_cpu()
    material = {"what": "measured choices", "format": _FORMAT, "cpu": name, "features": features}
    return KernelKey({**material, "platform": host_platform(), "basalt": __version__})


def _load(key: KernelKey) -> dict[str, int]:
    content = CACHE.folder.read(key.name)
    text = None if content is None else unpack(key, content)
    if text is None:
        return {}
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    if not isinstance(found, dict):
        return {}
    return {name: option for name, option in found.items() if isinstance(option, int)}
