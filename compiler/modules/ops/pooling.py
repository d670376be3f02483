"""Pooling, adaptive pooling included."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from basalt.ops import Dim
from basalt.ops.dims import product

from ...onnx.tensor import Tensor, onnx_dtype
from ..context import AtenContext
from ..registry import aten
from .convolution import spread


def _batched(n: AtenContext, x: Tensor, spatial: int, pool: Callable[[Tensor], Tensor]) -> Tensor:
    """Pool a single example as a batch of one."""
    if x.rank == spatial + 2:
        return pool(x)
    y = pool(n.reshape(x, (1, *x.shape)))
    return n.reshape(y, y.shape[1:])


def _max_pool(
    n: AtenContext,
    x: Tensor,
    kernel: Sequence[int],
    stride: Sequence[int] = (),
    padding: Sequence[int] = (0,),
    dilation: Sequence[int] = (1,),
    ceil_mode: bool = False,
    *,
    spatial: int,
) -> Tensor:
    attributes = _window(kernel, stride, padding, ceil_mode, spatial)
    attributes["dilations"] = spread(dilation, spatial)
    return _batched(n, x, spatial, lambda t: n.call("MaxPool", t, **attributes))


def _window(
    kernel: Sequence[int], stride: Sequence[int], padding: Sequence[int], ceil_mode: bool, spatial: int
) -> dict[str, Any]:
    return {
        "kernel_shape": spread(kernel, spatial),
        "strides": spread(stride or kernel, spatial),
        "pads": spread(padding, spatial) * 2,
        "ceil_mode": int(ceil_mode),
    }


for _spatial in (1, 2, 3):
    aten(f"max_pool{_spatial}d.default")(partial(_max_pool, spatial=_spatial))


def _max_pool_with_indices(
    n: AtenContext,
    x: Tensor,
    kernel: Sequence[int],
    stride: Sequence[int] = (),
    padding: Sequence[int] = (0,),
    dilation: Sequence[int] = (1,),
    ceil_mode: bool = False,
    *,
    spatial: int,
) -> tuple[Tensor | None, ...]:
    if 1 not in n.read:
        return _max_pool(n, x, kernel, stride, padding, dilation, ceil_mode, spatial=spatial), None
    given = x if x.rank == spatial + 2 else n.reshape(x, (1, *x.shape))
    attributes = _window(kernel, stride, padding, ceil_mode, spatial)
    attributes["dilations"] = spread(dilation, spatial)
    values, indices = n.call("MaxPool", given, outputs=2, **attributes)
    # ONNX counts over the whole tensor, torch within a channel.
    plane = n.size_tensor((product(x.shape[-spatial:]),), ())
    indices = n.emit("mod", indices, plane)
    return n.shaped(values), n.shaped(indices)


for _spatial in (2, 3):
    aten(f"max_pool{_spatial}d_with_indices.default")(partial(_max_pool_with_indices, spatial=_spatial))


def _avg_pool(
    n: AtenContext,
    x: Tensor,
    kernel: Sequence[int],
    stride: Sequence[int] = (),
    padding: Sequence[int] = (0,),
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
    *,
    spatial: int,
) -> Tensor:
    attributes = _window(kernel, stride, padding, ceil_mode, spatial)
    if divisor_override and ceil_mode:
        raise n.unsupported("divisor_override together with ceil_mode")
    include = bool(count_include_pad or divisor_override)
    y = _batched(n, x, spatial, lambda t: n.call("AveragePool", t, count_include_pad=int(include), **attributes))
    if not divisor_override:
        return y
    size = int(np.prod(spread(kernel, spatial)))
    return n.emit("mul", y, n.scalar(size / divisor_override, y))


for _spatial in (1, 2, 3):
    aten(f"avg_pool{_spatial}d.default")(partial(_avg_pool, spatial=_spatial))


def bounds(size: int, count: int) -> list[tuple[int, int]]:
    """The start and end of each adaptive window."""
    return [(i * size // count, -(-(i + 1) * size // count)) for i in range(count)]


def _adaptive_avg(n: AtenContext, x: Tensor, output_size: Sequence[int], *, spatial: int) -> Tensor:
    for axis, count in zip(range(x.rank - spatial, x.rank), _targets(n, x, output_size, spatial)):
        size = x.shape[axis]
        if count == size:
            continue
        if count == 1:
            x = n.emit("reduce_mean", x, axes=(axis,), keep_dimensions=True)
        else:
            x = _averaged(n, x, axis, *n.static(size, count))
    return x


def _targets(n: AtenContext, x: Tensor, output_size: Sequence[int], spatial: int) -> list[Dim]:
    """The numbers of windows, by torch's own account of the result; symbolic only where an axis stays as it is."""
    pairs = zip(n.shape[-spatial:], x.shape[-spatial:])
    return [target if target == size else n.static(target)[0] for target, size in pairs]


def _averaged(n: AtenContext, x: Tensor, axis: int, size: int, count: int) -> Tensor:
    """Means along an axis: of equal windows by reduction, of others by a matrix of weights."""
    if size % count == 0:
        split = n.reshape(x, (*x.shape[:axis], count, size // count, *x.shape[axis + 1 :]))
        return n.emit("reduce_mean", split, axes=(axis + 1,))
    weights = np.zeros((size, count), np.float64)
    for i, (start, end) in enumerate(bounds(size, count)):
        weights[start:end, i] = 1 / (end - start)
    order = [*[a for a in range(x.rank) if a != axis], axis]
    y = n.emit("matmul", n.transpose(x, order), n.constant(weights.astype(onnx_dtype(x.dtype))))
    return n.transpose(y, [*range(axis), x.rank - 1, *range(axis, x.rank - 1)])


for _spatial in (1, 2, 3):
    aten(f"adaptive_avg_pool{_spatial}d.default")(partial(_adaptive_avg, spatial=_spatial))
for _spatial in (2, 3):
    aten(f"_adaptive_avg_pool{_spatial}d.default")(partial(_adaptive_avg, spatial=_spatial))


def _adaptive_max(n: AtenContext, x: Tensor, output_size: Sequence[int], *, spatial: int) -> tuple[Tensor | None, ...]:
    if 1 in n.read:
        raise n.unsupported("the indices of adaptive maximum pooling")
    for axis, count in zip(range(x.rank - spatial, x.rank), _targets(n, x, output_size, spatial)):
        size = x.shape[axis]
        if count == size:
            continue
        if count == 1:
            x = n.emit("reduce_max", x, axes=(axis,), keep_dimensions=True)
            continue
        parts = [n.slice(x, axis, start, end - start) for start, end in bounds(*n.static(size, count))]
        x = n.emit("concat", *[n.emit("reduce_max", p, axes=(axis,), keep_dimensions=True) for p in parts], axis=axis)
    return x, None


for _spatial in (1, 2, 3):
    aten(f"adaptive_max_pool{_spatial}d.default")(partial(_adaptive_max, spatial=_spatial))
