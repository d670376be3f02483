"""DepthToSpace, SpaceToDepth, CenterCropPad, Col2Im at all versions."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("onnx")

import ml_dtypes

from basalt.errors import ValidationError

from .single import BOTH, check, run

X = np.arange(2 * 8 * 2 * 3, dtype=np.float32).reshape(2, 8, 2, 3)


def to_space(x: np.ndarray, size: int, depth_first: bool) -> np.ndarray:
    """Element by element."""
    batch, channels, height, width = x.shape
    depth = channels // size**2
    result = np.empty((batch, depth, height * size, width * size), x.dtype)
    for c, i, j in product(range(depth), range(size), range(size)):
        block = i * size + j
        result[:, c, i::size, j::size] = x[:, c * size**2 + block if depth_first else block * depth + c]
    return result


@pytest.mark.parametrize("mode", ["DCR", "CRD"])
def test_depth_to_space_and_back(mode: str) -> None:
    y = to_space(X, 2, mode == "CRD")
    check("DepthToSpace", (11, 13, 28), [X], y, blocksize=2, mode=mode, compiled=BOTH)
    check("DepthToSpace", (28,), [X > 9], to_space(X > 9, 2, mode == "CRD"), blocksize=2, mode=mode, symbolic=True)
    check("SpaceToDepth", (28,), [y], X, blocksize=2, mode=mode, compiled=BOTH)
    if mode == "DCR":
        check("DepthToSpace", (1, 11), [X], y, blocksize=2)
        check("SpaceToDepth", (1, 13, 28), [y], X, blocksize=2)
        check("SpaceToDepth", (1, 13), [y], X, blocksize=2, symbolic=True, compiled=BOTH)


def test_blocks_of_strings() -> None:
    words = np.array(list("abcd"), dtype=object).reshape(1, 4, 1, 1)
    check("DepthToSpace", (1, 13), [words], words.reshape(1, 1, 2, 2), blocksize=2)
    check("SpaceToDepth", (1, 28), [words.reshape(1, 1, 2, 2)], words, blocksize=2)


def test_blocks_that_do_not_fit() -> None:
    for op, x, options in (
        ("DepthToSpace", X[:, :6], {"blocksize": 2}),
        ("DepthToSpace", X[0], {"blocksize": 2}),
        ("DepthToSpace", X, {"blocksize": 2, "mode": "RCD"}),
        ("SpaceToDepth", X, {"blocksize": 2}),
        ("SpaceToDepth", X, {"blocksize": 0}),
    ):
        with pytest.raises(ValidationError):
            run(op, 13, [x], **options)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 6)), min_size=1, max_size=3))
def test_center_crop_pad(sizes: list[tuple[int, int]]) -> None:
    x = np.arange(1, 1 + np.prod([s for s, _ in sizes]), dtype=np.int32).reshape([s for s, _ in sizes])
    expected = x
    for axis, (size, wanted) in enumerate(sizes):
        less, more = max(size - wanted, 0), max(wanted - size, 0)
        expected = np.take(expected, np.arange(less // 2, less // 2 + min(size, wanted)), axis)
        widths = [(more // 2, more - more // 2) if i == axis else (0, 0) for i in range(x.ndim)]
        expected = np.pad(expected, widths)
    check("CenterCropPad", (18,), [x, np.array([w for _, w in sizes])], expected)


def test_center_crop_pad_of_some_axes() -> None:
    expected = np.pad(X[:, :, :, 1:2], ((0, 0), (0, 0), (0, 1), (0, 0)))
    inputs = [X, np.array([1, 3], np.int32)]
    check("CenterCropPad", (18,), inputs, expected, axes=[-1, 2], compiled=BOTH)
    check("CenterCropPad", (18,), inputs, expected, axes=[-1, 2], symbolic=True, constant=(1,))
    words = np.array(["a", "b", "c"], dtype=object)
    check("CenterCropPad", (18,), [words, np.array([1])], words[1:2])
    with pytest.raises(ValidationError, match="axes"):
        run("CenterCropPad", 18, inputs, axes=[1])


def col2im(x: np.ndarray, image: Any, block: Any, strides: Any, dilations: Any, pads: Any) -> np.ndarray:
    """Window by window."""
    rank = len(image)
    full = [s + pads[i] + pads[rank + i] for i, s in enumerate(image)]
    counts = [(f - d * (b - 1) - 1) // s + 1 for f, d, b, s in zip(full, dilations, block, strides)]
    columns = x.reshape(x.shape[0], -1, *block, *counts)
    result = np.zeros((x.shape[0], columns.shape[1], *full), x.dtype)
    for element in np.ndindex(*block):
        for window in np.ndindex(*counts):
            place = tuple(e * d + w * s for e, d, w, s in zip(element, dilations, window, strides))
            result[(slice(None), slice(None), *place)] += columns[(slice(None), slice(None), *element, *window)]
    return result[(..., *(slice(pads[i], pads[i] + s) for i, s in enumerate(image)))]


COL2IM = [
    ((4, 5), (2, 2), (1, 1), (1, 1), (0, 0, 0, 0)),
    ((4, 5), (2, 3), (2, 1), (1, 2), (1, 2, 0, 1)),
    ((5,), (3,), (2,), (1,), (1, 1)),
    ((3, 4, 2), (1, 3, 2), (1, 2, 1), (1, 1, 1), (0, 1, 0, 0, 0, 1)),
    ((6, 6), (1, 1), (3, 2), (1, 1), (0, 0, 0, 0)),
]


@pytest.mark.parametrize(("image", "block", "strides", "dilations", "pads"), COL2IM)
@pytest.mark.parametrize("dtype", ["float32", "int8", "uint64", "bfloat16"])
def test_col2im(dtype: str, image: Any, block: Any, strides: Any, dilations: Any, pads: Any) -> None:
    kind = np.dtype(getattr(ml_dtypes, dtype, dtype))
    full = [s + pads[i] + pads[len(image) + i] for i, s in enumerate(image)]
    windows = int(np.prod([(f - d * (b - 1) - 1) // s + 1 for f, d, b, s in zip(full, dilations, block, strides)]))
    x = np.random.default_rng(0).integers(-3, 4, (2, 2 * int(np.prod(block)), windows)).astype(kind)
    expected = col2im(x, image, block, strides, dilations, pads)
    options = {"strides": list(strides), "dilations": list(dilations), "pads": list(pads)}
    inputs = [x, np.array(image), np.array(block)]
    check("Col2Im", (18,), inputs, expected, **options, compiled=BOTH if dtype in ("float32", "int8") else (False,))


def test_col2im_of_other_types() -> None:
    x = np.arange(1, 9).reshape(1, 4, 2)
    inputs = [np.array([2, 3]), np.array([2, 2])]
    expected = col2im(x, (2, 3), (2, 2), (1, 1), (1, 1), (0, 0, 0, 0))
    check("Col2Im", (18,), [x * (1 + 2j), *inputs], expected * (1 + 2j))
    check("Col2Im", (18,), [x > 4, *inputs], col2im((x > 4).astype(int), (2, 3), (2, 2), (1, 1), (1, 1), (0,) * 4) > 0)
    with pytest.raises(ValidationError, match="blocks"):
        run("Col2Im", 18, [x[..., :1], *inputs])
    with pytest.raises(ValidationError, match="fit"):
        run("Col2Im", 18, [x, *inputs], strides=[1])
    with pytest.raises(ValidationError, match="too small"):
        run("Col2Im", 18, [x, *inputs], strides=[1, 0])
    with pytest.raises(ValidationError, match="elements"):
        run("Col2Im", 18, [x[:, :1, :1], np.array([2**40, 2**40]), np.array([1, 1])], strides=[2**40, 2**40])
