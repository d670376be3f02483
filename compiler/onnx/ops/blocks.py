"""Blocks of images: DepthToSpace, SpaceToDepth, CenterCropPad, Col2Im."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from basalt.ops import Dim
from basalt.ops.shapes import text

from ..node import NodeContext
from ..registry import onnx_op
from ..tensor import Tensor
from .positions import require_room
from .ranges import quotient


def _blocks(n: NodeContext) -> tuple[Tensor, int, bool]:
    """The image, the blocks' size, and whether depth comes before the places in the block (mode CRD)."""
    x, size, mode = n.tensor(0), n.attr("blocksize"), n.attr("mode", "DCR")
    if x.rank != 4 or size < 1:
        raise n.error(f"input is {x} and blocksize {size}, expected rank 4 and at least 1")
    if mode not in ("DCR", "CRD"):
        raise n.error(f"mode is {mode!r}, expected DCR or CRD")
    return x, size, mode == "CRD"


def _divided(n: NodeContext, size: Dim, by: int, what: str) -> Dim:
    if isinstance(size, int) and size % by:
        raise n.error(f"the {what} is {size}, expected a multiple of {by}")
    return quotient([size], [by])


@onnx_op("DepthToSpace", 1, 11, 13, 28)
def depth_to_space(n: NodeContext) -> Tensor:
    x, b, depth_first = _blocks(n)
    batch, channels, height, width = x.shape
    depth = _divided(n, channels, b * b, "number of channels")
    if depth_first:
        cut = n.transpose(n.reshape(x, (batch, depth, b, b, height, width)), (0, 1, 4, 2, 5, 3))
    else:
        cut = n.transpose(n.reshape(x, (batch, b, b, depth, height, width)), (0, 3, 4, 1, 5, 2))
    return n.reshape(cut, (batch, depth, height * b, width * b))


@onnx_op("SpaceToDepth", 1, 13, 28)
def space_to_depth(n: NodeContext) -> Tensor:
    x, b, depth_first = _blocks(n)
    batch, depth, height, width = x.shape
    rows, columns = _divided(n, height, b, "height"), _divided(n, width, b, "width")
    cut = n.reshape(x, (batch, depth, rows, b, columns, b))
    cut = n.transpose(cut, (0, 1, 3, 5, 2, 4) if depth_first else (0, 3, 5, 1, 2, 4))
    return n.reshape(cut, (batch, depth * (b * b), rows, columns))


@onnx_op("CenterCropPad", 18)
def center_crop_pad(n: NodeContext) -> Tensor:
    x, wanted, axes = n.tensor(0), n.dims(1), n.attr("axes", None)
    places = [n.axis(a, x.rank, "axes") for a in (range(x.rank) if axes is None else axes)]
    if len(places) != len(wanted) or len(set(places)) != len(places):
        raise n.error(f"axes {places} and shape {text(wanted)} differ in length, or an axis is repeated")
    starts, sizes = [0] * x.rank, list(x.shape)
    before, after = [0] * x.rank, [0] * x.rank
    for axis, size in zip(places, wanted):
        if size == x.shape[axis]:
            continue
        size, given = n.static(size, x.shape[axis])
        starts[axis], sizes[axis] = max(given - size, 0) // 2, min(given, size)
        before[axis] = max(size - given, 0) // 2
        after[axis] = max(size - given, 0) - before[axis]
    if tuple(sizes) != tuple(x.shape):
        x = n.emit("slice", x, starts=tuple(starts), sizes=tuple(sizes), strides=(1,) * x.rank)
    return n.emit("pad", x, beginning_padding=before, ending_padding=after) if any(before + after) else x


@dataclass(frozen=True)
class _Line:
    """How windows lie along an axis of the image: ``count`` of ``length`` elements each, the first at ``-before``."""

    length: int
    count: int
    stride: int
    dilation: int
    before: int

    def places(self) -> np.ndarray:
        """The image's place of each element (rows) of each window (columns)."""
        elements = np.arange(self.length)[:, None] * self.dilation
        return elements + np.arange(self.count) * self.stride - self.before


