"""What runs of a program need to know of it, whether it was just compiled or comes from a file."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from .dtypes import numpy_dtype

if TYPE_CHECKING:
    from .spec import KernelCode, Row
    from .tables import Constants, ProgramTables

__all__ = ["Described", "TensorSpec"]


class TensorSpec(NamedTuple):
    """An input or output of a program: all sizes are concrete, rows are C-contiguous."""

    name: str
    dtype: str
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        """Number of elements; 1 for a scalar (shape ``()``)."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes of the elements."""
        return self.size * numpy_dtype(self.dtype).itemsize


class Described(Protocol):
    """A program as plain data: just compiled (:class:`.spec.ProgramSpec`), or from a file (:mod:`.stored.spec`)."""

    @property
    def inputs(self) -> tuple[TensorSpec, ...]: ...
    @property
    def outputs(self) -> tuple[TensorSpec, ...]: ...
    @property
    def rows(self) -> Sequence[Row]: ...
    @property
    def kernels(self) -> Sequence[KernelCode]: ...
    @property
    def kernel_count(self) -> int: ...
    @property
    def arena_bytes(self) -> int: ...
    @property
    def carried(self) -> Sequence[tuple[int, int]]:
        """Outputs and inputs, by number, that may be one array: what was an input's last use writes the output."""
        ...

    def row_label(self, index: int) -> str:
        """What the user calls the operators of a row; often empty."""
        ...

    @property
    def tables(self) -> ProgramTables:
        """The rows as arrays."""
        ...

    @property
    def memory(self) -> Constants:
        """Where the constants lie."""
        ...
