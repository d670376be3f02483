"""LinearAttention over sequences too long to be unrolled."""

from __future__ import annotations

from typing import Any

import numpy as np

from basalt.compiler.onnx.host.registry import HostNode, host_op


@host_op("LinearAttention", 27)
@host_op("LinearAttention", 1, domain="com.microsoft")
def linear_attention(
    n: HostNode,
    query: np.ndarray,
    key: np.ndarray,
    value: np.ndarray,
    past: Any = None,
    decay: Any = None,
    beta: Any = None,
) -> tuple[np.ndarray, np.ndarray]:
    """The outputs [batch, length, q_heads * value_size] and the last state [batch, heads, size, value_size].

    All is computed in float32. The compiled form has checked ranks, heads and which inputs are there.
    """
    heads, shared = int(n.required("q_num_heads")), int(n.required("kv_num_heads"))
    batch, length, hidden = query.shape
    if hidden % heads or key.shape[2] % shared or value.shape[2] % shared:
        raise n.error(f"{hidden}, {key.shape[2]} and {value.shape[2]} columns, expected multiples of the heads")
    size, value_size = hidden // heads, value.shape[2] // shared
    q = query.reshape(batch, length, shared, heads // shared, size).astype(np.float32)
    k = key.reshape(batch, length, shared, size).astype(np.float32)
    v = value.reshape(batch, length, shared, value_size).astype(np.float32)
    shrink = None if decay is None else np.exp(decay.astype(np.float32)).reshape(batch, length, shared, -1)
    rate = None if beta is None else beta.astype(np.float32)[..., None]
    state = np.zeros((batch, shared, size, value_size), np.float32) if past is None else past.astype(np.float32)
    scale = np.float32(n.attr("scale", 0.0) or 1.0 / np.sqrt(size))
    output = np.empty((batch, length, shared, heads // shared, value_size), np.float32)
    for t in range(length):
        if shrink is not None:
            state = state * shrink[:, t, :, :, None]
        row = v[:, t]
        if rate is not None:
            row = rate[:, t] * (row - np.einsum("bhdm,bhd->bhm", state, k[:, t]))
        state = state + k[:, t, :, :, None] * row[:, :, None, :]
        output[:, t] = scale * np.matmul(q[:, t], state)
    flat = output.reshape(batch, length, heads * value_size)
    return flat.astype(query.dtype), state.astype(query.dtype if past is None else past.dtype)
