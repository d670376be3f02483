"""Resize and Upsample: tensors resampled along any of their axes."""

from __future__ import annotations

from collections.abc import Sequence

from ..node import NodeContext
from ..registry import onnx_op
from ..tensor import Tensor
from .resampling import CENTRED, resized
from .resize_targets import by_scales, by_sizes
from .resize_weights import NEAREST_MODES, Method

_COORDINATES = (*CENTRED, "align_corners", "asymmetric", "tf_crop_and_resize", "tf_half_pixel_for_nn")


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
        return resized(n, x, by_scales(n, x, scales, axes, rois), method)
    return resized(n, x, by_sizes(n, x, sizes, axes, rois, n.attr("keep_aspect_ratio_policy", "stretch")), method)


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
        x = resized(n, x, chosen, Method("nearest" if mode == "nearest" else "linear", "asymmetric", nearest))
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
