"""Loading object files: our own linker and loader on x86-64 Linux, LLVM's elsewhere."""

from __future__ import annotations

from collections.abc import Mapping

from basalt.errors import BasaltError

from ..layout import KERNEL_SYMBOL
from .images import HANDLED, Image, PlacedImage

__all__ = ["load_object", "load_objects"]

_OWN_LOADER = HANDLED


def load_object(data: bytes, label: str = "") -> Image:
    """Load relocatable object code; ``label`` names a kernel to debuggers.

    Raises ModelFormatError for damaged bytes and UnsupportedError for code that needs functions outside the allow-list
    or that this system cannot load. The bytes must come from a trusted place: code can do anything once it runs.
    """
    if _OWN_LOADER:
        from .elf import NotHandled
        from .linking import link_object

        try:
            return PlacedImage(link_object(data), label)
        except NotHandled:
            pass
    from .llvm import LlvmImage

    return LlvmImage(data)


def load_objects(objects: Mapping[str, bytes]) -> Image:
    """Load several object files, each of which stands for itself; functions are named as by :func:`.linking.link`.

    This is what systems do for which nothing can be linked ahead of time. Raises as :func:`load_object` does.
    """
    if _OWN_LOADER:
        from .elf import NotHandled
        from .linking import link

        try:
            return PlacedImage(link(objects))
        except NotHandled:
            pass
    return _SeparateImages(objects)


class _SeparateImages:
    """Object files in memory side by side."""

    def __init__(self, objects: Mapping[str, bytes]) -> None:
        self._images = {name: load_object(data, name) for name, data in objects.items()}
        self.nbytes = sum(image.nbytes for image in self._images.values())

    def address(self, name: str) -> int:
        if name in self._images:
            return self._images[name].address(KERNEL_SYMBOL)
        file, _, symbol = name.rpartition(":")
        if file not in self._images or symbol == KERNEL_SYMBOL:
            raise BasaltError(f"machine code defines no {name!r}")
        return self._images[file].address(symbol)
