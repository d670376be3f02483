"""Random graphs compiled with and without fusion and the other passes, against the operators' NumPy semantics."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from basalt.compiler.interpret import interpret
from basalt.compiler.ir import Constants, Graph, Node, Value
from basalt.compiler.lower import compile_spec, lower_graph
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
ROUNDED_ONCE = ("add", "sub", "mul", "div", "neg", "abs", "relu", "sqrt", "reciprocal", "leaky_relu", "clamp", "where")
LOGIC = ("equal", "greater", "lesser_or_equal", "is_nan", "logical_not", "logical_and", "logical_xor", "cast")
EXACT = (*MOVES, *INDEXED, *ROUNDED_ONCE, *LOGIC, "reduce_max", "reduce_min", "max", "min", "floor", "sign", "arg_max")
"""Recipes each node of which gives the same bits however it is computed."""
SMOOTH = [name for name in RECIPES if name not in DISCONTINUOUS]
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


@settings(max_examples=40)
@given(seed=seeds)
def test_exact_operators_give_the_same_numbers(seed: int) -> None:
    sample = random_graph(seed, nodes=(5, 40), special=0.1, only=EXACT)
    expected = interpret(sample.graph, sample.constants, sample.feeds)
    assert_equal(run_fused(sample), expected)


@settings(max_examples=15)
@given(seed=seeds)
def test_exact_operators_need_no_pass(seed: int) -> None:
    sample = random_graph(seed, nodes=(5, 30), special=0.1, only=EXACT)
    expected = interpret(sample.graph, sample.constants, sample.feeds)
    assert_equal(run_all(sample, optimise=False), expected)


@settings(max_examples=40)
@given(seed=seeds)
def test_every_operator_in_double_precision(seed: int) -> None:
    """Rounding is far below what a wrong kernel changes."""
    sample = random_graph(seed, nodes=(5, 50), floats=("float64",), only=SMOOTH)
    expected = interpret(sample.graph, sample.constants, sample.feeds)
    assert_near(expected, run_all(sample), 1e-7)


@pytest.mark.parametrize("optimise", [True, False])
@settings(max_examples=25)
@given(seed=seeds)
def test_every_operator_in_single_precision(optimise: bool, seed: int) -> None:
    """About as far from the results in float64 as NumPy's are, which round after each operator."""
    sample = random_graph(seed, nodes=(5, 30), only=SMOOTH)
    assert_as_good(run_all(sample, optimise=optimise), sample)


@settings(max_examples=50)
@given(seed=seeds, steps=st.integers(3, 25))
def test_reductions_and_what_is_around_them(seed: int, steps: int) -> None:
    sample = RowGraph(seed).sample(steps)
    assert_as_good(run_all(sample), sample)


@settings(max_examples=20)
@given(seed=seeds, steps=st.integers(3, 20))
def test_reductions_without_rewriting(seed: int, steps: int) -> None:
    sample = RowGraph(seed).sample(steps)
    assert_as_good(run_fused(sample), sample)


def assert_as_good(given: Mapping[str, np.ndarray], sample: Sample) -> None:
    """Errors against the graph in float64 are no larger than NumPy's, but for a factor and some roundings."""
    rounded = interpret(sample.graph, sample.constants, sample.feeds)
    exact = in_double_precision(sample)
    assert given.keys() == rounded.keys()
    for name, want in rounded.items():
        got = given[name]
        assert (got.dtype, got.shape) == (want.dtype, want.shape)
        if not is_float(want.dtype.name):
            continue
        with np.errstate(all="ignore"):
            error, room = np.abs(got - exact[name]), np.abs(want - exact[name])
            finite = np.isfinite(exact[name])
            scale = float(np.abs(exact[name][finite]).max(initial=1e-30))
            # A half somewhere in the graph rounds coarser than the output's own data type tells.
            unit = 2.0**-10 if "float16" in data_types(sample.graph) else np.finfo(want.dtype).eps
            room = 30 * float(room[finite].max(initial=0.0)) + 40 * unit * scale
            wrong = finite & ~(error <= room)
        assert not wrong.any(), f"{name}: {got[wrong][:4]}, expected {exact[name][wrong][:4]} within {room}"


def data_types(graph: Graph) -> set[str]:
    return {v.dtype for n in graph.nodes for v in (*n.present, *n.outputs)}


def in_double_precision(sample: Sample) -> dict[str, np.ndarray]:
    """The outputs of the graph with float64 in place of every float."""
    constants = Constants()
    known: dict[Value, Value] = {}

    def wide(v: Value) -> Value:
        if v not in known:
            if v.is_constant:
                array = sample.constants.array(v)
                known[v] = constants.add(array.astype(np.float64) if is_float(v.dtype) else array)
            else:
                known[v] = Value(TensorType("float64" if is_float(v.dtype) else v.dtype, v.shape), v.name)
        return known[v]

    nodes = []
    for n in sample.graph.nodes:
        attrs = dict(n.attrs)
        if n.op == "cast" and is_float(attrs["data_type"]):
            attrs["data_type"] = "float64"
        inputs = tuple(None if v is None else wide(v) for v in n.inputs)
        nodes.append(Node(n.op, inputs, tuple(map(wide, n.outputs)), attrs))
    graph = Graph(
        tuple(map(wide, sample.graph.inputs)), tuple((k, wide(v)) for k, v in sample.graph.outputs), tuple(nodes)
    )
    feeds = {k: a.astype(np.float64) if is_float(a.dtype.name) else a for k, a in sample.feeds.items()}
    return interpret(graph, constants, feeds)


def test_data_type_names_agree() -> None:
    assert numpy_dtype("float64") == np.float64
