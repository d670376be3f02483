"""Generated kernel source to object code; nothing is loaded into this process."""

from __future__ import annotations

import linecache
from typing import Any

import llvmlite.binding as llvm
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target

from basalt.errors import BasaltError
from basalt.runtime.layout import KERNEL_SYMBOL
from basalt.runtime.native.symbols import ALLOWED
from basalt.runtime.spec import KernelCode

from ..kernels.emit import features_of
from ..kernels.namespace import recipe
from .translate import Untranslatable, translate

__all__ = ["assembly_of", "compile_source"]

_ENTRY = "kernel"


def compile_source(code: KernelCode) -> bytes:
    """Object code that exports the kernel as ``KERNEL_SYMBOL``, for the CPU that Numba is set to.

    Raises BasaltError, chained to the compiler's error, with the kernel's label and source.
    """
    filename = f"<basalt kernel {code.label or 'without label'} {code.key[:12]}>"
    linecache.cache[filename] = (len(code.source), None, code.source.splitlines(keepends=True), filename)
    try:
        with global_compiler_lock:
            object_code = _emit(*_module(code, filename))
    except Exception as error:
        raise BasaltError(_explain(code, error)) from error
    # Kept for tracebacks while it fails; a process that compiles thousands must not keep thousands.
    linecache.cache.pop(filename, None)
    return object_code


def assembly_of(code: KernelCode) -> str:
    """The assembly of the object code that :func:`compile_source` makes, with LLVM's comments on loops and spills.

    Raises BasaltError as that does.
    """
    filename = f"<basalt assembly {code.key[:12]}>"
    machine: Any = cpu_target.target_context.codegen()._tm
    try:
        with global_compiler_lock:
            module = _optimised(*_module(code, filename))
            machine.set_asm_verbosity(True)
            try:
                text: str = machine.emit_assembly(module)
            finally:
                machine.set_asm_verbosity(False)
    except Exception as error:
        raise BasaltError(_explain(code, error)) from error
    return text


def _module(code: KernelCode, filename: str) -> tuple[llvm.ModuleRef, str]:
    """The kernel's module, not optimised yet, and the name of its function."""
    target: Any = cpu_target.target_context
    recipes = {name: recipe(name) for name in code.names}
    try:
        written = translate(code.source, recipes, features_of(target), _ENTRY)
    except Untranslatable:
        from .numba_code import module_from_numba

        return module_from_numba(code, filename)
    codegen = target.codegen()
    written.triple, written.data_layout = llvm.get_process_triple(), codegen._data_layout
    module = llvm.parse_assembly(str(written))
    module.verify()
    return module, _ENTRY


def _emit(module: llvm.ModuleRef, entry: str) -> bytes:
    """The object code of a module."""
    code: bytes = cpu_target.target_context.codegen()._tm.emit_object(_optimised(module, entry))
    return code


def _optimised(module: llvm.ModuleRef, entry: str) -> llvm.ModuleRef:
    """The module, optimised with all functions but ``entry`` made internal, which takes the kernels' symbol."""
    codegen: Any = cpu_target.target_context.codegen()
    for value in (*module.functions, *module.global_variables):
        if not value.is_declaration and value.name != entry:
            value.linkage = "internal"
    passes, builder = codegen._module_pass_manager()
    passes.run(module, builder)
    _check_imports(module)
    module.get_function(entry).name = KERNEL_SYMBOL
    return module


def _check_imports(module: llvm.ModuleRef) -> None:
    for function in module.functions:
        if function.is_declaration and not function.name.startswith("llvm.") and function.name not in ALLOWED:
            raise BasaltError(f"it calls {function.name!r}, which kernels may not use")


def _explain(code: KernelCode, error: Exception) -> str:
    lines = "\n".join(f"{number:4}  {line}" for number, line in enumerate(code.source.splitlines(), 1))
    reason = str(error).strip() or type(error).__name__
    return f"kernel {code.label or code.key[:12]!r} does not compile: {reason}\n{lines}"
