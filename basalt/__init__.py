"""Basalt: a JIT graph compiler for neural networks on the CPU, with Numba and llvmlite as its code generators.

Names are imported when they are first used: importing this package loads neither NumPy nor a compiler.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from basalt.compiler.ahead.save import save_program
    from basalt.compiler.builder import MLGraphBuilder, MLOperand
    from basalt.compiler.estimators.convert import from_sklearn
    from basalt.compiler.estimators.estimator import Estimator
    from basalt.compiler.executable import Executable
    from basalt.compiler.files import load, save
    from basalt.compiler.graph import MLGraph
    from basalt.compiler.model import Model
    from basalt.compiler.modules.backend import torch_backend
    from basalt.compiler.modules.convert import from_torch
    from basalt.compiler.modules.module import Module
    from basalt.compiler.onnx.export import save_onnx, to_onnx
    from basalt.compiler.onnx.model import OnnxExecutable
    from basalt.compiler.onnx_converter import OnnxConverter
    from basalt.context import MLContext, MLTensor
    from basalt.errors import (
        BasaltError,
        DeadlineExceeded,
        InvalidStateError,
        ModelFormatError,
        UnsupportedError,
        ValidationError,
    )
    from basalt.runner import NativeCodeWarning, Runner
    from basalt.runtime.kernel_cache import cache_clear, cache_info, cache_prune
    from basalt.runtime.program import Program
    from basalt.runtime.threads import get_num_threads, set_num_threads
    from basalt.serialization import Kind, peek_kind
    from basalt.serialization.onnx import OnnxModel
    from basalt.session import (
        ExecutionMode,
        GraphOptimizationLevel,
        InferenceSession,
        RunOptions,
        SessionOptions,
        get_available_providers,
        get_device,
    )

__version__ = "0.1.0"

_HOMES = {
    "BasaltError": "basalt.errors",
    "DeadlineExceeded": "basalt.errors",
    "Estimator": "basalt.compiler.estimators.estimator",
    "Executable": "basalt.compiler.executable",
    "ExecutionMode": "basalt.session",
    "GraphOptimizationLevel": "basalt.session",
    "InferenceSession": "basalt.session",
    "InvalidStateError": "basalt.errors",
    "Kind": "basalt.serialization",
    "MLContext": "basalt.context",
    "MLGraph": "basalt.compiler.graph",
    "MLGraphBuilder": "basalt.compiler.builder",
    "MLOperand": "basalt.compiler.operand",
    "MLTensor": "basalt.runtime.tensor",
    "Model": "basalt.compiler.model",
    "ModelFormatError": "basalt.errors",
    "Module": "basalt.compiler.modules.module",
    "NativeCodeWarning": "basalt.runner",
    "OnnxConverter": "basalt.compiler.onnx_converter",
    "OnnxExecutable": "basalt.compiler.onnx.model",
    "OnnxModel": "basalt.serialization.onnx",
    "Program": "basalt.runtime.program",
    "RunOptions": "basalt.session",
    "Runner": "basalt.runner",
    "SessionOptions": "basalt.session",
    "UnsupportedError": "basalt.errors",
    "ValidationError": "basalt.errors",
    "cache_clear": "basalt.runtime.kernel_cache",
    "cache_info": "basalt.runtime.kernel_cache",
    "cache_prune": "basalt.runtime.kernel_cache",
    "from_sklearn": "basalt.compiler.estimators.convert",
    "from_torch": "basalt.compiler.modules.convert",
    "get_available_providers": "basalt.session",
    "get_device": "basalt.session",
    "get_num_threads": "basalt.runtime.threads",
    "load": "basalt.compiler.files",
    "peek_kind": "basalt.serialization",
    "save": "basalt.compiler.files",
    "save_onnx": "basalt.compiler.onnx.export",
    "save_program": "basalt.compiler.ahead.save",
    "set_num_threads": "basalt.runtime.threads",
    "to_onnx": "basalt.compiler.onnx.export",
    "torch_backend": "basalt.compiler.modules.backend",
}
"""The module of each public name."""

__all__ = [
    "BasaltError",
    "DeadlineExceeded",
    "Estimator",
    "Executable",
    "ExecutionMode",
    "GraphOptimizationLevel",
    "InferenceSession",
    "InvalidStateError",
    "Kind",
    "MLContext",
    "MLGraph",
    "MLGraphBuilder",
    "MLOperand",
    "MLTensor",
    "Model",
    "ModelFormatError",
    "Module",
    "NativeCodeWarning",
    "OnnxConverter",
    "OnnxExecutable",
    "OnnxModel",
    "Program",
    "RunOptions",
    "Runner",
    "SessionOptions",
    "UnsupportedError",
    "ValidationError",
    "__version__",
    "cache_clear",
    "cache_info",
    "cache_prune",
    "from_sklearn",
    "from_torch",
    "get_available_providers",
    "get_device",
    "get_num_threads",
    "load",
    "peek_kind",
    "save",
    "save_onnx",
    "save_program",
    "set_num_threads",
    "to_onnx",
    "torch_backend",
]


def __getattr__(name: str) -> Any:
    import importlib

    home = _HOMES.get(name)
    if home is not None:
        value = getattr(importlib.import_module(home), name)
        globals()[name] = value
        return value
    if name in ("compiler", "errors", "onnx_backend", "ops", "runtime", "serialization"):
        try:
            return importlib.import_module(f"basalt.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"basalt.{name}":
                raise
    raise AttributeError(f"module 'basalt' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
