"""Which loops are interleaved: innermost ones over elementary functions, where the processor has few registers."""

from __future__ import annotations

import re

import pytest
from numba.core.registry import cpu_target

from basalt.compiler.codegen import interleaving
from basalt.compiler.codegen.translate import translate
from basalt.compiler.kernels.emit import features_of
from basalt.compiler.kernels.namespace import recipe
from basalt.compiler.kernels.target import Target

FEW, MANY = Target(256, 16, 32), Target(512, 32, 8)
NESTED = """
def kernel(table, start, stop):
    x = ptr(table, 0)
    for u in range(start, stop):
        for j in range(u):
            store_f32(x, j, {value})
"""


def _marked(value: str, unit: Target, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The jumps that ask for interleaving, in the module's text."""
    monkeypatch.setattr(interleaving, "target", lambda: unit)
    names = ("ptr", "store_f32", "load_f32", "exp_f32", "mul_f32")
    recipes = {name: recipe(name) for name in names}
    text = str(translate(NESTED.format(value=value), recipes, features_of(cpu_target.target_context), "kernel"))
    nodes = dict(re.findall(r"(![0-9]+) = (.*)", text))
    jumps = [f"{number} {nodes[number]}" for number in re.findall(r"br label .*!llvm\.loop (![0-9]+)", text)]
    for jump in jumps:
        number, node = jump.split(" ", 1)
        wish = re.fullmatch(rf"distinct !{{ {number}, (![0-9]+) }}", node)
        assert wish is not None
        assert nodes[wish[1]] == '!{ !"llvm.loop.interleave.count", i32 2 }'
    return jumps


def test_the_innermost_loop_over_an_elementary_function(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(_marked("exp_f32(load_f32(x, j))", FEW, monkeypatch)) == 1


def test_not_a_loop_without_one(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not _marked("mul_f32(load_f32(x, j), load_f32(x, j))", FEW, monkeypatch)


def test_not_with_many_registers(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not _marked("exp_f32(load_f32(x, j))", MANY, monkeypatch)
