"""Pooling (the standard's section "Pooling operations")."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from .convert import dimension, enum, nullable, positive, sequence
from .dims import Dim, Shape, SymDim, product
from .registry import register
from .rounding import narrow, widen
from .schema import Arrays, Attrs, Operand, Operator, Option, Output, Types, fail
from .shapes import check_shape, same_shape, text
from .spatial import (
    DILATIONS,
    INPUT_LAYOUTS,
    PADDING,
    STRIDES,
    arrange,
    layout_option,
    pick,
    tap_ranges,
    window_counts,
    window_outputs,
)
from .types import ANY, FLOATS, TensorType, integer_bounds, is_float


class _Pool2d(Operator):
    operands = (Operand("input", FLOATS, 4, doc="the input tensor, laid out as layout says"),)
    outputs = (Output(rank=4),)
    section = "api-mlgraphbuilder-pool2d"
    options = (
        Option(
            "window_dimensions",
            nullable(sequence(positive, 2)),
            None,
            "the window's (height, width); the input's by default (global pooling)",
        ),
        PADDING,
        STRIDES,
        DILATIONS,
        layout_option("layout", *INPUT_LAYOUTS),
        Option(
            "output_shape_rounding",
            enum("floor", "ceil"),
            "floor",
            "whether partial windows at the end count (ceil) or not (floor)",
        ),
        Option(
            "output_sizes",
            nullable(sequence(dimension, 2)),
            None,
            "the output's (height, width), as either rounding gives them; overrides output_shape_rounding",
        ),
    )

    def infer(self, t: Types, a: Attrs) -> Sequence[TensorType]:
        batches, channels, *sizes = pick(t.input.shape, a["layout"], "nchw")
        window = tuple(a["window_dimensions"] or sizes)
        if not any(isinstance(d, SymDim) for d in window):
            a["window_dimensions"] = window
        results = pooled_sizes(tuple(sizes), window, a)
        shape = pick((batches, channels, *results), "nchw", a["layout"])
        return [TensorType(t.input.dtype, check_shape(shape, zero=True))]

    def evaluate(self, x: Arrays, a: Attrs, out: Sequence[TensorType]) -> Sequence[np.ndarray]:
        image = arrange(np.asarray(x.input), a["layout"], "nchw")
        sizes: tuple[Any, ...] = pick(out[0].shape, a["layout"], "hw")
        window = a["window_dimensions"] or image.shape[2:]
        with np.errstate(all="ignore"):
            result = self.pool(image, window, sizes, a)
        return [arrange(narrow(result, out[0]), "nchw", a["layout"])]

    def operations(self, t: Types, a: Attrs, out: Sequence[TensorType]) -> Dim:
        window = a["window_dimensions"] or pick(t.input.shape, a["layout"], "hw")
        return out[0].size * product(window)

    @abstractmethod
    def pool(self, image: np.ndarray, window: Sequence[int], sizes: Sequence[int], a: Attrs) -> np.ndarray:
        """The result for an input [n, c, h, w], not yet rounded."""


def pooled_sizes(sizes: Shape, window: Shape, a: Attrs) -> Shape:
    # The standard's text drops the padding when output sizes are given and wants them smaller than the strides; its
    # conformance tests, which browsers pass, keep the padding and compare with the two roundings only.
    if a["output_sizes"] is None:
        return window_outputs(sizes, window, a, a["output_shape_rounding"] == "ceil")
    given: Shape = a["output_sizes"]
    high = window_outputs(sizes, window, a, ceil=True)
    low = window_counts(sizes, window, a)
    if not same_shape(given, low) and not same_shape(given, high):
        fail(f"output_sizes are {text(given)}, expected {text(low)} (rounded down) or {text(high)} (rounded up)")
    return given


def _accumulate(
    image: np.ndarray, window: Sequence[int], sizes: Sequence[int], a: Attrs, combine: np.ufunc, identity: float | int
) -> np.ndarray:
    """All elements of each window combined; separable, so rows first and columns after."""
    begins = a["padding"][0], a["padding"][2]
    for i in (0, 1):
        axis = 2 + i
        shape = list(image.shape)
        shape[axis] = sizes[i]
        result = np.full(shape, identity, image.dtype)
        source, target = np.moveaxis(image, axis, 0), np.moveaxis(result, axis, 0)
        for _, (to, origin) in tap_ranges(
            sizes[i], image.shape[axis], window[i], a["strides"][i], a["dilations"][i], begins[i]
        ):
            combine(target[to], source[origin], out=target[to])
        image = result
    return image


def _counts(sizes: Sequence[int], shape: Sequence[int], window: Sequence[int], a: Attrs) -> np.ndarray:
    """How many elements of the input each window holds: [height, width]."""
    return _accumulate(np.ones((1, 1, *shape[2:])), window, sizes, a, np.add, 0.0)[0, 0]


@register
class AveragePool2d(_Pool2d):
    """The mean of each window's elements; padding is no element, and does not count in the divisor."""

    name = "average_pool2d"
    webnn = "averagePool2d"

    def pool(self, image: np.ndarray, window: Sequence[int], sizes: Sequence[int], a: Attrs) -> np.ndarray:
        total = _accumulate(widen(image), window, sizes, a, np.add, 0.0)
        return total / _counts(sizes, image.shape, window, a)


@register
class L2Pool2d(_Pool2d):
    """The L2 norm of each window: the square root of the sum of its elements' squares."""

    name = "l2_pool2d"
    webnn = "l2Pool2d"

    def pool(self, image: np.ndarray, window: Sequence[int], sizes: Sequence[int], a: Attrs) -> np.ndarray:
        return np.sqrt(_accumulate(np.square(widen(image)), window, sizes, a, np.add, 0.0))


@register
class MaxPool2d(_Pool2d):
    """The largest element of each window; NaN if one is NaN. Padding never takes part.

    A window without elements gives negative infinity, or the smallest value of an integer type.
    """

    name = "max_pool2d"
    webnn = "maxPool2d"
    operands = (Operand("input", ANY, 4, doc="the input tensor, laid out as layout says"),)

    def pool(self, image: np.ndarray, window: Sequence[int], sizes: Sequence[int], a: Attrs) -> np.ndarray:
        image = widen(image)
        lowest = -np.inf if is_float(image.dtype.name) else integer_bounds(image.dtype.name)[0]
        return _accumulate(image, window, sizes, a, np.maximum, lowest)
