"""DeformConv: a convolution each tap of which has an offset of its own at every place of the result."""

from __future__ import annotations

from ..errors import OnHostError
from ..node import NodeContext
from ..registry import onnx_op
from ..tensor import Tensor
from .convolution import planar, spatial_sizes
from .windows import POINT, groups_of, kernel_of, windows_of


@onnx_op("DeformConv", 19, 22)
def deform_conv(n: NodeContext) -> Tensor:
    """Along one axis an image of one row whose taps stay in it; along three and more left to the host."""
    x, weight, offset = (n.tensor(i) for i in range(3))
    bias, mask = n.optional(3), n.optional(4)
    windows = windows_of(n, spatial_sizes(n, x), kernel_of(n, weight.shape[2:]))
    if len(windows) > 2:
        raise OnHostError
    row = len(windows) == 1
    if row:
        windows = [POINT, *windows]
        x, weight = (_as_row(n, t) for t in (x, weight))
        offset = _beside_zeros(n, offset)
        mask = None if mask is None else _as_row(n, mask)
    attrs = {**planar(windows), "groups": groups_of(n), "offset_groups": groups_of(n, "offset_group")}
    y = n.emit("deform_conv", x, weight, offset, bias, mask, **attrs)
    return n.reshape(y, (*y.shape[:2], y.shape[3])) if row else y


def _as_row(n: NodeContext, x: Tensor) -> Tensor:
    """[a, b, length] as [a, b, 1, length]."""
    if x.rank != 3:
        raise n.error(f"a tensor of rank {x.rank} is given, expected rank 3 like that of X")
    return n.reshape(x, (*x.shape[:2], 1, x.shape[2]))


def _beside_zeros(n: NodeContext, offset: Tensor) -> Tensor:
    """Offsets [n, taps, length] along a row as pairs [n, taps * 2, 1, length] of which the first is 0."""
    if offset.rank != 3:
        raise n.error(f"input offset has rank {offset.rank}, expected 3")
    batch, taps, length = offset.shape
    pairs = n.emit(
        "pad",
        n.reshape(offset, (batch, taps, 1, length)),
        beginning_padding=(0, 0, 1, 0),
        ending_padding=(0, 0, 0, 0),
    )
    return n.reshape(pairs, (batch, taps * 2, 1, length))
