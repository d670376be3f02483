"""Convolutions in all layouts, with every edge of windows and tiles, against their NumPy semantics."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from basalt.compiler.templates import conv_winograd
from basalt.compiler.templates.geometry import Window
from basalt.errors import ValidationError

from .harness import Maker, check, numbers

PAIR = st.tuples(st.integers(1, 3), st.integers(1, 3))


def convolve(
    op: str,
    sizes: dict[str, int],
    *,
    layout: str = "nchw",
    filter_layout: str | None = None,
    dtype: str = "float32",
    constant: bool = True,
    bias: bool = True,
    fused: bool = False,
    **options: Any,
) -> None:
    """One convolution; sizes: n, c (a group), o (a group), h, w, y and x (the window), g."""
    m, feeds = Maker(), {}
    groups = sizes["g"]
    image = {"n": sizes["n"], "c": sizes["c"] * groups, "h": sizes["h"], "w": sizes["w"]}
    plain = op == "conv2d"
    weights = {"o": sizes["o"] * (groups if plain else 1), "i": sizes["c"] * (1 if plain else groups)}
    weights |= {"h": sizes["y"], "w": sizes["x"]}
    arranged = filter_layout or ("oihw" if plain else "iohw")
    feeds["image"] = numbers(1, tuple(image[letter] for letter in layout), dtype)
    x = m.input("image", dtype, feeds["image"].shape)
    array = numbers(2, tuple(weights[letter] for letter in arranged), dtype)
    if constant:
        f = m.constant(array, dtype)
    else:
        f, feeds["filter"] = m.input("filter", dtype, array.shape), array
    added = {"bias": m.constant(numbers(3, (sizes["o"] * groups,), dtype), dtype)} if bias else {}
    options |= {"groups": groups, "input_layout": layout, "filter_layout": arranged}
    y = getattr(m, op)(x, f, **added, **options)
    if fused:
        r = m.input("residual", dtype, y.shape)
        feeds["residual"] = numbers(4, y.shape, dtype)
        check(m, feeds, y=m.relu(m.add(y, r)), raw=y)
    else:
        check(m, feeds, y=y)


@st.composite
def cases(draw: st.DrawFn, op: str) -> tuple[dict[str, int], dict[str, Any]]:
    sizes = {"n": draw(st.integers(1, 2)), "g": draw(st.sampled_from([1, 1, 2])), "c": draw(st.sampled_from([1, 3, 5]))}
    sizes |= {"o": draw(st.sampled_from([1, 4, 17, 40])), "h": draw(st.integers(1, 6))}
    sizes |= {"w": draw(st.sampled_from([1, 5, 9, 33])), "y": draw(st.integers(1, 3)), "x": draw(st.integers(1, 3))}
    filters = ("oihw", "hwio", "ohwi", "ihwo") if op == "conv2d" else ("iohw", "hwoi", "ohwi")
    options = {
        "layout": draw(st.sampled_from(["nchw", "nhwc"])),
        "filter_layout": draw(st.sampled_from(filters)),
        "constant": draw(st.booleans()),
        "bias": draw(st.booleans()),
        "fused": draw(st.booleans()),
        "padding": draw(st.tuples(*[st.integers(0, 3)] * 4)),
        "strides": draw(PAIR),
        "dilations": draw(PAIR),
    }
    return sizes, options


@settings(max_examples=32, deadline=None, derandomize=True)
@given(cases("conv2d"))
def test_convolutions(case: tuple[dict[str, int], dict[str, Any]]) -> None:
    sizes, options = case
    try:
        convolve("conv2d", sizes, **options)
    except ValidationError:
        assume(False)


@settings(max_examples=20, deadline=None, derandomize=True)
@given(cases("conv_transpose2d"), st.tuples(st.integers(0, 2), st.integers(0, 2)))
def test_transposed_convolutions(case: tuple[dict[str, int], dict[str, Any]], extra: tuple[int, int]) -> None:
    sizes, options = case
    padding = [min(e, s - 1) for e, s in zip(extra, options["strides"])]
    try:
        convolve("conv_transpose2d", sizes, output_padding=padding, **options)
    except ValidationError:
        assume(False)


@pytest.mark.parametrize("layout", ["nchw", "nhwc"])
@pytest.mark.parametrize("dtype", ["float16", "float64", "bfloat16"])
def test_data_types(layout: str, dtype: str) -> None:
    sizes = {"n": 1, "g": 1, "c": 4, "o": 20, "h": 6, "w": 9, "y": 3, "x": 3}
    convolve("conv2d", sizes, layout=layout, dtype=dtype, padding=(1, 1, 1, 1), fused=True)
    convolve("conv_transpose2d", sizes, layout=layout, dtype=dtype, strides=(2, 2))
    convolve("conv2d", sizes | {"g": 20, "c": 1, "o": 1}, layout=layout, dtype=dtype, padding=(1, 1, 1, 1))
    convolve("conv2d", sizes | {"y": 1, "x": 1, "h": 9}, layout=layout, dtype=dtype)


@pytest.mark.parametrize("layout", ["nchw", "nhwc"])
@pytest.mark.parametrize(
    ("sizes", "options"),
    [
        ({"h": 9, "w": 40}, {"padding": (1, 1, 1, 1)}),
        ({"h": 9, "w": 40}, {"padding": (1, 0, 0, 1), "strides": (2, 2)}),
        ({"h": 30, "w": 7}, {"padding": (2, 2, 2, 2), "dilations": (2, 2)}),
        ({"h": 5, "w": 80}, {"strides": (1, 3), "padding": (3, 3, 3, 3)}),
        ({"h": 1, "w": 1}, {"padding": (1, 1, 1, 1)}),
        ({"h": 7, "w": 7, "y": 7, "x": 7}, {"padding": (3, 3, 3, 3), "constant": False}),
        ({"h": 9, "w": 20, "y": 1, "x": 1}, {"padding": (0, 1, 0, 0)}),
    ],
)
@pytest.mark.parametrize("multiplier", [1, 2])
def test_depthwise(layout: str, sizes: dict[str, int], options: dict[str, Any], multiplier: int) -> None:
    full = {"n": 2, "g": 37, "c": 1, "o": multiplier, "y": 3, "x": 3} | sizes
    convolve("conv2d", full, layout=layout, fused=True, **options)


@pytest.mark.parametrize("layout", ["nchw", "nhwc"])
@pytest.mark.parametrize(
    "sizes",
    [
        {"n": 2, "g": 1, "c": 9, "o": 40, "h": 5, "w": 20},
        {"n": 1, "g": 3, "c": 5, "o": 7, "h": 9, "w": 9},
        {"n": 3, "g": 1, "c": 40, "o": 17, "h": 2, "w": 3},
        {"n": 1, "g": 1, "c": 200, "o": 50, "h": 20, "w": 20},
        {"n": 1, "g": 1, "c": 4, "o": 1, "h": 1, "w": 1},
        {"n": 2, "g": 1, "c": 700, "o": 300, "h": 3, "w": 7},
        {"n": 1, "g": 2, "c": 24, "o": 5, "h": 4, "w": 4},
    ],
)
def test_pointwise(layout: str, sizes: dict[str, int]) -> None:
    convolve("conv2d", sizes | {"y": 1, "x": 1}, layout=layout, fused=True)
    convolve("conv2d", sizes | {"y": 1, "x": 1}, layout=layout, constant=False, bias=False)


@pytest.mark.parametrize("layout", ["nchw", "nhwc"])
def test_blocks_of_pixels_and_of_channels(layout: str) -> None:
    """Rows longer than a block, images of several blocks, more panels than are finished together, long windows."""
    wide = {"n": 1, "g": 1, "c": 2, "o": 33, "h": 3, "w": 700, "y": 2, "x": 3}
    convolve("conv2d", wide, layout=layout, padding=(1, 1, 1, 1))
    convolve("conv2d", wide | {"o": 600, "h": 14, "w": 14}, layout=layout, padding=(1, 1, 1, 1))
    convolve("conv2d", wide | {"c": 150, "h": 8, "w": 8, "y": 5}, layout=layout, padding=(2, 2, 1, 1), dilations=(2, 1))
    convolve("conv_transpose2d", wide | {"o": 140}, layout=layout, strides=(2, 2))


def test_results_lie_where_they_are_concatenated() -> None:
    """Strided results: two convolutions side by side in one tensor, along channels and along columns."""
    m = Maker()
    x = m.input("x", "float32", (1, 3, 8, 9))
    for axis in (1, 3):
        left, right = (
            m.conv2d(x, m.constant(numbers(s, (5, 3, 3, 3))), padding=(1, 1, 1, 1)) for s in (axis, axis + 1)
        )
        check(m, {"x": numbers(7, (1, 3, 8, 9))}, y=m.concat([m.relu(left), right], axis))


def test_a_dead_image_is_only_padding() -> None:
    """A window that meets no element anywhere gives the bias."""
    m = Maker()
    x = m.input("x", "float32", (1, 1, 1, 1))
    y = m.conv2d(x, m.constant(np.ones((2, 1, 2, 2))), bias=m.constant([1, 2]), padding=(4, 4, 4, 4), strides=(9, 9))
    y = check(m, {"x": numbers(1, (1, 1, 1, 1))}, y=y)["y"]
    np.testing.assert_array_equal(y.ravel(), [1, 2])


def test_windows_of_points() -> None:
    attrs = {"padding": (0, 0, 0, 0), "strides": (2, 1), "dilations": (3, 3)}
    assert Window.of(attrs, (1, 1), (1, 5), (1, 5)).is_point
    assert not Window.of(attrs, (1, 1), (3, 5), (2, 5)).is_point
    assert not Window.of(attrs, (1, 2), (1, 5), (1, 2)).is_point


LAST = {"layout": "nhwc", "fused": True}


@pytest.mark.parametrize(
    ("sizes", "options"),
    [
        ({"n": 2, "c": 16, "o": 24, "h": 9, "w": 17}, {"padding": (1, 1, 1, 1)}),
        ({"g": 2, "c": 7, "o": 33, "h": 9, "w": 19}, {"padding": (0, 1, 1, 0), "strides": (2, 2)}),
        ({"c": 16, "o": 18, "h": 9, "w": 30, "y": 5}, {"padding": (4, 4, 2, 2), "dilations": (2, 2)}),
        ({"c": 200, "o": 18, "h": 5, "w": 6}, {"padding": (1, 1, 1, 1)}),
        ({"c": 12, "o": 18, "h": 5, "w": 16}, {"padding": (1, 1, 1, 1), "constant": False, "bias": False}),
        ({"c": 12, "o": 18, "h": 5, "w": 16}, {"padding": (1, 1, 1, 1), "dtype": "float64"}),
        ({"c": 16, "o": 16, "h": 2, "w": 2, "y": 2, "x": 2}, {"padding": (3, 3, 3, 3)}),
        ({"c": 5, "o": 20, "h": 1, "w": 3, "y": 1, "x": 1}, {}),
        ({"c": 4, "o": 100, "h": 13, "w": 21, "y": 1, "x": 1}, {"strides": (2, 2)}),
        ({"c": 700, "o": 20, "h": 3, "w": 20}, {"padding": (1, 1, 1, 1)}),
        ({"c": 530, "o": 24, "h": 4, "w": 5, "x": 2}, {"padding": (1, 1, 1, 0)}),
        ({"c": 701, "o": 40, "h": 7, "w": 7, "y": 1, "x": 1}, {}),
        ({"n": 2, "c": 33, "o": 49, "h": 9, "w": 8, "y": 1, "x": 1}, {"strides": (2, 3), "padding": (1, 0, 0, 2)}),
        ({"g": 3, "c": 36, "o": 16, "h": 7, "w": 7}, {"padding": (1, 1, 1, 1), "strides": (2, 1)}),
        ({"c": 3, "o": 20, "h": 11, "w": 300, "y": 7, "x": 9}, {"padding": (3, 3, 4, 4), "strides": (2, 2)}),
        ({"c": 1, "o": 20, "h": 1, "w": 900, "y": 1, "x": 600}, {"strides": (1, 3)}),
    ],
)
def test_channels_last(sizes: dict[str, int], options: dict[str, Any]) -> None:
    """Tiles of pixels at all edges; windows summed up in several parts; parts of the image too large to copy."""
    convolve("conv2d", {"n": 1, "g": 1, "y": 3, "x": 3} | sizes, **LAST, **options)


@pytest.mark.parametrize(
    ("sizes", "options"),
    [
        ({"n": 2, "g": 40, "h": 9, "w": 17}, {"padding": (1, 1, 1, 1)}),
        ({"g": 64, "h": 9, "w": 17, "y": 5, "x": 5}, {"padding": (2, 2, 2, 2), "strides": (2, 2)}),
        ({"g": 17, "h": 3, "w": 3}, {"padding": (2, 0, 0, 2)}),
        ({"g": 33, "h": 8, "w": 5, "x": 2}, {"padding": (2, 2, 1, 0), "dilations": (2, 1)}),
        ({"g": 20, "h": 8, "w": 12}, {"padding": (1, 1, 1, 1), "dtype": "float64"}),
    ],
)
def test_depthwise_channels_last(sizes: dict[str, int], options: dict[str, Any]) -> None:
    convolve("conv2d", {"n": 1, "c": 1, "o": 1, "y": 3, "x": 3} | sizes, **LAST, **options)


@pytest.mark.parametrize(
    ("sizes", "options"),
    [
        ({"n": 2, "g": 8, "c": 4, "h": 9, "w": 17}, {"padding": (1, 1, 1, 1)}),
        ({"g": 7, "c": 2, "h": 5, "w": 9}, {"padding": (1, 1, 1, 1), "strides": (2, 2)}),
        ({"g": 3, "c": 4, "h": 3, "w": 3}, {"padding": (2, 0, 0, 2)}),
        ({"g": 5, "c": 8, "h": 6, "w": 10, "y": 5, "x": 5}, {"padding": (2, 2, 2, 2), "filter_layout": "hwio"}),
        ({"g": 9, "c": 4, "h": 7, "w": 5, "y": 1, "x": 1}, {"strides": (1, 2)}),
        ({"g": 9, "c": 2, "h": 7, "w": 8, "x": 2}, {"padding": (2, 2, 1, 0), "dilations": (2, 1), "bias": False}),
        ({"g": 5, "c": 2, "h": 6, "w": 12}, {"padding": (1, 1, 1, 1), "dtype": "float64"}),
        ({"g": 5, "c": 4, "h": 6, "w": 12}, {"padding": (1, 1, 1, 1), "dtype": "float64"}),
        ({"g": 3, "c": 8, "h": 6, "w": 12}, {"padding": (1, 1, 1, 1), "dtype": "float64"}),
        ({"g": 6, "c": 4, "h": 6, "w": 12}, {"padding": (1, 1, 1, 1), "constant": False}),
        ({"g": 6, "c": 4, "h": 6, "w": 12}, {"padding": (1, 1, 1, 1), "dtype": "float16"}),
    ],
)
def test_narrow_groups(sizes: dict[str, int], options: dict[str, Any]) -> None:
    """Several groups in a vector, the last one part of a vector; other ways where that is not possible."""
    convolve("conv2d", {"n": 1, "y": 3, "x": 3} | sizes | {"o": sizes["c"]}, **LAST, **options)


@pytest.mark.parametrize(
    ("sizes", "options"),
    [
        ({"n": 2, "c": 5, "o": 8, "w": 50, "x": 7}, {"padding": (1, 1, 3, 3), "fused": True}),
        ({"c": 20, "o": 1, "w": 70}, {"padding": (1, 1, 1, 1)}),
        ({"c": 20, "o": 1, "w": 40}, {"padding": (1, 1, 1, 1), "layout": "nhwc"}),
        ({"g": 2, "c": 4, "o": 3, "w": 19, "y": 1, "x": 1}, {}),
        ({"c": 4, "o": 3, "w": 19, "y": 2}, {"dilations": (2, 3), "padding": (1, 0, 3, 5)}),
        ({"c": 90, "o": 4, "w": 33, "x": 5}, {"padding": (1, 1, 2, 2), "fused": True}),
        ({"c": 3, "o": 8, "w": 90, "x": 5}, {"padding": (2, 1, 2, 4), "strides": (2, 3), "fused": True}),
        ({"c": 2, "o": 6, "h": 3, "w": 41, "y": 5, "x": 4}, {"padding": (2, 2, 7, 1), "strides": (1, 4)}),
        ({"n": 2, "c": 1, "o": 1, "h": 1, "w": 900, "y": 1, "x": 257}, {"strides": (1, 2), "fused": True}),
        ({"c": 1, "o": 1, "h": 2, "w": 90, "y": 1, "x": 33}, {"padding": (0, 0, 16, 20)}),
        ({"c": 1, "o": 36, "h": 1, "w": 700, "y": 1, "x": 256}, {"strides": (1, 16), "layout": "nhwc"}),
    ],
)
def test_few_outputs(sizes: dict[str, int], options: dict[str, Any]) -> None:
    """Vectors run over columns."""
    convolve("conv2d", {"n": 1, "g": 1, "h": 6, "y": 3, "x": 3} | sizes, **options)


@pytest.mark.parametrize(
    ("sizes", "options"),
    [
        ({"o": 1, "y": 2, "x": 2}, {"strides": (2, 2), "bias": True}),
        ({"o": 1, "y": 2, "x": 3}, {"strides": (2, 3), "bias": False}),
        ({"o": 20, "y": 2, "x": 2}, {"strides": (2, 2), "fused": True}),
        ({"n": 2, "o": 20, "y": 4, "x": 5}, {"strides": (2, 3), "padding": (1, 1, 2, 0), "fused": True}),
        ({"o": 20, "y": 3, "x": 3}, {"strides": (2, 1), "padding": (1, 1, 1, 1), "output_padding": (1, 0)}),
        ({"o": 20, "y": 1, "x": 2}, {"strides": (2, 2)}),
        ({"o": 24, "g": 2, "y": 4, "x": 4}, {"strides": (2, 2), "padding": (1, 1, 1, 1)}),
    ],
)
def test_transposed_by_phases(sizes: dict[str, int], options: dict[str, Any]) -> None:
    convolve("conv_transpose2d", {"n": 1, "g": 1, "c": 16, "h": 5, "w": 9} | sizes, layout="nhwc", **options)


def test_few_outputs_inside_a_concatenation() -> None:
    """Neither the image nor the results have neighbouring columns."""
    m = Maker()
    x = m.input("x", "float32", (1, 6, 24, 20))
    image = m.transpose(x, permutation=[0, 3, 1, 2])
    one = m.conv2d(image, m.constant(numbers(1, (1, 20, 3, 3))), padding=(1, 1, 1, 1))
    wide = m.conv2d(image, m.constant(numbers(2, (20, 20, 1, 1))))
    y = m.concat([m.sigmoid(one), m.relu(wide)], 1)
    check(m, {"x": numbers(3, (1, 6, 24, 20))}, y=m.neg(y))


@pytest.mark.parametrize(
    "chain", ["hard_swish", "silu", "gelu", "tanh", "leaky", "scaled", "clamp", "greater", "to half", "log"]
)
@pytest.mark.parametrize("groups", [1, 24])
def test_what_is_fused(chain: str, groups: int) -> None:
    """Operators on vectors of sums; operands for each pixel, channel and all; those that vectors are no use for."""
    m = Maker()
    x = m.input("x", "float32", (2, 5, 9, 24))
    weights = m.constant(numbers(1, (24, 24 // groups, 3, 3)))
    y = m.conv2d(x, weights, padding=(1, 1, 1, 1), groups=groups, input_layout="nhwc")
    pixel, channel = m.constant(numbers(2, (1, 5, 9, 1))), m.constant(numbers(3, (24,)))
    made = {
        "hard_swish": lambda: m.hard_swish(y),
        "silu": lambda: m.mul(y, m.sigmoid(y)),
        "gelu": lambda: m.gelu(y),
        "tanh": lambda: m.tanh(y),
        "leaky": lambda: m.leaky_relu(y, alpha=0.1),
        "scaled": lambda: m.add(m.mul(m.mul(y, pixel), channel), m.constant(numbers(4, (1,)))),
        "clamp": lambda: m.clamp(y, min_value=-0.5, max_value=0.5),
        "greater": lambda: m.where(m.greater(y, pixel), y, channel),
        "to half": lambda: m.cast(m.mul(y, channel), "float16"),
        "log": lambda: m.log(m.add(m.abs(y), m.constant(np.float32(1)))),
    }
    check(m, {"x": numbers(5, (2, 5, 9, 24))}, y=made[chain]())


@pytest.mark.parametrize("window", [1, 3])
@pytest.mark.parametrize("channels", [5, 40, 300])
def test_pixels_do_not_depend_on_others(window: int, channels: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same bits in an image of other sizes, and so in other tiles."""
    # Its tiles share their rounding.
    monkeypatch.setattr(conv_winograd, "_gains", lambda *_: False)
    found = []
    given = numbers(0, (1, 13, 11, channels))
    for height, width in ((13, 11), (7, 9)):
        m = Maker()
        image = given[:, :height, :width]
        y = m.conv2d(
            m.input("x", "float32", image.shape),
            m.constant(numbers(1, (20, channels, window, window))),
            padding=(window // 2,) * 4,
            input_layout="nhwc",
        )
        found.append(check(m, {"x": image}, y=y)["y"][:, :6, :8])
    np.testing.assert_array_equal(*found)


def test_wide_images_of_other_orders() -> None:
    """Many channels that lie apart; results in rows that do not follow each other."""
    m = Maker()
    x = m.input("x", "float32", (2, 50, 6, 7))
    one = m.conv2d(x, m.constant(numbers(1, (20, 50, 3, 3))), padding=(1, 1, 1, 1))
    two = m.conv2d(x, m.constant(numbers(2, (20, 50, 1, 1))))
    check(m, {"x": numbers(3, (2, 50, 6, 7))}, y=m.concat([m.relu(one), m.relu(two)], 3), z=m.neg(one))


def test_results_between_others() -> None:
    """Channels that lie apart are computed elsewhere and copied; so are those of single results with their phases."""
    m = Maker()
    x = m.input("x", "float32", (1, 9, 12, 40))
    pair = [m.conv2d(x, m.constant(numbers(s, (20, 40, 3, 3))), input_layout="nhwc") for s in (1, 2)]
    up = m.sigmoid(m.conv_transpose2d(x, m.constant(numbers(3, (40, 1, 2, 2))), strides=(2, 2), input_layout="nhwc"))
    y = m.concat([m.reshape(p, (1, 7, 10, 20, 1)) for p in pair], 4)
    check(m, {"x": numbers(4, (1, 9, 12, 40))}, y=y, z=m.concat([up, up], 3))


def test_numbers_that_are_none_in_the_image_stay_where_windows_meet_them() -> None:
    m = Maker()
    given = numbers(0, (1, 6, 20, 16))
    given[0, 2, 3, 4], given[0, 4, 17, 2] = np.nan, np.inf
    x = m.input("x", "float32", given.shape)
    y = m.conv2d(x, m.constant(numbers(1, (20, 16, 3, 3))), padding=(1, 1, 1, 1), input_layout="nhwc")
    got = check(m, {"x": given}, y=m.relu(y))["y"]
    assert np.isnan(got[0, 1:4, 2:5]).all() and np.isfinite(got[0, :, 6:15]).all()


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("strides", [(1, 1), (2, 3)])
def test_depthwise_results_in_another_order_than_the_image(dtype: str, strides: tuple[int, int]) -> None:
    """An image by columns whose results have their channels last."""
    m = Maker()
    x = m.input("x", dtype, (2, 20, 7, 9))
    weights = m.constant(numbers(1, (20, 1, 3, 3), dtype), dtype)
    y = m.conv2d(x, weights, groups=20, padding=(1, 1, 1, 1), strides=strides)
    point = m.constant(numbers(2, (24, 20, 1, 1), dtype), dtype)
    check(m, {"x": numbers(3, (2, 20, 7, 9), dtype)}, y=m.conv2d(y, point))


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("strides", [(1, 1), (2, 2), (1, 3)])
def test_depthwise_results_by_columns(last: bool, strides: tuple[int, int]) -> None:
    """Results that are asked for by columns, of an image that lies so, or with its channels last."""
    m = Maker()
    x = m.input("x", "float32", (2, 9, 11, 20) if last else (2, 20, 9, 11))
    image = m.transpose(x, permutation=[0, 3, 1, 2]) if last else x
    weights = m.constant(numbers(1, (20, 1, 3, 3)))
    y = m.conv2d(image, weights, bias=m.constant(numbers(2, (20,))), groups=20, padding=(1,) * 4, strides=strides)
    r = m.input("r", "float32", y.shape)
    feeds = {"x": numbers(3, x.shape), "r": numbers(4, y.shape)}
    check(m, feeds, y=y, relu=m.relu(y), added=m.add(y, r))
