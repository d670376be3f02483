"""Whole expressions as intrinsics: they mean what Python means, and nothing is moved over a store."""

from __future__ import annotations

import ast
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit
from numba.core.errors import TypingError

from basalt.compiler.codegen.compile import load_kernels
from basalt.compiler.codegen.condense import condensed
from basalt.compiler.kernels.expressions import is_simple
from basalt.compiler.kernels.fused import fused
from basalt.compiler.kernels.namespace import recipe
from basalt.runtime.program import Program
from basalt.runtime.spec import KernelCode, ProgramSpec, Row, Slot, TensorSpec

EXPRESSIONS = (
    "a + b * c - 7",
    "(a - b) // c",
    "(a - b) % c",
    "-a // 3 + b % 5",
    "min(a, b, c) * max(a, 2)",
    "a < b and not b < c",
    "a == b or a != c and 3 <= b",
    "a <= b < c",
    "cast_i64_i32(a + b)",
    "select_i64(a < b, a * 2, -b)",
)


def compiled(text: str) -> Any:
    function, names = fused(ast.parse(text, mode="eval").body, _Recipes())
    scope: dict[str, Any] = {"function": function}
    exec(f"def run(a, b, c):\n    return function({', '.join(names)})", scope)
    return njit(scope["run"])


class _Recipes(dict):  # type: ignore[type-arg]
    def __missing__(self, name: str) -> Any:
        return recipe(name)


FUNCTIONS = {text: compiled(text) for text in EXPRESSIONS}
PYTHON = {"cast_i64_i32": lambda x: (x + 2**31) % 2**32 - 2**31, "select_i64": lambda p, x, y: x if p else y}
SMALL = st.integers(-50, 50)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(SMALL, SMALL, SMALL.filter(bool))
def test_expressions_mean_what_python_means(a: int, b: int, c: int) -> None:
    for text, function in FUNCTIONS.items():
        assert function(a, b, c) == eval(text, PYTHON, {"a": a, "b": b, "c": c}), text


@pytest.mark.parametrize("text", ["(a - b) // c", "(a - b) % c"])
def test_division_by_zero_gives_zero(text: str) -> None:
    assert FUNCTIONS[text](7, 2, 0) == 0


def test_arithmetic_on_other_types_is_refused() -> None:
    function = compiled("a + b")
    with pytest.raises(TypingError, match="expected 64-bit integers"):
        function(1.5, 2, 3)


@pytest.mark.parametrize("text", ["a[b]", "a.b", "range(a)", "f(x=a)", "a if b else c", "a / b", "lambda: a", "'text'"])
def test_other_expressions_are_left_to_numba(text: str) -> None:
    assert not is_simple(ast.parse(text, mode="eval").body)


def source(*lines: str) -> str:
    return "\n".join(["def kernel(table, start, stop):", *("    " + line for line in lines), ""])


def steps(*lines: str) -> int:
    """The statements that are left of a kernel's lines."""
    tree, _ = condensed(source(*lines), _Recipes())
    return sum(isinstance(node, ast.stmt) for node in ast.walk(tree)) - 1


def test_values_used_once_need_no_variable() -> None:
    assert steps("x = ptr(table, 0)", "t = load_f32(x, start)", "store_f32(x, stop, neg_f32(t))") == 2
    assert steps("a = start + 1", "b = a * 2", "for i in range(a):", "    storerw_i64(table, i, b)") == 4


def test_nothing_moves_over_a_store_a_loop_or_a_new_value() -> None:
    store = "storerw_i64(table, 0, stop)"
    assert steps("a = loadrw_i64(table, 0)", store, "storerw_i64(table, 1, a)") == 3
    assert steps("a = start + 1", "for i in range(stop):", "    storerw_i64(table, i, a)") == 3
    assert steps("b = start", "a = b * 2", "b = stop", "storerw_i64(table, a, b)") == 4
    assert steps("a = start + 1", "while a < 3:", "    storerw_i64(table, 0, 0)", "    break") == 4


def test_kernels_still_run() -> None:
    text = source(
        "out = ptr(table, 0)",
        "n = par_i64(table, 1)",
        "for u in range(start, stop):",
        "    q = u // n",
        "    r = u - q * n",
        "    if r == 0 and q >= 1:",
        "        storerw_i64(out, u, -q)",
        "    else:",
        "        storerw_i64(out, u, max(r, q * 10))",
    )
    code = KernelCode.of(text, ("par_i64", "ptr", "storerw_i64"), "test")
    rows = (Row(0, (Slot.output(0), Slot.integer(4)), 0, 12, 1.0),)
    spec = ProgramSpec((), (TensorSpec("y", "int64", (12,)),), rows, (code,), (), 0)
    y = Program(spec, load_kernels(spec.kernels)).run({})["y"]
    assert y.tolist() == [0, 1, 2, 3, -1, 10, 10, 10, -2, 20, 20, 20]
