"""Kernels through Numba's own compiler: those whose source uses more of Python than :mod:`.translate` knows."""

from __future__ import annotations

from typing import Any

import llvmlite.binding as llvm
from numba.core import compiler, types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target

from basalt.runtime.spec import KernelCode

from ..kernels.namespace import recipe
from .condense import condensed

__all__ = ["module_from_numba"]

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


def module_from_numba(code: KernelCode, filename: str) -> tuple[llvm.ModuleRef, str]:
    """The LLVM module of a kernel, not optimised yet, and the name that its function has there.

    Args:
        code: the kernel.
        filename: what tracebacks call its source.
    """
    function = _function(code, filename)
    target = cpu_target.target_context
    flags: Any = compiler.Flags()
    flags.no_compile = True
    flags.no_cpython_wrapper = True
    flags.no_cfunc_wrapper = True
    flags.error_model = "numpy"
    with global_compiler_lock:
        library = _Library(target.codegen(), "basalt_kernel")
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
        library.finalize()
        return library.linked, result.fndesc.llvm_func_name


def _function(code: KernelCode, filename: str) -> Any:
    tree, made = condensed(code.source, {name: recipe(name) for name in code.names})
    namespace: dict[str, Any] = {"__name__": "basalt_kernel", **made}
    before = set(namespace)
    exec(compile(tree, filename, "exec"), namespace)
    (function,) = [namespace[name] for name in namespace if name not in before and name != "__builtins__"]
    return function


class _Pipeline(compiler.CompilerBase):
    """Numba's own pipeline without the passes that kernels do not need."""

    def define_pipelines(self) -> list[Any]:
        pipeline = compiler.DefaultPassBuilder.define_nopython_pipeline(self.state)
        pipeline.passes = [item for item in pipeline.passes if _pass_name(item[0]) not in _UNUSED_PASSES]
        pipeline.finalize()
        return [pipeline]


def _pass_name(item: Any) -> str:
    return item.__name__ if isinstance(item, type) else type(item).__name__


class _Library(JITCodeLibrary):
    """A library of Numba's that is linked, but neither optimised nor handed to the JIT engine.

    The engine would keep every kernel in memory for ever.
    """

    @property
    def linked(self) -> llvm.ModuleRef:
        """All of the library's functions."""
        return self._final_module

    def _optimize_functions(self, module: llvm.ModuleRef) -> None:
        # Numba simplifies every function here, and the module twice below, to find reference counts to remove.
        module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalized = True
