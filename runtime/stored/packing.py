"""Constants of several programs in few byte vectors, equal ones once."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from ..spec import ProgramSpec

__all__ = ["ALIGNMENT", "Packing"]

ALIGNMENT = 64
"""Constants start at multiples of this many bytes."""

Digest = bytes


class Packing:
    """Places of constants: those that several levels hold in a vector that all share, the others in their level's."""

    def __init__(self, levels: Sequence[Sequence[ProgramSpec]]) -> None:
        self._digests: dict[int, tuple[np.ndarray, Digest]] = {}
        holders: dict[Digest, set[int]] = {}
        arrays: dict[Digest, np.ndarray] = {}
        for level, specs in enumerate(levels):
            for constant in (constant for spec in specs for constant in spec.constants):
                digest = self._digest(constant)
                holders.setdefault(digest, set()).add(level)
                arrays.setdefault(digest, constant)
        self._arrays = arrays
        self._shared = _Vector([digest for digest, found in holders.items() if len(found) > 1], arrays)
        self._own = [
            _Vector([digest for digest, found in holders.items() if found == {level}], arrays)
            for level in range(len(levels))
        ]

    def places(self, level: int, spec: ProgramSpec) -> np.ndarray:
        """int64 [constants, 3]: vector (0: shared, 1: the level's own), offset and size in bytes of each constant."""
        found = []
        for constant in spec.constants:
            digest = self._digest(constant)
            vector = 0 if digest in self._shared.offsets else 1
            offsets = (self._shared if vector == 0 else self._own[level]).offsets
            found.append((vector, offsets[digest], constant.nbytes))
        return np.array(found, np.int64).reshape(-1, 3)

    def shared(self) -> np.ndarray:
        """The vector that all levels share."""
        return self._shared.content()

    def own(self, level: int) -> np.ndarray:
        """A level's own vector."""
        return self._own[level].content()

    def _digest(self, constant: np.ndarray) -> Digest:
        """A hash of the elements: kernels know data types and shapes by themselves."""
        found = self._digests.get(id(constant))
        if found is None:
            digest = hashlib.sha256(np.ascontiguousarray(constant).reshape(-1).view(np.uint8).data).digest()
            found = self._digests[id(constant)] = (constant, digest)
        return found[1]


class _Vector:
    def __init__(self, digests: Sequence[Digest], arrays: dict[Digest, np.ndarray]) -> None:
        self._arrays = arrays
        self.offsets: dict[Digest, int] = {}
        self.size = 0
        for digest in digests:
            self.offsets[digest] = self.size
            self.size += -(-arrays[digest].nbytes // ALIGNMENT) * ALIGNMENT

    def content(self) -> np.ndarray:
        content = np.zeros(self.size, np.uint8)
        for digest, offset in self.offsets.items():
            array = self._arrays[digest]
            place = content[offset : offset + array.nbytes].view(array.dtype).reshape(array.shape)
            place[...] = array
        return content
