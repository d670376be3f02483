"""Random graphs of many operators, at all opsets."""

from __future__ import annotations

import pytest

from basalt.compiler.interpret import interpret
from basalt.compiler.model import Model
from basalt.compiler.onnx.export import to_onnx
from basalt.compiler.onnx.model import OnnxExecutable
from basalt.serialization.onnx import OnnxModel

from ...graphs import assert_near, random_graph
from ...recipes import DISCONTINUOUS, RECIPES
from .one_operator import interpreting, run_elsewhere

SMOOTH = [name for name in RECIPES if name not in DISCONTINUOUS]
FLOATS = (("float32",), ("float64", "float32"), ("float32", "float16"), ("float32", "bfloat16"))
INTS = ("int32", "uint8", "int64", "int8")


@pytest.mark.parametrize("seed", range(60))
def test_results_stay_equal(seed: int) -> None:
    floats = FLOATS[seed % 4]
    sample = random_graph(seed, nodes=(3, 25), floats=floats, ints=INTS, only=SMOOTH)
    if not sample.graph.outputs:
        return
    wanted = interpret(sample.graph, sample.constants, sample.feeds)
    encoded = to_onnx(Model(sample.graph, sample.constants), opset=17 + seed % 12).to_bytes()
    feeds = {v.name: sample.feeds[v.name] for v in sample.graph.inputs}
    near = 2e-4 if "16" not in floats[-1] else 5e-2
    results, _ = run_elsewhere(encoded, feeds)
    assert results is not None
    assert_near(wanted, results, near)
    with interpreting():
        assert_near(wanted, OnnxExecutable(OnnxModel.load(encoded)).run(feeds), near)
