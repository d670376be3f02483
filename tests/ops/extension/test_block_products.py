"""Products with integers in blocks, against products of weights in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from basalt.errors import ValidationError

from ..calling import infer, output

SHAPES = {"a": (2, 5), "codes": (3, 6), "scale": (3, 2), "zero_point": (3, 2)}


@given(blocks=st.integers(1, 3), size=st.integers(1, 40), short=st.integers(0, 3), seed=st.integers(0, 99))
def test_matmul_blocks(blocks: int, size: int, short: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 16, (4, blocks * size)).astype(np.uint8)
    scale = rng.uniform(0.5, 1, (4, blocks)).astype(np.float32)
    zero = rng.integers(0, 16, (4, blocks)).astype(np.uint8)
    depth = blocks * size - min(short, size - 1)
    a = rng.normal(size=(2, 3, depth)).astype(np.float32)
    weights = (codes - np.repeat(zero, size, 1).astype(float)) * np.repeat(scale, size, 1)
    expected = a @ weights[:, :depth].T
    np.testing.assert_allclose(output("matmul_blocks", a, codes, scale, zero, bits=4), expected, rtol=1e-5, atol=1e-4)
    rounded = output("matmul_blocks", a, codes, scale, zero, bits=4, rounded=True)
    bound = np.abs(a).max() / 254 * np.abs(weights[:, :depth]).sum(-1)
    assert (np.abs(rounded - expected) <= bound + 1e-4).all()


def test_rounding_of_zeros_and_what_is_exact() -> None:
    codes, ones = np.full((1, 32), 3, np.uint8), np.ones((1, 1), np.float32)
    zero = np.zeros((1, 1), np.uint8)
    for a in (np.zeros((2, 32)), np.tile(np.arange(-16.0, 16), (2, 1)) * 127 / 16):
        rounded = output("matmul_blocks", a.astype(np.float32), codes, ones, zero, rounded=True)
        np.testing.assert_allclose(rounded, np.rint(a).sum(-1, keepdims=True) * 3, rtol=1e-6)


@pytest.mark.parametrize(
    ("changed", "match"),
    [
        ({"a": (2, 7)}, "a has 7 columns"),
        ({"a": (2, 3)}, "a has 3 columns"),
        ({"codes": (3, 7)}, "expected them to fill 2 blocks"),
        ({"scale": (4, 2)}, "zero_point has shape"),
        ({"scale": (4, 2), "zero_point": (4, 2)}, "scale has shape"),
    ],
)
def test_shapes_that_do_not_fit(changed: dict[str, tuple[int, ...]], match: str) -> None:
    shapes = SHAPES | changed
    kinds: Any = {"codes": "uint8", "zero_point": "uint8"}
    given = [f"{kinds.get(name, 'float32')}[{', '.join(map(str, shape))}]" for name, shape in shapes.items()]
    with pytest.raises(ValidationError, match=match):
        infer("matmul_blocks", *given)
