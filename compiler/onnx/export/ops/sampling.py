"""Images sampled at places that tensors name: grid_sample, roi_align, max_roi_pool, deform_conv."""

from __future__ import annotations

from basalt.ops import known

from ..node import NodeWriter
from ..registry import exports
from ..tensor import Tensor
from .convolution import pads_of

_MODES_BEFORE_20 = {"linear": "bilinear", "nearest": "nearest", "cubic": "bicubic"}


@exports("grid_sample")
def grid_sample(n: NodeWriter) -> Tensor:
    if n.opset < 20 and n.type("input").rank != 4:
        n.unsupported(f"an input of rank {n.type('input').rank}, which ONNX's GridSample takes from opset 20 on")
    mode = n.attrs["mode"] if n.opset >= 20 else _MODES_BEFORE_20[n.attrs["mode"]]
    options = {"mode": mode, "padding_mode": n.attrs["padding_mode"], "align_corners": int(n.attrs["align_corners"])}
    grid = n["grid"]
    # One wide and one narrow: ONNX Runtime wants both of one type.
    if n["input"].dtype != grid.dtype:
        return n.call("GridSample", n.widened(n["input"]), n.widened(grid), **options)
    return n.call("GridSample", n["input"], grid, **options)


@exports("roi_align")
def roi_align(n: NodeWriter) -> Tensor:
    image, rois = _of_one_type(n)
    batches = n.type("input").shape[0]
    low, high = n.scalar(0, "int64"), n.reshape(n.call("Sub", n.sizes((batches,)), n.ints((1,))), ())
    indices = n.call("Clip", n.cast(n["batch_indices"], "int64"), low, high)
    return n.call(
        "RoiAlign",
        image,
        rois,
        indices,
        mode=n.attrs["mode"],
        coordinate_transformation_mode="half_pixel" if n.attrs["half_pixel"] else "output_half_pixel",
        output_height=n.attrs["output_height"],
        output_width=n.attrs["output_width"],
        sampling_ratio=n.attrs["sampling_ratio"],
        spatial_scale=float(n.attrs["spatial_scale"]),
    )


@exports("max_roi_pool")
def max_roi_pool(n: NodeWriter) -> Tensor:
    image, rois = _of_one_type(n)
    shape = (n.attrs["output_height"], n.attrs["output_width"])
    return n.call("MaxRoiPool", image, rois, pooled_shape=shape, spatial_scale=float(n.attrs["spatial_scale"]))


def _of_one_type(n: NodeWriter) -> tuple[Tensor, Tensor]:
    """The image and the regions, in the wider one's type where they differ."""
    image, rois = n["input"], n["rois"]
    if image.dtype == rois.dtype:
        return image, rois
    wide = "float64" if "float64" in (image.dtype, rois.dtype) else "float32"
    return n.cast(image, wide), n.cast(rois, wide)


@exports("deform_conv")
def deform_conv(n: NodeWriter) -> Tensor:
    window = n.type("filter").shape[2:]
    return n.call(
        "DeformConv",
        n["input"],
        n["filter"],
        n["offset"],
        n.get("bias"),
        n.get("mask"),
        kernel_shape=window if known(*window) else None,
        strides=n.attrs["strides"],
        dilations=n.attrs["dilations"],
        group=n.attrs["groups"],
        pads=pads_of(n.attrs["padding"]),
        offset_group=n.attrs["offset_groups"],
    )
