"""Activations with biases, as ONNX Runtime computes them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

from scipy.special import erf

from .comparison import agree, basalt_results, interpreted, node_model

RNG = np.random.default_rng(0)
X = RNG.normal(size=(2, 3, 8)).astype(np.float32) * 3
BIAS = RNG.normal(size=8).astype(np.float32)


def gelu(x: np.ndarray) -> Any:
    return 0.5 * x * (1 + erf(x / np.sqrt(2)))


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(
    ("op", "inputs", "attributes"),
    [
        ("Gelu", [X], {}),
        ("BiasGelu", [X, BIAS], {}),
        ("FastGelu", [X], {}),
        ("FastGelu", [X, BIAS], {}),
        ("QuickGelu", [X], {}),
        ("QuickGelu", [X], {"alpha": 0.5}),
    ],
)
def test_against_onnx_runtime(op: str, inputs: list[np.ndarray], attributes: dict[str, Any], compiled: bool) -> None:
    agree(op, inputs, attributes=attributes, compiled=compiled)


@pytest.mark.parametrize("dtype", [np.float16, np.float64])
@pytest.mark.parametrize("op", ["Gelu", "FastGelu", "QuickGelu"])
def test_other_types(op: str, dtype: Any) -> None:
    """ONNX Runtime's CPU kernels take float32 alone."""
    x = X.astype(dtype)
    (y,) = basalt_results(node_model(op, [x], 1, {}), [x])
    wide = x.astype(np.float64)
    expected = {
        "Gelu": gelu(wide),
        "FastGelu": 0.5 * wide * (1 + np.tanh(np.sqrt(2 / np.pi) * (wide + 0.044715 * wide**3))),
        "QuickGelu": wide / (1 + np.exp(-np.float64(np.float32(1.702)) * wide)),
    }[op]
    assert y.dtype == dtype
    np.testing.assert_allclose(
        y, expected, rtol=2e-3 if dtype == np.float16 else 1e-6, atol=1e-3 if dtype == np.float16 else 1e-8
    )


def run(op: str, inputs: list[Any], outputs: int = 1, **attributes: Any) -> list[np.ndarray]:
    with interpreted():
        return basalt_results(node_model(op, inputs, outputs, attributes), inputs)


def test_bias_split_gelu() -> None:
    (y,) = run("BiasSplitGelu", [X, BIAS])
    total = X + BIAS
    np.testing.assert_allclose(y, total[..., :4] * gelu(total[..., 4:]), rtol=1e-5, atol=1e-6)


def test_bias_add() -> None:
    np.testing.assert_allclose(run("BiasAdd", [X, BIAS, X])[0], X + BIAS + X, rtol=1e-6)


@pytest.mark.parametrize("residual", [None, X])
def test_bias_dropout_drops_nothing(residual: Any) -> None:
    y, mask = run("BiasDropout", [X, BIAS, residual], 2)
    np.testing.assert_allclose(y, X + BIAS + (0 if residual is None else residual), rtol=1e-6)
    assert mask.all() and mask.shape == X.shape and mask.dtype == bool


def softmax(x: np.ndarray) -> Any:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def test_bias_softmax() -> None:
    x = RNG.normal(size=(2, 4, 3, 5)).astype(np.float32)
    inner = RNG.normal(size=(2, 1, 3, 5)).astype(np.float32)
    outer = RNG.normal(size=(3, 5)).astype(np.float32)
    flat = softmax((x + inner).reshape(2, 4, 15)).reshape(x.shape)
    np.testing.assert_allclose(run("BiasSoftmax", [x, inner], axis=2, is_inner_broadcast=1)[0], flat, rtol=1e-5)
    np.testing.assert_allclose(
        run("BiasSoftmax", [x, inner[:, 0]], axis=3, is_inner_broadcast=1)[0], softmax(x + inner), rtol=1e-5
    )
    np.testing.assert_allclose(
        run("BiasSoftmax", [x, outer], axis=3, is_inner_broadcast=0)[0], softmax(x + outer), rtol=1e-5
    )
