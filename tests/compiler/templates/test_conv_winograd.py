"""Convolutions by Winograd's minimal filtering: errors, every border, numbers that are not finite, and the choice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from basalt.compiler.codegen.compile import load_kernels
from basalt.compiler.interpret import Interpreter
from basalt.compiler.ir import Value
from basalt.compiler.lower import lower_graph
from basalt.compiler.passes.fuse import fuse
from basalt.compiler.templates import conv_winograd
from basalt.runtime.program import Program
from basalt.runtime.spec import ProgramSpec

from .harness import Maker, check, compiled, numbers

Force = Callable[[int], None]


@pytest.fixture
def force(monkeypatch: pytest.MonkeyPatch) -> Force:
    """Choose a size of tiles whatever it costs."""

    def choose(size: int) -> None:
        monkeypatch.setattr(conv_winograd, "_best_size", lambda _: size)
        monkeypatch.setattr(conv_winograd, "_gains", lambda *_: True)

    return choose


def spec_of(m: Maker, **outputs: Value) -> ProgramSpec:
    return lower_graph(fuse(m.graph(**outputs)), m.constants)


def is_winograd(m: Maker, **outputs: Value) -> bool:
    return any(name.startswith("winograd_") for kernel in spec_of(m, **outputs).kernels for name in kernel.names)


def convolution(
    m: Maker, image: tuple[int, ...], outputs: int, bias: bool = True, dtype: str = "float32", **options: Any
) -> Value:
    """A convolution [n, height, width, channels] with a constant filter of 3 by 3."""
    x = m.input("x", dtype, image)
    f = m.constant(numbers(2, (outputs, image[3], 3, 3), dtype), dtype)
    added = {"bias": m.constant(numbers(3, (outputs,), dtype), dtype)} if bias else {}
    return m.conv2d(x, f, input_layout="nhwc", **added, **options)


@settings(max_examples=16, deadline=None, derandomize=True)
@given(
    st.sampled_from([2, 4]),
    st.integers(1, 3),
    st.tuples(st.integers(1, 15), st.sampled_from([1, 2, 3, 4, 7, 8, 13, 30])),
    st.sampled_from([1, 3, 8, 12, 17, 40, 65]),
    st.sampled_from([12, 17, 40]),
    st.tuples(*[st.integers(0, 2)] * 4),
    st.booleans(),
)
def test_every_border(
    size: int,
    batch: int,
    sides: tuple[int, int],
    channels: int,
    outputs: int,
    padding: tuple[int, int, int, int],
    bias: bool,
) -> None:
    top, bottom, left, right = padding
    if sides[0] + top + bottom < 3 or sides[1] + left + right < 3:
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(conv_winograd, "_best_size", lambda _: size)
        patch.setattr(conv_winograd, "_gains", lambda *_: True)
        m, image = Maker(), (batch, *sides, channels)
        y = convolution(m, image, outputs, bias, padding=padding)
        assert is_winograd(m, y=y)
        check(m, {"x": numbers(1, image)}, y=y)


@pytest.mark.parametrize("size", [2, 4])
def test_many_blocks_of_tiles_and_groups_of_panels(force: Force, size: int) -> None:
    force(size)
    for image, outputs in (((2, 61, 47, 24), 40), ((1, 9, 9, 200), 300), ((1, 40, 40, 130), 150)):
        m = Maker()
        y = convolution(m, image, outputs, padding=(1, 1, 1, 1))
        assert is_winograd(m, y=y)
        check(m, {"x": numbers(1, image)}, y=y)


@pytest.mark.parametrize("size", [2, 4])
def test_fused_operators(force: Force, size: int) -> None:
    """A residual, operands of each channel and each pixel, functions of many instructions, two results."""
    force(size)
    m, image = Maker(), (2, 11, 14, 24)
    y = convolution(m, image, 37, padding=(1, 1, 1, 1))
    r = m.input("r", "float32", y.shape)
    gain = m.input("gain", "float32", (1, 1, 1, 37))
    place = m.input("place", "float32", (2, 11, 14, 1))
    s = m.mul(m.add(m.mul(y, gain), r), place)
    z = m.mul(s, m.sigmoid(s))
    feeds = {"x": numbers(1, image), "r": numbers(4, y.shape), "gain": numbers(5, gain.shape)}
    feeds["place"] = numbers(6, place.shape)
    assert is_winograd(m, y=y, z=z)
    check(m, feeds, y=y, z=z)


def test_operands_of_each_row_or_image(force: Force) -> None:
    """What all pixels of a row share, but not all of a tile, is left to other kernels; what an image shares is not."""
    force(4)
    for shape, taken in (((1, 9, 1, 1), False), ((1, 9, 1, 20), False), ((2, 1, 1, 20), True), ((2, 1, 1, 1), True)):
        m, image = Maker(), (2, 9, 10, 12)
        y = convolution(m, image, 20, padding=(1, 1, 1, 1))
        z = m.relu(m.add(y, m.input("r", "float32", shape)))
        assert is_winograd(m, z=z) == taken
        check(m, {"x": numbers(1, image), "r": numbers(4, shape)}, z=z)


@pytest.mark.parametrize("taken", [True, False])
def test_channels_first(force: Force, taken: bool) -> None:
    """Images and results are copied into and from the order of the tiles; a residual in the other order is not."""
    force(4)
    m, shape = Maker(), (2, 20, 13, 10)
    x, f = m.input("x", "float32", shape), m.constant(numbers(2, (24, 20, 3, 3)))
    y = m.conv2d(x, f, bias=m.constant(numbers(3, (24,))), padding=(1, 1, 1, 1))
    z = m.relu(y) if taken else m.relu(m.add(y, m.input("r", "float32", y.shape)))
    assert is_winograd(m, z=z, y=y) == taken
    feeds = {"x": numbers(1, shape)} if taken else {"x": numbers(1, shape), "r": numbers(4, y.shape)}
    check(m, feeds, z=z, y=y)


@pytest.mark.parametrize("layout", ["oihw", "hwio", "ohwi", "ihwo"])
def test_layouts_of_filters_and_images_with_channels_first(force: Force, layout: str) -> None:
    force(4)
    m, shape = Maker(), (2, 20, 13, 10)
    x = m.transpose(m.input("x", "float32", shape), permutation=(0, 2, 3, 1))
    sizes = {"o": 24, "i": 20, "h": 3, "w": 3}
    f = m.constant(numbers(2, tuple(sizes[letter] for letter in layout)))
    y = m.conv2d(x, f, padding=(1, 1, 1, 1), input_layout="nhwc", filter_layout=layout)
    assert is_winograd(m, y=y)
    check(m, {"x": numbers(1, shape)}, y=y)


@pytest.mark.parametrize("size", [2, 4])
@pytest.mark.parametrize("number", [np.inf, -np.inf, np.nan, 3e38, -2e37])
def test_numbers_that_would_spoil_a_tile(force: Force, size: int, number: float) -> None:
    """Infinities, NaN and numbers that overflow on the way give what products of the window's elements give."""
    force(size)
    m, image = Maker(), (2, 14, 13, 20)
    y = convolution(m, image, 37, padding=(1, 1, 1, 1))
    z = m.relu(y)
    x = numbers(1, image)
    x[1, 5, 7, 19] = x[1, 0, 0, 3] = number
    x[1, 13, 12, 2] = number
    graph = m.graph(y=y, z=z)
    with np.errstate(all="ignore"):
        expected = Interpreter(graph, m.constants).run({"x": x})
    result = compiled(graph, m.constants, {"x": x})
    for name, want in expected.items():
        np.testing.assert_array_equal(np.isnan(result[name]), np.isnan(want))
        np.testing.assert_array_equal(np.isinf(result[name]), np.isinf(want))
        met = np.zeros(y.shape, bool)
        met[1, 4:7, 6:9] = met[1, :2, :2] = met[1, 12:, 11:] = True
        np.testing.assert_allclose(result[name][~met], want[~met], 2e-5, 1e-4 if np.abs(number) > 1e38 else 1e34)
        np.testing.assert_allclose(result[name][met], want[met], 1e-5, 2e-5 * np.nan_to_num(abs(number), posinf=1.0))


