"""Has torch write a module down as a graph of ATen operators that translators exist for."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from . import registry
from .recurrence import recurrent_operators
from .requirement import require_torch

__all__ = ["decompositions", "export"]


def export(module: Any, args: Sequence[Any], kwargs: Mapping[str, Any] | None, dynamic_shapes: Any) -> Any:
    """The ``ExportedProgram`` of a module in evaluation mode; the module's own mode stays.

    Raises:
        Whatever torch raises for a module that it cannot export.
    """
    torch = require_torch("from_torch")
    with _evaluating(module), _slow_path(torch), recurrent_operators(), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        warnings.simplefilter("ignore", FutureWarning)
        program = torch.export.export(module, tuple(args), dict(kwargs or {}), dynamic_shapes=dynamic_shapes)
        return program.run_decompositions(decompositions())


def decompositions() -> Any:
    """Torch's decompositions but for what translators take as it is."""
    torch = require_torch("from_torch")
    table = torch.export.default_decompositions()
    for name in registry.names():
        operator = operator_named(name)
        if operator is not None:
            table.pop(operator, None)
    return table


def operator_named(name: str) -> Any:
    """Torch's overload for a name such as ``aten::add.Tensor``, None if this torch has none."""
    import torch

    namespace, _, rest = name.partition("::")
    packet, _, overload = rest.partition(".")
    return getattr(getattr(getattr(torch.ops, namespace), packet, None), overload, None)


@contextlib.contextmanager
def _evaluating(module: Any) -> Iterator[None]:
    modes = [(m, m.training) for m in module.modules()]
    module.eval()
    try:
        yield
    finally:
        for m, training in modes:
            m.training = training


@contextlib.contextmanager
def _slow_path(torch: Any) -> Iterator[None]:
    """Transformers' layers as operators instead of as one that is made for torch's own kernels."""
    enabled = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        yield
    finally:
        torch.backends.mha.set_fastpath_enabled(enabled)
