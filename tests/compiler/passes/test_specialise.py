"""Concrete sizes for symbolic ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from basalt.compiler.interpret import interpret
from basalt.compiler.passes.specialise import specialise
from basalt.compiler.text import print_graph
from basalt.compiler.verify import verify
from basalt.errors import ValidationError
from basalt.ops import symbol

from ..making import Maker

N, H = symbol("n"), symbol("h")


def _model() -> tuple[Any, Maker]:
    m = Maker()
    x = m.input("x", "float32", (N, 3, H, H))
    y = m.average_pool2d(x, label="pool")
    y = m.reshape(y, (N, 3))
    z = m.slice(x, (0, 0, 0, 0), (N, 1, H, 1))
    return m.graph(y=m.add(y, m.constant([1, 2, 3])), z=z, e=m.expand(m.constant(1.0), (N, H + 1))), m


def test_sizes_and_attributes_are_bound() -> None:
    graph, m = _model()
    after = specialise(graph, {"n": 2, "h": 4})
    verify(after, m.constants)
    assert after.is_static
    assert print_graph(after, m.constants).splitlines() == [
        "graph(%x: float32[2, 3, 4, 4]) {",
        "  %c1 = constant float32[3] {1, 2, 3}",
        "  %c2 = constant float32[] {1}",
        "  %v3 = average_pool2d(%x) [dilations=(1, 1), layout=nchw, output_shape_rounding=floor, padding=(0, 0, 0, 0),"
        ' strides=(1, 1), window_dimensions=(4, 4)]: float32[2, 3, 1, 1] "pool"',
        "  %v4 = reshape(%v3) [new_shape=(2, 3)]: float32[2, 3]",
        "  %v5 = slice(%x) [sizes=(2, 1, 4, 1), starts=(0, 0, 0, 0), strides=(1, 1, 1, 1)]: float32[2, 1, 4, 1]",
        "  %v6 = add(%v4, %c1): float32[2, 3]",
        "  %v7 = expand(%c2) [new_shape=(2, 5)]: float32[2, 5]",
        "  return y=%v6, z=%v5, e=%v7",
        "}",
    ]
    x = np.random.default_rng(0).normal(size=(2, 3, 4, 4)).astype(np.float32)
    results = interpret(after, m.constants, {"x": x})
    np.testing.assert_allclose(results["y"], x.mean((2, 3)) + [1, 2, 3], rtol=1e-5)
    np.testing.assert_array_equal(results["z"], x[:, :1, :, :1])


def test_the_graph_stays_and_can_be_specialised_again() -> None:
    graph, _ = _model()
    before = print_graph(graph)
    first, second = (specialise(graph, {"n": n, "h": 4}) for n in (1, 5))
    assert print_graph(graph) == before
    assert first.inputs[0].shape == (1, 3, 4, 4) and second.inputs[0].shape == (5, 3, 4, 4)


def test_a_static_graph_is_returned_as_it_is() -> None:
    m = Maker()
    graph = m.graph(y=m.relu(m.input("x", "float32", (2,))))
    assert specialise(graph, {}) is graph


def test_outputs_that_are_inputs_are_bound() -> None:
    m = Maker()
    graph = m.graph(y=m.input("x", "float32", (N,)))
    assert specialise(graph, {"n": 3}).outputs[0][1].shape == (3,)


def test_expressions_in_inputs() -> None:
    m = Maker()
    graph = m.graph(y=m.relu(m.input("x", "float32", (N + 2, N - 1))))
    assert specialise(graph, {"n": 1}).outputs[0][1].shape == (3, 0)
    with pytest.raises(
        ValidationError, match=r"input x \(float32\[n \+ 2, n - 1\]\) would have size -1 for \{'n': 0\}"
    ):
        specialise(graph, {"n": 0})


@pytest.mark.parametrize(
    ("bindings", "message"),
    [
        ({"n": 2}, r"no size is given for h; given are \{'n': 2\}"),
        ({}, "no size is given for h, n"),
        ({"n": 2, "h": 4, "w": 1}, "sizes are given for w, but the graph's symbols are: h, n"),
        ({"n": 2, "h": -1}, "the size of h is -1, expected an integer of at least 0"),
        ({"n": 2.0, "h": 4}, r"the size of n is 2\.0, expected an integer"),
        ({"n": True, "h": 4}, "the size of n is True, expected an integer"),
    ],
)
def test_wrong_bindings(bindings: Any, message: str) -> None:
    graph, _ = _model()
    with pytest.raises(ValidationError, match=message):
        specialise(graph, bindings)


def test_sizes_that_a_rule_refuses_name_the_node() -> None:
    m = Maker()
    a, b = m.input("a", "float32", (N,)), m.input("b", "float32", (H,))
    graph = m.graph(y=m.add(a, b, label="sum"))
    assert specialise(graph, {"n": 1, "h": 4}).outputs[0][1].shape == (4,)
    with pytest.raises(ValidationError, match=r'add "sum" \(a: float32\[2\], b: float32\[4\]\).*cannot be broadcast'):
        specialise(graph, {"n": 2, "h": 4})
