"""Attention operators of ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

from basalt.errors import BasaltError

from .comparison import agree, basalt_results, interpreted, node_model, ort_results

RNG = np.random.default_rng(3)


def random(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape).astype(np.float32)


X, WEIGHTS, BIAS = random(2, 5, 6), random(6, 24), random(24)
PAST = random(2, 2, 2, 3, 4)
ENDS = np.array([3, 5], np.int32)
STARTS = np.array([1, 2], np.int32)


def mask(*shape: int) -> np.ndarray:
    shown = RNG.integers(0, 2, shape).astype(np.int32)
    shown[..., 0] = 1
    return shown


@pytest.mark.parametrize("causal", [0, 1])
@pytest.mark.parametrize(
    "index",
    [None, ENDS, np.concatenate([ENDS, STARTS]), mask(2, 5), mask(2, 5, 5), np.zeros((2, 5), np.int32)],
    ids=["none", "ends", "ranges", "rows", "squares", "hidden"],
)
def test_attention(index: Any, causal: int) -> None:
    agree("Attention", [X, WEIGHTS, BIAS, index], 2, attributes={"num_heads": 2, "unidirectional": causal})


def test_attention_compiled() -> None:
    attributes = {"num_heads": 2, "unidirectional": 1, "scale": 0.3, "mask_filter_value": -50.0}
    agree("Attention", [X, WEIGHTS, BIAS, mask(2, 5)], 2, attributes=attributes, compiled=True)


@pytest.mark.parametrize("causal", [0, 1])
def test_attention_with_past(causal: int) -> None:
    attributes = {"num_heads": 2, "unidirectional": causal}
    agree("Attention", [X, WEIGHTS, BIAS, mask(2, 8), PAST], 2, attributes=attributes)
    agree("Attention", [X, WEIGHTS, BIAS, mask(2, 5), None, random(1, 2, 5, 5)], 2, attributes=attributes)


def test_attention_of_other_sizes() -> None:
    attributes = {"num_heads": 2, "qkv_hidden_sizes": [8, 8, 12]}
    agree("Attention", [X, random(6, 28), random(28)], attributes=attributes)


def test_attention_without_bias() -> None:
    agree("Attention", [X, WEIGHTS], attributes={"num_heads": 2})


def test_attention_refuses() -> None:
    with pytest.raises(BasaltError, match="past_present_share_buffer"):
        model = node_model("Attention", [X, WEIGHTS], 1, {"num_heads": 2, "past_present_share_buffer": 1})
        basalt_results(model, [X, WEIGHTS])


Q, K, V = random(2, 3, 8), random(2, 5, 8), random(2, 5, 12)
QKV_BIAS = random(28)


@pytest.mark.parametrize("bias", [None, QKV_BIAS])
@pytest.mark.parametrize("padding", [None, ENDS, mask(2, 5), mask(2, 3, 5)], ids=["none", "ends", "rows", "squares"])
def test_multi_head_attention(padding: Any, bias: Any) -> None:
    agree("MultiHeadAttention", [Q, K, V, bias, padding], attributes={"num_heads": 2})


def test_multi_head_attention_compiled() -> None:
    inputs = [Q, K, V, QKV_BIAS, mask(2, 5), random(2, 2, 3, 5)]
    agree("MultiHeadAttention", inputs, attributes={"num_heads": 2, "scale": 0.2}, compiled=True)


def test_multi_head_attention_packed() -> None:
    """ONNX Runtime's CPU kernel takes no packed inputs; the same unpacked must give the same."""
    three, two = random(2, 3, 2, 3, 4), random(2, 5, 2, 2, 4)
    for inputs, parts in (
        ([three], [three[:, :, :, i].reshape(2, 3, 8) for i in range(3)]),
        ([Q, two], [Q, *[two[:, :, :, i].reshape(2, 5, 8) for i in range(2)]]),
    ):
        with interpreted():
            (y,) = basalt_results(node_model("MultiHeadAttention", inputs, 1, {"num_heads": 2}), inputs)
        (expected,) = ort_results(node_model("MultiHeadAttention", parts, 1, {"num_heads": 2}), parts)
        np.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("bias", [None, random(24)])
