"""Convolutions, transposed ones included."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...onnx.tensor import Tensor
from ..context import AtenContext
from ..registry import aten


@aten("convolution.default")
def convolution(
    n: AtenContext,
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
) -> Tensor:
    spatial = weight.rank - 2
    single = x.rank == spatial + 1
    if single:
        x = n.reshape(x, (1, *x.shape))
    attributes: dict[str, Any] = {
        "kernel_shape": n.static(*weight.shape[2:]),
        "strides": spread(stride, spatial),
        "dilations": spread(dilation, spatial),
        "pads": spread(padding, spatial) * 2,
        "group": groups,
    }
    if transposed:
        attributes["output_padding"] = spread(output_padding, spatial)
    y: Tensor = n.call("ConvTranspose" if transposed else "Conv", x, weight, bias, **attributes)
    return n.reshape(y, y.shape[1:]) if single else y


def spread(values: Sequence[int], count: int) -> tuple[int, ...]:
    """One number an axis; a single one holds for all."""
    values = tuple(values)
    return values * count if len(values) == 1 else values