def _lines(n: NodeContext, image: Sequence[int], block: Sequence[int]) -> list[_Line]:
    rank = len(image)
    strides, dilations = (n.attr(name, None) or (1,) * rank for name in ("strides", "dilations"))
    pads = n.attr("pads", None) or (0,) * (2 * rank)
    if not len(block) == len(strides) == len(dilations) == rank == len(pads) // 2:
        raise n.error(f"block_shape, strides, dilations and pads do not fit an image of {rank} axes")
    if min((*image, *pads), default=0) < 0 or min((*block, *strides, *dilations), default=1) < 1:
        raise n.error("image_shape, block_shape, strides, dilations or pads have numbers that are too small")
    lines = []
    for i, (size, length, stride, dilation) in enumerate(zip(image, block, strides, dilations)):
        count = (size + pads[i] + pads[rank + i] - dilation * (length - 1) - 1) // stride + 1
        lines.append(_Line(length, max(count, 0), stride, dilation, pads[i]))
    return lines


def _sources(image: Sequence[int], places: Sequence[np.ndarray]) -> np.ndarray:
    """Which elements of the columns [block, windows], flattened, are added up at each place of the image.

    [image's places, most that meet at one], in increasing order; one beyond the last element where fewer meet.
    """
    rank = len(image)
    block, windows = [p.shape[0] for p in places], [p.shape[1] for p in places]
    full = (*block, *windows)
    flat, valid = np.zeros(full, np.int64), np.ones(full, bool)
    for i, p in enumerate(places):
        shape = [1] * (2 * rank)
        shape[i], shape[rank + i] = p.shape
        flat = flat * image[i] + p.reshape(shape)
        valid &= ((p >= 0) & (p < image[i])).reshape(shape)
    elements = np.flatnonzero(valid)
    targets = flat.reshape(-1)[elements]
    order = np.argsort(targets, kind="stable")
    elements, targets = elements[order], targets[order]
    total = math.prod(image)
    counts = np.bincount(targets, minlength=total)
    within = np.arange(len(targets)) - (np.cumsum(counts) - counts)[targets]
    table = np.full((total, max(int(counts.max(initial=0)), 1)), flat.size, np.int64)
    table[targets, within] = elements
    return table


@onnx_op("Col2Im", 18)
def col2im(n: NodeContext) -> Tensor:
    x, image, block = n.tensor(0), n.ints(1), n.ints(2)
    lines = _lines(n, image, block)
    elements, windows = math.prod(block), math.prod(line.count for line in lines)
    if x.rank != 3:
        raise n.error(f"input is {x}, expected rank 3")
    depth, given = n.static(*x.shape[1:])
    if given != windows:
        raise n.error(f"input has {given} blocks, expected {windows}, as image_shape and block_shape give")
    channels = _divided(n, depth, elements, "size of axis 1")
    require_room(n, (x.shape[0], channels, *image))
    table = _sources(image, [line.places() for line in lines])
    columns = n.reshape(x, (x.shape[0], channels, elements * windows))
    # What is read where fewer windows meet is a zero at the end.
    columns = n.emit("pad", columns, beginning_padding=(0, 0, 0), ending_padding=(0, 0, 1))
    met = n.emit("gather", columns, n.constant(np.ascontiguousarray(table.T)), axis=2)
    return n.reshape(_summed(n, met), (x.shape[0], channels, *image))


def _summed(n: NodeContext, x: Tensor) -> Tensor:
    """The sum over the last axis but one, in the tensor's own type; true where one is true."""
    axes = (x.rank - 2,)
    if x.shape[-2] == 1:
        return n.reshape(x, (*x.shape[:-2], x.shape[-1]))
    if x.dtype == "bool":
        return n.emit("reduce_max", x, axes=axes, dtype="bool")
    if x.dtype in ("int8", "int16", "uint8", "uint16"):
        total = n.emit("reduce_sum", n.emit("cast", x, data_type="int32"), axes=axes)
        return n.emit("cast", total, data_type=x.dtype)
    return n.emit("reduce_sum", x, axes=axes)
