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
    if divisor_override and ceil_mode:
        x = _padded(n, x, *(spread(v, spatial) for v in (kernel, stride or kernel, padding)))
        padding, ceil_mode = (0,), False
    attributes = _window(kernel, stride, padding, ceil_mode, spatial)
    include = bool(count_include_pad or divisor_override)
    y = _batched(n, x, spatial, lambda t: n.call("AveragePool", t, count_include_pad=int(include), **attributes))
    if not divisor_override:
        return y
    size = int(np.prod(spread(kernel, spatial)))
    return n.emit("mul", y, n.scalar(size / divisor_override, y))


def _padded(n: AtenContext, x: Tensor, kernel: Sequence[int], stride: Sequence[int], padding: Sequence[int]) -> Tensor:
    """The operand with zeros wherever a window reaches, so that no size is rounded."""
    spatial = len(kernel)
    sizes, counts = n.static(*x.shape[-spatial:]), n.static(*n.shape[-spatial:])
    ends = [
        max((count - 1) * step + length - size - before, 0)
        for count, step, length, size, before in zip(counts, stride, kernel, sizes, padding)
    ]
    rest = [0] * (x.rank - spatial)
    return n.emit("pad", x, beginning_padding=[*rest, *padding], ending_padding=[*rest, *ends])


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
        return _adaptive_max_with_indices(n, x, spatial)
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


def _adaptive_max_with_indices(n: AtenContext, x: Tensor, spatial: int) -> tuple[Tensor, Tensor]:
    """The maxima of each window's elements, gathered side by side, and their places in a channel."""
    sizes, counts = n.static(*x.shape[-spatial:]), n.static(*n.shape[-spatial:])
    windows = [_padded_windows(size, count) for size, count in zip(sizes, counts)]
    places = np.zeros((1,) * 2 * spatial, np.int64)
    for axis, (window, size) in enumerate(zip(windows, sizes)):
        shape = [1] * 2 * spatial
        shape[axis], shape[spatial + axis] = window.shape
        places = places * size + window.reshape(shape)
    places = places.reshape(*counts, -1)
    before = x.shape[:-spatial]
    flat = n.reshape(x, (*before, int(np.prod(sizes))))
    elements = n.emit("gather", flat, n.constant(places), axis=len(before))
    last = len(before) + spatial
    values = n.emit("reduce_max", elements, axes=(last,))
    first = n.call("ArgMax", elements, axis=last, keepdims=0)
    # The place within a window, to that within the channel.
    rows = np.arange(int(np.prod(counts))).reshape(counts) * places.shape[-1]
    found = n.emit("gather", n.constant(places.reshape(-1)), n.emit("add", first, n.constant(rows)), axis=0)
    return values, found


def _padded_windows(size: int, count: int) -> np.ndarray:
    """The places of each adaptive window along an axis [count, longest]; shorter ones repeat their last."""
    limits = bounds(size, count)
    longest = max(end - start for start, end in limits)
    return np.array([[min(start + i, end - 1) for i in range(longest)] for start, end in limits])


for _spatial in (1, 2, 3):
    aten(f"adaptive_max_pool{_spatial}d.default")(partial(_adaptive_max, spatial=_spatial))
