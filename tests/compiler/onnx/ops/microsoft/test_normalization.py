"""Layer normalisations of ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

from .comparison import agree, basalt_results, interpreted, node_model

RNG = np.random.default_rng(1)
X = RNG.normal(size=(2, 3, 8)).astype(np.float32)
SKIP = RNG.normal(size=(2, 3, 8)).astype(np.float32)
GAMMA, BETA, BIAS = (RNG.normal(size=8).astype(np.float32) for _ in range(3))


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("beta", [None, BETA])
@pytest.mark.parametrize("bias", [None, BIAS])
def test_skip_layer_normalization(beta: Any, bias: Any, compiled: bool) -> None:
    names = ["y", "", "", "total"]
    agree(
        "SkipLayerNormalization", [X, SKIP, GAMMA, beta, bias], names, compiled=compiled, attributes={"epsilon": 1e-3}
    )


@pytest.mark.parametrize("skip", [SKIP[:1], SKIP[0]])
def test_skip_of_fewer_rows(skip: np.ndarray) -> None:
    agree("SkipLayerNormalization", [X, skip, GAMMA, BETA])


@pytest.mark.parametrize("op", ["SkipLayerNormalization", "SkipSimplifiedLayerNormalization"])
def test_skip_in_float16(op: str) -> None:
    agree(op, [t.astype(np.float16) for t in (X, SKIP, GAMMA)], rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("bias", [None, BIAS])
def test_skip_simplified(bias: Any, compiled: bool) -> None:
    agree("SkipSimplifiedLayerNormalization", [X, SKIP, GAMMA, bias], ["y", "", "", "total"], compiled=compiled)
    agree("SkipSimplifiedLayerNormalization", [X[0], SKIP[0], GAMMA, bias], compiled=compiled)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("axis", [-1, 1, 0])
def test_simplified(axis: int, compiled: bool) -> None:
    scale = RNG.normal(size=X.shape[axis:]).astype(np.float32)
    agree("SimplifiedLayerNormalization", [X, scale], 2, domain="", attributes={"axis": axis}, compiled=compiled)


@pytest.mark.parametrize("axis", [-1, 1])
@pytest.mark.parametrize("bias", [False, True])
def test_layer_normalization_before_the_standard(axis: int, bias: bool) -> None:
    scale, shift = (RNG.normal(size=X.shape[axis:]).astype(np.float32) for _ in range(2))
    inputs = [X, scale, shift] if bias else [X, scale]
    results = agree("LayerNormalization", inputs, 3, domain="", opset=12, attributes={"axis": axis})
    for op, others in (("LayerNormalization", results), ("SimplifiedLayerNormalization", None)):
        model = node_model(op, inputs if others else inputs[:2], 1, {"axis": axis})
        with interpreted():
            y = basalt_results(model, inputs)[0] if others else basalt_results(model, inputs[:2])[0]
        if others:
            np.testing.assert_allclose(y, others[0], rtol=1e-6)
        else:
            axes = tuple(range(axis % 3, 3))
            expected = X / np.sqrt((X**2).mean(axes, keepdims=True) + 1e-5) * scale
            np.testing.assert_allclose(y, expected, rtol=1e-5, atol=1e-6)


WORDS = RNG.integers(0, 10, (2, 5)).astype(np.int32)
SEGMENTS = RNG.integers(0, 2, (2, 5)).astype(np.int32)
MASK = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], np.int32)
TABLES = [RNG.normal(size=(rows, 8)).astype(np.float32) for rows in (10, 7, 2)]


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("mask", [None, MASK])
@pytest.mark.parametrize("places", [None, np.array([[4, 3, 2, 1, 0]], np.int32)])
@pytest.mark.parametrize("segments", [True, False])
def test_embed_layer_normalization(segments: bool, places: Any, mask: Any, compiled: bool) -> None:
    kinds, table = (SEGMENTS, TABLES[2]) if segments else (None, None)
    inputs = [WORDS, kinds, TABLES[0], TABLES[1], table, GAMMA, BETA, mask, places]
    agree("EmbedLayerNormalization", inputs, 3, compiled=compiled, constant=[2, 3, 4, 5, 6])
