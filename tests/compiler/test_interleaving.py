"""Which loops are interleaved: innermost ones over elementary functions, where the processor has few registers."""

from __future__ import annotations

import re

import pytest

from basalt.compiler.codegen import interleaving
from basalt.compiler.codegen.translate import translate
from basalt.compiler.kernels.namespace import recipe
from basalt.compiler.kernels.target import Target, native_target

FEW, MANY = Target(256, 16, 32), Target(512, 32, 8)
NESTED = """
def kernel(table, start, stop):
    x = ptr(table, 0)
    for u in range(start, stop):
        for j in range(u):
            {first}
            store_f32(x, j, {value})
"""


NAMES = ("ptr", "store_f32", "load_f32", "exp_f32", "log_f32", "mul_f32", "many_iterations")


def _marked(value: str, unit: Target, monkeypatch: pytest.MonkeyPatch, first: str = "pass") -> list[int]:
    """How many vectors side by side the jumps ask for that ask for any."""
    monkeypatch.setattr(interleaving, "target", lambda: unit)
    recipes = {name: recipe(name) for name in NAMES}
    source = NESTED.format(value=value, first=first)
    text = str(translate(source, recipes, native_target().features, "kernel"))
    nodes = dict(re.findall(r"(![0-9]+) = (.*)", text))
    counts = []
    for number in re.findall(r"br label .*!llvm\.loop (![0-9]+)", text):
        wish = re.fullmatch(rf"distinct !{{ {number}, (![0-9]+) }}", nodes[number])
        assert wish is not None
        count = re.fullmatch(r'!{ !"llvm.loop.interleave.count", i32 (\d+) }', nodes[wish[1]])
        assert count is not None
        counts.append(int(count[1]))
    return counts


def test_the_innermost_loop_over_an_elementary_function(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _marked("exp_f32(load_f32(x, j))", FEW, monkeypatch) == [2]


def test_more_vectors_in_long_loops_over_one_function_of_few_registers(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _marked("exp_f32(load_f32(x, j))", FEW, monkeypatch, "many_iterations()") == [4]
    assert _marked("exp_f32(exp_f32(load_f32(x, j)))", FEW, monkeypatch, "many_iterations()") == [2]
    assert _marked("log_f32(load_f32(x, j))", FEW, monkeypatch, "many_iterations()") == [2]


def test_not_a_loop_without_one(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not _marked("mul_f32(load_f32(x, j), load_f32(x, j))", FEW, monkeypatch, "many_iterations()")


def test_not_with_many_registers(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not _marked("exp_f32(load_f32(x, j))", MANY, monkeypatch, "many_iterations()")
