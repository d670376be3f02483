"""Deformable convolution: the samples of all taps as columns, then the product with the filter's matrix."""

from __future__ import annotations

import math
from dataclasses import replace

from basalt.ops.extension.deform_conv import FAR

from ..codegen.body import Body
from ..codegen.kernel import KernelBuilder
from ..codegen.lowering import Lowering
from ..codegen.registry import template
from ..codegen.terms import SUFFIX
from ..codegen.tiling import register_type, tile_shape
from ..ir import Node, Value
from ..views import View
from .geometry import declare_bias, with_bias
from .product import Formula, Matrix, Product, product_call
from .root_alone import RootAlone

BLOCK = 64
"""Places whose samples are found together, for all channels of an offset group."""


@template("deform_conv")
def deform_conv(node: Node, lowering: Lowering) -> None:
    """One product for each image and group, whose right operand are the samples."""
    image, weights, offset, bias, mask = (*node.inputs, None, None)[:5]
    assert image is not None and weights is not None and offset is not None
    groups = node.attrs["groups"]
    batches, outputs, height, width = node.output.shape
    depth, places, each = math.prod(weights.shape[1:]), height * width, outputs // groups
    columns = _Columns(node, lowering, image, offset, mask).write()
    columns = replace(columns, shape=(batches, groups, depth, places))
    tile = tile_shape(image.dtype, each, places)
    split = (batches, groups, each, places)
    whole = lowering.epilogue(node)
    target = whole.results[0][1]
    result = target if target.is_contiguous else lowering.scratch(target.dtype, target.shape)
    epilogue = RootAlone(whole, result)
    left = lowering.read_contiguous(weights)
    product = Product(
        split[:2],
        each,
        places,
        depth,
        Matrix(left, (0, each * depth), depth, 1),
        Matrix(columns, (groups * depth * places, depth * places), 1, places),
        tile,
        [(outputs * places, each * places, places, 1)],
    )
    lowering.add(product_call(product, epilogue, None if bias is None else _Bias(lowering.read(bias), each).declare))
    if result is not target:
        lowering.copy(result, target)


class _Bias:
    """The addend of each output channel."""

    def __init__(self, view: View, each: int) -> None:
        self.view, self.each = view, each

    def declare(self, kernel: KernelBuilder, body: Body) -> Formula:
        step = self.view.strides[0]
        key = declare_bias(body, self.view, (0, step * self.each, step, 0))

        def formula(total: str, known: dict[Value, str], variable: str) -> str:
            return with_bias(kernel, body, key, total, known, variable)

        return formula


