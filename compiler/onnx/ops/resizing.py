"""Resize and Upsample: tensors resampled along any of their axes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from basalt.ops import Dim
from basalt.ops.dims import known, product
from basalt.ops.schema import MAX_RANK

from ..node import NodeContext
from ..registry import onnx_op
from ..tensor import Tensor
from .positions import require_room
from .ranges import never_above
from .resize_symbolic import SYMBOLIC, linear_along, nearest_along
from .resize_targets import Target, by_scales, by_sizes
from .resize_weights import NEAREST_MODES, Method, nearest_elements, original_coordinates, weighted_elements

_FLOATS = ("float32", "float16", "bfloat16", "float64")
_CENTRED = ("half_pixel", "half_pixel_symmetric", "pytorch_half_pixel")
FEW = 4
"""Elements a result up to which each has a gather of its own."""
_COORDINATES = (*_CENTRED, "align_corners", "asymmetric", "tf_crop_and_resize", "tf_half_pixel_for_nn")


def _resized(n: NodeContext, x: Tensor, targets: Sequence[Target], method: Method) -> Tensor:
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
    if method.coordinates in _CENTRED:
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
    if method.coordinates not in _CENTRED or not t.exact or (method.antialias and not never_above(t.size, t.count)):
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


def _numbers(n: NodeContext, place: int) -> list[float] | None:
    """The elements of a vector of floats, None if it is left out or empty."""
    x = n.optional(place)
    if x is None or x.shape == (0,):
        return None
    return [float(v) for v in n.array(place).reshape(-1)] or None


def _regions(n: NodeContext, count: int, mode: str) -> list[tuple[float, float]]:
    if mode != "tf_crop_and_resize":
        return [(0.0, 1.0)] * count
    roi = n.optional(1)
    if roi is None or roi.shape != (2 * count,):
        raise n.error(f"roi is {roi}, expected {2 * count} values, for mode {mode}")
    # Elements stay in their data type, whose rounding decides which coordinates are whole.
    given = list(n.array(1))
    return list(zip(given[:count], given[count:]))


def _method(n: NodeContext) -> Method:
    method = Method(
        mode=n.attr("mode"),
        coordinates=n.attr("coordinate_transformation_mode"),
        nearest=n.attr("nearest_mode"),
        antialias=bool(n.attr("antialias", 0)),
        exclude_outside=bool(n.attr("exclude_outside")),
        cubic_a=n.attr("cubic_coeff_a"),
        extrapolation=n.attr("extrapolation_value"),
    )
    for name, value, allowed in (
        ("mode", method.mode, ("nearest", "linear", "cubic")),
        ("coordinate_transformation_mode", method.coordinates, _COORDINATES),
        ("nearest_mode", method.nearest, NEAREST_MODES),
    ):
        if value not in allowed:
            raise n.error(f"{name} is {value!r}, expected one of {', '.join(allowed)}")
    if method.antialias and method.mode == "nearest":
        raise n.error("antialias is 1, expected 0 for mode nearest")
    return method


@onnx_op("Resize", 11, 13, 18, 19)
def resize(n: NodeContext) -> Tensor:
    x, method = n.tensor(0), _method(n)
    given = n.attr("axes", None)
    axes = [n.axis(a, x.rank, "axes") for a in (range(x.rank) if given is None else given)]
    if len(set(axes)) != len(axes):
        raise n.error(f"axes are {axes}, expected each once")
    rois = _regions(n, len(axes), method.coordinates)
    scales = _numbers(n, 2)
    sizes = n.dims(3) if n.given(3) else ()
    if (scales is not None) == bool(sizes) and axes:
        raise n.error("expected one of scales and sizes, not both, not none")
    if scales is not None:
        return _resized(n, x, by_scales(n, x, scales, axes, rois), method)
    return _resized(n, x, by_sizes(n, x, sizes, axes, rois, n.attr("keep_aspect_ratio_policy", "stretch")), method)


def _upsampled(n: NodeContext, scales: Sequence[float]) -> Tensor:
    """As before version 11 of Resize: coordinates are divided by the factors."""
    x, mode = n.tensor(0), n.attr("mode")
    if mode not in ("nearest", "linear", "bilinear"):
        raise n.error(f"mode is {mode!r}, expected nearest or linear")
    targets = by_scales(n, x, scales, range(x.rank), [(0.0, 1.0)] * x.rank)
    # Of the nearest elements ONNX Runtime takes the later one, not the earlier, where the result is smaller.
    for nearest, chosen in (
        ("floor", [t for t in targets if t.factor >= 1]),
        ("ceil", [t for t in targets if t.factor < 1]),
    ):
        x = _resized(n, x, chosen, Method("nearest" if mode == "nearest" else "linear", "asymmetric", nearest))
    return x


@onnx_op("Resize", 10)
@onnx_op("Upsample", 9, 10)
def upsample(n: NodeContext) -> Tensor:
    return _upsampled(n, _numbers(n, 1) or ())


@onnx_op("Upsample", 7)
def upsample_7(n: NodeContext) -> Tensor:
    return _upsampled(n, n.attr("scales"))


@onnx_op("Upsample", 1)
def upsample_1(n: NodeContext) -> Tensor:
    if n.tensor(0).rank != 4:
        raise n.error(f"X is {n.tensor(0)}, expected rank 4")
    return _upsampled(n, (1.0, 1.0, n.attr("height_scale"), n.attr("width_scale")))
