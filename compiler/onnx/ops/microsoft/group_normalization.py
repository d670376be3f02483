"""GroupNorm and SkipGroupNorm (Wu and He 2018) of ONNX Runtime."""

from __future__ import annotations

from ...node import NodeContext
from ...registry import MICROSOFT, onnx_op
from ...tensor import Tensor
from ..building import convert, quotient


@onnx_op("GroupNorm", 1, domain=MICROSOFT)
def group_norm(n: NodeContext) -> Tensor:
    x = n.tensor(0)
    return convert(n, _normalised(n, convert(n, x, "float32")), x.dtype)


@onnx_op("SkipGroupNorm", 1, domain=MICROSOFT)
def skip_group_norm(n: NodeContext) -> tuple[Tensor, Tensor]:
    x, skip, bias = n.tensor(0), n.tensor(3), n.optional(4)
    last = bool(n.attr("channels_last"))
    if skip.rank == 2:
        batch, channels = skip.shape
        skip = n.reshape(skip, (batch, 1, 1, channels) if last else (batch, channels, 1, 1))
    total = n.emit("add", convert(n, x, "float32"), convert(n, skip, "float32"))
    if bias is not None:
        total = n.emit("add", total, _per_channel(n, bias, last))
    return convert(n, _normalised(n, total), x.dtype), convert(n, total, x.dtype)


def _per_channel(n: NodeContext, x: Tensor, last: bool) -> Tensor:
    held = convert(n, x, "float32")
    return held if last else n.reshape(held, (x.shape[0], 1, 1))


def _normalised(n: NodeContext, x: Tensor) -> Tensor:
    if x.rank != 4:
        raise n.error(f"X has rank {x.rank}, expected 4")
    last, groups = bool(n.attr("channels_last")), n.attr("groups")
    channels = x.shape[3 if last else 1]
    size = quotient(n, channels, groups, "groups")
    if last:
        parted, axes = n.reshape(x, (*x.shape[:3], groups, size)), (1, 2, 4)
    else:
        parted, axes = n.reshape(x, (x.shape[0], groups, size, *x.shape[2:])), (2, 3, 4)
    centred = n.emit("sub", parted, n.emit("reduce_mean", parted, axes=axes, keep_dimensions=True))
    variance = n.emit("reduce_mean", n.emit("mul", centred, centred), axes=axes, keep_dimensions=True)
    deviation = n.emit("sqrt", n.emit("add", variance, n.scalar(n.attr("epsilon"), x)))
    y = n.reshape(n.emit("div", centred, deviation), x.shape)
    gamma, beta = (_per_channel(n, n.tensor(i), last) for i in (1, 2))
    y = n.emit("add", n.emit("mul", y, gamma), beta)
    activation = n.attr("activation")
    if activation not in (0, 1):
        raise n.error(f"activation is {activation}, expected 0 or 1")
    return n.emit("mul", y, n.emit("sigmoid", y)) if activation else y
