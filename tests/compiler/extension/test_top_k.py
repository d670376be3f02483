"""Compiled choices of the best elements, against their NumPy semantics."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from basalt.compiler.interpret import interpret
from basalt.compiler.passes.specialise import specialise
from basalt.ops import symbol

from ..compiled.forms import EXACT, Bench, fill
from ..compiled.running import run_compiled
from ..making import Maker

DTYPES = ("float32", "float16", "float64", "bfloat16", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64",
          "uint64")  # fmt: skip


@pytest.mark.parametrize(("dtype", "largest"), [(d, i % 3 > 0) for i, d in enumerate(DTYPES)])
def test_every_data_type(dtype: str, largest: bool) -> None:
    for seed, (shape, axis, k) in enumerate([((3, 201), 1, 7), ((40, 3), 0, 40), ((2, 5, 4), 1, 1)]):
        bench = Bench(Random(seed))
        x = bench.input(fill(bench, shape, dtype, wild=True), dtype)
        bench.check(bench.maker.call("top_k", x, k, axis=axis, largest=largest), EXACT)


@pytest.mark.parametrize(("axis", "k"), [(0, 3), (1, 9), (2, 2)])
def test_any_layout(axis: int, k: int) -> None:
    bench = Bench(Random(axis))
    x = bench.operand(fill(bench, (3, 70, 4), "float32", wild=True), "float32")
    values, places = bench.maker.call("top_k", x, k, axis=axis, largest=axis > 0)
    bench.check([*bench.result(values), *bench.result(places)], EXACT)


def test_many_equals_and_a_long_line() -> None:
    bench = Bench(Random(3))
    array = np.random.default_rng(0).integers(0, 50, (2, 20_000)).astype(np.float32)
    bench.check(bench.maker.call("top_k", bench.input(array, "float32"), 500, axis=1), EXACT)


def test_k_may_be_symbolic() -> None:
    maker = Maker()
    x = maker.input("x", "float32", (symbol("n"),))
    values, places = maker.call("top_k", x, symbol("n") // 2)
    graph = maker.graph(v=values, p=places)
    feeds = {"x": np.float32([3, 1, 4, 1, 5, 9])}
    out = run_compiled(specialise(graph, {"n": 6}), maker.constants, feeds)
    assert out["v"].tolist() == [9, 5, 4]
    assert out["p"].tolist() == [5, 4, 2]
    assert interpret(graph, maker.constants, feeds)["p"].tolist() == [5, 4, 2]
