"""Runs modules through Basalt and through torch, and compares."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from basalt.compiler.modules import Module, from_torch

torch = pytest.importorskip("torch", reason="torch is an extra: pip install 'basalt-compiler[torch]'")

__all__ = ["All", "Function", "check", "numbers", "same", "torch"]


class Function(torch.nn.Module):
    """A module that computes a function."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: Any) -> Any:
        return self.function(*args)


class All(torch.nn.Module):
    """Every layer applied to the same input."""

    def __init__(self, layers: list[Any]) -> None:
        super().__init__()
        self.layers = torch.nn.ModuleList(layers)

    def forward(self, x: Any) -> list[Any]:
        return [layer(x) for layer in self.layers]


def check(
    module: Any,
    *inputs: Any,
    dynamic: Any = None,
    again: Sequence[Sequence[Any]] = (),
    compiled: bool = False,
    rtol: float = 1e-4,
    atol: float = 1e-5,
    **kwargs: Any,
) -> Module:
    """The module of Basalt, once its results on the inputs (and the further ones in ``again``) are torch's.

    Unless ``compiled``, NumPy runs its graph: what is tested here is the translation, and kernels have their own tests.
    """
    if not isinstance(module, torch.nn.Module):
        module = Function(module)
    module.eval()
    made = from_torch(module, inputs, dynamic, kwargs=kwargs)
    with pytest.MonkeyPatch.context() as patch:
        if not compiled:
            patch.setenv("BASALT_DEBUG", "interpret")
        for given in (inputs, *again):
            with torch.no_grad():
                expected = module(*given, **kwargs)
            same(made(*given, **kwargs), expected, rtol, atol)
    return made


def same(result: Any, expected: Any, rtol: float = 1e-4, atol: float = 1e-5) -> None:
    """Structures, data types, shapes and elements agree."""
    if isinstance(expected, torch.Tensor):
        assert isinstance(result, torch.Tensor)
        assert (result.dtype, result.shape) == (expected.dtype, expected.shape)
        torch.testing.assert_close(result, expected.detach(), rtol=rtol, atol=atol, equal_nan=True)
    elif isinstance(expected, (tuple, list)):
        assert isinstance(result, (tuple, list)) and len(result) == len(expected)
        for r, e in zip(result, expected):
            same(r, e, rtol, atol)
    elif isinstance(expected, dict):
        assert list(result) == list(expected)
        for key, value in expected.items():
            same(result[key], value, rtol, atol)
    else:
        assert result == expected


def numbers(*shape: int, seed: int = 0) -> Any:
    """Normal floats."""
    return torch.from_numpy(np.random.default_rng(seed).standard_normal(shape).astype(np.float32))
