"""Machine code: reading object files, linking them ahead of time, placing them in memory."""

from __future__ import annotations

from .images import Image, load_image
from .linked import Area, Export, LinkedImage
from .objects import load_object, load_objects

__all__ = ["Area", "Export", "Image", "LinkedImage", "load_image", "load_object", "load_objects"]
