"""Generated kernel source to object code, through Numba; nothing is loaded into this process."""

from __future__ import annotations

import linecache
from typing import Any

import llvmlite.binding as llvm
from numba.core import compiler, types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target

from basalt.errors import BasaltError
from basalt.runtime.layout import KERNEL_SYMBOL
from basalt.runtime.spec import KernelCode
from basalt.runtime.symbols import ALLOWED

from ..kernels.namespace import recipe
from .condense import condensed

__all__ = ["compile_source"]

_ARGUMENTS = (types.voidptr, types.intp, types.intp)

_UNUSED_PASSES = frozenset(
    {
        "DumpParforDiagnostics",
        "InlineClosureLikes",
        "InlineInlinables",
        "InlineOverloads",
        "LiteralUnroll",
        "NopythonRewrites",
        "WithLift",
    }
)
"""Numba's passes for closures, array expressions and context managers, which kernels have none of: a tenth of the
time, for the same machine code."""


def compile_source(code: KernelCode) -> bytes:
    """Object code that exports the kernel as ``KERNEL_SYMBOL``, for the CPU that Numba is set to.

    Raises BasaltError, chained to Numba's error, with the kernel's label and source.
    """
    filename = f"<basalt kernel {code.label or 'without label'} {code.key[:12]}>"
    linecache.cache[filename] = (len(code.source), None, code.source.splitlines(keepends=True), filename)
    try:
        object_code = _compile(_function(code, filename))
    except Exception as error:
        raise BasaltError(_explain(code, error)) from error
    # Kept for tracebacks while it fails; a process that compiles thousands must not keep thousands.
    linecache.cache.pop(filename, None)
    return object_code


def _function(code: KernelCode, filename: str) -> Any:
    tree, made = condensed(code.source, {name: recipe(name) for name in code.names})
    namespace: dict[str, Any] = {"__name__": "basalt_kernel", **made}
    before = set(namespace)
    exec(compile(tree, filename, "exec"), namespace)
    (function,) = [namespace[name] for name in namespace if name not in before and name != "__builtins__"]
    return function


def _compile(function: Any) -> bytes:
    target = cpu_target.target_context
    flags: Any = compiler.Flags()
    flags.no_compile = True
    flags.no_cpython_wrapper = True
    flags.no_cfunc_wrapper = True
    flags.error_model = "numpy"
    with global_compiler_lock:
        library = _ObjectLibrary(target.codegen(), "basalt_kernel")
        result = compiler.compile_extra(
            cpu_target.typing_context,
            target,
            function,
            _ARGUMENTS,
            types.void,
            flags,
            {},
            library=library,
            pipeline_class=_Pipeline,
        )
        return library.emit(result.fndesc.llvm_func_name)


class _Pipeline(compiler.CompilerBase):
    """Numba's own pipeline without the passes that kernels do not need."""

    def define_pipelines(self) -> list[Any]:
        pipeline = compiler.DefaultPassBuilder.define_nopython_pipeline(self.state)
        pipeline.passes = [item for item in pipeline.passes if _pass_name(item[0]) not in _UNUSED_PASSES]
        pipeline.finalize()
        return [pipeline]


def _pass_name(item: Any) -> str:
    return item.__name__ if isinstance(item, type) else type(item).__name__


class _ObjectLibrary(JITCodeLibrary):
    """A library of Numba's that is optimised and emitted once, but never handed to the JIT engine.

    The engine would keep every kernel in memory for ever and emit it a second time.
    """

    _entry = ""

    def emit(self, entry: str) -> bytes:
        """Optimises the module with all functions but ``entry`` made internal; returns the object code."""
        self._entry = entry
        self.finalize()
        _check_imports(self._final_module)
        self._final_module.get_function(entry).name = KERNEL_SYMBOL
        code: bytes = self._codegen._tm.emit_object(self._final_module)
        return code

    def _optimize_functions(self, module: llvm.ModuleRef) -> None:
        # Numba simplifies every function here, and the module twice below, to find reference counts to remove.
        module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self) -> None:
        module = self._final_module
        for value in (*module.functions, *module.global_variables):
            if not value.is_declaration and value.name != self._entry:
                value.linkage = "internal"
        passes, builder = self._codegen._module_pass_manager()
        passes.run(module, builder)

    def _finalize_final_module(self) -> None:
        self._finalized = True


def _check_imports(module: llvm.ModuleRef) -> None:
    for function in module.functions:
        if function.is_declaration and not function.name.startswith("llvm.") and function.name not in ALLOWED:
            raise BasaltError(f"it calls {function.name!r}, which kernels may not use")


def _explain(code: KernelCode, error: Exception) -> str:
    lines = "\n".join(f"{number:4}  {line}" for number, line in enumerate(code.source.splitlines(), 1))
    reason = str(error).strip() or type(error).__name__
    return f"kernel {code.label or code.key[:12]!r} does not compile: {reason}\n{lines}"
