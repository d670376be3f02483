"""RotaryEmbedding of ai.onnx."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from basalt.errors import BasaltError

from .one_node import run

RNG = np.random.default_rng(1)


def random(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape).astype(np.float32)


def reference(x: Any, cos: Any, sin: Any, width: int, interleaved: int) -> np.ndarray:
    """x is [batch, heads, sequence, size]; the caches are [batch, sequence, width / 2]."""
    x = np.array(x, np.float64)
    pick = (slice(0, width, 2), slice(1, width, 2)) if interleaved else (slice(0, width // 2), slice(width // 2, width))
    first, second = x[..., pick[0]].copy(), x[..., pick[1]].copy()
    cos, sin = (np.asarray(t, np.float64)[:, None] for t in (cos, sin))
    x[..., pick[0]] = first * cos - second * sin
    x[..., pick[1]] = first * sin + second * cos
    return x


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("interleaved", [0, 1])
@pytest.mark.parametrize("width", [0, 4])
@pytest.mark.parametrize("positions", [None, np.array([[3, 1, 0], [2, 2, 4]])], ids=["caches", "positions"])
def test_rotation(positions: Any, width: int, interleaved: int, compiled: bool) -> None:
    x, half = random(2, 3, 3, 8), (width or 8) // 2
    cos, sin = (random(5, half) if positions is not None else random(2, 3, half) for _ in range(2))
    spread = (cos, sin) if positions is None else (cos[positions], sin[positions])
    expected = reference(x, *spread, width or 8, interleaved)
    attributes = {"interleaved": interleaved, "rotary_embedding_dim": width}
    y = run("RotaryEmbedding", 23, x, cos, sin, positions, compiled=compiled, **attributes)
    np.testing.assert_allclose(y, expected, rtol=1e-5, atol=1e-6)
    flat = x.transpose(0, 2, 1, 3).reshape(2, 3, -1)
    y = run("RotaryEmbedding", 23, flat, cos, sin, positions, num_heads=3, compiled=False, symbolic=True, **attributes)
    np.testing.assert_allclose(y, expected.transpose(0, 2, 1, 3).reshape(2, 3, -1), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_types(dtype: Any) -> None:
    x, cos, sin = (t.astype(dtype) for t in (random(1, 2, 3, 4), random(1, 3, 2), random(1, 3, 2)))
    y = run("RotaryEmbedding", 23, x, cos, sin, compiled=False)
    assert y.dtype == dtype
    np.testing.assert_allclose(y.astype(np.float64), reference(x, cos, sin, 4, 0), rtol=3e-2, atol=3e-2)


@pytest.mark.parametrize(
    ("shapes", "attributes", "message"),
    [
        ([(1, 3, 8), (1, 3, 2), (1, 3, 2)], {}, "num_heads"),
        ([(1, 2, 3, 4), (3, 2), (3, 2)], {}, "ranks"),
        ([(1, 2, 3, 4), (1, 3, 3), (1, 3, 3)], {}, "columns"),
        ([(1, 2, 3, 5), (1, 3, 2), (1, 3, 2)], {}, "even"),
        ([(1, 2, 3, 4), (1, 3, 3), (1, 3, 3)], {"rotary_embedding_dim": 6}, "6 of 4"),
        ([(2, 3), (1, 3, 3), (1, 3, 3)], {}, "rank"),
    ],
)
def test_refused(shapes: Any, attributes: dict[str, Any], message: str) -> None:
    with pytest.raises(BasaltError, match=message):
        run("RotaryEmbedding", 23, *[random(*s) for s in shapes], compiled=False, **attributes)
