"""Machine code: reading object files, linking them ahead of time, placing them in memory."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .images import Image, load_image
    from .linked import Area, Export, LinkedImage
    from .objects import load_object, load_objects

_HOMES = {
    "Area": "linked",
    "Export": "linked",
    "Image": "images",
    "LinkedImage": "linked",
    "load_image": "images",
    "load_object": "objects",
    "load_objects": "objects",
}
"""The module of each name, imported at its first use: a program that starts in milliseconds needs few."""

__all__ = ["Area", "Export", "Image", "LinkedImage", "load_image", "load_object", "load_objects"]


def __getattr__(name: str) -> Any:
    try:
        module = import_module(f".{_HOMES[name]}", __name__)
    except KeyError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
    value = globals()[name] = getattr(module, name)
    return value
