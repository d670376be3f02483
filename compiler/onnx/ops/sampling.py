"""Sampling images at places that a grid names: GridSample, AffineGrid."""

from __future__ import annotations

import numpy as np

from basalt.ops import Dim
from basalt.ops.dims import product
from basalt.ops.shapes import same_dim, text

from ..node import NodeContext
from ..registry import onnx_op
from ..tensor import Tensor
from .grid_terms import interpolate
from .positions import counting, require_room, size_tensor

_FLOATS = ("float32", "float16", "bfloat16", "float64")
_MODES = {"bilinear": "linear", "bicubic": "cubic"}


@onnx_op("GridSample", 16, 20, 22)
def grid_sample(n: NodeContext) -> Tensor:
    x, grid, mode = n.tensor(0), n.tensor(1), n.attr("mode")
    allowed = ("bilinear", "nearest", "bicubic") if n.version < 20 else ("linear", "nearest", "cubic")
    padding = n.attr("padding_mode")
    if mode not in allowed or padding not in ("zeros", "border", "reflection"):
        raise n.error(
            f"mode is {mode!r} and padding_mode {padding!r}, expected one of {', '.join(allowed)} and padding"
        )
    if n.version < 20 and x.rank != 4:
        raise n.error(f"X is {x}, expected rank 4")
    if x.rank < 3 or grid.rank != x.rank or not same_dim(grid.shape[-1], x.rank - 2):
        raise n.error(f"X is {x} and grid {grid}, expected one rank of 3 or more, and grid's last size 2 less than it")
    mode = _MODES.get(mode, mode)
    if product(grid.shape) == 0 or product(x.shape[:2]) == 0:
        return _nothing(n, x, grid)
    if x.dtype in _FLOATS:
        return _sampled(n, x, grid, mode)
    if mode == "nearest":
        return _nearest(n, x, grid)
    wide = _sampled(n, n.emit("cast", x, data_type="float64"), grid, mode)
    if x.dtype == "bool":
        return n.emit("not_equal", wide, n.scalar(0, wide), dtype="bool")
    return n.emit("cast", n.emit("round_even", wide), data_type=x.dtype)


def _nothing(n: NodeContext, x: Tensor, grid: Tensor) -> Tensor:
    """The result where it has no elements."""
    shape = n.static(*x.shape[:2], *grid.shape[1:-1])
    return n.reshape(n.slice(n.reshape(x, (product(x.shape),)), 0, 0, 0), shape)


def _sampled(n: NodeContext, x: Tensor, grid: Tensor, mode: str) -> Tensor:
    """Samples of floats."""
    options = {"padding_mode": n.attr("padding_mode"), "align_corners": bool(n.attr("align_corners"))}
    if x.rank == 3:
        # A line is an image one element high, which is sampled at its only row, 0.
        flat = n.reshape(grid, (*grid.shape[:1], 1, *grid.shape[1:]))
        image = n.reshape(x, (*x.shape[:2], 1, x.shape[2]))
        rows = n.emit("mul", flat, n.scalar(0, flat))
        sampled = n.emit("grid_sample", image, n.emit("concat", flat, rows, axis=3), mode=mode, **options)
        return n.reshape(sampled, (*x.shape[:2], grid.shape[1]))
    if x.rank == 4 or (x.rank == 5 and mode != "cubic"):
        return n.emit("grid_sample", x, grid, mode=mode, **options)
    return interpolate(n, x, grid, mode, **options)


def _nearest(n: NodeContext, x: Tensor, grid: Tensor) -> Tensor:
    """Elements of any data type, picked by samples of their numbers: 0 stands for outside."""
    batch, channels, *sizes = x.shape
    count = product(sizes)
    numbers = n.emit("cast", n.emit("add", counting(n, count), size_tensor(1)), data_type="float64")
    image = n.expand(n.reshape(numbers, (1, 1, *sizes)), (batch, 1, *sizes))
    found = n.emit("cast", _sampled(n, image, grid, "nearest"), data_type="int64")
    places: list[Dim] = list(grid.shape[1:-1])
    flat = (batch, channels, product(places))
    rows = n.reshape(x, (batch, channels, count))
    rows = n.emit("pad", rows, beginning_padding=(0, 0, 1), ending_padding=(0, 0, 0))
    picked = n.emit("gather_elements", rows, n.expand(n.reshape(found, (batch, 1, flat[2])), flat), axis=2)
    return n.reshape(picked, (batch, channels, *places))


def _axis_places(size: int, align: bool) -> np.ndarray:
    """The coordinates from -1 to 1 of an axis' elements: of their centres, or with -1 and 1 at their outer edges."""
    if align:
        return np.linspace(-1.0, 1.0, size) if size > 1 else np.full(size, -1.0)
    return (np.arange(size) * 2 + 1.0) / max(size, 1) - 1


@onnx_op("AffineGrid", 20)
def affine_grid(n: NodeContext) -> Tensor:
    theta, sizes = n.tensor(0), n.static(*n.dims(1))
    rank = len(sizes) - 2
    if rank not in (2, 3) or theta.rank != 3 or tuple(theta.shape[1:]) != (rank, rank + 1):
        raise n.error(f"theta is {theta} and size {text(sizes)}, expected [N, 2, 3] and 4 sizes, or [N, 3, 4] and 5")
    if any(size < 0 for size in sizes):
        raise n.error(f"size is {text(sizes)}, expected no negative ones")
    require_room(n, (theta.shape[0], *sizes[2:], rank))
    axes = [_axis_places(size, bool(n.attr("align_corners"))) for size in sizes[2:]]
    mesh = np.meshgrid(*axes, indexing="ij")
    points = np.stack([*reversed(mesh), np.ones(mesh[0].shape)], axis=-1).reshape(-1, rank + 1)
    held = "float64" if theta.dtype == "float64" else "float32"
    matrix = n.transpose(theta, (0, 2, 1))
    matrix = matrix if theta.dtype == held else n.emit("cast", matrix, data_type=held)
    grid = n.emit("matmul", n.constant(points, held), matrix)
    grid = n.reshape(grid, (theta.shape[0], *sizes[2:], rank))
    return grid if theta.dtype == held else n.emit("cast", grid, data_type=theta.dtype)
