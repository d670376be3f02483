"""Random graphs compute the same before and after each pass and the whole pipeline."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from basalt.compiler.interpret import interpret
from basalt.compiler.ir import Graph
from basalt.compiler.passes import simplify
from basalt.compiler.passes.canonicalise import NOT_IN_CORE
from basalt.compiler.passes.context import Context, Debug
from basalt.compiler.passes.rewriting import apply_rewrites, index
from basalt.compiler.pipeline import PASSES, Pass, lowered_graph, run_pipeline
from basalt.compiler.verify import verify

from ..graphs import Sample, assert_identical, assert_near, random_graph
from ..recipes import DISCONTINUOUS, RECIPES

seeds = st.integers(0, 2**32 - 1)
_BY_NAME = {p.name: p for p in PASSES}
EXACT = (
    "infer_shapes",
    "integer_products",
    "fold_constants",
    "common_subexpressions",
    "dead_code",
    "separate_outputs",
    "fuse",
)
SMOOTH = [name for name in RECIPES if name not in DISCONTINUOUS]
_EXACT_RULES = index(r for r in simplify.REWRITES if r.exact and r.name != "clamp_of_clamp")
"""Merged limits are exact for IEEE 754's maximum, in which 0 exceeds -0; NumPy's gives one or the other zero."""


def _run(one: Pass, sample: Sample) -> Graph:
    graph = one.function(sample.graph, Context(sample.constants))
    verify(graph, sample.constants, one.name)
    return graph


@pytest.mark.parametrize("name", EXACT)
@settings(max_examples=40, deadline=None, derandomize=True)
@given(seed=seeds)
def test_exact_pass_keeps_every_bit(name: str, seed: int) -> None:
    sample = random_graph(seed, special=0.1)
    before = interpret(sample.graph, sample.constants, sample.feeds)
    graph = _run(_BY_NAME[name], sample)
    assert_identical(before, interpret(graph, sample.constants, sample.feeds))


@settings(max_examples=250, deadline=None, derandomize=True)
@given(seed=seeds)
def test_exact_rewrites_keep_every_bit(seed: int) -> None:
    sample = random_graph(seed, special=0.1)
    before = interpret(sample.graph, sample.constants, sample.feeds)
    graph = apply_rewrites(sample.graph, Context(sample.constants), _EXACT_RULES, "simplify")
    verify(graph, sample.constants, "simplify")
    assert_identical(before, interpret(graph, sample.constants, sample.feeds))


@settings(max_examples=150, deadline=None, derandomize=True)
@given(seed=seeds)
def test_pipeline_is_the_same_algebra(seed: int) -> None:
    """In float64 rounding is far below what a wrong rewrite changes."""
    sample = random_graph(seed, floats=("float64",), only=SMOOTH)
    before = interpret(sample.graph, sample.constants, sample.feeds)
    result = run_pipeline(sample.graph, sample.constants, debug=Debug(verify=True))
    assert_near(before, interpret(result.graph, sample.constants, sample.feeds), 1e-7)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(seed=seeds)
def test_pipeline_rounds_little_in_float32(seed: int) -> None:
    sample = random_graph(seed, nodes=(5, 15), floats=("float32",), only=SMOOTH)
    before = interpret(sample.graph, sample.constants, sample.feeds)
    result = run_pipeline(sample.graph, sample.constants, debug=Debug(verify=True))
    assert_near(before, interpret(result.graph, sample.constants, sample.feeds), 2e-3)


@pytest.mark.parametrize(
    ("floats", "ints"),
    [
        (("float32", "float16"), ("int32", "uint8", "int64", "int8", "uint32", "uint64")),
        (("bfloat16", "float64"), ("int16", "uint16", "uint8", "int32")),
    ],
    ids=["standard", "extended"],
)
@settings(max_examples=50, deadline=None, derandomize=True)
@given(seed=seeds)
def test_pipeline_takes_all_types_and_operators(floats: tuple[str, ...], ints: tuple[str, ...], seed: int) -> None:
    """Types, shapes and names of outputs stay, whatever the values are."""
    sample = random_graph(seed, special=0.1, floats=floats, ints=ints)
    result = run_pipeline(sample.graph, sample.constants, debug=Debug(verify=True))
    before = {name: v.type for name, v in sample.graph.outputs}
    assert {name: v.type for name, v in result.graph.outputs} == before
    assert [v.name for v in result.graph.inputs] == [v.name for v in sample.graph.inputs]
    interpret(result.graph, sample.constants, sample.feeds)


@pytest.mark.parametrize("name", ["simplify", "canonicalise", "fold_normalisation"])
@settings(max_examples=40, deadline=None, derandomize=True)
@given(seed=seeds)
def test_rewriting_reaches_a_fixed_point(name: str, seed: int) -> None:
    sample = random_graph(seed)
    once = _run(_BY_NAME[name], sample)
    assert _BY_NAME[name].function(once, Context(sample.constants)) is once


@settings(max_examples=40, deadline=None, derandomize=True)
@given(seed=seeds)
def test_required_passes_alone_give_core_graphs(seed: int) -> None:
    sample = random_graph(seed)
    graph = lowered_graph(sample.graph, sample.constants, optimise=False)
    assert {node.op for node in graph.nodes} & NOT_IN_CORE == set()
    outputs = [v for _, v in graph.outputs]
    assert len(set(outputs)) == len(outputs)
    assert not any(v.is_constant or v in graph.inputs for v in outputs)
