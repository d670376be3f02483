"""Operators of ONNX Runtime that the standard took over, or that differ from one of its own by their inputs alone."""

from __future__ import annotations

from ...node import NodeContext
from ...registry import MICROSOFT, onnx_op
from ...tensor import Tensor
from ..building import convert
from .products import activated
from .quantized_pools import channels_first

_CONV = ("auto_pad", "dilations", "group", "kernel_shape", "output_padding", "pads", "strides")


@onnx_op("Trilu", 1, domain=MICROSOFT)
def trilu(n: NodeContext) -> Tensor:
    y: Tensor = n.call("Trilu", *n.inputs, upper=n.attr("upper"))
    return y


@onnx_op("GatherND", 1, domain=MICROSOFT)
def gather_nd(n: NodeContext) -> Tensor:
    y: Tensor = n.call("GatherND", n.tensor(0), convert(n, n.tensor(1), "int64"))
    return y


@onnx_op("GridSample", 1, domain=MICROSOFT)
def grid_sample(n: NodeContext) -> Tensor:
    kept = {name: n.attr(name) for name in ("align_corners", "mode", "padding_mode")}
    y: Tensor = n.call("GridSample", *n.inputs, version=16, **kept)
    return y


@onnx_op("Range", 1, domain=MICROSOFT)
def number_range(n: NodeContext) -> Tensor:
    """The standard's operator, whose step is 1 by default and whose inputs may be vectors of one element."""
    start, limit = (n.reshape(n.tensor(i), ()) for i in (0, 1))
    step = n.reshape(n.tensor(2), ()) if n.given(2) else n.scalar(1, start)
    y: Tensor = n.call("Range", start, limit, step)
    return y


@onnx_op("Pad", 1, domain=MICROSOFT)
def pad(n: NodeContext) -> Tensor:
    widths, value = n.tensor(1), n.optional(2)
    widths = n.reshape(widths, (2 * n.tensor(0).rank,))
    filler = None if value is None else n.reshape(value, ())
    y: Tensor = n.call("Pad", n.tensor(0), widths, filler, version=13, mode=n.attr("mode"))
    return y


@onnx_op("ExpandDims", 1, domain=MICROSOFT)
def expand_dims(n: NodeContext) -> Tensor:
    x = n.tensor(0)
    places = n.ints(1)
    if len(places) != 1:
        raise n.error(f"axis has {len(places)} elements, expected 1")
    axis = n.axis(places[0], x.rank + 1)
    return n.reshape(x, (*x.shape[:axis], 1, *x.shape[axis:]))


@onnx_op("NhwcConv", 1, domain=MICROSOFT)
def nhwc_conv(n: NodeContext) -> Tensor:
    given = {name: n.attributes[name] for name in _CONV if n.has(name)}
    return channels_first(n, n.tensor(0), True, lambda x: n.call("Conv", x, *n.inputs[1:3], **given))


@onnx_op("NhwcFusedConv", 1, domain=MICROSOFT)
def nhwc_fused_conv(n: NodeContext) -> Tensor:
    y = nhwc_conv(n)
    if n.given(3):
        y = n.emit("add", y, n.tensor(3))
    return activated(n, y, n.attr("activation_params", None) or ())


@onnx_op("ConvTransposeWithDynamicPads", 1, domain=MICROSOFT)
def conv_transpose_with_dynamic_pads(n: NodeContext) -> Tensor:
    given = {name: n.attributes[name] for name in _CONV if n.has(name)}
    if n.given(2):
        given["pads"] = n.ints(2)
    y: Tensor = n.call("ConvTranspose", n.tensor(0), n.tensor(1), n.optional(3), **given)
    return y


@onnx_op("TorchEmbedding", 1, domain=MICROSOFT)
def torch_embedding(n: NodeContext) -> Tensor:
    return n.emit("gather", n.tensor(0), n.tensor(1))
