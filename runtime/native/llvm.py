"""Loading object code through llvmlite: every platform that LLVM serves, at the price of importing it."""

from __future__ import annotations

import weakref

import llvmlite.binding as llvm

from basalt.errors import BasaltError, UnsupportedError

from .imports import imports_of
from .symbols import ALLOWED, check_allowed, resolve

__all__ = ["LlvmImage"]


class LlvmImage:
    """One object file in an engine of its own, which frees the code when it goes.

    Raises UnsupportedError for an import that is not on the allow-list or cannot be found, ModelFormatError for bytes
    in which imports cannot be read. Damage elsewhere in an object file can end the process.
    """

    def __init__(self, data: bytes) -> None:
        _prepare()
        _check_imports(data)
        triple = llvm.get_process_triple()
        machine = llvm.Target.from_triple(triple).create_target_machine(codemodel="jitdefault", jit=True)
        empty = llvm.parse_assembly("")
        empty.triple = triple
        self._engine = llvm.create_mcjit_compiler(empty, machine)
        weakref.finalize(self, self._engine.close).atexit = False
        self._engine.add_object_file(llvm.ObjectFileRef.from_data(data))
        self._engine.finalize_object()
        self.nbytes = len(data)

    def address(self, name: str) -> int:
        address = self._engine.get_function_address(name)
        if not address:
            raise BasaltError(f"object code defines no {name!r}")
        return int(address)


def _check_imports(data: bytes) -> None:
    """LLVM ends the process over a name that it does not find."""
    for name in imports_of(data):
        check_allowed(name)
        if not llvm.address_of_symbol(name):
            resolve(name)  # says what is missing


_prepared = False


def _prepare() -> None:
    global _prepared
    if _prepared:
        return
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    for name in sorted(ALLOWED):
        try:
            llvm.add_symbol(name, resolve(name))
        except UnsupportedError:
            continue
    _prepared = True
