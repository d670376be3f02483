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
    assert len(runs) == 1


def test_graph_breaks_give_several_programs(runs: list[str]) -> None:
    def function(x: Any) -> Any:
        y = torch.relu(x)
        return y * 2 if y.sum() > 0 else y - 1

    compiled = torch.compile(function, backend=basalt.torch_backend)
    with torch.no_grad():
        for x in (numbers(3, 4), -numbers(3, 4).abs()):
            same(compiled(x), function(x))
    assert len(runs) == 4


def test_arguments_and_buffers_are_changed(runs: list[str]) -> None:
    class Counter(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("count", torch.zeros(2))

        def forward(self, x: Any) -> Any:
            self.count += 1
            x[:, 0] = 5
            return x + self.count

    module = Counter().eval()
    compiled = torch.compile(module, backend=basalt.torch_backend)
    x = torch.zeros(3, 2)
    with torch.no_grad():
        compiled(x)
        same(compiled(x), torch.tensor([[7.0, 2.0]] * 3))
    same(module.count, torch.full((2,), 2.0))
    same(x[:, 0], torch.full((3,), 5.0))
    assert len(runs) == 2


def test_numbers_that_no_shape_tells(runs: list[str]) -> None:
    def function(x: Any, count: int, scale: float) -> Any:
        return x[:count] * scale

    compiled = torch.compile(function, backend=basalt.torch_backend)
    x = numbers(9, 2)
    with torch.no_grad():
        for count, scale in ((3, 0.5), (4, 0.5), (5, 0.25), (6, 0.75)):
            same(compiled(x, count, scale), function(x, count, scale))
    assert len(runs) == 4


def test_results_have_the_strides_that_torch_expects(runs: list[str]) -> None:
    compiled = torch.compile(torch.relu, backend=basalt.torch_backend)
    x = numbers(2, 3, 4, 5).to(memory_format=torch.channels_last)
    with torch.no_grad():
        result = compiled(x)
    same(result, torch.relu(x))
    assert result.stride() == x.stride() and len(runs) == 1


def test_inputs_that_need_gradients_elsewhere(runs: list[str]) -> None:
    module = nn.Linear(4, 3)
    compiled = torch.compile(module, backend=basalt.torch_backend)
    x = numbers(2, 4).requires_grad_()
    with torch.no_grad():
        result = compiled(x)
    same(result, module(x))
    assert not result.requires_grad and len(runs) == 1


def test_encoders_on_torchs_fast_path(runs: list[str]) -> None:
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, activation="gelu")
    module = nn.TransformerEncoder(layer, 2).eval()
    compiled = torch.compile(module, backend=basalt.torch_backend, fullgraph=True)
    with torch.no_grad():
        same(compiled(numbers(2, 5, 8)), module(numbers(2, 5, 8)))
    assert len(runs) == 1


@pytest.mark.parametrize("module", [nn.Dropout(), nn.BatchNorm1d(4)], ids=["dropout", "batch_norm"])
def test_training_mode_without_gradients_falls_back(module: Any, runs: list[str]) -> None:
    compiled = torch.compile(module.train(), backend=basalt.torch_backend)
    with torch.no_grad(), pytest.warns(RuntimeWarning, match="torch itself"):
        assert compiled(numbers(3, 4)).shape == (3, 4)
    assert not runs


def test_tensors_elsewhere_and_other_options(runs: list[str]) -> None:
    compiled = torch.compile(lambda x: x + 1, backend=basalt.torch_backend)
    with torch.no_grad(), pytest.warns(RuntimeWarning, match="for the CPU"):
        assert compiled(torch.ones(3, device="meta")).device.type == "meta"
    for options in ({"treads": 1}, {"threads": 0}):
        with pytest.raises(basalt.ValidationError, match="threads"):
            basalt.torch_backend(None, (), options=options)
    assert not runs


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
