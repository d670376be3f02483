"""Kernel source to machine code: it means what Python means, and the same as through Numba."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from basalt.compiler.backend import program_spec
from basalt.compiler.codegen import object_code
from basalt.compiler.codegen.compile import executor_object
from basalt.compiler.codegen.object_code import compile_source
from basalt.compiler.codegen.translate import Untranslatable, translate
from basalt.compiler.kernels.emit import Features
from basalt.compiler.kernels.namespace import recipe
from basalt.compiler.kernels.types import TypingError
from basalt.errors import BasaltError
from basalt.runtime.code import LoadedCode, LoadedKernel
from basalt.runtime.program import Program
from basalt.runtime.spec import KernelCode

from .level_samples import SAMPLES

NAMES = ("ptr", "par_i64", "loadrw_i64", "storerw_i64", "select_i64", "cast_i64_i32", "cast_i32_i64", "add_i32")
SIZE = 40
BODIES = {
    "steps": "i = 1\nfor i in range(start, stop, 3):\n    put(i, i * 2)\nput(39, i)",
    "down": "i = 7\nfor i in range(stop, start, -2):\n    put(i, i + 1)\nput(39, i)",
    "step from a variable": "s = start - stop\nn = 0\nfor i in range(stop, start, min(s, -1)):\n    n += 1\nput(0, n)",
    "nothing to do": "for i in range(stop, start):\n    put(i, 1)\nput(2, 5)",
    "the loop's variable is Python's": """
n = 0
for i in range(6):
    n = n * 7 + i
    i = i + 100
    put(n % 30, i)
""",
    "branches": """
