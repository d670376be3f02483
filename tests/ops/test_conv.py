"""conv2d and conv_transpose2d against SciPy's correlation and a scatter of every input element."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.signal import correlate2d

from .harness import arrays, assert_rounded, float_types, infer, run

TRANSPOSE = {  # from nchw / oihw / iohw
    "nchw": (0, 1, 2, 3), "nhwc": (0, 2, 3, 1),
    "oihw": (0, 1, 2, 3), "hwio": (2, 3, 1, 0), "ohwi": (0, 2, 3, 1), "ihwo": (1, 2, 3, 0),
    "iohw": (0, 1, 2, 3), "hwoi": (2, 3, 1, 0),
}  # fmt: skip
TRANSPOSED_OHWI = (1, 2, 3, 0)

pairs = st.tuples(st.integers(1, 3), st.integers(1, 3))


def dilate(kernel: np.ndarray, dilations: tuple[int, int]) -> np.ndarray:
    sparse = np.zeros([(size - 1) * d + 1 for size, d in zip(kernel.shape, dilations)])
    sparse[:: dilations[0], :: dilations[1]] = kernel
    return sparse


def convolution(x: np.ndarray, w: np.ndarray, o: dict[str, Any]) -> np.ndarray:
    """nchw with oihw, channel by channel."""
    top, bottom, left, right = o["padding"]
    padded = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (top, bottom), (left, right)))
    depth, per_group = w.shape[1], w.shape[0] // o["groups"]
    images = [
        [
            sum(
                correlate2d(padded[n, k // per_group * depth + c], dilate(w[k, c], o["dilations"]), mode="valid")
                for c in range(depth)
            )[:: o["strides"][0], :: o["strides"][1]]
            for k in range(w.shape[0])
        ]
        for n in range(x.shape[0])
    ]
    return np.array(images)


@st.composite
def convolutions(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray | None, dict[str, Any]]:
    dtype = draw(float_types)
    groups, depth, per_group = draw(st.integers(1, 3)), draw(st.integers(1, 3)), draw(st.integers(1, 2))
    window, dilations = draw(pairs), draw(pairs)
    padding = draw(st.tuples(*[st.integers(0, 3)] * 4))
    extents = [(k - 1) * d + 1 for k, d in zip(window, dilations)]
    least = [max(1, extents[i] - padding[2 * i] - padding[2 * i + 1]) for i in (0, 1)]
    sizes = [draw(st.integers(low, low + 4)) for low in least]
    x = draw(arrays((draw(st.integers(1, 2)), groups * depth, *sizes), dtype))
    w = draw(arrays((groups * per_group, depth, *window), dtype))
    bias = draw(st.none() | arrays((groups * per_group,), dtype))
    options = {"groups": groups, "padding": padding, "strides": draw(pairs), "dilations": dilations}
    return x, w, bias, options


@given(convolutions(), st.sampled_from(["nchw", "nhwc"]), st.sampled_from(["oihw", "hwio", "ohwi", "ihwo"]))
def test_conv2d(case: tuple[Any, ...], input_layout: str, filter_layout: str) -> None:
    x, w, bias, options = case
    exact = convolution(x, w, options) + (0 if bias is None else bias.astype(np.float64)[:, None, None])
    (y,) = run(
        "conv2d",
        input=x.transpose(TRANSPOSE[input_layout]),
        filter=w.transpose(TRANSPOSE[filter_layout]),
        bias=bias,
        input_layout=input_layout,
        filter_layout=filter_layout,
        **options,
    )
    assert_rounded(y, exact.transpose(TRANSPOSE[input_layout]))


def test_conv2d_in_chunks_of_rows_and_images() -> None:
    random = np.random.default_rng(1)
    options: dict[str, Any] = {"groups": 1, "padding": (1, 1, 1, 1), "strides": (1, 2), "dilations": (1, 1)}
    for shape in ((1, 40, 220, 200), (130, 1, 60, 60)):
        x, w = random.standard_normal(shape), random.standard_normal((1, shape[1], 3, 3))
        x, w = x.astype(np.float32), w.astype(np.float32)
        (y,) = run("conv2d", input=x, filter=w, **options)
        assert_rounded(y, convolution(x, w, options))


def test_huge_padding_costs_nothing() -> None:
    x, w = np.ones((1, 1, 2, 2), np.float32), np.full((1, 1, 1, 1), 3, np.float32)
    far = 2**30
    (y,) = run("conv2d", input=x, filter=w, padding=(far, far, 0, 0), strides=(far, 1))
    np.testing.assert_array_equal(y[0, 0], [[0, 0], [3, 3], [0, 0]])


def transposed(x: np.ndarray, w: np.ndarray, sizes: tuple[int, int], o: dict[str, Any]) -> np.ndarray:
    """nchw with iohw: every input element scattered."""
    x, w = x.astype(np.float64), w.astype(np.float64)
    batches, channels, height, width = x.shape
    _, per_group, kh, kw = w.shape
    group = channels // o["groups"]
    y = np.zeros((batches, per_group * o["groups"], *sizes))
    for c, i, j, p, q in np.ndindex(channels, height, width, kh, kw):
        row = i * o["strides"][0] + p * o["dilations"][0] - o["padding"][0]
        column = j * o["strides"][1] + q * o["dilations"][1] - o["padding"][2]
        if 0 <= row < sizes[0] and 0 <= column < sizes[1]:
            first = c // group * per_group
            y[:, first : first + per_group, row, column] += x[:, c, i, j, None] * w[c, :, p, q]
    return y


@st.composite
def transposed_convolutions(draw: st.DrawFn) -> tuple[Any, ...]:
    dtype = draw(float_types)
    groups, depth, per_group = draw(st.integers(1, 2)), draw(st.integers(1, 2)), draw(st.integers(1, 2))
    window, strides, dilations = draw(pairs), draw(pairs), draw(pairs)
    sizes = draw(pairs)
    full = [(n - 1) * s + (k - 1) * d + 1 for n, s, k, d in zip(sizes, strides, window, dilations)]
    padding = tuple(draw(st.integers(0, (full[i // 2] - 1) // 2)) for i in range(4))
    extra = tuple(draw(st.integers(0, s - 1)) for s in strides)
    result = tuple(full[i] - padding[2 * i] - padding[2 * i + 1] + extra[i] for i in (0, 1))
    x = draw(arrays((draw(st.integers(1, 2)), groups * depth, *sizes), dtype))
    w = draw(arrays((groups * depth, per_group, *window), dtype))
    bias = draw(st.none() | arrays((groups * per_group,), dtype))
    options = {"groups": groups, "padding": padding, "strides": strides, "dilations": dilations}
    return x, w, bias, options, extra, result


@given(
    transposed_convolutions(),
    st.sampled_from(["nchw", "nhwc"]),
    st.sampled_from(["iohw", "hwoi", "ohwi"]),
    st.sampled_from(["output_padding", "output_sizes", "both"]),
)
def test_conv_transpose2d(case: tuple[Any, ...], input_layout: str, filter_layout: str, sized: str) -> None:
    x, w, bias, options, extra, sizes = case
    exact = transposed(x, w, sizes, options) + (0 if bias is None else bias.astype(np.float64)[:, None, None])
    axes = TRANSPOSED_OHWI if filter_layout == "ohwi" else TRANSPOSE[filter_layout]
    size_options = {"output_padding": extra} if sized == "output_padding" else {"output_sizes": sizes}
    if sized == "both":
        size_options["output_padding"] = (9, 9)  # ignored
    (y,) = run(
        "conv_transpose2d",
        input=x.transpose(TRANSPOSE[input_layout]),
        filter=w.transpose(axes),
        bias=bias,
        input_layout=input_layout,
        filter_layout=filter_layout,
        **options,
        **size_options,
    )
    assert_rounded(y, exact.transpose(TRANSPOSE[input_layout]))


def test_symbolic_sizes() -> None:
    image = {"input": "f32[n, 3, h, w]", "filter": "f32[8, 3, 3, 3]"}
    assert infer("conv2d", **image, padding=(1, 1, 1, 1)) == ["float32[n, 8, h, w]"]
    assert infer("conv2d", **image, strides=(2, 2)) == ["float32[n, 8, ((h - 3) // (2)) + 1, ((w - 3) // (2)) + 1]"]
    up = infer("conv_transpose2d", input="f32[n, 8, h, 5]", filter="f32[8, 3, 2, 2]", strides=(2, 2))
    assert up == ["float32[n, 3, 2*h, 10]"]
