"""Laying out the tensors of a model in one external file."""

from __future__ import annotations

from collections.abc import Iterator

from .encoder import Chunk
from .tensor import OnnxTensor

__all__ = ["ExternalLayout"]

_PAGE = 4096
_LINE = 64
_LARGE = 1 << 20


class ExternalLayout:
    """Where each tensor stands in the file ``location``, in the order in which they were added.

    Offsets are multiples of 64 bytes, so that arrays are aligned for vector instructions, and of 4096, the page size
    that the standard recommends, for tensors of a megabyte or more.
    """

    def __init__(self, location: str) -> None:
        self._location = location
        self._entries: dict[int, dict[str, str]] = {}
        self._chunks: list[tuple[int, Chunk]] = []
        self._size = 0

    def add(self, tensor: OnnxTensor, chunk: Chunk) -> None:
        """Place a tensor's bytes."""
        if id(tensor) in self._entries:
            return
        unit = _PAGE if len(chunk) >= _LARGE else _LINE
        offset = -(-self._size // unit) * unit
        self._entries[id(tensor)] = {"location": self._location, "offset": str(offset), "length": str(len(chunk))}
        self._chunks.append((offset, chunk))
        self._size = offset + len(chunk)

    def entries(self, tensor: OnnxTensor) -> dict[str, str] | None:
        """The external_data of a tensor, or None if it stays in the model."""
        return self._entries.get(id(tensor))

    def chunks(self) -> Iterator[Chunk]:
        """The content of the file."""
        position = 0
        for offset, chunk in self._chunks:
            yield bytes(offset - position)
            yield chunk
            position = offset + len(chunk)