class _Columns:
    """The samples [n, channels, taps, places] of an image; a unit is a tap of an offset group of an image."""

    def __init__(self, node: Node, lowering: Lowering, image: Value, offset: Value, mask: Value | None) -> None:
        self.node, self.lowering = node, lowering
        self.kernel = kernel = KernelBuilder("deformed samples")
        self.suffix, self.held = SUFFIX[image.dtype], SUFFIX[register_type(image.dtype)]
        source = lowering.read(image)
        self.x = [kernel.integer(f"x_s{i}", s) for i, s in enumerate(source.strides)]
        kernel.source("x", source)
        kernel.source("o", lowering.read_contiguous(offset))
        self.masked = mask is not None
        if mask is not None:
            kernel.source("m", lowering.read_contiguous(mask))
        taps, places = math.prod(node.inputs[1].shape[2:]), math.prod(node.output.shape[2:])  # type: ignore[union-attr]
        # The product reads the samples as it reads its other operand, in the input's own data type.
        self.result = lowering.scratch(image.dtype, (*source.shape[:2], taps, places))
        kernel.target("y", self.result)
        a, groups = node.attrs, node.attrs["offset_groups"]
        sizes = {"taps": taps, "places": places, "groups": groups, "each": source.shape[1] // groups}
        sizes |= {"taps_w": node.inputs[1].shape[3], "columns": node.output.shape[3]}  # type: ignore[union-attr]
        for i, axis in enumerate("hw"):
            sizes |= {f"size_{axis}": source.shape[2 + i], f"stride_{axis}": a["strides"][i]}
            sizes |= {f"step_{axis}": a["dilations"][i], f"pad_{axis}": a["padding"][2 * i]}
        for name, value in sizes.items():
            kernel.parameter(name, value)
        self.units = source.shape[0] * groups * taps

    def write(self) -> View:
        kernel = self.kernel
        kernel.line(f"at = stack_{8 * 4 * BLOCK}()")
        kernel.line(f"weight = stack_{8 * 4 * BLOCK}()")
        kernel.line(f"seen = stack_{8 * 4 * BLOCK}()")
        with kernel.block("for u in range(start, stop)"):
            kernel.line("g = u // taps")
            kernel.line("tap = u - g * taps")
            kernel.line("ky = tap // taps_w")
            kernel.line("kx = tap - ky * taps_w")
            kernel.line("n = g // groups")
            kernel.line(f"from_x = n * {self.x[0]} + (g - n * groups) * each * {self.x[1]}")
            with kernel.block(f"for first in range(0, places, {BLOCK})"):
                kernel.line(f"count = min({BLOCK}, places - first)")
                with kernel.block("for j in range(count)"):
                    self._place()
                with kernel.block("for c in range(each)"):
                    kernel.line("to_y = ((g * each + c) * taps + tap) * places + first")
                    kernel.line(f"from_c = from_x + c * {self.x[1]}")
                    with kernel.block("for j in range(count)"):
                        self._sample()
        self.lowering.add(kernel.call(self.units, self.result.size * 4.0 + 20.0))
        return self.result

    def _place(self) -> None:
        """The four elements beside a tap's place, their weights, and whether they are inside."""
        kernel, h = self.kernel, self.held
        kernel.line("row = (first + j) // columns")
        kernel.line("column = first + j - row * columns")
        far = f"const_{h}({FAR})"
        for i, (axis, position, tap) in enumerate((("h", "row", "ky"), ("w", "column", "kx"))):
            kernel.line(f"base = {position} * stride_{axis} - pad_{axis} + {tap} * step_{axis}")
            moved = f"load_{self.suffix}(o, ((g * taps + tap) * 2 + {i}) * places + first + j)"
            kernel.line(f"p = add_{h}(cast_i64_{h}(base), {moved})")
            kernel.line(f"p = select_{h}(isnan_{h}(p), neg_{h}({far}), clamp_{h}(p, neg_{h}({far}), {far}))")
            kernel.line(f"low = floor_{h}(p)")
            kernel.line(f"low_{axis} = cast_{h}_i64(low)")
            kernel.line(f"up_{axis} = sub_{h}(p, low)")
        mask = f"load_{self.suffix}(m, (g * taps + tap) * places + first + j)"
        kernel.line(f"factor = {mask if self.masked else f'const_{h}(1.0)'}")
        for corner in range(4):
            y, x = f"low_h + {corner // 2}", f"low_w + {corner % 2}"
            down = "up_h" if corner // 2 else f"sub_{h}(const_{h}(1.0), up_h)"
            along = "up_w" if corner % 2 else f"sub_{h}(const_{h}(1.0), up_w)"
            kernel.line(f"ky_ = {y}")
            kernel.line(f"kx_ = {x}")
            inside = "min_i64(min_i64(ky_, kx_), min_i64(size_h - 1 - ky_, size_w - 1 - kx_))"
            kernel.line(f"inside = ge_i64({inside}, 0)")
            kernel.line(f"element = ky_ * {self.x[2]} + kx_ * {self.x[3]}")
            kernel.line(f"storerw_i64(at, {corner * BLOCK} + j, select_i64(inside, element, 0))")
            kernel.line(f"w = mul_{h}(mul_{h}({down}, {along}), factor)")
            kernel.line(f"storerw_{h}(weight, {corner * BLOCK} + j, select_{h}(inside, w, const_{h}(0.0)))")
            kernel.line(f"storerw_i64(seen, {corner * BLOCK} + j, select_i64(inside, 1, 0))")

    def _sample(self) -> None:
        kernel, h = self.kernel, self.held
        kernel.line(f"total = const_{h}(0.0)")
        for corner in range(4):
            place = f"{corner * BLOCK} + j"
            kernel.line(f"v = load_{self.suffix}(x, from_c + loadrw_i64(at, {place}))")
            kernel.line(f"v = mul_{h}(v, loadrw_{h}(weight, {place}))")
            kernel.line(f"total = add_{h}(total, select_{h}(eq_i64(loadrw_i64(seen, {place}), 0), const_{h}(0.0), v))")
        kernel.line(f"store_{self.suffix}(y, to_y + j, total)")
