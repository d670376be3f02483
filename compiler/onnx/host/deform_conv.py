"""DeformConv along any number of axes."""

from __future__ import annotations

from itertools import product

import numpy as np

from basalt.compiler.onnx.host.checks import tensor
from basalt.compiler.onnx.host.registry import HostNode, host_op


@host_op("DeformConv", 19, 22)
def deform_conv(
    n: HostNode,
    x: np.ndarray,
    w: np.ndarray,
    offset: np.ndarray,
    b: np.ndarray | None = None,
    mask: np.ndarray | None = None,
) -> np.ndarray:
    """Each tap's sample, interpolated linearly and 0 outside, times the mask and the weight; summed in float64."""
    x, w = tensor(n, "X", x), tensor(n, "W", w)
    rank = x.ndim - 2
    if rank < 1 or w.ndim != x.ndim:
        raise n.error(f"inputs 'X' and 'W' have shapes {x.shape} and {w.shape}, expected one rank of at least 3")
    batch, channels = x.shape[:2]
    outputs, depth, *kernel = w.shape
    groups, offset_groups = int(n.attr("group", 1)), int(n.attr("offset_group", 1))
    _check_groups(n, x, w, groups, offset_groups)
    places = _output_sizes(n, x.shape[2:], kernel)
    taps = int(np.prod(kernel))
    expected = (batch, offset_groups * taps * rank, *places)
    if tensor(n, "offset", offset).shape != expected:
        raise n.error(f"input 'offset' has shape {offset.shape}, expected {expected}")
    coordinates = _base(n, kernel, places) + offset.reshape(batch, offset_groups, taps, rank, *places).astype(
        np.float64
    )
    values = x.astype(np.float64).reshape(batch, offset_groups, channels // offset_groups, *x.shape[2:])
    columns = _sampled(values, coordinates)
    if mask is not None:
        expected = (batch, offset_groups * taps, *places)
        if tensor(n, "mask", mask).shape != expected:
            raise n.error(f"input 'mask' has shape {mask.shape}, expected {expected}")
        columns = columns * mask.reshape(batch, offset_groups, 1, taps, *places)
    split = columns.reshape(batch, groups, depth * taps, -1)
    y = np.matmul(w.astype(np.float64).reshape(groups, outputs // groups, depth * taps), split)
    y = y.reshape(batch, outputs, *places)
    if b is not None:
        y = y + tensor(n, "B", b).astype(np.float64).reshape(outputs, *[1] * rank)
    return np.asarray(y).astype(x.dtype)


def _check_groups(n: HostNode, x: np.ndarray, w: np.ndarray, groups: int, offset_groups: int) -> None:
    channels, (outputs, depth) = x.shape[1], w.shape[:2]
    if groups < 1 or offset_groups < 1 or channels != depth * groups or outputs % groups or channels % offset_groups:
        raise n.error(
            f"inputs 'X' and 'W' have shapes {x.shape} and {w.shape}, which group {groups} and "
            f"offset_group {offset_groups} do not divide"
        )


def _per_axis(n: HostNode, name: str, default: int, rank: int) -> tuple[int, ...]:
    return tuple(n.attr(name, (default,) * rank))


def _output_sizes(n: HostNode, sizes: tuple[int, ...], kernel: list[int]) -> tuple[int, ...]:
    rank = len(kernel)
    pads, strides = _per_axis(n, "pads", 0, 2 * rank), _per_axis(n, "strides", 1, rank)
    dilations = _per_axis(n, "dilations", 1, rank)
    counts = tuple(
        (sizes[i] + pads[i] + pads[rank + i] - (kernel[i] - 1) * dilations[i] - 1) // strides[i] + 1
        for i in range(rank)
    )
    if min(*sizes, *kernel, *counts) < 1:
        raise n.error(f"a window of {kernel} with dilations {dilations} does not fit into {sizes} and the padding")
    return counts


def _base(n: HostNode, kernel: list[int], places: tuple[int, ...]) -> np.ndarray:
    """Where each tap looks without an offset: [taps, axes, ...places]."""
    rank = len(kernel)
    strides, dilations = _per_axis(n, "strides", 1, rank), _per_axis(n, "dilations", 1, rank)
    pads = _per_axis(n, "pads", 0, 2 * rank)
    base = []
    for i in range(rank):
        tap = (np.arange(kernel[i]) * dilations[i]).reshape([-1 if a == i else 1 for a in range(2 * rank)])
        first = (np.arange(places[i]) * strides[i] - pads[i]).reshape(
            [-1 if a == rank + i else 1 for a in range(2 * rank)]
        )
        base.append(np.broadcast_to(tap + first, (*kernel, *places)).reshape(-1, *places))
    return np.stack(base, axis=1)


def _sampled(values: np.ndarray, coordinates: np.ndarray) -> np.ndarray:
    """Samples [n, groups, channels, taps, ...places] of [n, groups, channels, ...] at [n, groups, taps, axes, ...]."""
    sizes = values.shape[3:]
    rank = len(sizes)
    # A coordinate that is no number, or that no index reaches, lies outside like any other.
    farthest = np.reshape(sizes, (-1, *[1] * (coordinates.ndim - 1)))
    coordinates = np.nan_to_num(np.moveaxis(coordinates, 3, 0), nan=-2.0).clip(-2, farthest)
    low = np.floor(coordinates)
    fraction = coordinates - low
    batch, group = np.ogrid[: values.shape[0], : values.shape[1]]
    leading = (..., *[None] * (coordinates.ndim - 3))
    total = np.zeros((*coordinates.shape[1:], values.shape[2]))
    for corner in product((0, 1), repeat=rank):
        index = [(low[i] + c).astype(np.int64) for i, c in enumerate(corner)]
        inside = np.logical_and.reduce([(k >= 0) & (k < s) for k, s in zip(index, sizes)])
        weight = np.prod([fraction[i] if c else 1 - fraction[i] for i, c in enumerate(corner)], axis=0)
        clipped = [np.clip(k, 0, s - 1) for k, s in zip(index, sizes)]
        found = values[(batch[leading], group[leading], slice(None), *clipped)]
        total += np.where(inside, weight, 0)[..., None] * found
    return np.moveaxis(total, -1, 2)
