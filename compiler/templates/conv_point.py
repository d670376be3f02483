"""Convolutions with windows of one element: products of matrices, with the pixels as rows or as columns."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..codegen.body import Body
from ..codegen.choices import prefer
from ..codegen.kernel import Call, KernelBuilder
from ..codegen.lowering import Lowering
from ..codegen.tiling import TileShape, tile_shape
from ..views import View
from .conv import Convolution
from .geometry import declare_bias, grouped, with_bias
from .packing import packed_copy, worth_packing
from .product import Formula, Matrix, Product, Root, merge_rows, product_call


def point_call(convolution: Convolution, lowering: Lowering) -> Call:
    """The kernel of a convolution whose output pixels each see one input pixel."""
    c = convolution
    pixels = c.window.outputs[0] * c.window.outputs[1]
    lanes = tile_shape(c.dtype, 1, c.outputs).lanes
    if not c.places.channels_last and c.image.strides[4] == 1 and prefer(pixels >= 2 * lanes, pixels):
        flat = _flattened(convolution)
        if flat is not None:
            return _pixels_as_columns(convolution, lowering, *flat)
    return _pixels_as_rows(convolution, lowering)


def _views(c: Convolution) -> list[View]:
    """The epilogue's views as [n, groups, outputs, h, w], with the bias last if there is one."""
    seen = [grouped(v, 1, c.groups) for v in c.places.views("nchw")]
    if c.places.bias is not None:
        bias = c.places.bias
        shape = (c.batch, c.groups, c.outputs, *c.window.outputs)
        step = bias.strides[0]
        seen.append(View(bias.buffer, bias.dtype, shape, (0, c.outputs * step, step, 0, 0), bias.offset))
    return seen


def _flattened(c: Convolution) -> tuple[View, list[View]] | None:
    """The image and everything else with height and width as one dimension, None if one of them does not allow it."""
    found = [v.reshaped((*v.shape[:3], v.shape[3] * v.shape[4])) for v in [c.image, *_views(c)]]
    if any(v is None for v in found):
        return None
    return found[0], found[1:]  # type: ignore[return-value]


def _pixels_as_columns(c: Convolution, lowering: Lowering, image: View, views: list[View]) -> Call:
    """[outputs, channels] times [channels, pixels] for each image and group: results lie along the pixels."""
    weights = c.weights_view(lowering)
    tile = tile_shape(c.dtype, c.outputs, image.shape[3])
    if worth_packing(image, c.outputs):
        panels = packed_copy(lowering, image, tile)
        right = Matrix(panels, panels.strides[:2], panels.strides[2], panels.strides[3], panels=True)
    else:
        right = Matrix(image, image.strides[:2], image.strides[3], image.strides[2])
    left = Matrix(weights, (0, weights.strides[0]), weights.strides[1], weights.strides[2])
    strides = [(*v.strides[:3], v.strides[3]) for v in views]
    return _call(c, Space((c.batch, c.groups), c.outputs, image.shape[3]), left, right, tile, strides)


def _pixels_as_rows(c: Convolution, lowering: Lowering) -> Call:
    """[pixels, channels] times [channels, outputs] for each group: results lie along the channels."""
    height, width = c.window.outputs
    tile = tile_shape(c.dtype, c.batch * height * width, c.outputs)
    panels = c.panels(lowering, tile)
    right = Matrix(panels, (panels.strides[0], 0, 0), panels.strides[1], panels.strides[4], panels=True)
    n, g, k, h, w = c.image.strides
    left = Matrix(c.image, (g, n, h), w, k)
    strides: list[tuple[int, ...]] = [
        (v.strides[1], v.strides[0], v.strides[3], v.strides[4], v.strides[2]) for v in _views(c)
    ]
    return _call(c, Space((c.groups, c.batch, height), width, c.outputs), left, right, tile, strides)


@dataclass(frozen=True)
class Space:
    """Batches, rows and columns of a product."""

    batches: tuple[int, ...]
    rows: int
    columns: int


def _call(
    c: Convolution, space: Space, left: Matrix, right: Matrix, tile: TileShape, strides: list[tuple[int, ...]]
) -> Call:
    along = [0 if space.columns == 1 else s[-1] for s in strides]
    rows = [(*left.batches, left.stride), (*right.batches, 0), *(s[:-1] for s in strides)]
    batches, height, merged = merge_rows(space.batches, space.rows, rows, shared=1)
    places = [(*m, s) for m, s in zip(merged[2:], along)]
    bias = None if c.places.bias is None else (c.places.bias, places.pop())
    product = Product(
        batches,
        height,
        space.columns,
        c.channels,
        replace(left, batches=merged[0][:-1], stride=merged[0][-1]),
        replace(right, batches=merged[1][:-1]),
        tile,
        places,
    )
    return product_call(product, c.places.epilogue, None if bias is None else _root(*bias))


def _root(bias: View, strides: tuple[int, ...]) -> Root:
    """The sum with the bias added."""

    def declare(kernel: KernelBuilder, body: Body) -> Formula:
        key = declare_bias(body, bias, strides)
        return lambda total, known, at: with_bias(kernel, body, key, total, known, at)

    return declare
