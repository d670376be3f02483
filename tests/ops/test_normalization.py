"""Normalizations and softmax against one loop a group of elements."""

from __future__ import annotations

import math
import statistics
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special

from .harness import arrays, assert_rounded, float_types, infer, run, shapes, some_axes

epsilons = st.sampled_from([1e-5, 1e-3, 0.5])


def rounded(number: float, x: np.ndarray) -> float:
    """An option of type double in the operand's data type."""
    return float(np.asarray(number, x.dtype))


@given(st.data(), float_types, shapes(1), epsilons)
def test_batch_normalization(data: st.DataObject, dtype: str, shape: tuple[int, ...], epsilon: float) -> None:
    axis = data.draw(st.integers(0, len(shape) - 1))
    x, mean = data.draw(arrays(shape, dtype)), data.draw(arrays((shape[axis],), dtype))
    variance = data.draw(arrays((shape[axis],), dtype, 0.1))
    scale, bias = (data.draw(st.none() | arrays((shape[axis],), dtype)) for _ in range(2))
    given = {"mean": mean, "variance": variance, "scale": scale, "bias": bias}
    (y,) = run("batch_normalization", input=x, **given, axis=axis, epsilon=epsilon)
    exact = np.empty(shape)
    for at in np.ndindex(*shape):
        f = at[axis]
        unit = (float(x[at]) - float(mean[f])) / math.sqrt(float(variance[f]) + rounded(epsilon, x))
        exact[at] = unit * (1 if scale is None else float(scale[f])) + (0 if bias is None else float(bias[f]))
    assert_rounded(y, exact)


def normalized(values: np.ndarray, epsilon: float) -> np.ndarray:
    """All values, by their own mean and variance."""
    numbers = [float(v) for v in values.ravel()]
    mean = statistics.fmean(numbers)
    deviation = math.sqrt(math.fsum((v - mean) ** 2 for v in numbers) / len(numbers) + epsilon)
    return np.array([(v - mean) / deviation for v in numbers]).reshape(values.shape)


@given(st.data(), float_types, shapes(4, 4, 4), epsilons, st.sampled_from(["nchw", "nhwc"]))
def test_instance_normalization(
    data: st.DataObject, dtype: str, shape: tuple[int, ...], epsilon: float, layout: str
) -> None:
    x = data.draw(arrays(shape, dtype))
    scale, bias = (data.draw(st.none() | arrays((shape[1],), dtype)) for _ in range(2))
    given = x if layout == "nchw" else x.transpose(0, 2, 3, 1)
    (y,) = run("instance_normalization", input=given, scale=scale, bias=bias, epsilon=epsilon, layout=layout)
    exact = np.empty(shape)
    for n, c in np.ndindex(*shape[:2]):
        unit = normalized(x[n, c], rounded(epsilon, x))
        exact[n, c] = unit * (1 if scale is None else float(scale[c])) + (0 if bias is None else float(bias[c]))
    assert_rounded(y if layout == "nchw" else y.transpose(0, 3, 1, 2), exact)


@given(st.data(), float_types, shapes(0, 4, 4), epsilons)
def test_layer_normalization(data: st.DataObject, dtype: str, shape: tuple[int, ...], epsilon: float) -> None:
    rank = len(shape)
    axes = data.draw(st.none() | some_axes(rank))
    x = data.draw(arrays(shape, dtype))
    over = list(range(1, rank)) if axes is None else list(axes)
    sizes = [shape[axis] for axis in over]
    scale, bias = (data.draw(st.none() | arrays(sizes, dtype)) for _ in range(2))
    (y,) = run("layer_normalization", input=x, scale=scale, bias=bias, axes=axes, epsilon=epsilon)
    rest = [axis for axis in range(rank) if axis not in over]
    order = rest + over
    moved, exact = x.transpose(order), np.empty([shape[axis] for axis in order])
    for at in np.ndindex(*(shape[axis] for axis in rest)):
        unit = normalized(moved[at], rounded(epsilon, x))
        unit = unit * (1.0 if scale is None else scale.astype(np.float64))
        exact[at] = unit + (0.0 if bias is None else bias.astype(np.float64))
    assert_rounded(y, exact.transpose(np.argsort(order)))


@given(st.data(), float_types, shapes(1))
def test_softmax(data: st.DataObject, dtype: str, shape: tuple[int, ...]) -> None:
    axis = data.draw(st.integers(0, len(shape) - 1))
    x = data.draw(arrays(shape, dtype, -20, 20))
    (y,) = run("softmax", input=x, axis=axis)
    assert_rounded(y, special.softmax(x.astype(np.float64), axis))


def test_softmax_of_extremes() -> None:
    x = np.array([[1e38, -1e38, 0], [-math.inf, 0, 0], [math.nan, 0, 0], [-math.inf] * 3], np.float32)
    (y,) = run("softmax", input=x, axis=1)
    np.testing.assert_array_equal(y, [[1, 0, 0], [0, 0.5, 0.5], [math.nan] * 3, [math.nan] * 3])


def test_one_element_a_group_leaves_the_bias() -> None:
    x, two = np.array([7, -3], np.float32), np.array(2, np.float32)
    (y,) = run("layer_normalization", input=x, axes=(), bias=two)
    np.testing.assert_array_equal(y, [2, 2])


def test_half_precision_squares_do_not_overflow() -> None:
    x = np.array([[60000, -60000]], np.float16)
    np.testing.assert_array_equal(run("layer_normalization", input=x)[0], [[1, -1]])


@pytest.mark.parametrize("epsilon", [0.0, -1.0])
def test_nothing_guards_the_division(epsilon: float) -> None:
    x = np.ones((1, 2), np.float32)
    assert np.isnan(run("layer_normalization", input=x, epsilon=epsilon)[0]).all()


def test_symbolic_sizes() -> None:
    given: dict[str, Any] = {"mean": "f32[8]", "variance": "f32[8]"}
    assert infer("batch_normalization", input="f32[n, c, h]", **given) == ["float32[n, c, h]"]
    assert infer("layer_normalization", input="f16[n, s, d]", axes=[2], scale="f16[16]") == ["float16[n, s, d]"]
