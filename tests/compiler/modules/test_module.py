"""What ``basalt.from_torch`` gives: calls, names, structures, files, faults."""

from __future__ import annotations

import subprocess
import sys
from collections import OrderedDict, namedtuple
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import basalt
from basalt import UnsupportedError, ValidationError
from basalt.compiler.modules.canonical import canonical_sizes

from .compare import Function, check, numbers, same, torch

nn = torch.nn


class TwoBranches(nn.Module):
    """Several inputs and outputs, nested, one of them optional."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(4, 4), nn.Linear(3, 4)
        self.second.weight = nn.Parameter(self.second.weight.detach())

    def forward(self, x: Any, others: dict[str, Any], scale: float = 2.0, mask: Any = None) -> Any:
        hidden = self.first(x) + self.second(others["a"]) * scale + x
        if mask is not None:
            hidden = hidden.masked_fill(mask, 0.0)
        return {"hidden": hidden, "parts": [hidden[:, :2], (others["b"][0] + 1, None, 3)]}


def example() -> tuple[Any, dict[str, Any]]:
    return numbers(2, 4), {"a": numbers(2, 3), "b": [torch.arange(3)]}


def test_structures_of_arguments_and_results() -> None:
    module, (x, others) = TwoBranches().eval(), example()
    mask = numbers(2, 4) > 0
    made = check(module, x, others, 2.0, mask=mask)
    assert made.signature == (
        "(x, {'a': others_a, 'b': [others_b_0]}, 2.0, mask=mask) -> "
        "{'hidden': output_0, 'parts': [output_1, (output_2, None, 3)]}"
    )
    same(made(x, others, 2.0, mask), module(x, others, 2.0, mask))


def test_arrays_in_arrays_out_and_runs_by_name() -> None:
    x, others = example()
    made = basalt.from_torch(TwoBranches(), (x, others))
    arrays = {"a": others["a"].numpy(), "b": [others["b"][0].numpy()]}
    results = made(x.numpy(), arrays)
    assert type(results["hidden"]) is np.ndarray
    again = made.run({"x": x.numpy(), "others_a": arrays["a"], "others_b_0": arrays["b"][0]})
    assert list(again) == ["output_0", "output_1", "output_2"]
    np.testing.assert_array_equal(again["output_0"], results["hidden"])


def test_parameters_are_not_copied() -> None:
    module = nn.Linear(300, 200)
    made = basalt.from_torch(module, (numbers(2, 300),))
    arrays = [made.constants.array(v) for v in made.graph.constants()]
    assert any(np.shares_memory(a, module.weight.detach().numpy()) for a in arrays)


def test_names_of_sizes() -> None:
    dim = torch.export.Dim
    module = Function(lambda x, y: x + y.sum())
    shapes = {"args": ({0: dim("rows"), 1: dim.AUTO}, {0: dim.DYNAMIC})}
    made = basalt.from_torch(module, (numbers(3, 4), numbers(5)), shapes)
    assert [i.shape for i in made.inputs] == [("rows", "args_0_1"), ("args_1_0",)]
    assert made.outputs[0].shape == ("rows", "args_0_1")


@pytest.mark.parametrize("given", ["missing", "more", "keys", "constant"])
def test_arguments_that_nest_otherwise_are_refused(given: str) -> None:
    x, others = example()
    made = basalt.from_torch(TwoBranches(), (x, others, 2.0))
    arguments: dict[str, tuple[Any, ...]] = {
        "missing": (x, others),
        "more": (x, others, 2.0, x),
        "keys": (x, {"a": x}, 2.0),
        "constant": (x, others, 3.0),
    }
    with pytest.raises(ValidationError):
        made(*arguments[given])


def test_files_give_the_same_without_torch(tmp_path: Path) -> None:
    x, others = example()
    made = basalt.from_torch(TwoBranches(), (x, others), threads=1)
    expected = made(x.numpy(), {"a": others["a"].numpy(), "b": [others["b"][0].numpy()]})
    made.save(tmp_path / "m.bsl")
    np.savez(tmp_path / "x.npz", x=x.numpy(), a=others["a"].numpy(), b=others["b"][0].numpy(), y=expected["hidden"])
    code = (
        "import sys, numpy as np; sys.modules['torch'] = None; import basalt; d = np.load('x.npz')\n"
        "m = basalt.load('m.bsl'); r = m(d['x'], {'a': d['a'], 'b': [d['b']]})\n"
        "assert np.array_equal(r['hidden'], d['y']) and r['parts'][1][1:] == (None, 3); m.save('again.bsl')"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path)
    assert (tmp_path / "again.bsl").read_bytes() == (tmp_path / "m.bsl").read_bytes()


def test_all_unsupported_operators_are_listed_with_their_modules() -> None:
    class Odd(nn.Module):
        def forward(self, x: Any) -> Any:
            return torch.linalg.svd(x)[1], torch.nonzero(x)

    module = nn.Sequential(nn.Linear(4, 4), Odd())
    with pytest.raises(UnsupportedError) as caught:
        basalt.from_torch(module, (numbers(3, 4),))
    text = str(caught.value)
    assert "svd" in text and "nonzero" in text and text.count("1 (Odd)") == 2


def test_modules_that_change_themselves_are_refused() -> None:
    class Counter(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("count", torch.zeros(()))

        def forward(self, x: Any) -> Any:
            self.count += 1
            return x + self.count

    with pytest.raises(UnsupportedError, match="changes count"):
        basalt.from_torch(Counter(), (numbers(2),))


def test_only_modules_are_taken() -> None:
    with pytest.raises(ValidationError, match=r"got int, expected a torch\.nn\.Module"):
        basalt.from_torch(3, ())


def test_exported_programs() -> None:
    module = nn.Linear(4, 3)
    program = torch.export.export(module, (numbers(2, 4),))
    same(basalt.from_torch(program, ())(numbers(2, 4)), module(numbers(2, 4)))


def test_a_residual_network(tmp_path: Path) -> None:
    class Block(nn.Module):
        def __init__(self, channels: int) -> None:
            super().__init__()
            self.body = nn.Sequential(
                nn.Conv2d(channels, channels, 3, padding=1, groups=channels),
                nn.Conv2d(channels, channels, 1),
                nn.BatchNorm2d(channels),
                nn.ReLU(),
            )

        def forward(self, x: Any) -> Any:
            return x + self.body(x)

    stem = nn.Conv2d(3, 8, 3, stride=2, padding=1)
    module = nn.Sequential(stem, Block(8), Block(8), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 5))
    batch = torch.export.Dim("batch")
    again = [[numbers(5, 3, 16, 16)]]
    made = check(module, numbers(2, 3, 16, 16), dynamic=({0: batch},), again=again, compiled=True)
    made.save(tmp_path / "net.bsl")
    x = numbers(3, 3, 16, 16)
    same(basalt.load(tmp_path / "net.bsl")(x), made(x), rtol=0, atol=0)


def test_tensors_of_any_strides_and_memory() -> None:
    made = basalt.from_torch(nn.Linear(4, 3), (numbers(2, 4),))
    x = numbers(4, 2).T
    expected = made(x.contiguous())
    same(made(x), expected)
    same(made(numbers(4, 4).requires_grad_()[::2]), made(numbers(4, 4)[::2].contiguous()))


Pair = namedtuple("Pair", ["left", "right"])


def test_other_containers_become_plain_ones() -> None:
    made = check(lambda x: (Pair(x + 1, x + 2), OrderedDict(b=x * 2, a=[x]), [], {}), numbers(2, 3))
    assert made.signature == ("(args_0) -> ((output_0, output_1), {'b': output_2, 'a': [output_3]}, [], {})")


def test_results_that_are_arguments_or_constants() -> None:
    x = numbers(2, 3)
    made = check(lambda x, y: (x, x, torch.arange(3), y > 0), x, numbers(2))
    first, second, *_ = made(x, numbers(2))
    first.zero_()
    same(second, x)


def test_results_do_not_depend_on_the_batch_that_came_first(tmp_path: Path) -> None:
    layers = nn.Sequential(nn.Linear(48, 96), nn.GELU(), nn.Linear(96, 40), nn.Softmax(1))
    inputs = [numbers(rows, 48, seed=rows) for rows in (1, 7, 130)]

    def made() -> basalt.Module:
        batch = torch.export.Dim("batch")
        return basalt.from_torch(layers, (inputs[1],), ({0: batch},), threads=1)

    first = made()
    forwards = [first(x) for x in inputs]
    first.save(tmp_path / "m.bsl")
    for other in (made(), basalt.load(tmp_path / "m.bsl", threads=1)):
        for x, expected in reversed(list(zip(inputs, forwards))):
            same(other(x), expected, rtol=0, atol=0)


def test_canonical_sizes_are_such_as_the_graph_takes() -> None:
    dims = {0: torch.export.Dim("batch"), 2: torch.export.Dim("length", min=21)}
    made = basalt.from_torch(nn.Conv1d(2, 3, 20), (numbers(2, 2, 30),), (dims,))
    assert canonical_sizes(made.graph) == {"batch": 32, "length": 32}
    static = basalt.from_torch(nn.Conv1d(2, 3, 20), (numbers(2, 2, 30),))
    assert canonical_sizes(static.graph) is None