def test_multi_head_attention_of_cached_keys(bias: Any) -> None:
    agree("MultiHeadAttention", [Q, random(2, 2, 5, 4), random(2, 2, 5, 4), bias], attributes={"num_heads": 2})


@pytest.mark.parametrize("causal", [0, 1])
def test_multi_head_attention_with_past(causal: int) -> None:
    inputs = [Q, random(2, 3, 8), random(2, 3, 8), None, mask(2, 7), None, random(2, 2, 4, 4), random(2, 2, 4, 4)]
    agree("MultiHeadAttention", inputs, 3, attributes={"num_heads": 2, "unidirectional": causal})


def test_decoder_masked_multi_head_attention() -> None:
    """Outputs are those of MultiHeadAttention for one token."""
    q, k, v = random(2, 1, 8), random(2, 1, 8), random(2, 1, 8)
    past = [random(2, 2, 4, 4), random(2, 2, 4, 4)]
    with interpreted():
        inputs = [q, k, v, mask(2, 5), None, *past]
        found = basalt_results(node_model("DecoderMaskedMultiHeadAttention", inputs, 3, {"num_heads": 2}), inputs)
    others = [q, k, v, None, inputs[3], None, *past]
    for result, wanted in zip(
        found, ort_results(node_model("MultiHeadAttention", others, 3, {"num_heads": 2}), others)
    ):
        np.testing.assert_allclose(result, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("interleaved", [0, 1])
@pytest.mark.parametrize("shape", [(2, 3, 8), (2, 2, 3, 4)])
@pytest.mark.parametrize("positions", [np.array([2]), np.array([[0, 1, 2], [4, 5, 6]])], ids=["offset", "places"])
@pytest.mark.parametrize("compiled", [False, True])
def test_rotary_embedding(positions: np.ndarray, shape: Any, interleaved: int, compiled: bool) -> None:
    inputs = [random(*shape), positions, random(9, 2), random(9, 2)]
    agree("RotaryEmbedding", inputs, attributes={"interleaved": interleaved}, compiled=compiled)


def test_rotary_embedding_of_some_features() -> None:
    inputs = [random(2, 3, 16), np.array([[0, 1, 2], [4, 5, 6]]), random(9, 2), random(9, 2)]
    agree("RotaryEmbedding", inputs, attributes={"num_heads": 2, "rotary_embedding_dim": 4})


def test_gemma_rotary_embedding() -> None:
    angles = random(2, 3, 4)
    states = [random(2, 2, 3, 4).astype(np.float16) for _ in range(4)]
    inputs = [angles, *states]
    with interpreted():
        found = basalt_results(node_model("GemmaRotaryEmbedding", inputs, 2, {}), inputs)
    cos, sin = np.cos(angles)[:, None], np.sin(angles)[:, None]
    for y, x, other in zip(found, states[::2], states[1::2]):
        np.testing.assert_allclose(y, x * cos + other * sin, rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("rule", ["linear", "gated", "delta", "gated_delta"])
@pytest.mark.parametrize("length", [1, 5])
def test_linear_attention(length: int, rule: str) -> None:
    decay = -abs(random(2, length, 2)) if "gated" in rule else None
    beta = abs(random(2, length, 2)) if "delta" in rule else None
    inputs = [random(2, length, 16), random(2, length, 8), random(2, length, 12), random(2, 2, 4, 6), decay, beta]
    attributes = {"q_num_heads": 4, "kv_num_heads": 2, "update_rule": rule}
    agree("LinearAttention", inputs, 2, attributes=attributes)


@pytest.mark.parametrize("activation", ["none", "silu"])
@pytest.mark.parametrize("state", [None, random(2, 3, 2)])
def test_causal_convolution(state: Any, activation: str) -> None:
    inputs = [random(2, 3, 5), random(3, 1, 3), random(3), state]
    agree("CausalConvWithState", inputs, 2, attributes={"activation": activation})
    with pytest.raises(BasaltError, match="dilation"):
        basalt_results(node_model("CausalConvWithState", inputs, 2, {"dilation": 2}), inputs)
