"""Upsampling and sampling at places, by ONNX's Resize and GridSample."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from basalt.ops import SymDim

from ...onnx.tensor import Tensor
from ..context import AtenContext
from ..registry import aten

_CUBIC = -0.75
"""The coefficient of torch's cubic kernel; with antialiasing it is that of Pillow."""
_SMOOTH_CUBIC = -0.5


def _resize(n: AtenContext, x: Tensor, scales: Sequence[float] | None, spatial: int, **attributes: Any) -> Tensor:
    axes = tuple(range(x.rank - spatial, x.rank))
    if scales is not None and all(s is not None for s in scales):
        given = n.constant(np.array(scales, np.float32))
        y: Tensor = n.call("Resize", x, None, given, None, axes=axes, **attributes)
        # A scale may come out a size that differs by rounding; torch's account is the one to follow.
        if y.shape[-spatial:] == n.shape[-spatial:]:
            return y
    sizes = n.size_tensor(n.shape[-spatial:])
    return n.call("Resize", x, None, None, sizes, axes=axes, **attributes)


def _nearest(n: AtenContext, x: Tensor, size: Any, scales: Any = None, *, spatial: int, exact: bool) -> Tensor:
    if not any(isinstance(d, SymDim) for d in (*x.shape[-spatial:], *n.shape[-spatial:])):
        return _picked(n, x, scales or [None] * spatial, spatial, exact)
    where = "half_pixel" if exact else "asymmetric"
    rounding = "round_prefer_ceil" if exact else "floor"
    return _resize(n, x, scales, spatial, mode="nearest", coordinate_transformation_mode=where, nearest_mode=rounding)


def _picked(n: AtenContext, x: Tensor, scales: Sequence[float | None], spatial: int, exact: bool) -> Tensor:
    """Nearest neighbours by the places that torch computes, whose own rounding decides where two are as near."""
    real: Any = np.float64 if x.dtype == "float64" else np.float32
    whole = True
    for axis, scale in zip(range(x.rank - spatial, x.rank), scales):
        (size,), (count,) = n.static(x.shape[axis]), n.static(n.shape[axis])
        whole = whole and count % size == 0 and (scale is None or scale == count // size)
    if whole:
        return _resize(
            n, x, None, spatial, mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor"
        )
    for axis, scale in zip(range(x.rank - spatial, x.rank), scales):
        (size,), (count,) = n.static(x.shape[axis]), n.static(n.shape[axis])
        step = real(1 / scale) if scale else real(size) / real(count)
        centres: np.ndarray = np.arange(count).astype(real) + (0.5 if exact else 0.0)
        places = np.floor(centres * step).astype(np.int64)
        if count != size or not np.array_equal(places, np.arange(size)):
            x = n.emit("gather", x, n.constant(np.minimum(places, size - 1)), axis=axis)
    return x


def _linear(
    n: AtenContext, x: Tensor, size: Any, align_corners: bool, scales: Any = None, *, spatial: int, antialias: int = 0
) -> Tensor:
    where = "align_corners" if align_corners else "half_pixel"
    return _resize(
        n,
        x,
        None if align_corners else scales,
        spatial,
        mode="linear",
        coordinate_transformation_mode=where,
        antialias=antialias,
        exclude_outside=antialias,
    )


def _cubic(
    n: AtenContext, x: Tensor, size: Any, align_corners: bool, scales: Any = None, *, antialias: int = 0
) -> Tensor:
    where = "align_corners" if align_corners else "half_pixel"
    return _resize(
        n,
        x,
        None if align_corners else scales,
        2,
        mode="cubic",
        coordinate_transformation_mode=where,
        cubic_coeff_a=_SMOOTH_CUBIC if antialias else _CUBIC,
        antialias=antialias,
        exclude_outside=antialias,
    )


for _spatial, _kind in ((1, "linear1d"), (2, "bilinear2d"), (3, "trilinear3d")):
    aten(f"upsample_nearest{_spatial}d.vec")(partial(_nearest, spatial=_spatial, exact=False))
    aten(f"_upsample_nearest_exact{_spatial}d.vec")(partial(_nearest, spatial=_spatial, exact=True))
    aten(f"upsample_{_kind}.vec")(partial(_linear, spatial=_spatial))
aten("_upsample_bilinear2d_aa.vec")(partial(_linear, spatial=2, antialias=1))
aten("upsample_bicubic2d.vec")(_cubic)
aten("_upsample_bicubic2d_aa.vec")(partial(_cubic, antialias=1))


def _separate_scales(function: Any, spatial: int, corners: bool) -> Any:
    """A translator for the overload that has a scale an axis as arguments of their own."""

    def translate(n: AtenContext, x: Tensor, size: Any, *rest: Any, **named: Any) -> Tensor:
        align = rest[:1] if corners else ()
        scales = list(rest[len(align) :]) or list(named.values())
        return function(n, x, size, *align, scales if len(scales) == spatial else None)

    return translate


for _spatial, _kind in ((1, "linear1d"), (2, "bilinear2d"), (3, "trilinear3d")):
    _plain = partial(_nearest, spatial=_spatial, exact=False)
    _exact = partial(_nearest, spatial=_spatial, exact=True)
    aten(f"upsample_nearest{_spatial}d.default")(_separate_scales(_plain, _spatial, False))
    aten(f"_upsample_nearest_exact{_spatial}d.default")(_separate_scales(_exact, _spatial, False))
    aten(f"upsample_{_kind}.default")(_separate_scales(partial(_linear, spatial=_spatial), _spatial, True))
aten("upsample_bicubic2d.default")(_separate_scales(_cubic, 2, True))


@aten("grid_sampler_2d.default", "grid_sampler_3d.default", "grid_sampler.default")
def grid_sample(
    n: AtenContext, x: Tensor, grid: Tensor, interpolation: int, padding: int, align_corners: bool
) -> Tensor:
    return n.call(
        "GridSample",
        x,
        grid,
        mode=("linear", "nearest", "cubic")[interpolation],
        padding_mode=("zeros", "border", "reflection")[padding],
        align_corners=int(align_corners),
    )
