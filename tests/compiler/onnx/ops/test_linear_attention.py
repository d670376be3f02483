"""LinearAttention and CausalConvWithState of ai.onnx."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from basalt.errors import BasaltError

from .one_node import run

RNG = np.random.default_rng(2)
RULES = ["linear", "gated", "delta", "gated_delta"]


def random(*shape: int) -> np.ndarray:
    return (RNG.normal(size=shape) * 0.5).astype(np.float32)


def reference(
    q: Any, k: Any, v: Any, state: Any, decay: Any, beta: Any, heads: int, shared: int, scale: float
) -> tuple[np.ndarray, np.ndarray]:
    batch, length, _ = q.shape
    size, width = q.shape[2] // heads, v.shape[2] // shared
    q, k, v = (t.astype(np.float64).reshape(batch, length, h, -1) for t, h in ((q, heads), (k, shared), (v, shared)))
    state = np.zeros((batch, shared, size, width)) if state is None else state.astype(np.float64)
    rows = []
    for t in range(length):
        if decay is not None:
            state = state * np.exp(decay[:, t].reshape(batch, shared, -1, 1))
        value = v[:, t]
        if beta is not None:
            value = beta[:, t].reshape(batch, -1, 1) * (value - np.einsum("bhdm,bhd->bhm", state, k[:, t]))
        state = state + k[:, t, :, :, None] * value[:, :, None]
        read = np.repeat(state, heads // shared, 1)
        rows.append(scale * np.einsum("bhd,bhdm->bhm", q[:, t], read).reshape(batch, -1))
    return np.stack(rows, 1), state


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("past", [False, True])
@pytest.mark.parametrize("rule", RULES)
def test_rules(rule: str, past: bool, compiled: bool) -> None:
    heads, shared, size, width, length = 4, 2, 3, 5, 4
    q, k, v = random(2, length, heads * size), random(2, length, shared * size), random(2, length, shared * width)
    state = random(2, shared, size, width) if past else None
    for per_key in (False, True) if "gated" in rule else (False,):
        decay = -abs(random(2, length, shared * (size if per_key else 1))) if "gated" in rule else None
        beta = abs(random(2, length, 1 if per_key else shared)) if "delta" in rule else None
        attributes = {"q_num_heads": heads, "kv_num_heads": shared, "update_rule": rule}
        found = run("LinearAttention", 27, q, k, v, state, decay, beta, outputs=2, compiled=compiled, **attributes)
        expected = reference(q, k, v, state, decay, beta, heads, shared, 1 / np.sqrt(size))
        for result, wanted in zip(found, expected):
            np.testing.assert_allclose(result, wanted, rtol=1e-4, atol=1e-5)


def test_long_sequences() -> None:
    """Beyond what is unrolled the host computes the same."""
    length = 140
    q, k, v = random(1, length, 4), random(1, length, 2), random(1, length, 2)
    decay, beta = -abs(random(1, length, 1)), abs(random(1, length, 1))
    attributes = {"q_num_heads": 2, "kv_num_heads": 1, "scale": 0.5}
    found = run("LinearAttention", 27, q, k, v, None, decay, beta, outputs=2, symbolic=True, **attributes)
    for result, wanted in zip(found, reference(q, k, v, None, decay, beta, 2, 1, 0.5)):
        np.testing.assert_allclose(result, wanted, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_state_of_another_type(dtype: Any) -> None:
    q, k, v, state = random(1, 2, 4), random(1, 2, 4), random(1, 2, 4), random(1, 2, 2, 2)
    attributes = {"q_num_heads": 2, "kv_num_heads": 2, "update_rule": "linear"}
    inputs = [t.astype(dtype) for t in (q, k, v)]
    y, last = run("LinearAttention", 27, *inputs, state, outputs=2, compiled=False, **attributes)
    assert y.dtype == dtype and last.dtype == np.float32
    expected = reference(*inputs, state, None, None, 2, 2, 1 / np.sqrt(2))
    np.testing.assert_allclose(y.astype(np.float64), expected[0], rtol=2e-2, atol=2e-2)


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"update_rule": "other"}, "update_rule"),
        ({"update_rule": "gated"}, "decay"),
        ({"update_rule": "linear", "kv_num_heads": 3}, "multiple"),
    ],
)
def test_refused(attributes: dict[str, Any], message: str) -> None:
    x = random(1, 2, 4)
    with pytest.raises(BasaltError, match=message):
        run("LinearAttention", 27, x, x, x, outputs=2, **{"q_num_heads": 2, "kv_num_heads": 2, **attributes})


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("activation", ["none", "silu", "swish"])
@pytest.mark.parametrize("past", [False, True])
@pytest.mark.parametrize(("length", "size"), [(5, 3), (1, 4), (3, 1)])
def test_causal_convolution(length: int, size: int, past: bool, activation: str, compiled: bool) -> None:
    x, w, b = random(2, 3, length), random(3, 1, size), random(3)
    state = random(2, 3, size - 1) if past and size > 1 else None
    before = np.zeros((2, 3, size - 1)) if state is None else state
    padded = np.concatenate([before, x], 2)
    expected = np.stack([(padded[:, :, i : i + size] * w[:, 0]).sum(2) for i in range(length)], 2) + b[:, None]
    if activation != "none":
        expected = expected / (1 + np.exp(-expected))
    how = {"activation": activation, "compiled": compiled, "outputs": 2}
    y, last = run("CausalConvWithState", 27, x, w, b, state, **how)
    np.testing.assert_allclose(y, expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(last, padded[:, :, length:], rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_causal_convolution_in_short_floats(dtype: Any) -> None:
    x, w = random(1, 2, 4).astype(dtype), random(2, 1, 2).astype(dtype)
    y, last = run("CausalConvWithState", 27, x, w, outputs=2, activation="silu", compiled=False)
    assert y.dtype == dtype and last.dtype == dtype
    padded = np.concatenate([np.zeros((1, 2, 1)), x.astype(np.float64)], 2)
    sums = padded[:, :, :-1] * w[:, 0, :1].astype(np.float64) + padded[:, :, 1:] * w[:, 0, 1:].astype(np.float64)
    np.testing.assert_allclose(y.astype(np.float64), sums / (1 + np.exp(-sums)), rtol=2e-2, atol=2e-2)


def test_causal_convolution_refuses() -> None:
    x, w = random(1, 2, 4), random(2, 1, 2)
    with pytest.raises(BasaltError, match="activation"):
        run("CausalConvWithState", 27, x, w, outputs=2, activation="other")
    with pytest.raises(BasaltError, match="past_state"):
        run("CausalConvWithState", 27, x, w, None, random(1, 2, 3), outputs=2)
    with pytest.raises(BasaltError, match="expected"):
        run("CausalConvWithState", 27, x[0], w, outputs=2)
