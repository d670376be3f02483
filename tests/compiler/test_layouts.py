"""Which images are stored with their channels last; that regions of such images compute what their graphs say."""

from __future__ import annotations

import numpy as np
import pytest

from basalt.compiler.codegen.layouts import channels_last
from basalt.compiler.codegen.lowering import Lowering
from basalt.compiler.ir import Value

from .templates.harness import Maker, check, numbers


def convolved(m: Maker, x: Value, outputs: int, window: int = 3, seed: int = 0, **options: object) -> Value:
    """A convolution of some window that keeps an image's size."""
    groups = int(options.get("groups", 1))  # type: ignore[call-overload]
    weights = numbers(seed, (outputs, x.shape[1] // groups, window, window)) / window
    padding = (window // 2,) * 4
    result: Value = m.conv2d(x, m.constant(weights.astype(np.float32)), padding=padding, **options)
    return result


def image(m: Maker, channels: int = 16, dtype: str = "float32") -> Value:
    return m.input("x", dtype, (2, channels, 7, 9))


def chosen(m: Maker, **outputs: Value) -> frozenset[Value]:
    return channels_last(m.graph(**outputs))


def test_results_of_convolutions_and_what_is_computed_from_them() -> None:
    m = Maker()
    a = convolved(m, image(m, 3), 16)
    b = m.relu(a)
    c = m.max_pool2d(b, window_dimensions=(2, 2))
    assert chosen(m, y=c) == {a, b, c}


def test_few_channels_and_single_pixels_stay_as_they_are() -> None:
    m = Maker()
    a = convolved(m, image(m), 4)
    b = m.relu(a)
    assert chosen(m, y=m.reduce_mean(b, axes=[2, 3], keep_dimensions=True)) == set()


def test_integers_and_other_layouts_stay_as_they_are() -> None:
    m = Maker()
    x = m.input("x", "float32", (1, 7, 9, 16))
    y = m.conv2d(x, m.constant(numbers(0, (16, 16, 1, 1))), input_layout="nhwc")
    assert chosen(m, y=m.cast(y, "int32")) == set()


def test_a_concatenation_follows_most_of_its_operands() -> None:
    m = Maker()
    x = image(m)
    wide, narrow = convolved(m, x, 32), convolved(m, x, 16, seed=1)
    mostly = m.concat([wide, x], 1)
    hardly = m.concat([narrow, x, x], 1)
    half = m.concat([narrow, x], 1)
    padded = m.concat([narrow, m.constant(numbers(3, (2, 40, 7, 9)))], 1)
    assert chosen(m, a=mostly, b=hardly, c=half, d=padded) == {wide, narrow, mostly, half, padded}


def test_the_parts_of_a_concatenation_lie_in_it() -> None:
    m = Maker()
    x = image(m)
    y = m.relu(m.concat([convolved(m, x, 16, seed=i) for i in range(2)], 1))
    lowering = Lowering(m.graph(y=y), m.constants)
    lowering.run()
    assert [call.kind for call in lowering.calls] == ["conv2d", "conv2d", "relu"]


def shuffled(m: Maker, x: Value, groups: int) -> Value:
    """The channels of an image, every one of a group followed by its counterpart in the next."""
    n, c, h, w = x.shape
    parts = m.reshape(x, (n, groups, c // groups, h, w))
    result: Value = m.reshape(m.transpose(parts, permutation=[0, 2, 1, 3, 4]), (n, c, h, w))
    return result


def test_shuffled_channels_stay_neighbours() -> None:
    m = Maker()
    a = convolved(m, image(m), 24)
    b = shuffled(m, a, 3)
    c = convolved(m, b, 24, seed=1, groups=24)
    assert chosen(m, y=c) == {a, b, c}
    lowering = Lowering(m.graph(y=m.relu(c)), m.constants)
    lowering.run()
    assert [call.kind for call in lowering.calls] == ["conv2d", "copy", "conv2d", "relu"]


def test_what_moves_pixels_does_not_keep_channels_last() -> None:
    m = Maker()
    a = convolved(m, image(m), 24)
    turned = m.transpose(a, permutation=[0, 2, 1, 3])
    other = m.reshape(a, (2, 12, 14, 9))
    assert chosen(m, y=turned, z=other) == {a}


@pytest.mark.parametrize("factors", [(2, 2), (1, 3), (2, 1)])
def test_repeated_pixels_stay_in_order(factors: tuple[int, int]) -> None:
    """As nearest neighbours are when sizes are multiples."""
    m = Maker()
    down, across = factors
    a = convolved(m, image(m), 24)
    parts = m.expand(m.reshape(a, (2, 24, 7, 1, 9, 1)), (2, 24, 7, down, 9, across))
    b = m.reshape(parts, (2, 24, 7 * down, 9 * across))
    c = m.relu(b)
    assert chosen(m, y=c) == {a, b, c}
    check(m, {"x": numbers(5, (2, 16, 7, 9))}, y=convolved(m, c, 12, 1, seed=1), repeated=b)


@pytest.mark.parametrize("groups", [1, 2, 3, 24])
def test_images_with_shuffled_channels(groups: int) -> None:
    m = Maker()
    a = m.relu(convolved(m, image(m, 3), 24, 1))
    b = shuffled(m, a, groups)
    y = convolved(m, convolved(m, b, 24, seed=1, groups=24), 24, 1, seed=2, groups=groups)
    check(m, {"x": numbers(5, (2, 3, 7, 9))}, y=m.add(y, b), shuffled=b)


@pytest.mark.parametrize("last", ["relu", "reshape", "transpose", "mean", "softmax", "matmul", "slice"])
def test_a_region_of_images(last: str) -> None:
    """Whatever reads the end of a region gets the elements in the order of the dimensions."""
    m = Maker()
    a = m.relu(convolved(m, image(m, 3), 24))
    b = convolved(m, a, 24, seed=1, groups=24)
    c = m.concat([m.add(a, b), convolved(m, b, 16, 1, seed=2)], 1)
    pooled = m.average_pool2d(c, window_dimensions=(3, 3), padding=(1, 1, 1, 1), strides=(2, 2))
    up = m.resample2d(pooled, mode="linear", sizes=(7, 9), axes=(2, 3))
    joined = m.add(convolved(m, up, 40, 1, seed=3), c)
    padded = m.pad(joined, (0, 0, 1, 1), (0, 0, 0, 2))
    y = convolved(m, padded, 20, seed=4, dilations=(1, 1))
    ends = {
        "relu": lambda: m.relu(y),
        "reshape": lambda: m.reshape(y, (2, y.shape[1] * y.shape[2] * y.shape[3])),
        "transpose": lambda: m.neg(m.transpose(y, permutation=[0, 2, 3, 1])),
        "mean": lambda: m.mul(y, m.sigmoid(m.reduce_sum(y, axes=[2, 3], keep_dimensions=True))),
        "softmax": lambda: m.div(m.exp(y), m.reduce_sum(m.exp(y), axes=[1], keep_dimensions=True)),
        "matmul": lambda: m.matmul(y, m.constant(numbers(6, (y.shape[3], 5)))),
        "slice": lambda: m.abs(m.slice(y, (0, 2, 1, 1), (2, 9, 5, 6))),
    }
    check(m, {"x": numbers(5, (2, 3, 7, 9))}, z=ends[last]())


@pytest.mark.parametrize("mode", ["nearest-neighbor", "linear"])
@pytest.mark.parametrize("axes", [(2, 3), (1, 2)])
def test_resampled_images(mode: str, axes: tuple[int, int]) -> None:
    """Along pixels, and across the dimension whose elements are neighbours in memory."""
    m = Maker()
    y = m.resample2d(convolved(m, image(m, 3), 16), mode=mode, sizes=(11, 5), axes=axes)
    check(m, {"x": numbers(5, (2, 3, 7, 9))}, y=m.relu(y))