for i in range(start, stop):
    if i % 3 == 0 and i > 4 or i == 1:
        put(i, -i)
    elif not i < 9:
        put(i, i // 2)
    else:
        put(i, max(i, 3, start))
        if i == 2:
            put(30, 2)
""",
    "while": """
n = stop
k = 0
while n > start and k < 12:
    n = n - 1
    if n == 11:
        continue
    if n == 3:
        break
    put(k, n)
    k += 1
else_ = k
put(39, else_)
""",
    "break and continue": """
for i in range(start, stop):
    for j in range(4):
        if j == i % 4:
            continue
        if i * j > 20:
            break
        put((i * 4 + j) % 39, i * 100 + j)
    put(39, i)
    if i == 13:
        break
""",
    "values of conditions": """
for i in range(start, stop):
    c = i < 5
    if c or i == 8:
        put(i, i)
    c = i > 9
    if c:
        put(i, 7)
""",
    "assigned in a branch": "x = 1\nfor i in range(start, stop):\n    if i > 6:\n        x = i\n    put(i, x)",
    "two at once": "a = b = start + 2\na += 3\nput(0, a)\nput(1, b)\npass",
}  # fmt: skip


def source(body: str) -> str:
    text = body.replace("put(", "storerw_i64(y, ").strip()
    lines = ["y = ptr(table, 0)", *text.splitlines()]
    return "\n".join(["def kernel(table, start, stop):", *("    " + line for line in lines), ""])


def loaded(text: str, names: tuple[str, ...] = NAMES) -> Callable[[int, int], list[int]]:
    kernel = LoadedKernel(compile_source(KernelCode.of(text, names, "test")))
    arguments = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
    function = ctypes.CFUNCTYPE(ctypes.c_int32, *arguments)(kernel.address)

    def run(start: int, stop: int) -> list[int]:
        y, spare = np.zeros(SIZE, np.int64), np.zeros(2, np.int64)
        table = np.array([y.ctypes.data], np.int64)
        place = spare.ctypes.data
        assert function(place, place + 8, table.ctypes.data, start, stop) == 0
        assert kernel is not None
        found: list[int] = y.tolist()
        return found

    return run


def in_python(text: str, start: int, stop: int) -> list[int]:
    y = [0] * SIZE
    scope: dict[str, Any] = {"ptr": lambda table, i: y, "storerw_i64": lambda y, i, value: y.__setitem__(i, int(value))}
    exec(text, scope)
    scope["kernel"](None, start, stop)
    return y


def through_numba(*args: Any) -> Any:
    raise Untranslatable("for a test")


@pytest.mark.parametrize("what", BODIES)
def test_it_means_what_python_means(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = source(BODIES[what])
    run = loaded(text)
    monkeypatch.setattr(object_code, "translate", through_numba)
    other = loaded(text)
    for start, stop in ((0, 16), (3, 4), (2, 2), (5, 15)):
        expected = in_python(text, start, stop)
        assert run(start, stop) == expected, (start, stop)
        assert other(start, stop) == expected, (start, stop)


@pytest.mark.parametrize("name", ["functions", "halves", "states"])
def test_generated_kernels_through_numba(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    graph, constants, feeds = SAMPLES[name]()
    spec = program_spec(graph, constants)

    def results() -> dict[str, np.ndarray]:
        code = LoadedCode.from_objects(executor_object(), [compile_source(code) for code in spec.kernels])
        return Program(spec, code, threads=1).run(feeds)

    expected = results()
    monkeypatch.setattr(object_code, "translate", through_numba)
    for key, array in results().items():
        np.testing.assert_array_equal(array, expected[key], key)


NUMBERS = st.recursive(
    st.sampled_from(["a", "b", "3", "-2", "0"]),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*"]), inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
        st.tuples(inner, st.sampled_from(["//", "%"]), st.sampled_from(["3", "-4", "5"]))
        .map(" ".join)
        .map("({})".format),
        st.tuples(st.sampled_from(["min", "max"]), inner, inner).map(lambda t: f"{t[0]}({t[1]}, {t[2]})"),
    ),
    max_leaves=6,
)


@settings(max_examples=25)
@given(st.lists(NUMBERS, min_size=10, max_size=10))
def test_random_expressions(texts: list[str]) -> None:
    body = "a = start\nb = stop\n" + "\n".join(f"put({i}, {text})" for i, text in enumerate(texts))
    run = loaded(source(body))
    for start, stop in ((0, 0), (7, -3), (-12, 5)):
        assert run(start, stop) == in_python(source(body), start, stop)


def test_types_of_variables_are_kept() -> None:
    body = "n = cast_i64_i32(start)\nfor i in range(3):\n    n = add_i32(n, n)\nput(0, cast_i32_i64(n))\n"
    body += "put(1, select_i64(start < stop, 4, 9))"
    assert loaded(source(body))(5, 6)[:2] == [40, 4]
    assert loaded(source(body))(1 << 30, 0)[:2] == [0, 9]


@pytest.mark.parametrize(
    "body",
    ["x = [1]", "x, z = start, stop", "for i in (1, 2):\n    put(i, i)", "put(0, start if stop else 2)", "return",
     "with y:\n    pass", "y[0] = 1", "for i in range(3):\n    pass\nelse:\n    put(0, 1)"],
)  # fmt: skip
def test_more_of_python_is_left_to_numba(body: str) -> None:
    with pytest.raises(Untranslatable):
        translate(source(body), {n: recipe(n) for n in NAMES}, Features(True, True, False, True), "kernel")


def test_what_is_left_to_numba_runs() -> None:
    run = loaded(source("a, b = start, stop\nfor i in (1, 2):\n    put(i, a + b)"))
    assert run(3, 4)[:4] == [0, 7, 7, 0]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("put(0, missing)", "missing is read before anything is assigned to it"),
        ("put(0, nothing(3))", "nothing is no primitive"),
        ("put(0)", "storerw_i64 takes 3 operands, 2 given"),
        ("x = 1.5\nput(0, x + 1)", "expected 64-bit integers"),
        ("put(0, y)", "given, expected"),
    ],
)
def test_mistakes_are_named(body: str, message: str) -> None:
    text = source(body)
    with pytest.raises(TypingError, match=message):
        translate(text, {n: recipe(n) for n in NAMES}, Features(True, True, False, True), "kernel")
    with pytest.raises(BasaltError, match=message):
        compile_source(KernelCode.of(text, NAMES, "mistaken"))
