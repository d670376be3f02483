"""Attention of ai.onnx at versions 23, 24 and 25, against the standard's semantics written in NumPy."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from basalt.errors import BasaltError

from .one_node import run

RNG = np.random.default_rng(0)
VERSIONS = [23, 24, 25]
CODES = {"float32": 1, "float16": 10, "float64": 11, "bfloat16": 16}


def random(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape).astype(np.float32)


def reference(
    q: Any,
    k: Any,
    v: Any,
    mask: Any = None,
    past: Any = None,
    lengths: Any = None,
    *,
    causal: bool = False,
    scale: float | None = None,
    cap: float = 0.0,
    window: tuple[int, int] = (-1, -1),
) -> tuple[np.ndarray, ...]:
    """The output, and the scores raw, capped, biased, and as weights; in float64."""
    q, k, v = (np.asarray(t, np.float64) for t in (q, k, v))
    offset: Any = 0
    if past is not None:
        offset = past[0].shape[2]
        k, v = np.concatenate([past[0], k], 2), np.concatenate([past[1], v], 2)
    elif lengths is not None:
        offset = (np.asarray(lengths) - q.shape[2])[:, None, None, None]
    group = q.shape[1] // k.shape[1]
    k, v = np.repeat(k, group, 1), np.repeat(v, group, 1)
    raw = q @ k.swapaxes(2, 3) * (1 / np.sqrt(q.shape[3]) if scale is None else scale)
    capped = cap * np.tanh(raw / cap) if cap else raw
    places, keys = np.arange(q.shape[2])[:, None] + offset, np.arange(k.shape[2])
    shown = np.ones(np.broadcast_shapes(np.shape(places), keys.shape), bool)
    if causal:
        shown = shown & (keys <= places)
    if window[0] >= 0:
        shown = shown & (keys >= places - window[0])
    if window[1] >= 0:
        shown = shown & (keys <= places + window[1])
    if lengths is not None:
        shown = shown & (keys < np.asarray(lengths)[:, None, None, None])
    bias = np.where(shown, 0, -np.inf)
    if mask is not None:
        missing = [(0, 0)] * (mask.ndim - 1) + [(0, k.shape[2] - mask.shape[-1])]
        if mask.dtype == bool:
            bias = bias + np.where(np.pad(mask, missing), 0, -np.inf)
        else:
            bias = bias + np.pad(mask.astype(np.float64), missing, constant_values=-np.inf)
    biased = capped + bias
    with np.errstate(all="ignore"):
        powers = np.exp(biased - biased.max(-1, keepdims=True))
        weights = powers / powers.sum(-1, keepdims=True)
    weights = np.where(np.max(np.broadcast_to(bias, biased.shape), -1, keepdims=True) == -np.inf, 0, weights)
    return weights @ v, raw, capped, biased, weights


def check(result: np.ndarray, expected: np.ndarray, rtol: float = 1e-4, atol: float = 1e-5) -> None:
    assert result.shape == expected.shape
    np.testing.assert_allclose(result.astype(np.float64), expected, rtol=rtol, atol=atol)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("causal", [0, 1])
@pytest.mark.parametrize("version", VERSIONS)
def test_grouped_heads(version: int, causal: int, compiled: bool) -> None:
    q, k, v = random(2, 6, 4, 8), random(2, 2, 5, 8), random(2, 2, 5, 3)
    y = run("Attention", version, q, k, v, is_causal=causal, compiled=compiled)
    check(y, reference(q, k, v, causal=bool(causal))[0])


@pytest.mark.parametrize("version", VERSIONS)
def test_inputs_without_heads(version: int) -> None:
    q, k, v = random(2, 6, 4, 8), random(2, 2, 5, 8), random(2, 2, 5, 3)
    flat = [t.transpose(0, 2, 1, 3).reshape(2, t.shape[2], -1) for t in (q, k, v)]
    y = run("Attention", version, *flat, q_num_heads=6, kv_num_heads=2, compiled=False)
    check(y, reference(q, k, v)[0].transpose(0, 2, 1, 3).reshape(2, 4, -1))


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("causal", [0, 1])
@pytest.mark.parametrize("version", VERSIONS)
def test_past(version: int, causal: int, compiled: bool) -> None:
    q, k, v, past = random(2, 2, 3, 4), random(2, 2, 3, 4), random(2, 2, 3, 4), [random(2, 2, 5, 4) for _ in range(2)]
    mask = RNG.integers(0, 2, (3, 8)).astype(bool)
    found = run("Attention", version, q, k, v, mask, *past, outputs=3, is_causal=causal, compiled=compiled)
    check(found[0], reference(q, k, v, mask, past, causal=bool(causal))[0])
    check(found[1], np.concatenate([past[0], k], 2))
    check(found[2], np.concatenate([past[1], v], 2))


@pytest.mark.parametrize("mode", range(4))
@pytest.mark.parametrize("version", VERSIONS)
def test_shown_scores(version: int, mode: int) -> None:
    q, k, v, mask = random(1, 2, 3, 4), random(1, 2, 5, 4), random(1, 2, 5, 4), random(1, 1, 3, 5)
    how = {"qk_matmul_output_mode": mode, "softcap": 1.5, "scale": 0.7, "compiled": False, "outputs": 4}
    found = run("Attention", version, q, k, v, mask, **how)
    expected = reference(q, k, v, mask, cap=1.5, scale=float(np.float32(0.7)))
    check(found[0], expected[0])
    check(found[3], expected[1 + mode])


MASKS = [
    RNG.integers(0, 2, shape).astype(bool) if kind == "bool" else random(*shape)
    for shape in ((5,), (3, 5), (2, 3, 5), (2, 1, 3, 5), (1, 2, 1, 5), (3, 4), (2, 2, 3, 2))
    for kind in ("bool", "float")
]


@pytest.mark.parametrize("causal", [0, 1])
@pytest.mark.parametrize("mask", MASKS, ids=lambda m: f"{m.dtype}{list(m.shape)}")
def test_masks(mask: np.ndarray, causal: int) -> None:
    """Of any rank that can be broadcast; one with too few keys hides the others; rows that see nothing are 0."""
    q, k, v = random(2, 2, 3, 4), random(2, 2, 5, 4), random(2, 2, 5, 4)
    y = run("Attention", 25, q, k, v, mask, is_causal=causal, compiled=False)
    check(y, reference(q, k, v, mask, causal=bool(causal))[0])


@pytest.mark.parametrize("dtype", [np.int32, np.uint8, np.int64])
def test_masks_of_integers_are_added(dtype: Any) -> None:
    q, k, v, mask = random(1, 2, 3, 4), random(1, 2, 5, 4), random(1, 2, 5, 4), RNG.integers(0, 3, (3, 5)).astype(dtype)
    check(run("Attention", 23, q, k, v, mask, compiled=False), reference(q, k, v, mask)[0])


@pytest.mark.parametrize("version", [24, 25])
@pytest.mark.parametrize("causal", [0, 1])
@pytest.mark.parametrize("compiled", [False, True])
def test_padded_keys(version: int, causal: int, compiled: bool) -> None:
    """Lengths that differ, and one with fewer keys than queries."""
    q, k, v, lengths = random(3, 2, 3, 4), random(3, 2, 6, 4), random(3, 2, 6, 4), np.array([6, 2, 4])
    y = run("Attention", version, q, k, v, None, None, None, lengths, is_causal=causal, compiled=compiled)
    check(y, reference(q, k, v, lengths=lengths, causal=bool(causal))[0])


@pytest.mark.parametrize("window", [(2, 0), (1, 1), (-1, 1), (0, -1), (0, 0)])
@pytest.mark.parametrize("kind", ["plain", "past", "lengths", "masked"])
def test_windows(kind: str, window: tuple[int, int]) -> None:
    q, k, v = random(2, 2, 4, 4), random(2, 2, 6, 4), random(2, 2, 6, 4)
    past = [random(2, 2, 3, 4) for _ in range(2)] if kind == "past" else None
    lengths = np.array([5, 6]) if kind == "lengths" else None
    mask = random(4, 6) if kind == "masked" else None
    inputs = [q, k, v, mask, *(past or [None, None]), lengths]
    for causal in (0, 1):
        how = {"left_window_size": window[0], "right_window_size": window[1], "is_causal": causal, "compiled": False}
        y = run("Attention", 25, *inputs, **how)
        check(y, reference(q, k, v, mask, past, lengths, causal=bool(causal), window=window)[0])


@pytest.mark.parametrize("precision", [None, *CODES.values()])
@pytest.mark.parametrize("dtype", CODES)
def test_types(dtype: str, precision: int | None) -> None:
    kind = np.dtype(getattr(ml_dtypes, dtype, dtype))
    q, k, v = (random(1, 2, n, 4).astype(kind) for n in (3, 5, 5))
    attributes = {} if precision is None else {"softmax_precision": precision}
    y = run("Attention", 23, q, k, v, is_causal=1, compiled=False, **attributes)
    assert y.dtype == kind
    short = "bfloat16" in (dtype, {v: k for k, v in CODES.items()}.get(precision or 0))
    bound = 3e-2 if short else 5e-3 if dtype == "float16" or precision == 10 else 1e-5
    check(y, reference(q, k, v, causal=True)[0], bound, bound)


def test_values_of_another_type() -> None:
    q, k, v = random(1, 2, 3, 4), random(1, 2, 5, 4), random(1, 2, 5, 4).astype(np.float64)
    y = run("Attention", 23, q, k, v, compiled=False)
    assert y.dtype == np.float32
    check(y, reference(q, k, v)[0])


@settings(max_examples=25)
@given(st.data())
def test_any_sizes(data: st.DataObject) -> None:
    """Sizes of 1 and 0 queries included; symbolic sizes give the same."""
    size = st.integers(1, 4)
    batch, shared, group, queries, keys, width = (data.draw(size) for _ in range(6))
    queries -= data.draw(st.booleans()) and queries == 1
    q, k, v = (
        random(batch, shared * group, queries, width),
        random(batch, shared, keys, width),
        random(batch, shared, keys, 3),
    )
    causal = data.draw(st.booleans())
    for symbolic in (False, True):
        y = run("Attention", 23, q, k, v, is_causal=int(causal), compiled=False, symbolic=symbolic)
        check(y, reference(q, k, v, causal=causal)[0] if queries else np.zeros((batch, shared * group, 0, 3)))


@pytest.mark.parametrize(
    ("inputs", "attributes", "message"),
    [
        ([random(2, 3, 8), random(2, 3, 8), random(2, 3, 8)], {}, "q_num_heads"),
        ([random(2, 3, 8), random(2, 3, 8), random(2, 3, 8)], {"q_num_heads": 3, "kv_num_heads": 2}, "divide"),
        ([random(2, 3, 8), random(2, 3, 4, 2), random(2, 3, 8)], {}, "ranks"),
        ([random(1, 3, 2, 4), random(1, 2, 2, 4), random(1, 2, 2, 4)], {}, "evenly"),
        ([random(1, 2, 2, 4)] * 3 + [None, random(1, 2, 2, 4)], {}, "together"),
        ([random(1, 2, 2, 4)] * 3, {"softmax_precision": 7}, "softmax_precision"),
        ([random(1, 2, 2, 4)] * 3, {"left_window_size": -2}, "left_window_size"),
    ],
)
def test_refused(inputs: list[Any], attributes: dict[str, Any], message: str) -> None:
    with pytest.raises(BasaltError, match=message):
        run("Attention", 25, *inputs, compiled=False, **attributes)
