"""Random graphs compiled with and without fusion and the other passes, against the operators' NumPy semantics."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from basalt.compiler.interpret import interpret
from basalt.compiler.ir import Value
from basalt.compiler.lower import compile_spec, lower_graph
from basalt.compiler.passes.evaluation import evaluate
from basalt.compiler.pipeline import PASSES, run_pipeline
from basalt.ops import TensorType, numpy_dtype
from basalt.ops.types import is_float

from .compiled.row_graphs import RowGraph
from .compiled.running import run_watched
from .graphs import Sample, assert_near, random_graph
from .recipes import DISCONTINUOUS, RECIPES

seeds = st.integers(0, 2**32 - 1)
MOVES = ("reshape", "transpose", "expand", "reverse", "slice", "split", "concat", "pad", "tile", "triangular")
INDEXED = ("gather", "gather_elements", "gather_nd", "scatter_elements", "scatter_nd")
ROUNDED_ONCE = ("add", "sub", "mul", "neg", "abs", "relu", "sqrt", "leaky_relu", "clamp", "where")
LOGIC = ("equal", "greater", "lesser_or_equal", "is_nan", "logical_not", "logical_and", "logical_xor", "cast")
EXACT = (*MOVES, *INDEXED, *ROUNDED_ONCE, *LOGIC, "reduce_max", "reduce_min", "max", "min", "floor", "sign", "arg_max")
"""Recipes each node of which gives the same bits however it is computed, but for the sign of a zero.

Which zero ``max`` and the like choose is open, so nothing here divides: that would make it the sign of an infinity.
"""
SMOOTH = [name for name in RECIPES if name not in DISCONTINUOUS]
UNWALKED = [name for name in SMOOTH if not name.startswith(("gru", "lstm"))]
"""Without recurrent networks, whose roundings inside (of ``1 - z``, say) no disturbance between nodes stands for."""
REWRITING = [p.name for p in PASSES if not p.required and p.name != "fuse"]
"""Passes that may compute in another way; without them a program does what its graph says, only fused."""


def run_fused(sample: Sample) -> dict[str, np.ndarray]:
    """The compiled outputs, after fusion but no rewriting."""
    constants = sample.constants.copy()
    graph = run_pipeline(sample.graph, constants, skip=REWRITING).graph
    return run_watched(lower_graph(graph, constants), sample.feeds, split=True, threads=3)


def run_all(sample: Sample, *, optimise: bool = True) -> dict[str, np.ndarray]:
    spec = compile_spec(sample.graph, sample.constants.copy(), optimise=optimise)
    return run_watched(spec, sample.feeds, split=optimise, threads=3)


def assert_equal(given: Mapping[str, np.ndarray], expected: Mapping[str, np.ndarray]) -> None:
    """The same numbers; zeros of either sign are equal, as are all NaNs."""
    assert given.keys() == expected.keys()
    for name, array in expected.items():
        assert given[name].dtype == array.dtype
        np.testing.assert_array_equal(given[name], array, name)


@settings(max_examples=24)
@given(seed=seeds)
def test_exact_operators_give_the_same_numbers(seed: int) -> None:
    sample = random_graph(seed, nodes=(5, 40), special=0.1, only=EXACT)
    expected = interpret(sample.graph, sample.constants, sample.feeds)
    assert_equal(run_fused(sample), expected)


@settings(max_examples=10)
@given(seed=seeds)
def test_exact_operators_need_no_pass(seed: int) -> None:
    sample = random_graph(seed, nodes=(5, 30), special=0.1, only=EXACT)
    expected = interpret(sample.graph, sample.constants, sample.feeds)
    assert_equal(run_all(sample, optimise=False), expected)


@settings(max_examples=24)
@given(seed=seeds)
def test_every_operator_in_double_precision(seed: int) -> None:
    """Rounding is far below what a wrong kernel changes."""
    sample = random_graph(seed, nodes=(5, 50), floats=("float64",), only=SMOOTH)
    expected = interpret(sample.graph, sample.constants, sample.feeds)
    assert_near(expected, run_all(sample), 1e-7)


@pytest.mark.parametrize("optimise", [True, False])
@settings(max_examples=16)
@given(seed=seeds)
def test_every_operator_in_single_precision(optimise: bool, seed: int) -> None:
    sample = random_graph(seed, nodes=(5, 30), only=UNWALKED)
    assert_as_good(run_all(sample, optimise=optimise), sample)


@settings(max_examples=28)
@given(seed=seeds, steps=st.integers(3, 25))
def test_reductions_and_what_is_around_them(seed: int, steps: int) -> None:
    sample = RowGraph(seed).sample(steps)
    assert_as_good(run_all(sample), sample)


@settings(max_examples=12)
@given(seed=seeds, steps=st.integers(3, 20))
def test_reductions_without_rewriting(seed: int, steps: int) -> None:
    sample = RowGraph(seed).sample(steps)
    assert_as_good(run_fused(sample), sample)


def assert_as_good(given: Mapping[str, np.ndarray], sample: Sample) -> None:
    """Errors are about as large as those of the graph in float64 whose every value is off by a rounding."""
    exact = in_double_precision(sample)
    disturbed = [in_double_precision(sample, np.random.default_rng(seed)) for seed in range(4)]
    assert given.keys() == exact.keys()
    for name, value in sample.graph.outputs:
        got, want = given[name], exact[name]
        assert (got.dtype, got.shape) == (numpy_dtype(value.dtype), want.shape)
        if not is_float(value.dtype):
            continue
        finite = np.isfinite(want)
        with np.errstate(all="ignore"):
            spread = max(float(np.abs(d[name] - want)[finite].max(initial=0.0)) for d in disturbed)
            scale = float(np.abs(want[finite]).max(initial=1e-30))
            room = 12 * spread + 16 * UNITS[value.dtype] * scale
            wrong = finite & ~(np.abs(got - want) <= room)
        assert not wrong.any(), f"{name}: {got[wrong][:4]}, expected {want[wrong][:4]} within {room}"


UNITS = {"float64": 2.0**-53, "float32": 2.0**-24, "float16": 2.0**-11}
"""Half a unit in the last place of 1."""


def in_double_precision(sample: Sample, noise: np.random.Generator | None = None) -> dict[str, np.ndarray]:
    """The outputs of the graph with float64 in place of every float.

    With ``noise`` every element of every value is off by up to two units of its own data type: how far that carries
    tells what rounding may do to the outputs.
    """

    def wide(v: Value, array: np.ndarray) -> np.ndarray:
        if not is_float(v.dtype):
            return array
        array = array.astype(np.float64)
        return array if noise is None else array * (1 + noise.uniform(-4, 4, array.shape) * UNITS[v.dtype])

    arrays = {v: wide(v, sample.feeds[v.name]) for v in sample.graph.inputs}
    arrays |= {v: wide(v, sample.constants.array(v)) for v in sample.graph.constants()}
    for node in sample.graph.nodes:
        attrs = dict(node.attrs)
        if node.op == "cast" and is_float(attrs["data_type"]):
            attrs["data_type"] = "float64"
        types = [TensorType("float64" if is_float(v.dtype) else v.dtype, v.shape) for v in node.outputs]
        results = evaluate(node.op, [None if v is None else arrays[v] for v in node.inputs], attrs, types)
        arrays |= {v: wide(v, np.asarray(r)) for v, r in zip(node.outputs, results)}
    return {name: arrays[v] for name, v in sample.graph.outputs}
