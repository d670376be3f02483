"""Convolutions with few channels whose results lie with their columns last: unfolded panels of pixels."""

from __future__ import annotations

from typing import Any

import pytest

from basalt.compiler.kernels.target import target
from basalt.compiler.lower import lower_graph
from basalt.compiler.passes.fuse import fuse
from basalt.compiler.templates import conv_columns

from .harness import Maker, numbers
from .test_conv import convolve

CASES = [
    ({"c": 3, "o": 20, "h": 9, "w": 32, "y": 7, "x": 7}, {"padding": (3, 3, 3, 3), "strides": (2, 2)}),
    ({"c": 3, "o": 17, "h": 9, "w": 32}, {"padding": (1, 1, 1, 1), "strides": (2, 2), "dtype": "float64"}),
    ({"n": 2, "c": 1, "o": 70, "h": 1, "w": 500, "y": 1, "x": 10}, {"strides": (1, 5)}),
    ({"g": 2, "c": 3, "o": 19, "h": 7, "w": 30, "x": 5}, {"padding": (2, 2, 3, 1), "dilations": (3, 2)}),
    ({"c": 5, "o": 300, "h": 5, "w": 31, "y": 2}, {"padding": (1, 0, 1, 0)}),
    ({"c": 2, "o": 16, "h": 4, "w": 200, "x": 40}, {"padding": (1, 1, 39, 39), "strides": (1, 2)}),
    ({"c": 4, "o": 24, "h": 6, "w": 15}, {"padding": (3, 3, 1, 1), "filter_layout": "hwio", "strides": (2, 1)}),
    ({"n": 2, "g": 2, "c": 3, "o": 17, "h": 6, "w": 46, "x": 7}, {"padding": (2, 0, 9, 9), "dtype": "float64"}),
    ({"c": 3, "o": 18, "h": 6, "w": 70, "x": 2}, {"padding": (0, 2, 1, 30), "strides": (1, 2)}),
    ({"c": 1, "o": 33, "h": 33, "w": 29}, {"constant": False, "bias": False, "padding": (1, 1, 1, 1)}),
]


@pytest.mark.parametrize(("sizes", "options"), CASES)
@pytest.mark.parametrize("fused", [False, True])
def test_windows(sizes: dict[str, int], options: dict[str, Any], fused: bool) -> None:
    convolve("conv2d", {"n": 1, "g": 1, "y": 3, "x": 3} | sizes, fused=fused, **options)


def test_deep_windows_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A panel that is packed and multiplied part by part, for several blocks of output channels."""
    monkeypatch.setattr(conv_columns, "DEEPEST", 10_000)
    sizes = {"n": 1, "g": 1, "c": 90, "o": 270, "h": 5, "w": 33, "y": 3, "x": 3}
    convolve("conv2d", sizes, padding=(1, 1, 1, 1), strides=(2, 1), fused=True)


@pytest.mark.skipif(target().registers > 16, reason="processors with more registers have other tiles")
def test_neither_images_nor_results_are_copied() -> None:
    m = Maker()
    x = m.input("x", "float32", (1, 3, 32, 32))
    y = m.relu(m.conv2d(x, m.constant(numbers(1, (32, 3, 7, 7))), padding=(3, 3, 3, 3), strides=(2, 2)))
    (kernel,) = lower_graph(fuse(m.graph(y=y)), m.constants).kernels
    assert "unfold_" in kernel.source
    assert "_line2(" in kernel.source
