"""Convolutions: ONNX knows channels first and one order of the filter's dimensions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from basalt.ops.spatial import pick

from ..node import NodeWriter
from ..registry import exports
from ..tensor import Tensor


def pads_of(padding: tuple[Any, ...]) -> tuple[Any, ...]:
    """ONNX's order: both beginnings, then both ends."""
    top, bottom, left, right = padding
    return (top, left, bottom, right)


def _options(n: NodeWriter) -> dict[str, Any]:
    return {
        "strides": n.attrs["strides"],
        "dilations": n.attrs["dilations"],
        "group": n.attrs["groups"],
        "pads": pads_of(n.attrs["padding"]),
    }


def _kernel(n: NodeWriter, layout: str) -> tuple[int, ...] | None:
    window = pick(n.type("filter").shape, layout, "hw")
    return window if all(isinstance(d, int) for d in window) else None  # type: ignore[return-value]


@exports("conv2d")
def conv2d(n: NodeWriter) -> Tensor:
    layout, filters = n.attrs["input_layout"], n.attrs["filter_layout"]
    image = n.arrange(n["input"], layout, "nchw")
    weights = n.arrange(n["filter"], filters, "oihw")
    result = n.call("Conv", image, weights, n.get("bias"), kernel_shape=_kernel(n, filters), **_options(n))
    return n.arrange(result, "nchw", layout)


@exports("conv_transpose2d")
def conv_transpose2d(n: NodeWriter) -> Tensor:
    layout, filters = n.attrs["input_layout"], n.attrs["filter_layout"]
    image = n.arrange(n["input"], layout, "nchw")
    weights = n.arrange(n["filter"], filters, "iohw")
    options = _options(n) | {"output_padding": _output_padding(n), "kernel_shape": _kernel(n, filters)}
    return n.arrange(n.call("ConvTranspose", image, weights, n.get("bias"), **options), "nchw", layout)


def _output_padding(n: NodeWriter) -> tuple[int, ...]:
    """What the output is larger than the smallest that fits."""
    if n.attrs["output_sizes"] is None:
        return tuple(n.attrs["output_padding"])
    sizes = pick(n.type("input").shape, n.attrs["input_layout"], "hw")
    window = pick(n.type("filter").shape, n.attrs["filter_layout"], "hw")
    added = []
    for i, (size, length) in enumerate(zip(sizes, window)):
        begin, end = n.attrs["padding"][2 * i : 2 * i + 2]
        smallest = (size - 1) * n.attrs["strides"][i] + (length - 1) * n.attrs["dilations"][i] + 1 - begin - end
        extra = n.attrs["output_sizes"][i] - smallest
        if not isinstance(extra, int):
            n.unsupported(f"output_sizes differ from the smallest that fit by {extra}, expected a known number")
        added.append(extra)
    return tuple(added)


@exports("conv_integer")
def conv_integer(n: NodeWriter) -> Tensor:
    """ONNX Runtime takes unsigned input and one zero point for the filter; other cases are shifted to that one."""
    x, zero = n["input"], n.get("input_zero_point")
    if x.dtype == "int8":
        x, zero = _unsigned(n, x), _unsigned(n, zero if zero is not None else n.scalar(0, "int8"))
    if zero is not None:
        zero = n.reshape(zero, (), n.type("input_zero_point").shape if zero is n.get("input_zero_point") else None)
    options = _options(n) | {"kernel_shape": _kernel(n, "oihw")}
    filter_zero = n.get("filter_zero_point")
    if filter_zero is None or n.type("filter_zero_point").shape in ((), (1,)):
        if filter_zero is not None:
            filter_zero = n.reshape(filter_zero, (), n.type("filter_zero_point").shape)
        return n.call("ConvInteger", x, n["filter"], zero, filter_zero, **options)
    return _by_channel(n, x, zero, filter_zero, options)


def _unsigned(n: NodeWriter, x: Tensor) -> Tensor:
    return n.cast(n.call("Add", n.cast(x, "int32"), n.scalar(128, "int32")), "uint8")


def _by_channel(
    n: NodeWriter, x: Tensor, zero: Tensor | None, filter_zero: Tensor, options: Mapping[str, Any]
) -> Tensor:
    """``conv(x, w - z) = conv(x, w) - z * conv(x, 1)``, with a zero point z for each output channel."""
    shape = n.type("filter").shape
    if not all(isinstance(d, int) for d in shape):
        n.unsupported("a zero point for each output channel needs a filter of known sizes")
    ones = n.constant(np.ones(shape, n["filter"].dtype))  # type: ignore[arg-type]
    sums = n.call("ConvInteger", x, ones, zero, **options)
    product = n.call("ConvInteger", x, n["filter"], zero, **options)
    factor = n.along(n.cast(filter_zero, "int32"), 1, 4)
    return n.call("Sub", product, n.call("Mul", sums, factor))
