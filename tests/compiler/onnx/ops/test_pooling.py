"""Pooling along one to four axes, against NumPy and ONNX Runtime."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from basalt.errors import BasaltError

from .one_node import allowed, executable, run, versions
from .window_oracle import windows

KINDS = {"bfloat16": ml_dtypes.bfloat16}


def numbers(*shape: int, dtype: str = "float32", seed: int = 0) -> np.ndarray:
    low = 0 if dtype.startswith("u") else -20
    return np.asarray(np.random.default_rng(seed).integers(low, 21, shape)).astype(KINDS.get(dtype, dtype))


@st.composite
def geometries(draw: Any, dilated: bool = True, rounded: bool = True) -> tuple[np.ndarray, dict[str, Any]]:
    rank = draw(st.integers(1, 3))
    kernel = [draw(st.integers(1, 3)) for _ in range(rank)]
    attributes: dict[str, Any] = {"kernel_shape": kernel}
    attributes["strides"] = [draw(st.integers(1, 3)) for _ in range(rank)]
    dilations = [draw(st.integers(1, 2)) for _ in range(rank)] if dilated else [1] * rank
    if dilated:
        attributes["dilations"] = dilations
    extents = [(k - 1) * d + 1 for k, d in zip(kernel, dilations)]
    mode = draw(st.sampled_from(["pads", "SAME_UPPER", "SAME_LOWER", "VALID", "none"]))
    if mode == "pads":
        attributes["pads"] = [draw(st.integers(0, k - 1)) for k in kernel * 2]
    elif mode != "none":
        attributes["auto_pad"] = mode
    if rounded:
        attributes["ceil_mode"] = draw(st.integers(0, 1))
    sizes = [e + draw(st.integers(0, 4)) for e in extents]
    return numbers(draw(st.integers(1, 2)), draw(st.integers(1, 2)), *sizes), attributes


def geometry(x: np.ndarray, attributes: dict[str, Any]) -> dict[str, Any]:
    """The windows of a pooling operator by the standard's equations, as ``window_oracle.windows`` takes them."""
    sizes, kernel = x.shape[2:], attributes["kernel_shape"]
    rank = len(kernel)
    strides, dilations = (list(attributes.get(name) or [1] * rank) for name in ("strides", "dilations"))
    extents = [(k - 1) * d + 1 for k, d in zip(kernel, dilations)]
    mode = attributes.get("auto_pad", "NOTSET")
    pads = list(attributes.get("pads") or [0] * 2 * rank)
    counts = []
    for i, (size, extent, stride) in enumerate(zip(sizes, extents, strides)):
        if mode.startswith("SAME"):
            count = -(-size // stride)
            total = max(0, (count - 1) * stride + extent - size)
            pads[i] = (total + (mode == "SAME_LOWER")) // 2
            pads[rank + i] = total - pads[i]
        elif mode == "VALID":
            count = -(-(size - extent + 1) // stride)
        else:
            room = size + pads[i] + pads[rank + i] - extent
            count = (-(-room // stride) if attributes.get("ceil_mode") else room // stride) + 1
            # Windows that would begin in the padding at the end do not count.
            count -= (count - 1) * stride >= size + pads[i]
        counts.append(count)
    limits = [size + b + e for size, b, e in zip(sizes, pads[:rank], pads[rank:])]
    return {
        "kernel": kernel,
        "strides": strides,
        "begins": pads[:rank],
        "counts": counts,
        "dilations": dilations,
        "limits": limits,
    }


def expected(x: np.ndarray, attributes: dict[str, Any], reduce: Callable[[np.ndarray, np.ndarray], Any]) -> np.ndarray:
    return windows(x.astype(np.float64), reduce=reduce, **geometry(x, attributes))


def mean(values: np.ndarray, where: np.ndarray) -> Any:
    return values[where >= 0].mean()


def mean_with_padding(values: np.ndarray, where: np.ndarray) -> Any:
    return values.mean()


def largest(values: np.ndarray, where: np.ndarray) -> Any:
    return values[where >= 0].max()


def place_of_largest(values: np.ndarray, where: np.ndarray) -> Any:
    return where[where >= 0][np.argmax(values[where >= 0])]


def norm(p: float) -> Callable[[np.ndarray, np.ndarray], Any]:
    return lambda values, where: (np.abs(values) ** p).sum() ** (1 / p)


@settings(max_examples=60)
@given(geometries(), st.sampled_from([19, 22]), st.integers(0, 1), st.booleans())
def test_average_pooling(drawn: Any, version: int, include: int, symbolic: bool) -> None:
    x, attributes = drawn
    y = run("AveragePool", version, x, compiled=False, symbolic=symbolic, count_include_pad=include, **attributes)
    wanted = expected(x, attributes, mean_with_padding if include else mean)
    np.testing.assert_allclose(y, wanted, rtol=1e-6, atol=1e-6)


@settings(max_examples=40)
@given(geometries(dilated=False), st.sampled_from([1, 7, 10, 11]), st.integers(0, 1))
def test_average_pooling_of_old_versions(drawn: Any, version: int, include: int) -> None:
    x, attributes = drawn
    if version < 10:
        del attributes["ceil_mode"]
    if version > 1:
        attributes["count_include_pad"] = include
    y = run("AveragePool", version, x, compiled=False, **attributes)
    wanted = expected(x, attributes, mean_with_padding if attributes.get("count_include_pad") else mean)
    np.testing.assert_allclose(y, wanted, rtol=1e-6, atol=1e-6)


@settings(max_examples=60)
@given(geometries(), st.sampled_from([10, 11, 12, 22]), st.booleans())
def test_max_pooling(drawn: Any, version: int, symbolic: bool) -> None:
    x, attributes = drawn
    y = run("MaxPool", version, x, compiled=False, symbolic=symbolic, **attributes)
    np.testing.assert_array_equal(y, expected(x, attributes, largest))


@pytest.mark.parametrize("version", [1, 8])
def test_max_pooling_of_old_versions(version: int) -> None:
    x, attributes = numbers(2, 3, 7, 6), {"kernel_shape": [3, 2], "strides": [2, 2], "pads": [1, 0, 2, 1]}
    np.testing.assert_array_equal(run("MaxPool", version, x, **attributes), expected(x, attributes, largest))


@settings(max_examples=60)
@given(geometries(), st.sampled_from([10, 11, 12, 22]), st.integers(0, 1))
def test_where_the_maxima_are(drawn: Any, version: int, storage_order: int) -> None:
    x, attributes = drawn
    x = np.round(x / 8)
    values, indices = run("MaxPool", version, x, outputs=2, compiled=False, storage_order=storage_order, **attributes)
    np.testing.assert_array_equal(values, expected(x, attributes, largest))
    image = expected(x, attributes, place_of_largest).astype(np.int64)
    sizes = x.shape[2:]
    if storage_order:
        image = np.asarray(np.ravel_multi_index(np.unravel_index(image, sizes), sizes, order="F"))
    first = np.arange(x.shape[0] * x.shape[1]).reshape(*x.shape[:2], *[1] * len(sizes)) * np.prod(sizes)
    assert indices.dtype == np.int64
    np.testing.assert_array_equal(indices, image + first)


@pytest.mark.parametrize("storage_order", [0, 1])
@pytest.mark.parametrize("rank", [1, 2, 3, 4])
def test_where_the_maxima_are_compiled(rank: int, storage_order: int) -> None:
    x = numbers(2, 2, *[5, 4, 6, 3][:rank])
    attributes: dict[str, Any] = {"kernel_shape": [2] * rank, "pads": [1] * rank + [0] * rank}
    values, indices = run("MaxPool", 22, x, outputs=2, storage_order=storage_order, **attributes)
    np.testing.assert_array_equal(values, expected(x, attributes, largest))
    ordered = x if not storage_order else x.transpose(0, 1, *reversed(range(2, 2 + rank)))
    np.testing.assert_array_equal(ordered.reshape(-1)[indices], values)


def tensor_types() -> list[tuple[str, int, str]]:
    ops = ["AveragePool", "LpPool", "MaxPool", "GlobalAveragePool", "GlobalLpPool", "GlobalMaxPool", "MaxUnpool"]
    return [(op, version, dtype) for op in ops for version in versions(op) for dtype in allowed(op, version)]


@pytest.mark.parametrize("rank", [1, 2, 3, 4])
@pytest.mark.parametrize(("op", "version", "dtype"), tensor_types())
def test_every_version_takes_its_types(op: str, version: int, dtype: str, rank: int) -> None:
    x = numbers(1, 2, *[4, 2, 2, 2][:rank], dtype=dtype)
    attributes: dict[str, Any] = {} if op.startswith("Global") else {"kernel_shape": [2] * rank}
    inputs = [x]
    if op == "MaxUnpool":
        inputs += [np.arange(x.size).reshape(x.shape)]
    y = run(op, version, *inputs, compiled=False, **attributes)
    assert y.dtype == x.dtype
    if op == "MaxUnpool":
        assert y.shape == (1, 2, *[s + 1 for s in x.shape[2:]])
        np.testing.assert_array_equal(y.reshape(-1)[: x.size], x.reshape(-1))
        return
    reduce = {"Average": mean, "Max": largest, "Lp": norm(2)}[op.removeprefix("Global").removesuffix("Pool")]
    kernel = attributes.get("kernel_shape", list(x.shape[2:]))
    wanted = expected(x, {"kernel_shape": kernel}, reduce)
    bound = {"float64": 1e-14, "float32": 1e-6, "float16": 2**-10, "bfloat16": 2**-8}.get(dtype, 0)
    np.testing.assert_allclose(y.astype(np.float64), wanted.astype(x.dtype).astype(np.float64), rtol=bound)


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("op", ["AveragePool", "MaxPool", "LpPool"])
def test_pooling_compiled(op: str, rank: int) -> None:
    x = numbers(2, 3, *[7, 6, 5][:rank])
    attributes: dict[str, Any] = {
        "kernel_shape": [3, 2, 3][:rank],
        "strides": [2, 2, 1][:rank],
        "pads": [1] * 2 * rank,
        "ceil_mode": 1,
    }
    reduce = {"AveragePool": mean, "MaxPool": largest, "LpPool": norm(2)}[op]
    y = run(op, 22, x, **attributes)
    np.testing.assert_allclose(y, expected(x, attributes, reduce), rtol=1e-6, atol=1e-6)
    if op == "AveragePool":
        y = run(op, 22, x, count_include_pad=1, **attributes)
        np.testing.assert_allclose(y, expected(x, attributes, mean_with_padding), rtol=1e-6, atol=1e-6)


@settings(max_examples=40)
@given(geometries(), st.integers(1, 4), st.sampled_from([18, 22]), st.booleans())
def test_norms_of_windows(drawn: Any, p: int, version: int, symbolic: bool) -> None:
    x, attributes = drawn
    y = run("LpPool", version, x, compiled=False, symbolic=symbolic, p=p, **attributes)
    np.testing.assert_allclose(y, expected(x, attributes, norm(p)), rtol=1e-5)


@settings(max_examples=20)
@given(geometries(dilated=False, rounded=False), st.sampled_from([1, 2, 11]), st.integers(1, 3))
def test_norms_of_windows_in_old_versions(drawn: Any, version: int, p: int) -> None:
    x, attributes = drawn
    y = run("LpPool", version, x, compiled=False, p=float(p) if version == 1 else p, **attributes)
    np.testing.assert_allclose(y, expected(x, attributes, norm(p)), rtol=1e-5)


def test_the_first_version_takes_norms_of_everything_and_fractional_powers() -> None:
    x = numbers(2, 3, 4, 5)
    y = run("LpPool", 1, x, p=1.5)
    np.testing.assert_allclose(y[..., 0, 0], (np.abs(x) ** 1.5).sum(axis=(2, 3)) ** (1 / 1.5), rtol=1e-5)


@pytest.mark.parametrize("version", [1, 2, 22])
@pytest.mark.parametrize("p", [1, 2, 3])
def test_norms_of_everything(version: int, p: int) -> None:
    x = numbers(2, 3, 4, 5)
    y = run("GlobalLpPool", version, x, compiled=version == 22, p=float(p) if version == 1 else p)
    np.testing.assert_allclose(y, (np.abs(x) ** p).sum(axis=(2, 3), keepdims=True) ** (1 / p), rtol=1e-5)


def test_nothing_is_left_to_pool_globally() -> None:
    x = numbers(3, 4)
    for op in ("GlobalAveragePool", "GlobalMaxPool"):
        np.testing.assert_array_equal(run(op, 22, x), x)
    np.testing.assert_allclose(run("GlobalLpPool", 22, x, p=3), np.abs(x), rtol=1e-6)


@pytest.mark.parametrize("version", [9, 11, 22])
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_unpooling_is_the_inverse_of_pooling(version: int, rank: int) -> None:
    x = np.random.default_rng(0).permutation(2 * 4**rank).reshape(1, 2, *[4] * rank).astype(np.float32)
    attributes: dict[str, Any] = {"kernel_shape": [2] * rank, "strides": [2] * rank}
    values, indices = run("MaxPool", 8, x, outputs=2, compiled=False, **attributes)
    y = run("MaxUnpool", version, values, indices, compiled=version == 22, **attributes)
    assert y.shape == x.shape
    wanted = np.zeros(x.size, np.float32)
    wanted[indices.reshape(-1)] = values.reshape(-1)
    np.testing.assert_array_equal(y, wanted.reshape(x.shape))


@pytest.mark.parametrize("known", [[2], []])
@pytest.mark.parametrize("sizes", [(5, 6), (4, 4), (3, 5)])
def test_an_unpooled_tensor_lies_in_the_corner_of_its_stated_shape(sizes: tuple[int, int], known: list[int]) -> None:
    x = np.array([[[[1, 2], [3, 4]]]], np.float32)
    indices = np.array([[[[5, 7], [13, 15]]]])
    shape = np.array([1, 1, *sizes])
    y = run("MaxUnpool", 11, x, indices, shape, known=known, kernel_shape=[2, 2], strides=[2, 2])
    wanted = np.zeros((7, 7), np.float32)
    wanted[1, 1], wanted[1, 3], wanted[3, 1], wanted[3, 3] = 1, 2, 3, 4
    np.testing.assert_array_equal(y[0, 0], wanted[: sizes[0], : sizes[1]])


def test_a_nan_is_the_largest() -> None:
    x = numbers(1, 1, 4)
    x[0, 0, 1] = np.nan
    y = run("MaxPool", 22, x, kernel_shape=[2])
    assert np.isnan(y[0, 0, :2]).all()
    assert y[0, 0, 2] == x[0, 0, 2:].max()


def test_symbolic_sizes_with_partial_windows() -> None:
    x = numbers(1, 2, 9, 8)
    attributes: dict[str, Any] = {"kernel_shape": [3, 2], "strides": [2, 2], "ceil_mode": 1}
    loaded = executable("MaxPool", 22, [x], symbolic=True, **attributes)
    for sizes in ((9, 8), (5, 5), (4, 7), (3, 3)):
        x = numbers(2, 2, *sizes)
        np.testing.assert_array_equal(loaded.run({"x0": x})["y0"], expected(x, attributes, largest))


@pytest.mark.parametrize(
    ("op", "shape", "attributes", "message"),
    [
        ("MaxPool", (1, 1, 4), {"kernel_shape": [2, 2]}, "kernel_shape"),
        ("MaxPool", (1, 1, 4), {"kernel_shape": [5]}, "does not fit"),
        ("MaxPool", (1, 4), {"kernel_shape": [2]}, "rank 2"),
        ("AveragePool", (1, 1, 4), {"kernel_shape": [0]}, "kernel_shape"),
        ("LpPool", (1, 1, 4), {"kernel_shape": [2], "p": 0}, "p is 0"),
        ("GlobalLpPool", (1, 1, 4), {"p": -1}, "p is -1"),
        ("GlobalMaxPool", (4,), {}, "rank 1"),
        ("AveragePool", (1, 1, 4), {"kernel_shape": [2], "dilations": [0]}, "dilations"),
    ],
)
def test_what_the_standard_does_not_allow_is_refused(
    op: str, shape: tuple[int, ...], attributes: dict[str, Any], message: str
) -> None:
    with pytest.raises(BasaltError, match=message):
        run(op, 22, numbers(*shape), compiled=False, **attributes)


@pytest.mark.parametrize("still", [(0,), (1,), (2,), (0, 2), (0, 1), (0, 1, 2)])
def test_axes_of_one_element_are_left_out(still: tuple[int, ...]) -> None:
    sizes, kernel = ([1 if i in still else size for i, size in enumerate(s)] for s in ((4, 5, 6), (2, 3, 2)))
    x, attributes = numbers(2, 3, *sizes), {"kernel_shape": kernel}
    y = run("MaxPool", 22, x, compiled=False, **attributes)
    np.testing.assert_array_equal(y, expected(x, attributes, largest))
