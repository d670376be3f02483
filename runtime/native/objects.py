"""Loading object code: our own linker and loader on x86-64 Linux, LLVM's elsewhere."""

from __future__ import annotations

from .images import HANDLED, Image, PlacedImage
from .symbols import resolve

__all__ = ["load_object"]

_OWN_LOADER = HANDLED


def load_object(data: bytes, label: str = "") -> Image:
    """Load relocatable object code; ``label`` names a kernel to debuggers.

    Raises ModelFormatError for damaged bytes and UnsupportedError for code that needs functions outside the allow-list
    or that this system cannot load. The bytes must come from a trusted place: code can do anything once it runs.
    """
    if not _OWN_LOADER:
        return _load_by_llvm(data)
    from .elf import NotHandled
    from .linking import link_object

    try:
        return PlacedImage(link_object(data), label)
    except NotHandled:
        return _load_by_llvm(data)


def _load_by_llvm(data: bytes) -> Image:
    # LLVM ends the process when a name cannot be found, so every name is looked up before.
    if data[:4] == b"\x7fELF":
        from .elf import imports_of

        for name in imports_of(data):
            if name != "_GLOBAL_OFFSET_TABLE_":
                resolve(name)
    from .llvm import LlvmImage

    return LlvmImage(data)
