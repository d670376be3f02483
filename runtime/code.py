"""Machine code of a program in memory: its kernels and the executor."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Protocol

import numpy as np

from .executor import Executor
from .layout import KERNEL_SYMBOL
from .native import load_object

__all__ = ["Code", "LoadedCode", "LoadedKernel"]


class Code(Protocol):
    """A program's machine code in memory, which stays there as long as this object lives."""

    @property
    def executor(self) -> Executor:
        """What runs the program's rows."""
        ...

    @property
    def addresses(self) -> np.ndarray:
        """int64 [kernels]: the address of each kernel, in the order of the program's."""
        ...

    @property
    def nbytes(self) -> int:
        """Bytes of memory that the machine code takes."""
        ...


class LoadedKernel:
    """One kernel's machine code; it stays in memory as long as this object lives.

    ``address`` is that of ``i32 kernel(i8 **ret, i8 **exc, i8 *table, i64 start, i64 stop)``, which returns 0 or an
    error status. ``code`` is the object code that it was loaded from, ``label`` its name in
    debuggers.
    """

    def __init__(self, code: bytes, label: str = "") -> None:
        self.code = code
        self._image = load_object(code, label)
        self.address = self._image.address(KERNEL_SYMBOL)
        self.nbytes = self._image.nbytes


class LoadedCode:
    """The kernels of a program, in the order of ``ProgramSpec.kernels``, with the executor that runs them."""

    def __init__(self, executor: Executor, kernels: Sequence[LoadedKernel]) -> None:
        self.executor = executor
        self.kernels = tuple(kernels)

    @classmethod
    def from_objects(cls, executor: bytes, kernels: Sequence[bytes]) -> LoadedCode:
        """Loads object code, as :attr:`Executor.code` and :attr:`LoadedKernel.code` gave it."""
        return cls(Executor.from_object(executor), [LoadedKernel(code) for code in kernels])

    @cached_property
    def addresses(self) -> np.ndarray:
        """int64 [kernels]: the address of each kernel."""
        return np.array([kernel.address for kernel in self.kernels], np.int64)

    @property
    def nbytes(self) -> int:
        """Bytes of memory that the machine code takes, each kernel counted once."""
        return self.executor.nbytes + sum(kernel.nbytes for kernel in {id(k): k for k in self.kernels}.values())
