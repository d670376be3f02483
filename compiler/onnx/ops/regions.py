"""Pooling over regions of images: RoiAlign, MaxRoiPool."""

from __future__ import annotations

from ..node import NodeContext
from ..registry import onnx_op
from ..tensor import Tensor


@onnx_op("RoiAlign", 10, 16, 22)
def roi_align(n: NodeContext) -> Tensor:
    x, rois, batch = n.tensor(0), n.tensor(1), n.tensor(2)
    # Before version 16 places are not shifted by half an element.
    coordinates = n.attr("coordinate_transformation_mode") if n.version >= 16 else "output_half_pixel"
    mode = n.attr("mode")
    if coordinates not in ("half_pixel", "output_half_pixel") or mode not in ("avg", "max"):
        raise n.error(
            f"coordinate_transformation_mode is {coordinates!r} and mode {mode!r}, expected half_pixel or "
            "output_half_pixel, and avg or max"
        )
    sizes = [n.attr(name) for name in ("output_height", "output_width")]
    if min(sizes) < 1 or n.attr("sampling_ratio") < 0:
        raise n.error(f"output_height and output_width are {sizes}, expected at least 1; sampling_ratio at least 0")
    return n.emit(
        "roi_align",
        x,
        rois,
        batch,
        mode=mode,
        half_pixel=coordinates == "half_pixel",
        output_height=sizes[0],
        output_width=sizes[1],
        sampling_ratio=n.attr("sampling_ratio"),
        spatial_scale=n.attr("spatial_scale"),
    )


@onnx_op("MaxRoiPool", 1, 22)
def max_roi_pool(n: NodeContext) -> Tensor:
    shape = n.attr("pooled_shape")
    if len(shape) != 2 or min(shape) < 1:
        raise n.error(f"pooled_shape is {list(shape)}, expected a height and a width")
    return n.emit(
        "max_roi_pool",
        n.tensor(0),
        n.tensor(1),
        output_height=shape[0],
        output_width=shape[1],
        spatial_scale=n.attr("spatial_scale"),
    )