@pytest.mark.parametrize("size", [2, 4])
@pytest.mark.parametrize("channels", [16, 64, 300])
@pytest.mark.parametrize("positive", [False, True])
def test_errors(force: Force, size: int, channels: int, positive: bool) -> None:
    """Against float64: in all, like those of sums in float32; the greatest within a few of its last places."""
    force(size)
    m, image = Maker(), (1, 32, 32, channels)
    random = np.random.default_rng(channels)
    x = random.standard_normal(image).astype(np.float32)
    x = np.maximum(x, 0) if positive else x
    weights = (random.standard_normal((32, channels, 3, 3)) * np.sqrt(2 / (9 * channels))).astype(np.float32)
    y = m.conv2d(m.input("x", "float32", image), m.constant(weights), padding=(1, 1, 1, 1), input_layout="nhwc")
    assert is_winograd(m, y=y)
    result = compiled(m.graph(y=y), m.constants, {"x": x})["y"]
    padded = np.pad(x.astype(np.float64), ((0, 0), (1, 1), (1, 1), (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(1, 2))
    exact = np.einsum("nyxcij,ocij->nyxo", windows, weights.astype(np.float64), optimize=True)
    error = np.abs(result - exact)
    assert np.sqrt(np.mean(error**2)) < {2: 5e-7, 4: 1.2e-6}[size] * np.sqrt(np.mean(exact**2))
    assert error.max() < {2: 8e-7, 4: 2.5e-6}[size] * np.abs(exact).max()


def test_bits_depend_on_neither_threads_nor_neighbours(force: Force) -> None:
    force(4)
    m, image = Maker(), (3, 30, 27, 20)
    spec = spec_of(m, y=convolution(m, image, 70, padding=(1, 1, 1, 1)))
    x = numbers(1, image)
    kernels = load_kernels(spec.kernels)
    alone, shared = (Program(spec, kernels, threads=n).run({"x": x})["y"].copy() for n in (1, 2))
    np.testing.assert_array_equal(alone, shared)
    for i in range(3):
        single = Maker()
        one = spec_of(single, y=convolution(single, (1, *image[1:]), 70, padding=(1, 1, 1, 1)))
        result = Program(one, load_kernels(one.kernels), threads=1).run({"x": x[i : i + 1]})["y"]
        np.testing.assert_array_equal(result[0], alone[i])


def test_windows_that_are_left_to_others(force: Force) -> None:
    force(4)
    for image, options in (
        ((1, 12, 12, 16), {"strides": (1, 2)}),
        ((1, 12, 12, 16), {"dilations": (2, 1)}),
        ((1, 12, 12, 16), {"dtype": "float64"}),
        ((1, 12, 12, 16), {"dtype": "float16"}),
    ):
        m = Maker()
        y = convolution(m, image, 16, **options)
        assert not is_winograd(m, y=y)
    m = Maker()
    x, f = m.input("x", "float32", (1, 12, 12, 16)), m.input("f", "float32", (16, 16, 3, 3))
    assert not is_winograd(m, y=m.conv2d(x, f, input_layout="nhwc"))
    m = Maker()
    x, f = m.input("x", "float32", (1, 12, 12, 16)), m.constant(numbers(2, (16, 8, 3, 3)))
    assert not is_winograd(m, y=m.conv2d(x, f, groups=2, input_layout="nhwc"))


@pytest.mark.parametrize("number", [np.inf, np.nan, 1e35])
def test_weights_that_could_overflow_are_left_to_others(force: Force, number: float) -> None:
    force(4)
    m, weights = Maker(), numbers(2, (16, 16, 3, 3))
    weights[3, 2, 1, 0] = number
    x = m.input("x", "float32", (1, 12, 12, 16))
    assert not is_winograd(m, y=m.conv2d(x, m.constant(weights), input_layout="nhwc"))


def test_the_choice_depends_on_the_size_of_one_image() -> None:
    """Large images gain, few pixels or channels do not; a batch chooses as its images do."""
    for batch in (1, 16):
        for sides, channels, taken in ((56, 64, True), (3, 64, False), (28, 2, False)):
            m = Maker()
            y = convolution(m, (batch, sides, sides, channels), channels if channels > 2 else 12, padding=(1, 1, 1, 1))
            assert is_winograd(m, y=y) == taken, (sides, channels)
