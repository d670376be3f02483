"""Unfolded windows, against their definition."""

from __future__ import annotations

import numpy as np
import pytest

from basalt.compiler.kernels.namespace import recipe
from basalt.runtime.memory import aligned_empty

from .loops import Kernel, kernel_of_call


def unfolding(name: str) -> Kernel:
    operands = "packed, at, image, index, stride, taps, step, dilation, low, high"
    return kernel_of_call(name, operands, "packed image", "at index stride taps step dilation low high")


def full(count: int, dtype: type) -> np.ndarray:
    """Sevens that lie as vectors do."""
    array = aligned_empty(count * np.dtype(dtype).itemsize).view(dtype)
    array[:] = 7
    return array


@pytest.mark.parametrize(("register", "dtype", "lanes"), [("f32", np.float32, 8), ("f64", np.float64, 4)])
@pytest.mark.parametrize("stride", [1, 2, 5])
def test_elements_that_windows_meet(register: str, dtype: type, lanes: int, stride: int) -> None:
    """Only elements that exist are read: all others are NaN."""
    kernel = unfolding(f"unfold_2x{lanes}_{register}_s{stride if stride <= 2 else 0}")
    for limits in [(1, 0, 10_000), (1, 2, 9), (3, -4, 14), (2, 0, 1), (1, 3, 3), (2, 7, 10_000)]:
        check(kernel, dtype, lanes, stride, *limits)


def check(kernel: Kernel, dtype: type, lanes: int, stride: int, dilation: int, low: int, high: int) -> None:
    width, taps, first, at = 2 * lanes, 5, 40, 16
    image = np.random.default_rng(0).uniform(-1, 1, 300).astype(dtype)
    met = np.arange(300) - first
    image[(met < low) | (met >= high)] = np.nan
    packed = full(at + taps * width + 8, dtype)
    kernel([packed, image, at, first, stride, taps, dilation, dilation, low, high], 0, 1)
    places = np.arange(taps)[:, None] * dilation + np.arange(width) * stride
    expected = np.where((places >= low) & (places < high), image[first + places], 0)
    np.testing.assert_array_equal(packed[at : at + taps * width].reshape(taps, width), expected)
    assert (packed[:at] == 7).all() and (packed[at + taps * width :] == 7).all()


def test_steps_differ_from_dilations_where_taps_are_channels() -> None:
    kernel = unfolding("unfold_1x8_f32_s1")
    image = np.arange(60, dtype=np.float32)
    packed = full(24, np.float32)
    kernel([packed, image, 0, 4, 1, 3, 20, 0, 0, 6], 0, 1)
    rows = [[*range(start, start + 6), 0, 0] for start in (4, 24, 44)]
    np.testing.assert_array_equal(packed.reshape(3, 8), rows)


def test_other_names_are_none() -> None:
    with pytest.raises(KeyError):
        recipe("unfold_1x8_f32_s3")


@pytest.mark.parametrize(("register", "dtype", "lanes"), [("f32", np.float32, 8), ("f64", np.float64, 4)])
@pytest.mark.parametrize("phases", [1, 2])
def test_lines_apart_in_phases(register: str, dtype: type, lanes: int, phases: int) -> None:
    """Only elements that exist are read: all others are NaN."""
    name, operands = f"unfold_3x{lanes}_{register}_line{phases}", "packed, at, image, index, low, high"
    kernel = kernel_of_call(name, operands, "packed image", "at index low high")
    length, first, at = 3 * lanes, 40, 16
    for low, high in [(0, phases * length), (0, 10_000), (5, 9), (-4, 14), (3, 3), (7, 10_000), (-9, 0), (60, 70)]:
        image = np.random.default_rng(0).uniform(-1, 1, 300).astype(dtype)
        met = np.arange(300) - first
        image[(met < low) | (met >= high)] = np.nan
        packed = full(at + phases * length + 8, dtype)
        kernel([packed, image, at, first, low, high], 0, 1)
        places = np.arange(length) * phases + np.arange(phases)[:, None]
        expected = np.where((places >= low) & (places < high), image[first + places], 0)
        np.testing.assert_array_equal(packed[at : at + phases * length].reshape(phases, length), expected)
        assert (packed[:at] == 7).all() and (packed[at + phases * length :] == 7).all()
