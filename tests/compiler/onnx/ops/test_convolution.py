"""Conv and ConvTranspose along one to four axes, against ONNX Runtime and NumPy."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from basalt.errors import BasaltError

from .one_node import executable, interpreted, run
from .window_oracle import convolve, convolve_transposed

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

from .microsoft.comparison import agree

VERSIONS = [1, 11, 22]


def numbers(*shape: int, dtype: Any = np.float32, seed: int = 0) -> np.ndarray:
    return np.asarray(np.random.default_rng(seed).integers(-4, 5, shape)).astype(dtype)


def same(op: str, x: np.ndarray, w: np.ndarray, *rest: np.ndarray, version: int = 22, **attributes: Any) -> None:
    compiled, symbolic = attributes.pop("compiled", False), attributes.pop("symbolic", False)
    agree(
        op,
        [x, w, *rest],
        domain="",
        opset=version,
        attributes=attributes,
        compiled=compiled,
        symbolic=symbolic,
        constant=(1,) if symbolic else (),
    )


@st.composite
def geometries(draw: Any, transposed: bool = False) -> tuple[np.ndarray, np.ndarray, list[np.ndarray], dict[str, Any]]:
    rank, groups = draw(st.integers(1, 3)), draw(st.integers(1, 2))
    kernel = [draw(st.integers(1, 3)) for _ in range(rank)]
    strides = [draw(st.integers(1, 3)) for _ in range(rank)]
    dilations = [draw(st.integers(1, 2)) for _ in range(rank)]
    sizes = [(k - 1) * d + 1 + draw(st.integers(0, 4)) for k, d in zip(kernel, dilations)]
    attributes: dict[str, Any] = {"strides": strides, "dilations": dilations, "group": groups}
    padding = draw(st.sampled_from(["pads", "SAME_UPPER", "SAME_LOWER", "VALID", "none"]))
    if padding == "pads":
        attributes["pads"] = [draw(st.integers(0, 2)) for _ in range(2 * rank)]
        if transposed:
            extents = [(k - 1) * d for k, d in zip(kernel, dilations)]
            attributes["pads"] = [min(p, e // 2) for p, e in zip(attributes["pads"], 2 * extents)]
    elif padding != "none":
        attributes["auto_pad"] = padding
    if padding.startswith("SAME") and not transposed:
        attributes["dilations"] = [1] * rank
    if draw(st.booleans()):
        attributes["kernel_shape"] = kernel
    batch, channels, outputs = (
        draw(st.integers(1, 2)),
        groups * draw(st.integers(1, 2)),
        groups * draw(st.integers(1, 3)),
    )
    x = numbers(batch, channels, *sizes)
    if transposed:
        w = numbers(channels, outputs // groups, *kernel, seed=1)
    else:
        w = numbers(outputs, channels // groups, *kernel, seed=1)
    return x, w, [numbers(outputs, seed=2)] if draw(st.booleans()) else [], attributes


@settings(max_examples=60)
@given(geometries(), st.sampled_from(VERSIONS), st.booleans())
def test_convolution_is_that_of_onnx_runtime(geometry: Any, version: int, symbolic: bool) -> None:
    x, w, bias, attributes = geometry
    same("Conv", x, w, *bias, version=version, symbolic=symbolic, **attributes)


@settings(max_examples=60)
@given(geometries(transposed=True), st.sampled_from(VERSIONS), st.data())
def test_transposed_convolution_is_that_of_onnx_runtime(geometry: Any, version: int, data: Any) -> None:
    x, w, bias, attributes = geometry
    reach = [
        (size - 1) * s + (k - 1) * d + 1
        for size, s, k, d in zip(x.shape[2:], attributes["strides"], w.shape[2:], attributes["dilations"])
    ]
    if data.draw(st.booleans()) and "pads" not in attributes:
        # ONNX Runtime refuses sizes that the elements do not reach.
        attributes["output_shape"] = [data.draw(st.integers(1, r)) for r in reach]
    elif "auto_pad" not in attributes:
        tops = [s - 1 for s in attributes["strides"]]
        attributes["output_padding"] = [data.draw(st.integers(0, top)) for top in tops]
    elif attributes["auto_pad"].startswith("SAME"):
        attributes["dilations"] = [1] * len(reach)
        attributes["strides"] = [min(s, k) for s, k in zip(attributes["strides"], w.shape[2:])]
    same("ConvTranspose", x, w, *bias, version=version, **attributes)


@pytest.mark.parametrize("rank", [1, 2, 3, 4])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("version", VERSIONS)
def test_convolution_in_all_types(rank: int, dtype: str, version: int) -> None:
    kind = ml_dtypes.bfloat16 if dtype == "bfloat16" else np.dtype(dtype)
    x = numbers(1, 4, *[4, 5, 3, 4][:rank], dtype=kind)
    w = numbers(6, 2, *[2, 3, 2, 1][:rank], dtype=kind, seed=1)
    pads = [1, 0, 1, 0][:rank] + [0, 2, 0, 0][:rank]
    attributes = {"pads": pads, "strides": [1, 2, 1, 1][:rank], "group": 2}
    if dtype == "bfloat16" and version < 22:
        with pytest.raises(BasaltError, match="bfloat16"):
            run("Conv", version, x, w, compiled=False, **attributes)
        return
    y = run("Conv", version, x, w, compiled=dtype == "float32" and version == 22, **attributes)
    expected = convolve(x, w, attributes["strides"], pads, [1] * rank, 2)  # type: ignore[arg-type]
    assert y.dtype == kind
    np.testing.assert_array_equal(y, expected.astype(kind))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("multiplier", [1, 2])
def test_depthwise_convolution_along_three_axes(dtype: str, multiplier: int) -> None:
    kind = ml_dtypes.bfloat16 if dtype == "bfloat16" else np.dtype(dtype)
    x = numbers(2, 5, 6, 5, 9, dtype=kind)
    w, bias = numbers(5 * multiplier, 1, 3, 2, 3, dtype=kind, seed=1), numbers(5 * multiplier, dtype=kind, seed=2)
    pads, strides, dilations = [1, 0, 1, 2, 1, 1], [2, 1, 1], [2, 1, 1]
    attributes = {"pads": pads, "strides": strides, "dilations": dilations, "group": 5}
    y = run("Conv", 22, x, w, bias, compiled=dtype == "float32", **attributes)
    expected = convolve(x, w, strides, pads, dilations, 5) + bias.astype(np.float64).reshape(-1, 1, 1, 1)
    assert y.dtype == kind
    np.testing.assert_array_equal(y, expected.astype(kind))


def test_a_depthwise_convolution_that_does_not_fit() -> None:
    with pytest.raises(BasaltError, match="the window spans 5 places, but the padded input has only 2"):
        run("Conv", 22, numbers(1, 3, 2, 4, 4), numbers(3, 1, 5, 2, 2), compiled=False, group=3)


@pytest.mark.parametrize(
    ("kernel", "pads", "strides"),
    [
        ([1, 1, 1], [0] * 6, [1, 1, 1]),
        ([1, 1, 1], [0] * 6, [2, 1, 3]),
        ([3, 1, 1], [1, 0, 0, 1, 0, 0], [2, 1, 1]),
        ([1, 1, 3], [0, 0, 1, 0, 0, 0], [1, 1, 1]),
        ([1, 3, 1], [0, 1, 0, 0, 1, 1], [1, 2, 2]),
        ([1, 1, 1], [0, 1, 0, 0, 0, 0], [1, 1, 1]),
        ([1, 2, 2], [0] * 6, [3, 1, 1]),
    ],
)
@pytest.mark.parametrize("symbolic", [False, True])
def test_axes_of_single_taps(kernel: list[int], pads: list[int], strides: list[int], symbolic: bool) -> None:
    """They are one axis, once a stride has cut it."""
    x, w = numbers(2, 4, 5, 4, 6), numbers(6, 2, *kernel, seed=1)
    same("Conv", x, w, numbers(6, seed=2), pads=pads, strides=strides, group=2, compiled=True, symbolic=symbolic)


@pytest.mark.parametrize(("length", "stride"), [(2, 2), (4, 2), (5, 3), (2, 3), (3, 1)])
def test_transposed_convolutions_interleave_what_does_not_overlap(length: int, stride: int) -> None:
    x, w = numbers(2, 3, 4, 3, 5), numbers(3, 2, length, 2, 2, seed=1)
    pads = [0, 1, 0, min(1, length - 1), 0, 0]
    same("ConvTranspose", x, w, numbers(2, seed=2), pads=pads, strides=[stride, 2, 1], compiled=True)


@pytest.mark.parametrize("rank", [1, 2, 3, 4])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("version", VERSIONS)
def test_transposed_convolution_in_all_types(rank: int, dtype: str, version: int) -> None:
    kind = ml_dtypes.bfloat16 if dtype == "bfloat16" else np.dtype(dtype)
    x = numbers(2, 4, *[3, 4, 2, 2][:rank], dtype=kind)
    w = numbers(4, 3, *[2, 3, 2, 3][:rank], dtype=kind, seed=1)
    bias = numbers(6, dtype=kind, seed=2)
    strides, dilations = [2, 1, 3, 1][:rank], [1, 2, 1, 1][:rank]
    attributes = {"strides": strides, "dilations": dilations, "group": 2}
    if dtype == "bfloat16" and version < 22:
        with pytest.raises(BasaltError, match="bfloat16"):
            run("ConvTranspose", version, x, w, bias, compiled=False, **attributes)
        return
    y = run("ConvTranspose", version, x, w, bias, compiled=dtype == "float32" and version == 22, **attributes)
    sizes = [(d - 1) * s + (k - 1) * e + 1 for d, s, k, e in zip(x.shape[2:], strides, w.shape[2:], dilations)]
    expected = convolve_transposed(x, w, strides, dilations, [0] * rank, sizes, 2)
    assert y.dtype == kind
    np.testing.assert_array_equal(y, (expected + bias.astype(np.float64).reshape(-1, *[1] * rank)).astype(kind))


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_a_transposed_convolution_reaches_beyond_its_elements(rank: int) -> None:
    """Places of the output that no element reaches hold the bias alone."""
    x, w, bias = numbers(1, 1, *[2] * rank), numbers(1, 2, *[2] * rank, seed=1), numbers(2, seed=2)
    y = run("ConvTranspose", 22, x, w, bias, output_shape=[7] * rank)
    expected = convolve_transposed(x, w, [1] * rank, [1] * rank, [0] * rank, [7] * rank)
    np.testing.assert_array_equal(y, expected + bias.reshape(-1, *[1] * rank))


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(("mode", "begin"), [("SAME_UPPER", 0), ("SAME_LOWER", 1), ("NOTSET", 1)])
def test_an_odd_padding_of_a_transposed_convolution(version: int, mode: str, begin: int) -> None:
    x, w = numbers(1, 1, 4), numbers(1, 1, 2, seed=1)
    stated = {"output_shape": [4]} if mode == "NOTSET" else {}
    y = run("ConvTranspose", version, x, w, compiled=False, auto_pad=mode, **stated)
    np.testing.assert_array_equal(y, convolve_transposed(x, w, [1], [1], [begin], [4]))


def test_symbolic_sizes_need_one_translation() -> None:
    x, w = numbers(2, 3, 9, 8), numbers(4, 3, 3, 3, seed=1)
    loaded = executable("Conv", 22, [x, w], known=[1], symbolic=True, auto_pad="SAME_UPPER")
    for shape in ((2, 3, 9, 8), (1, 3, 5, 11), (3, 3, 4, 4)):
        x = numbers(*shape)
        found = loaded.run({"x0": x})["y0"]
        np.testing.assert_array_equal(found, convolve(x, w, [1, 1], [1, 1, 1, 1], [1, 1]))


def test_an_empty_batch() -> None:
    assert run("Conv", 22, numbers(0, 2, 5), numbers(3, 2, 2)).shape == (0, 3, 4)
    assert run("ConvTranspose", 22, numbers(0, 2, 5), numbers(2, 3, 2), strides=[2]).shape == (0, 3, 10)


BROKEN: list[tuple[str, tuple[int, ...], tuple[int, ...], dict[str, Any], str]] = [
    ("Conv", (1, 2, 5), (3, 2, 2), {"kernel_shape": [3]}, "kernel_shape"),
    ("Conv", (1, 2, 5), (3, 2, 2), {"pads": [1]}, "pads"),
    ("Conv", (1, 2, 5), (3, 2, 2), {"pads": [-1, 0]}, "pads"),
    ("Conv", (1, 2, 5), (3, 2, 2), {"strides": [0]}, "strides"),
    ("Conv", (1, 2, 5), (3, 2, 2), {"auto_pad": "SAME"}, "auto_pad"),
    ("Conv", (1, 2, 5), (3, 2, 2, 2), {}, "dimensions"),
    ("Conv", (2, 5), (2, 2), {}, "rank 2"),
    ("Conv", (1, 2, 5), (3, 2, 6), {}, "exceeds"),
    ("Conv", (1, 2, 2, 5, 5), (3, 2, 3, 1, 1), {}, "spans 3 places"),
    ("Conv", (1, 4, 5), (3, 2, 2), {}, "input channels"),
    ("Conv", (1, 2, 5), (3, 2, 0), {}, "at least 1"),
    ("ConvTranspose", (1, 2, 5), (2, 3, 2), {"output_padding": [1]}, "output_padding"),
    ("ConvTranspose", (1, 2, 5), (2, 3, 2), {"output_shape": [1, 2]}, "output_shape"),
    ("ConvTranspose", (1, 2, 5), (2, 3, 2), {"pads": [3, 3]}, "at least 1"),
    ("ConvTranspose", (1, 2, 5), (3, 3, 2), {}, "input channels"),
]


@pytest.mark.parametrize(("op", "given_shape", "weight", "attributes", "message"), BROKEN)
def test_what_the_standard_does_not_allow_is_refused(
    op: str, given_shape: tuple[int, ...], weight: tuple[int, ...], attributes: dict[str, Any], message: str
) -> None:
    with pytest.raises(BasaltError, match=message) as caught:
        run(op, 22, numbers(*given_shape), numbers(*weight), compiled=False, **attributes)
    assert "the node" in str(caught.value)


@pytest.mark.parametrize("still", [(0,), (1,), (2,), (0, 2), (0, 1), (0, 1, 2)])
def test_axes_of_one_element_are_left_out(still: tuple[int, ...]) -> None:
    sizes, kernel = ([1 if i in still else size for i, size in enumerate(s)] for s in ((4, 5, 6), (2, 3, 2)))
    x, w = numbers(2, 3, *sizes), numbers(4, 3, *kernel, seed=1)
    y = run("Conv", 22, x, w, compiled=False)
    np.testing.assert_array_equal(y, convolve(x, w, [1] * 3, [0] * 6, [1] * 3))


@pytest.mark.parametrize(
    ("op", "attributes", "message"),
    [
        ("Conv", {"group": 0}, "group is 0"),
        ("ConvTranspose", {"group": -1}, "group is -1"),
        ("Conv", {"pads": [2**40, 0]}, "pads"),
        ("Conv", {"strides": [2**62]}, "strides"),
        ("Conv", {"dilations": [2**31 - 1]}, "exceeds"),
        ("ConvTranspose", {"dilations": [2**31 - 1], "strides": [2**31 - 1]}, "the node"),
        ("ConvTranspose", {"output_shape": [2**40]}, "the node"),
        ("Conv", {"dilations": [2**31 - 1], "auto_pad": "SAME_UPPER"}, "the node"),
    ],
)
def test_enormous_attributes_are_refused(op: str, attributes: dict[str, Any], message: str) -> None:
    with pytest.raises(BasaltError, match=message):
        run(op, 22, numbers(1, 2, 5), numbers(2, 2, 4), compiled=False, **attributes)


def test_empty_attributes_are_as_none() -> None:
    x, w = numbers(1, 2, 5), numbers(3, 2, 2)
    y = run("Conv", 22, x, w, compiled=False, pads=[], strides=[], dilations=[])
    np.testing.assert_array_equal(y, run("Conv", 22, x, w, compiled=False))


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("mode", ["NOTSET", "SAME_LOWER"])
def test_transposed_convolutions_of_symbolic_sizes(rank: int, mode: str) -> None:
    w = numbers(2, 3, *[3] * rank, seed=1)
    attributes: dict[str, Any] = {"strides": [2] * rank, "auto_pad": mode}
    if mode == "NOTSET":
        attributes.update(pads=[1, 1, 0][:rank] + [1, 0, 1][:rank], output_padding=[1] * rank)
    loaded = executable("ConvTranspose", 22, [numbers(1, 2, *[3] * rank), w], known=[1], symbolic=True, **attributes)
    with interpreted():
        for first in (3, 1, 4):
            x = numbers(2, 2, first, *[2, 3][: rank - 1])
            y = loaded.run({"x0": x})["y0"]
            known = run("ConvTranspose", 22, x, w, compiled=False, **attributes)
            np.testing.assert_array_equal(y, known)
