"""``torch.compile`` with Basalt as its backend."""

from __future__ import annotations

import importlib
import tomllib
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import basalt
from basalt.compiler.executable import Executable

from .compare import numbers, same, torch

nn = torch.nn


@pytest.fixture(autouse=True)
def runs(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The runs of Basalt's programs, which NumPy stands in for."""
    torch._dynamo.reset()
    monkeypatch.setenv("BASALT_DEBUG", "interpret")
    seen: list[str] = []
    run = Executable.run

    def counted(self: Executable, *args: Any) -> Any:
        seen.append(self.name)
        return run(self, *args)

    monkeypatch.setattr(Executable, "run", counted)
    yield seen
    torch._dynamo.reset()


def small() -> Any:
    return nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(64, 5)).eval()


def test_a_network_and_parameters_that_change(runs: list[str]) -> None:
    module = small()
    compiled = torch.compile(module, backend=basalt.torch_backend)
    x = numbers(2, 3, 6, 6)
    with torch.no_grad():
        same(compiled(x), module(x))
        module[4].weight.mul_(2)
        same(compiled(x), module(x))
    assert len(runs) == 2


def test_batches_of_other_sizes(runs: list[str]) -> None:
    module = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.LayerNorm(8)).eval()
    compiled = torch.compile(module, backend=basalt.torch_backend, dynamic=True)
    with torch.inference_mode():
        for rows in (3, 5, 9):
            same(compiled(numbers(rows, 4)), module(numbers(rows, 4)))
    assert len(runs) == 3


def test_attention_and_several_outputs(runs: list[str]) -> None:
    def function(q: Any, k: Any, scale: float) -> Any:
        weights = nn.functional.scaled_dot_product_attention(q, k, k)
        return {"y": weights * scale, "n": q.shape[1], "transposed": q.transpose(1, 2).contiguous()}

    compiled = torch.compile(function, backend=basalt.torch_backend)
    with torch.no_grad():
        given = numbers(2, 3, 5, 8), numbers(2, 3, 5, 8, seed=1), 0.5
        same(compiled(*given), function(*given))
    assert runs


def test_training_falls_back_with_a_warning(runs: list[str]) -> None:
    module = nn.Linear(4, 3)
    compiled = torch.compile(module, backend=basalt.torch_backend)
    with pytest.warns(RuntimeWarning, match=r"torch\.no_grad"):
        result = compiled(numbers(2, 4))
    result.sum().backward()
    assert module.weight.grad is not None and not runs


def test_unsupported_operators_fall_back_with_one_warning(runs: list[str]) -> None:
    def function(x: Any) -> Any:
        return torch.linalg.svd(x)[1] * 2

    compiled = torch.compile(function, backend=basalt.torch_backend)
    with torch.no_grad():
        with pytest.warns(RuntimeWarning, match="svd"):
            same(compiled(numbers(3, 3)), function(numbers(3, 3)))
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            same(compiled(numbers(3, 3, seed=1)), function(numbers(3, 3, seed=1)))
    assert not runs


def test_a_failing_program_falls_back_with_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Executable, *args: Any) -> Any:
        raise basalt.UnsupportedError("no kernel")

    monkeypatch.setattr(Executable, "run", refuse)
    compiled = torch.compile(nn.Linear(4, 3), backend=basalt.torch_backend)
    with torch.no_grad():
        with pytest.warns(RuntimeWarning, match="no kernel"):
            first = compiled(numbers(2, 4))
        same(compiled(numbers(2, 4)), first)


def test_the_entry_point_names_the_backend() -> None:
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())["project"]
    module, _, name = project["entry-points"]["torch_dynamo_backends"]["basalt"].partition(":")
    assert getattr(importlib.import_module(module), name) is basalt.torch_backend
