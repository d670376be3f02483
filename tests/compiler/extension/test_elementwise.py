"""Compiled extension operators that work element by element, against their NumPy semantics."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from basalt import ops
from basalt.compiler.interpret import interpret
from basalt.compiler.lower import compile_spec
from basalt.compiler.passes.specialise import specialise
from basalt.ops import symbol
from basalt.ops.elementwise import Elementwise
from basalt.ops.types import integer_bounds, is_float

from ..compiled.forms import Bench, Tolerance, benches, broadcast_pair, fill, shapes
from ..compiled.running import run_compiled
from ..making import Maker

OPERATORS = sorted(name for name, o in ops.extension_operators().items() if isinstance(o, Elementwise))
DTYPES = ("float32", "float16", "float64", "bfloat16", "int16", "uint16", *("int32", "uint32", "int64", "uint64"))
EXACT = frozenset({"mod", "fmod", "trunc"})


def _dtypes_of(op: str) -> list[str]:
    floats = "float32" in ops.get(op).operands[0].dtypes
    ints = "int32" in ops.get(op).operands[0].dtypes
    return [d for d in (*DTYPES, "int8", "uint8") if (floats if is_float(d) else ints)]


def _tolerance(op: str, dtype: str) -> Tolerance:
    # bfloat16's and float64's semantics are computed in float64 alone.
    exact = op in EXACT and dtype != "bfloat16"
    return Tolerance(0.0 if exact else 4.0 if dtype == "float64" else 2.0 if dtype == "float32" else 1.0)


@pytest.mark.parametrize("op", OPERATORS)
@settings(max_examples=4)
@given(bench=benches(), shape=shapes(), data=st.data())
def test_operator(op: str, bench: Bench, shape: tuple[int, ...], data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from(_dtypes_of(op)))
    operands = [shape] if len(ops.get(op).operands) == 1 else broadcast_pair(bench, shape)
    values = [bench.operand(fill(bench, s, dtype), dtype) for s in operands]
    bench.check(bench.result(bench.maker.call(op, *values)), _tolerance(op, dtype))


@pytest.mark.parametrize("op", ["mod", "fmod", "div", "shift_left", "shift_right"])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "uint32", "int64", "uint64"])
def test_no_operands_trap(op: str, dtype: str) -> None:
    low, high = integer_bounds(dtype)
    edges = np.array([low, low + 1, high, high - 1, 0, 1, high // 2, 7], dtype)
    if low < 0:
        edges = np.append(edges, np.array([-1, -7], dtype))
    a, b = (x.reshape(-1) for x in np.meshgrid(edges, edges))
    bench = Bench(Random(1))
    bench.check([bench.maker.call(op, bench.input(a, dtype), bench.input(b, dtype))], Tolerance())


def test_sizes_become_a_constant_once_they_are_known() -> None:
    maker = Maker()
    x = maker.input("x", "int64", (symbol("n"), 3))
    vector = maker.call("sizes", (symbol("n"), 3, symbol("n") * 3))
    graph = maker.graph(y=maker.mul(vector, maker.constant(2, "int64")), z=maker.neg(x))
    static = specialise(graph, {"n": 5})
    spec = compile_spec(static, maker.constants)
    assert sorted(row.label for row in spec.rows) == ["identity", "neg"]
    feeds = {"x": np.ones((5, 3), np.int64)}
    assert interpret(graph, maker.constants, feeds)["y"].tolist() == [10, 6, 30]


@pytest.mark.parametrize("optimise", [False, True])
def test_sizes_compiled(optimise: bool) -> None:
    maker = Maker()
    x = maker.input("x", "int64", (2,))
    vector = maker.call("sizes", (4, 7))
    graph = maker.graph(y=maker.add(vector, x), z=maker.identity(vector), w=vector)
    out = run_compiled(graph, maker.constants, {"x": np.array([1, 2])}, optimise=optimise)
    assert (out["y"].tolist(), out["z"].tolist(), out["w"].tolist()) == ([5, 9], [4, 7], [4, 7])
