"""Deformable convolution: against the plain one where nothing moves, and against a sum tap by tap."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from basalt.errors import ValidationError

from ..calling import infer, output


def sample(image: np.ndarray, y: float, x: float) -> float:
    """Linear interpolation of an image that is 0 outside."""
    height, width = image.shape
    total = 0.0
    for i, j in itertools.product((math.floor(y), math.floor(y) + 1), (math.floor(x), math.floor(x) + 1)):
        if 0 <= i < height and 0 <= j < width:
            total += (1 - abs(y - i)) * (1 - abs(x - j)) * image[i, j]
    return total


def random(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def test_every_tap_moves_by_its_own_offset() -> None:
    x, w, bias = random(0, 1, 4, 5, 6), random(1, 6, 2, 2, 3), random(2, 6)
    options = {"padding": (1, 0, 2, 1), "strides": (2, 1), "dilations": (1, 2), "groups": 2, "offset_groups": 2}
    oh, ow = (5 + 1 - 2) // 2 + 1, (6 + 3 - 5) + 1
    offset, mask = random(3, 1, 2 * 6 * 2, oh, ow) * 2, random(4, 1, 2 * 6, oh, ow)
    got = output("deform_conv", x, w, offset, bias=bias, mask=mask, **options)
    moves, factors = offset.reshape(2, 2, 3, 2, oh, ow), mask.reshape(2, 2, 3, oh, ow)
    for o, i, j in np.ndindex(6, oh, ow):
        total = float(bias[o])
        for c, p, q in np.ndindex(2, 2, 3):
            channel = o // 3 * 2 + c
            dy, dx = moves[channel // 2, p, q, :, i, j]
            place = i * 2 - 1 + p + float(dy), j - 2 + 2 * q + float(dx)
            total += w[o, c, p, q] * factors[channel // 2, p, q, i, j] * sample(x[0, channel], *place)
        assert got[0, o, i, j] == pytest.approx(total, abs=1e-4)


def test_without_offsets_it_is_a_convolution() -> None:
    x, w = random(0, 2, 3, 6, 6), random(1, 4, 3, 3, 3)
    got = output("deform_conv", x, w, np.zeros((2, 18, 6, 6), np.float32), padding=(1, 1, 1, 1))
    np.testing.assert_allclose(got, output("conv2d", x, w, padding=(1, 1, 1, 1)), atol=1e-5)


def test_offsets_that_are_no_numbers_are_outside() -> None:
    offset = np.full((1, 2, 2, 2), np.nan, np.float32)
    offset[0, :, 0, 0] = 0
    got = output("deform_conv", np.ones((1, 1, 2, 2), np.float32), np.ones((1, 1, 1, 1), np.float32), offset)
    assert got.reshape(-1).tolist() == [1.0, 0.0, 0.0, 0.0]


X, W = "float32[1, 4, 5, 5]", "float32[6, 4, 3, 3]"


@pytest.mark.parametrize(
    ("types", "options", "message"),
    [
        ((X, W, "float32[1, 9, 3, 3]"), {}, "offset has shape"),
        ((X, W, "float32[1, 18, 4, 3]"), {}, "offset has shape"),
        ((X, W, "float32[1, 18, 3, 3]", "float32[5]"), {}, "bias has shape"),
        ((X, W, "float32[1, 18, 3, 3]", None, "float32[1, 18, 3, 3]"), {}, "mask has shape"),
        ((X, W, "float32[1, 18, 3, 3]"), {"offset_groups": 3}, "cannot be divided into 3 offset_groups"),
        ((X, W, "float32[1, 18, 3, 3]"), {"groups": 2}, "the filter has 4 input channels"),
    ],
)
def test_what_is_refused(types: tuple[str | None, ...], options: dict[str, int], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        infer("deform_conv", *types, **options)
    assert infer("deform_conv", "float32[n, 4, h, 5]", W, "float32[n, 18, p, 3]") == ["float32[n, 6, h - 2, 3]"]
