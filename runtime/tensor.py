"""Tensors of a context: memory that graphs read and write in place (the standard's MLTensor)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from basalt.errors import ValidationError

from .dtypes import numpy_dtype
from .memory import aligned_empty, aligned_zeros

if TYPE_CHECKING:
    from .context import BaseContext

__all__ = ["MLTensor"]


class MLTensor:
    """A tensor that belongs to a context; made by its ``create_tensor`` and ``create_constant_tensor``.

    Source: the standard's section "MLTensor interface".
    """

    __slots__ = ("__weakref__", "_constant", "_context", "_data", "_dtype", "_readable", "_shape", "_writable")

    def __init__(
        self,
        context: BaseContext,
        dtype: str,
        shape: tuple[int, ...],
        *,
        readable: bool = False,
        writable: bool = False,
        elements: np.ndarray | None = None,
    ) -> None:
        """Zeros, or a constant tensor with a copy of ``elements``. Contexts call this."""
        self._context = context
        self._dtype = dtype
        self._shape = shape
        self._readable = readable
        self._writable = writable
        self._constant = elements is not None
        wanted = numpy_dtype(dtype)
        make = aligned_zeros if elements is None else aligned_empty
        data = make(math.prod(shape) * wanted.itemsize).view(wanted).reshape(shape)
        if elements is not None:
            data[...] = elements
            data.flags.writeable = False
        self._data: np.ndarray | None = data

    @property
    def context(self) -> BaseContext:
        """The context that the tensor belongs to."""
        return self._context

    @property
    def data_type(self) -> str:
        """The name of the elements' data type."""
        return self._dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of the dimensions, none for a scalar."""
        return self._shape

    @property
    def readable(self) -> bool:
        """Whether ``read_tensor`` may read it."""
        return self._readable

    @property
    def writable(self) -> bool:
        """Whether ``write_tensor`` may write it."""
        return self._writable

    @property
    def constant(self) -> bool:
        """Whether it is a constant tensor, for a builder's ``constant``."""
        return self._constant

    @property
    def destroyed(self) -> bool:
        """Whether it, or its context, was destroyed."""
        return self._data is None

    def destroy(self) -> None:
        """Give the memory back once whatever uses it now is done; the tensor is unusable from now on. Idempotent."""
        self._data = None

    def data(self, what: str) -> np.ndarray:
        """The elements in place, for the context and the builder.

        Raises:
            ValidationError: starting with ``what``, if the tensor was destroyed.
        """
        data = self._data
        if data is None:
            raise ValidationError(f"{what}: {self!r} was destroyed")
        return data

    def __repr__(self) -> str:
        state = " constant" if self._constant else ""
        return f"<MLTensor{state}{' destroyed' if self.destroyed else ''} {self._dtype}{list(self._shape)}>"
