"""Experimental operators of ONNX's first versions, which old converters wrote and the standard has dropped since.

They have no schema any more; what they mean here is what ONNX 1.2 said and ONNX Runtime still does.
"""

from __future__ import annotations

import numpy as np

from basalt.ops import Dim

from ..attributes import dtype_of_code
from ..node import NodeContext
from ..registry import onnx_op
from ..tensor import Tensor
from .precision import in_wide_floats


@onnx_op("Affine", 1)
def affine(n: NodeContext) -> Tensor:
    """``alpha * x + beta``."""
    return n.emit("linear", n.tensor(0), alpha=n.attr("alpha", 1.0), beta=n.attr("beta", 0.0))


@onnx_op("Scale", 1)
def scale(n: NodeContext) -> Tensor:
    """``scale * x``."""
    x = n.tensor(0)
    return n.emit("mul", x, n.scalar(n.attr("scale", 1.0), like=x))


@onnx_op("ScaledTanh", 1)
def scaled_tanh(n: NodeContext) -> Tensor:
    """``alpha * tanh(beta * x)``."""
    return _scaled(n, "tanh")


@onnx_op("ParametricSoftplus", 1)
def parametric_softplus(n: NodeContext) -> Tensor:
    """``alpha * log(1 + exp(beta * x))``."""
    return _scaled(n, "softplus")


def _scaled(n: NodeContext, op: str) -> Tensor:
    alpha, beta = n.attr("alpha", 1.0), n.attr("beta", 1.0)

    def function(x: Tensor) -> Tensor:
        inner = n.emit(op, n.emit("mul", x, n.scalar(beta, like=x)))
        return n.emit("mul", inner, n.scalar(alpha, like=x))

    return in_wide_floats(n, function, n.tensor(0))


@onnx_op("ThresholdedRelu", 1)
def thresholded_relu(n: NodeContext) -> Tensor:
    """``x`` where it exceeds ``alpha``, else 0, as the operator of version 10."""
    return n.call("ThresholdedRelu", n.tensor(0), version=10, alpha=n.attr("alpha", 1.0))


@onnx_op("ImageScaler", 1)
def image_scaler(n: NodeContext) -> Tensor:
    """``scale * x + bias``, with a bias for each channel of images [n, c, h, w]."""
    x = n.tensor(0)
    if x.rank != 4:
        raise n.error(f"the input is {x}, expected images of rank 4")
    scaled = n.emit("mul", x, n.scalar(n.attr("scale", 1.0), like=x))
    bias = n.attr("bias", ())
    if not bias:
        return scaled
    return n.emit("add", scaled, n.constant(np.array(bias).reshape(-1, 1, 1), x.dtype))


@onnx_op("Crop", 1)
def crop(n: NodeContext) -> Tensor:
    """Images [n, c, h, w] without ``border`` (left, top, right, bottom), or ``scale`` (height, width) from there on."""
    x, border, size = n.tensor(0), n.attr("border", ()), n.attr("scale", ())
    if x.rank != 4 or len(border) != 4 or len(size) not in (0, 2):
        raise n.error(
            f"got {x}, border {list(border)} and scale {list(size)}, expected rank 4, 4 numbers and 2 or none"
        )
    left, top, right, bottom = border
    height: Dim = size[0] if size else x.shape[2] - top - bottom
    width: Dim = size[1] if size else x.shape[3] - left - right
    return n.slice(n.slice(x, 2, top, height), 3, left, width)


@onnx_op("DynamicSlice", 1)
def dynamic_slice(n: NodeContext) -> Tensor:
    """Slice as from version 10 on, without steps."""
    return n.call("Slice", *n.inputs, version=10)


@onnx_op("ConstantFill", 1)
def constant_fill(n: NodeContext) -> Tensor:
    """One number everywhere; the shape is the attribute, or the input's shape or elements and ``extra_shape``."""
    return n.expand(n.constant(n.attr("value", 0.0), dtype_of_code(n.attr("dtype", 1))), _filled_shape(n))


@onnx_op("GivenTensorFill", 1)
def given_tensor_fill(n: NodeContext) -> Tensor:
    """The attribute ``values`` in a shape that is said as for ConstantFill."""
    return n.reshape(n.constant(np.array(n.attr("values", ())), "float32"), _filled_shape(n))


def _filled_shape(n: NodeContext) -> tuple[Dim, ...]:
    if not n.given(0):
        return tuple(n.attr("shape", ()))
    shape = n.dims(0) if n.attr("input_as_shape", 0) else n.tensor(0).shape
    return (*shape, *n.attr("extra_shape", ()))
