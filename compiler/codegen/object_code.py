"""Generated kernel source to object code for the current target; nothing is loaded into this process."""

from __future__ import annotations

import linecache
import re
import threading
from typing import Any

import llvmlite.binding as llvm

from basalt.errors import BasaltError, UnsupportedError
from basalt.runtime.layout import KERNEL_SYMBOL
from basalt.runtime.native.symbols import ALLOWED
from basalt.runtime.spec import KernelCode

from ..kernels.namespace import recipe
from ..kernels.target import Target, target
from .translate import Untranslatable, translate

__all__ = ["assembly_of", "compile_source"]

_ENTRY = "kernel"
_LOCK = threading.RLock()
"""One thread at a time: LLVM's target machines are shared."""
_SPEED = 3
"""LLVM's level of optimisation."""


def compile_source(code: KernelCode) -> bytes:
    """Object code that exports the kernel as ``KERNEL_SYMBOL``, for the current target.

    Raises BasaltError, chained to the compiler's error, with the kernel's label and source; UnsupportedError for source
    that only Numba compiles where the target is not this machine.
    """
    filename = f"<basalt kernel {code.label or 'without label'} {code.key[:12]}>"
    linecache.cache[filename] = (len(code.source), None, code.source.splitlines(keepends=True), filename)
    goal = target()
    try:
        with _LOCK:
            object_code: bytes = goal.processor.machine().emit_object(_optimised(code, filename, goal))
    except Exception as error:
        raise _failure(code, error) from error
    # Kept for tracebacks while it fails; a process that compiles thousands must not keep thousands.
    linecache.cache.pop(filename, None)
    return object_code


def assembly_of(code: KernelCode) -> str:
    """The assembly of the object code that :func:`compile_source` makes, with LLVM's comments on loops and spills.

    Raises BasaltError as that does.
    """
    goal = target()
    try:
        with _LOCK:
            machine = goal.processor.machine()
            module = _optimised(code, f"<basalt assembly {code.key[:12]}>", goal)
            machine.set_asm_verbosity(True)
            try:
                return str(machine.emit_assembly(module))
            finally:
                machine.set_asm_verbosity(False)
    except Exception as error:
        raise _failure(code, error) from error


def _optimised(code: KernelCode, filename: str, goal: Target) -> llvm.ModuleRef:
    """The kernel's module as it is to be emitted, with all functions but the kernel internal."""
    module, entry = _module(code, filename, goal)
    for value in (*module.functions, *module.global_variables):
        if not value.is_declaration and value.name != entry:
            value.linkage = "internal"
    _check_instructions(module, goal)
    _optimise(module, goal.processor.machine())
    _check_imports(module)
    module.get_function(entry).name = KERNEL_SYMBOL
    return module


def _module(code: KernelCode, filename: str, goal: Target) -> tuple[llvm.ModuleRef, str]:
    """The kernel's module, not optimised yet, and the name of its function."""
    recipes = {name: recipe(name) for name in code.names}
    try:
        written = translate(code.source, recipes, goal.features, _ENTRY)
    except Untranslatable as error:
        if not goal.is_native:
            raise UnsupportedError(f"for {goal.name} sources must be plainer: {error}") from error
        from .numba_code import module_from_numba

        return module_from_numba(code, filename)
    machine = goal.processor.machine()
    written.triple, written.data_layout = goal.processor.triple, str(machine.target_data)
    # A context of its own, so that types and constants go with the module.
    module = llvm.parse_assembly(str(written), llvm.create_context())
    module.verify()
    return module, _ENTRY


def _optimise(module: llvm.ModuleRef, machine: Any) -> None:
    options = llvm.create_pipeline_tuning_options(speed_level=_SPEED)
    options.loop_vectorization = True
    # As Numba has it: what is worth vectors is a loop, or is written as vectors.
    options.slp_vectorization = False
    passes = llvm.create_pass_builder(machine, options)
    passes.getModulePassManager().run(module, passes)


_NEEDED = (
    (re.compile(r"vpdpbusd"), lambda goal: goal.byte_products == "vnni"),
    (re.compile(r"\.avx512\."), lambda goal: goal.bits >= 512),
    (re.compile(r"\.avx2?\."), lambda goal: goal.bits >= 256),
    (re.compile(r"\.(ld|st)?(tile|tdp)"), lambda goal: bool(goal.matrix_products)),
)
"""What a target must have for LLVM to know an instruction of that name. The first that fits counts."""


def _check_instructions(module: llvm.ModuleRef, goal: Target) -> None:
    """LLVM ends the process when it meets an instruction that the target lacks."""
    for function in module.functions:
        if function.is_declaration and function.name.startswith("llvm.x86."):
            has = next((has for name, has in _NEEDED if name.search(function.name)), None)
            if has is not None and not has(goal):
                raise BasaltError(f"it uses {function.name!r}, which {goal.name} CPUs lack")


def _check_imports(module: llvm.ModuleRef) -> None:
    for function in module.functions:
        if function.is_declaration and not function.name.startswith("llvm.") and function.name not in ALLOWED:
            raise BasaltError(f"it calls {function.name!r}, which kernels may not use")


def _failure(code: KernelCode, error: Exception) -> BasaltError:
    lines = "\n".join(f"{number:4}  {line}" for number, line in enumerate(code.source.splitlines(), 1))
    reason = str(error).strip() or type(error).__name__
    kind = UnsupportedError if isinstance(error, UnsupportedError) else BasaltError
    return kind(f"kernel {code.label or code.key[:12]!r} does not compile: {reason}\n{lines}")
