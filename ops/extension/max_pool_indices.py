"""Max pooling that also says where each maximum was."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..convert import boolean, positive, sequence
from ..pool import MaxPool2d, pooled_sizes
from ..registry import register_extension
from ..schema import Arrays, Attrs, Operand, Operator, Option, Output, Types
from ..shapes import check_shape
from ..spatial import DILATIONS, PADDING, STRIDES, tap_ranges
from ..types import ANY, TensorType, integer_bounds, is_float


@register_extension
class MaxPoolIndices(Operator):
    """The largest element of each window of an input [n, c, h, w], and its flat index in the whole input.

    Of equal elements the first in row-major order counts; a NaN is the largest. Padding never takes part: a window
    that holds padding alone gives negative infinity (or the smallest value of an integer type) and the index -1.
    ``column_major`` indices count an image's columns one after another, as if its last two dimensions were exchanged.
    """

    name = "max_pool_indices"
    operands = (Operand("input", ANY, 4, doc="the input, [n, c, h, w]"),)
    arguments = (Option("window_dimensions", sequence(positive, 2), doc="the window's (height, width)"),)
    options = (
        PADDING,
        STRIDES,
        DILATIONS,
        *(o for o in MaxPool2d.options if o.name in ("output_shape_rounding", "output_sizes")),
        Option(
            "column_major", boolean, False, "whether indices count down the columns of an image, not along its rows"
        ),
    )
    outputs = (Output("values", rank=4), Output("indices", dtypes=frozenset({"int64"}), rank=4))

    def infer(self, t: Types, a: Attrs) -> Sequence[TensorType]:
        batches, channels, *sizes = t.input.shape
        results = pooled_sizes(tuple(sizes), a["window_dimensions"], a)
        shape = check_shape((batches, channels, *results), zero=True)
        return [TensorType(t.input.dtype, shape), TensorType("int64", shape)]

    def evaluate(self, x: Arrays, a: Attrs, out: Sequence[TensorType]) -> Sequence[np.ndarray]:
        image = np.asarray(x.input)
        sizes: Any = out[0].shape
        values = np.full(sizes, lowest(image.dtype.name), image.dtype)
        indices = np.full(sizes, -1, np.int64)
        numbers = flat_indices(image.shape, a["column_major"])
        for to_y, from_y in _meetings(0, sizes[2], image.shape[2], a):
            for to_x, from_x in _meetings(1, sizes[3], image.shape[3], a):
                _take_greater(
                    (values[..., to_y, to_x], indices[..., to_y, to_x]),
                    (image[..., from_y, from_x], numbers[..., from_y, from_x]),
                )
        return [values, indices]


def _meetings(axis: int, count: int, size: int, a: Attrs) -> Iterator[tuple[slice, slice]]:
    """For each tap along an axis the places of the result where it meets elements, and these."""
    window, stride, dilation = a["window_dimensions"][axis], a["strides"][axis], a["dilations"][axis]
    for _, where in tap_ranges(count, size, window, stride, dilation, a["padding"][2 * axis]):
        yield where


def lowest(dtype: str) -> float | int:
    """What a window without elements gives."""
    return -np.inf if is_float(dtype) else integer_bounds(dtype)[0]


def flat_indices(shape: tuple[int, ...], column_major: bool) -> np.ndarray:
    """The flat index of every element, of a tensor or of one whose last two dimensions are exchanged."""
    if not column_major:
        return np.arange(int(np.prod(shape)), dtype=np.int64).reshape(shape)
    *outer, height, width = shape
    return np.arange(int(np.prod(shape)), dtype=np.int64).reshape(*outer, width, height).swapaxes(-1, -2)


def _take_greater(best: tuple[np.ndarray, np.ndarray], found: tuple[np.ndarray, np.ndarray]) -> None:
    """Put what is greater than the best so far in its place; a NaN is greater than everything but a NaN."""
    with np.errstate(all="ignore"):
        better = (found[0] > best[0]) | (best[1] < 0)
        if is_float(found[0].dtype.name):
            better |= np.isnan(found[0]) & ~np.isnan(best[0])
    for target, source in zip(best, found):
        target[better] = source[better]
