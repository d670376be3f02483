"""The greatest elements of regions of an image: a unit is one channel of one region."""

from __future__ import annotations

import math

from basalt.ops.extension.max_roi_pool import FAR

from ..codegen.kernel import Call, KernelBuilder
from ..codegen.lowering import Lowering
from ..codegen.registry import template
from ..codegen.terms import SUFFIX
from ..codegen.tiling import register_type
from ..ir import Node

BLOCK = 256
"""Columns whose greatest elements are found side by side."""
_INFINITY = {"f32": 0x7F800000, "f64": 0x7FF0000000000000}


@template("max_roi_pool")
def max_roi_pool(node: Node, lowering: Lowering) -> None:
    """Bounds are computed anew for each channel; they take little beside the elements."""
    lowering.add(_Writer(node, lowering).write())


class _Writer:
    def __init__(self, node: Node, lowering: Lowering) -> None:
        self.kernel = kernel = KernelBuilder("max_roi_pool")
        image, rois = (lowering.read(v) for v in node.present)
        self.image, self.rois, self.result = image, rois, lowering.write(node.output)
        self.held, self.place = SUFFIX[register_type(image.dtype)], SUFFIX[register_type(rois.dtype)]
        self.lowest = f"neg_{self.held}(bits_{self.held}({_INFINITY[self.held]}))"
        kernel.source("x", image)
        kernel.source("r", rois)
        kernel.target("y", self.result)
        self.x, self.r, self.y = (
            [kernel.integer(f"{n}_s{i}", s) for i, s in enumerate(view.strides)]
            for n, view in (("x", image), ("r", rois), ("y", self.result))
        )
        names = ("images", "channels", "size_h", "size_w")
        for name, value in zip((*names, "bins_h", "bins_w"), (*image.shape, *self.result.shape[2:])):
            kernel.parameter(name, value)
        kernel.real("scale", float(node.attrs["spatial_scale"]), self.place)

    def write(self) -> Call:
        kernel, t = self.kernel, self.place
        kernel.line(f"columns = stack_{8 * BLOCK}()")
        with kernel.block("for u in range(start, stop)"):
            kernel.line("region = u // channels")
            kernel.line("c = u - region * channels")
            number = kernel.define(f"cast_{t}_i64({self._corner(0)})")
            kernel.line(f"image = clamp_i64({number}, 0, images - 1) * {self.x[0]} + c * {self.x[1]}")
            for axis, column in (("h", 2), ("w", 1)):
                self._region(axis, column)
            kernel.line("left = clamp_i64(first_w, 0, size_w)")
            self._bin("w", "(bins_w - 1)")
            kernel.line("right = high_w")
            with kernel.block("for p in range(bins_h)"):
                self._bin("h", "p")
                self._start()
                with kernel.block(f"for b0 in range(left, right, {BLOCK})"):
                    kernel.line(f"b1 = min(b0 + {BLOCK}, right)")
                    self._columns()
                    with kernel.block("for q in range(bins_w)"):
                        self._greatest()
        regions, channels = self.result.shape[:2]
        covered = math.prod(self.image.shape[2:]) * 0.3 + math.prod(self.result.shape[2:]) * 5.0
        return kernel.call(regions * channels, regions * channels * covered + 50.0)

    def _corner(self, column: int) -> str:
        return f"load_{SUFFIX[self.rois.dtype]}(r, region * {self.r[0]} + {column} * {self.r[1]})"

    def _region(self, axis: str, column: int) -> None:
        """The first element of a region along an axis, and the size of its bins."""
        kernel, t = self.kernel, self.place
        for name, place in ((f"first_{axis}", column), ("last", column + 2)):
            scaled = kernel.define(f"mul_{t}({self._corner(place)}, scale)")
            wide = scaled if t == "f64" else f"cast_f32_f64({scaled})"
            kernel.line(f"at = {wide}")
            # Comparisons with NaN are false, so that it becomes 0.
            kernel.line("at = select_f64(eq_f64(at, at), at, const_f64(0.0))")
            kernel.line(f"at = clamp_f64(at, const_f64({-FAR}), const_f64({FAR}))")
            kernel.line("far = cast_f64_i64(floor_f64(add_f64(abs_f64(at), const_f64(0.5))))")
            kernel.line(f"{name} = select_i64(lt_f64(at, const_f64(0.0)), -far, far)")
        length = f"cast_i64_{t}(max(last - first_{axis} + 1, 1))"
        kernel.line(f"step_{axis} = div_{t}({length}, cast_i64_{t}(bins_{axis}))")

    def _bin(self, axis: str, number: str) -> None:
        """The elements that a bin touches along an axis."""
        kernel, t = self.kernel, self.place
        for name, function, place in (("low", "floor", number), ("high", "ceil", f"{number} + 1")):
            edge = f"cast_{t}_i64({function}_{t}(mul_{t}(cast_i64_{t}({place}), step_{axis})))"
            kernel.line(f"{name}_{axis} = clamp_i64(first_{axis} + {edge}, 0, size_{axis})")

    def _start(self) -> None:
        """Every bin of a row begun: at 0 if it has no elements, else below all of them."""
        kernel, h = self.kernel, self.held
        with kernel.block("for q in range(bins_w)"):
            self._bin("w", "q")
            kernel.line(f"best = {self.lowest}")
            with kernel.block("if low_h >= high_h or low_w >= high_w"):
                kernel.line(f"best = const_{h}(0.0)")
            kernel.line(f"store_{SUFFIX[self.result.dtype]}(y, {self._bin_place()}, best)")

    def _columns(self) -> None:
        """The greatest element of each column of a block within the bins' rows: read in order, side by side."""
        kernel, h = self.kernel, self.held
        with kernel.block("for j in range(b0, b1)"):
            kernel.line(f"storerw_{h}(columns, j - b0, {self.lowest})")
        with kernel.block("for i in range(low_h, high_h)"):
            kernel.line(f"line = image + i * {self.x[2]}")
            with kernel.block("for j in range(b0, b1)"):
                element = f"load_{SUFFIX[self.image.dtype]}(x, line + j * {self.x[3]})"
                kernel.line(f"storerw_{h}(columns, j - b0, max_{h}(loadrw_{h}(columns, j - b0), {element}))")

    def _greatest(self) -> None:
        """What a bin has of a block's columns."""
        kernel, h, suffix = self.kernel, self.held, SUFFIX[self.result.dtype]
        self._bin("w", "q")
        with kernel.block("if low_h < high_h"):
            kernel.line(f"best = load_{suffix}(y, {self._bin_place()})")
            with kernel.block("for j in range(max(low_w, b0), min(high_w, b1))"):
                kernel.line(f"best = max_{h}(best, loadrw_{h}(columns, j - b0))")
            kernel.line(f"store_{suffix}(y, {self._bin_place()}, best)")

    def _bin_place(self) -> str:
        return f"region * {self.y[0]} + c * {self.y[1]} + p * {self.y[2]} + q * {self.y[3]}"
