"""Convolutions (the standard's sections "conv2d" and "convTranspose2d")."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .conv_numpy import convolve, convolve_transposed
from .convert import dimension, nullable, sequence, uint
from .dims import Dim, Shape, product
from .registry import register
from .rounding import narrow, widen
from .schema import Arrays, Attrs, Operand, Operator, Option, Output, Types, fail
from .shapes import check_shape, expect_shape, same_dim
from .spatial import (
    BIAS_DOC,
    DILATIONS,
    GROUPS,
    INPUT_LAYOUTS,
    PADDING,
    STRIDES,
    arrange,
    layout_option,
    pick,
    window_outputs,
)
from .types import FLOATS, TensorType


class _Convolution(Operator):
    operands = (
        Operand("input", FLOATS, 4, doc="the input tensor, laid out as input_layout says"),
        Operand("filter", "input", 4, doc="the filter tensor, laid out as filter_layout says"),
        Operand("bias", "input", 1, optional=True, doc=BIAS_DOC),
    )
    outputs = (Output(rank=4),)

    def output_type(self, t: Types, a: Attrs, batches: Dim, channels: Dim, sizes: Shape) -> TensorType:
        if t.bias is not None:
            expect_shape("bias", t.bias.shape, (channels,), "the number of output channels")
        shape = pick((batches, channels, *sizes), "nchw", a["input_layout"])
        return TensorType(t.input.dtype, check_shape(shape, zero=True))

    def finish(self, result: np.ndarray, x: Arrays, a: Attrs, output: TensorType) -> Sequence[np.ndarray]:
        if x.bias is not None:
            result = result + widen(x.bias)[:, None, None]
        return [arrange(narrow(result, output), "nchw", a["input_layout"])]


@register
class Conv2d(_Convolution):
    """A 2-D convolution, grouped where ``groups`` exceeds 1 (depthwise where it equals the input channels).

    With input [n, c, h, w] and filter [o, c / groups, kh, kw] (both in any layout) the output is [n, o, oh, ow], where
    ``oh = (h - ((kh - 1) * dilation + 1) + beginning + ending padding) // stride + 1``, and ow alike.
    """

    name = "conv2d"
    webnn = "conv2d"
    section = "api-mlgraphbuilder-conv2d"
    options = (
        PADDING,
        STRIDES,
        DILATIONS,
        GROUPS,
        layout_option("input_layout", *INPUT_LAYOUTS),
        layout_option("filter_layout", "oihw", "hwio", "ohwi", "ihwo"),
    )

    def infer(self, t: Types, a: Attrs) -> Sequence[TensorType]:
        batches, channels, *sizes = pick(t.input.shape, a["input_layout"], "nchw")
        outputs, depth, *window = pick(t.filter.shape, a["filter_layout"], "oihw")
        groups = a["groups"]
        if isinstance(channels, int) and channels % groups:
            fail(f"{channels} input channels cannot be divided into {groups} groups")
        if not same_dim(channels, depth * groups):
            fail(f"the filter has {depth} input channels, but the input has {channels} in {groups} groups")
        if isinstance(outputs, int) and outputs % groups:
            fail(f"{outputs} output channels cannot be divided into {groups} groups")
        return [self.output_type(t, a, batches, outputs, window_outputs(tuple(sizes), tuple(window), a))]

    def operations(self, t: Types, a: Attrs, out: Sequence[TensorType]) -> Dim:
        _, *taps = pick(t.filter.shape, a["filter_layout"], "oihw")
        return 2 * out[0].size * product(taps)

    def evaluate(self, x: Arrays, a: Attrs, out: Sequence[TensorType]) -> Sequence[np.ndarray]:
        image = arrange(widen(x.input), a["input_layout"], "nchw")
        weights = arrange(widen(x.filter), a["filter_layout"], "oihw")
        sizes = pick(out[0].shape, a["input_layout"], "hw")
        with np.errstate(all="ignore"):
            return self.finish(convolve(image, weights, sizes, a), x, a, out[0])  # type: ignore[arg-type]


@register
class ConvTranspose2d(_Convolution):
    """A 2-D transposed convolution: the gradient of a convolution with respect to its input.

    With input [n, c, h, w] and filter [c, o / groups, kh, kw] (both in any layout) the output is [n, o, oh, ow], where
    ``oh = (h - 1) * stride + (kh - 1) * dilation + 1 - beginning - ending padding + output padding``, and ow alike.
    ``output_sizes`` states oh and ow instead; ``output_padding`` is then ignored.
    """

    name = "conv_transpose2d"
    webnn = "convTranspose2d"
    section = "api-mlgraphbuilder-convtranspose2d"
    options = (
        PADDING,
        STRIDES,
        DILATIONS,
        Option("output_padding", sequence(uint, 2), (0, 0), "(height, width) added to the output; below the strides"),
        Option("output_sizes", nullable(sequence(dimension, 2)), None, "the output's (height, width)"),
        GROUPS,
        layout_option("input_layout", *INPUT_LAYOUTS),
        layout_option("filter_layout", "iohw", "hwoi", "ohwi"),
    )

    def infer(self, t: Types, a: Attrs) -> Sequence[TensorType]:
        batches, channels, *sizes = pick(t.input.shape, a["input_layout"], "nchw")
        depth, outputs, *window = pick(t.filter.shape, a["filter_layout"], "iohw")
        if not same_dim(channels, depth):
            fail(f"the filter has {depth} input channels, expected {channels}")
        if isinstance(channels, int) and channels % a["groups"]:
            fail(f"{channels} input channels cannot be divided into {a['groups']} groups")
        results = tuple(_transposed_size(axis, sizes[i], window[i], i, a) for i, axis in enumerate(("height", "width")))
        return [self.output_type(t, a, batches, outputs * a["groups"], results)]

    def operations(self, t: Types, a: Attrs, out: Sequence[TensorType]) -> Dim:
        _, *taps = pick(t.filter.shape, a["filter_layout"], "iohw")
        return 2 * t.input.size * product(taps)

    def evaluate(self, x: Arrays, a: Attrs, out: Sequence[TensorType]) -> Sequence[np.ndarray]:
        image = arrange(widen(x.input), a["input_layout"], "nchw")
        weights = arrange(widen(x.filter), a["filter_layout"], "iohw")
        sizes = pick(out[0].shape, a["input_layout"], "hw")
        with np.errstate(all="ignore"):
            return self.finish(convolve_transposed(image, weights, sizes, a), x, a, out[0])  # type: ignore[arg-type]


def _transposed_size(axis: str, size: Dim, window: Dim, i: int, a: Attrs) -> Dim:
    begin, end = a["padding"][2 * i : 2 * i + 2]
    stride, extra = a["strides"][i], a["output_padding"][i]
    smallest = (size - 1) * stride + (window - 1) * a["dilations"][i] + 1 - begin - end
    if a["output_sizes"] is None:
        if extra >= stride:
            fail(f"output_padding {extra} of the {axis} must be below the stride, {stride}")
        result = smallest + extra
    else:
        result = a["output_sizes"][i]
        if isinstance(smallest, int) and isinstance(result, int) and not smallest <= result < smallest + stride:
            fail(f"output_sizes give {axis} {result}, expected {smallest} to {smallest + stride - 1}")
    if isinstance(result, int) and result < 1:
        fail(f"the output's {axis} is {result}: padding {begin} + {end} leaves nothing of it")
    return result
