"""Resampling along axes as core operators (ONNX operators Resize, Upsample)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from basalt.ops import Dim
from basalt.ops.dims import known, product
from basalt.ops.schema import MAX_RANK

from ..node import NodeContext
from ..tensor import Tensor
from .positions import require_room
from .ranges import never_above
from .resize_symbolic import SYMBOLIC, linear_along, nearest_along
from .resize_targets import Target
from .resize_weights import Method, nearest_elements, original_coordinates, weighted_elements

__all__ = ["CENTRED", "resized"]

_FLOATS = ("float32", "float16", "bfloat16", "float64")
CENTRED = ("half_pixel", "half_pixel_symmetric", "pytorch_half_pixel")
"""Coordinates that lie between the centres of elements."""
FEW = 4
"""Elements a result up to which each has a gather of its own."""


def resized(n: NodeContext, x: Tensor, targets: Sequence[Target], method: Method) -> Tensor:
    """A tensor resampled along the axes of its targets."""
    targets = [t for t in targets if not t.idle]
    counts = {t.axis: t.count for t in targets}
    require_room(n, [counts.get(axis, size) for axis, size in enumerate(x.shape)])
    for t in targets:
        if t.size == 0 and t.count != 0:
            raise n.error(f"axis {t.axis} of the input {x} is empty, expected elements to make {t.count} of")
        if t.count == 0:
            x = n.slice(x, t.axis, 0, 0)
    targets = [t for t in targets if t.count != 0]
    if not targets:
        return x
    return _nearest(n, x, targets, method) if method.mode == "nearest" else _interpolated(n, x, targets, method)


def _repeats(t: Target, method: Method) -> bool:
    """Whether the nearest elements are each element a number of times."""
    if method.mode != "nearest" or not t.repeats:
        return False
    if method.coordinates in CENTRED:
        return method.nearest.startswith("round")
    return method.coordinates in ("asymmetric", "tf_half_pixel_for_nn") and method.nearest == "floor"


def _repeated(n: NodeContext, x: Tensor, targets: Sequence[Target]) -> Tensor:
    times = {t.axis: t.repeats for t in targets}
    shape: list[Dim] = []
    wide: list[Dim] = []
    for axis, size in enumerate(x.shape):
        shape += [size, 1] if axis in times else [size]
        wide += [size, times[axis] or 1] if axis in times else [size]
    counts = {t.axis: t.count for t in targets}
    spread = n.expand(n.reshape(x, shape), wide)
    return n.reshape(spread, [counts.get(axis, size) for axis, size in enumerate(x.shape)])


def _is_centred(t: Target, method: Method) -> bool:
    """Whether ``resample2d`` computes the same: between the centres of elements, the edges repeated."""
    if method.coordinates not in CENTRED or not t.exact or (method.antialias and not never_above(t.size, t.count)):
        return False
    # A single element of this mode lies at the start; a symbolic size may be 1.
    return method.coordinates != "pytorch_half_pixel" or bool(t.repeats) or never_above(2, t.count)


_Pair = tuple[Target | None, Target]
"""The targets of two axes, None for one that stays as it is."""


def _by_planes(
    n: NodeContext,
    x: Tensor,
    targets: Sequence[Target],
    resample: Callable[[Tensor, tuple[int, int], _Pair], Tensor],
) -> Tensor:
    """The tensor resampled along two neighbouring axes at a time, or one; ``resample`` does it to tensors of rank 4."""
    left = sorted(targets, key=lambda t: t.axis)
    while left:
        first, last = left[0], left[min(1, len(left) - 1)]
        paired = last.axis == first.axis + 1
        last = last if paired else first
        left = left[2 if paired else 1 :]
        counts = {t.axis: t.count for t in (first, last)}
        result = [counts.get(axis, size) for axis, size in enumerate(x.shape)]
        rows = first.size if paired else 1
        before, after = product(x.shape[: first.axis]), product(x.shape[last.axis + 1 :])
        pair = (first if paired else None, last)
        if after == 1:
            y = resample(n.reshape(x, (before, 1, rows, last.size)), (2, 3), pair)
        else:
            y = resample(n.reshape(x, (before, rows, last.size, after)), (1, 2), pair)
        x = n.reshape(y, result)
    return x


def _coordinates(t: Target, method: Method) -> np.ndarray:
    return original_coordinates(method.coordinates, t.size, t.count, t.factor, t.roi)  # type: ignore[arg-type]


def _extrapolated(n: NodeContext, x: Tensor, t: Target, method: Method, coordinate: np.ndarray) -> Tensor:
    """The extrapolation value where a coordinate lies beyond the original."""
    if method.coordinates != "tf_crop_and_resize":
        return x
    outside = (coordinate < 0) | (coordinate > t.size - 1)
    if not outside.any():
        return x
    mask = n.constant(outside.reshape([-1 if i == t.axis else 1 for i in range(x.rank)]))
    return n.emit("where", mask, n.scalar(method.extrapolation, x), x)


def _known(n: NodeContext, targets: Sequence[Target]) -> list[Target]:
    """The targets with sizes that are numbers."""
    return [replace(t, size=n.static(t.size)[0], count=n.static(t.count)[0]) for t in targets]


def _nearest(n: NodeContext, x: Tensor, targets: Sequence[Target], method: Method) -> Tensor:
    if all(_repeats(t, method) for t in targets) and x.rank + len(targets) <= MAX_RANK:
        return _repeated(n, x, targets)
    symbolic = [t for t in targets if not known(t.size, t.count)] if method.coordinates in SYMBOLIC else []
    for t in symbolic:
        x = nearest_along(n, x, t, method)
    for t in _known(n, [t for t in targets if t not in symbolic]):
        coordinate = _coordinates(t, method)
        places = nearest_elements(coordinate, method.nearest, t.size)  # type: ignore[arg-type]
        x = n.emit("gather", x, n.constant(places), axis=t.axis)
        x = _extrapolated(n, x, t, method, coordinate)
    return x


def _interpolated(n: NodeContext, x: Tensor, targets: Sequence[Target], method: Method) -> Tensor:
    if method.mode == "linear" and not method.exclude_outside and x.dtype != "bool":
        if x.dtype in _FLOATS and all(_is_centred(t, method) for t in targets):
            return _by_planes(n, x, targets, partial(_centred_plane, n))
        if method.coordinates in SYMBOLIC and x.dtype in _FLOATS and not method.antialias:
            for t in [t for t in targets if not known(t.size, t.count)]:
                x = linear_along(n, x, t, method)
            targets = [t for t in targets if known(t.size, t.count)]
        targets = _known(n, targets)
        shrinks = method.antialias and not all(never_above(t.size, t.count) for t in targets)
        if not shrinks and method.coordinates != "tf_crop_and_resize":
            return _by_planes(n, x, targets, partial(_plane, n, method))
    return _filtered(n, x, _known(n, targets), method)


def _centred_plane(n: NodeContext, image: Tensor, axes: tuple[int, int], pair: _Pair) -> Tensor:
    return n.emit("resample2d", image, mode="linear", sizes=_counts(pair), axes=axes)


def _plane(n: NodeContext, method: Method, image: Tensor, axes: tuple[int, int], pair: _Pair) -> Tensor:
    places = [np.zeros(1) if t is None else _coordinates(t, method) for t in pair]
    steps = [float(p[-1] - p[0]) / max(len(p) - 1, 1) for p in places]
    offsets = [float(p[0]) for p in places]
    return n.emit("interpolate2d", image, sizes=_counts(pair), offsets=offsets, steps=steps, axes=axes)


def _counts(pair: _Pair) -> tuple[Dim, ...]:
    return tuple(1 if t is None else t.count for t in pair)


def _filtered(n: NodeContext, x: Tensor, targets: Sequence[Target], method: Method) -> Tensor:
    """The weighted sums along one axis after the other: of floats up to 32 bits in float32, of others in float64."""
    held = "float32" if x.dtype in _FLOATS[:3] else "float64"
    result = x if x.dtype == held else n.emit("cast", x, data_type=held)
    for t in targets:
        coordinate = _coordinates(t, method)
        places, weights = weighted_elements(coordinate, method, t.size, t.factor)  # type: ignore[arg-type]
        result = _weighted(n, result, t.axis, places, weights)
        result = _extrapolated(n, result, t, method, coordinate)
    if x.dtype == held:
        return result
    if x.dtype == "bool":
        return n.emit("not_equal", result, n.scalar(0, result), dtype="bool")
    if x.dtype not in _FLOATS:
        result = n.emit("round_even", result)
    return n.emit("cast", result, data_type=x.dtype)


def _weighted(n: NodeContext, x: Tensor, axis: int, places: np.ndarray, weights: np.ndarray) -> Tensor:
    count, taps = places.shape
    after = [1] * (x.rank - axis - 1)
    if taps > FEW and x.rank < 8:
        rows = n.emit("gather", x, n.constant(places), axis=axis)
        factors = n.constant(weights.reshape(count, taps, *after), x.dtype)
        return n.emit("reduce_sum", n.emit("mul", rows, factors), axes=(axis + 1,))
    total: Tensor | None = None
    for k in range(taps):
        part = n.emit("gather", x, n.constant(places[:, k]), axis=axis)
        part = n.emit("mul", part, n.constant(weights[:, k].reshape(count, *after), x.dtype))
        total = part if total is None else n.emit("add", total, part)
    assert total is not None
    return total
