"""Regions of an image brought to one size: the samples of a bin one after another, each for a block of channels."""

from __future__ import annotations

import math

from ..codegen.kernel import Call, KernelBuilder
from ..codegen.lowering import Lowering
from ..codegen.registry import template
from ..codegen.terms import SUFFIX
from ..codegen.tiling import register_type
from ..ir import Node

BLOCK = 64
"""Channels whose sums are collected together, so that places and weights are computed once for all of them."""


@template("roi_align")
def roi_align(node: Node, lowering: Lowering) -> None:
    """A unit is a row of a region's bins."""
    lowering.add(_Writer(node, lowering).write())


class _Writer:
    def __init__(self, node: Node, lowering: Lowering) -> None:
        self.kernel = kernel = KernelBuilder("roi_align")
        image, rois, batch = (lowering.read(v) for v in node.present)
        self.result = result = lowering.write(node.output)
        self.attrs, self.image, self.batch = node.attrs, image, batch
        self.held, self.place = SUFFIX[register_type(image.dtype)], SUFFIX[register_type(rois.dtype)]
        self.rois_suffix = SUFFIX[rois.dtype]
        for name, view in (("x", image), ("r", rois), ("b", batch)):
            kernel.source(name, view)
        kernel.target("y", result)
        self.x, self.r, self.b, self.y = (
            [kernel.integer(f"{n}_s{i}", s) for i, s in enumerate(view.strides)]
            for n, view in (("x", image), ("r", rois), ("b", batch), ("y", result))
        )
        sizes = {
            "images": image.shape[0],
            "channels": image.shape[1],
            "size_h": image.shape[2],
            "size_w": image.shape[3],
        }
        sizes |= {"bins_h": result.shape[2], "bins_w": result.shape[3]}
        for name, value in sizes.items():
            kernel.parameter(name, value)
        kernel.real("scale", float(node.attrs["spatial_scale"]), self.place)
        kernel.real("ratio", float(node.attrs["sampling_ratio"]), "f64")

    def write(self) -> Call:
        kernel, h = self.kernel, self.held
        kernel.line(f"sums = stack_{8 * BLOCK}()")
        with kernel.block("for u in range(start, stop)"):
            kernel.line("region = u // bins_h")
            kernel.line("p = u - region * bins_h")
            suffix = SUFFIX[self.batch.dtype]
            loaded = f"load_{suffix}(b, region * {self.b[0]})"
            wide = loaded if suffix == "i64" else f"cast_{suffix}_i64({loaded})"
            kernel.line(f"image = clamp_i64({wide}, 0, images - 1) * {self.x[0]}")
            for axis, first in (("h", 1), ("w", 0)):
                self._region(axis, first)
            kernel.line("total = max_f64(mul_f64(count_h, count_w), const_f64(1.0))")
            kernel.line(f"share = {'total' if h == 'f64' else 'cast_f64_f32(total)'}")
            self._bin("h", "p")
            with kernel.block("for q in range(bins_w)"):
                self._bin("w", "q")
                with kernel.block(f"for c0 in range(0, channels, {BLOCK})"):
                    kernel.line(f"c1 = min(c0 + {BLOCK}, channels)")
                    self._channels()
        samples = max(4, self.attrs["sampling_ratio"] ** 2)
        return kernel.call(
            math.prod(self.result.shape[:1]) * self.result.shape[2], self.result.size * samples * 2.0 + 50.0
        )

    def _region(self, axis: str, first: int) -> None:
        """Where a region begins, the size of its bins and the number of their samples, along an axis."""
        kernel, t = self.kernel, self.place
        half = f"const_{t}({0.5 if self.attrs['half_pixel'] else 0.0})"
        for name, column in ((f"start_{axis}", first), ("end", first + 2)):
            corner = f"load_{self.rois_suffix}(r, region * {self.r[0]} + {column} * {self.r[1]})"
            kernel.line(f"{name} = sub_{t}(mul_{t}({corner}, scale), {half})")
        kernel.line(f"length = sub_{t}(end, start_{axis})")
        if not self.attrs["half_pixel"]:
            kernel.line(f"length = max_{t}(length, const_{t}(1.0))")
        kernel.line(f"step_{axis} = div_{t}(length, cast_i64_{t}(bins_{axis}))")
        count = "ratio" if self.attrs["sampling_ratio"] else self._wide(f"ceil_{t}(step_{axis})")
        kernel.line(f"count_{axis} = {count}")
        for name in ("step", "start"):
            value = self._wide(f"{name}_{axis}")
            with kernel.block(f"if not lt_f64(abs_f64({value}), bits_f64({0x7FF0000000000000}))"):
                kernel.line(f"count_{axis} = const_f64(0.0)")
        kernel.line(f"count_{axis} = max_f64(count_{axis}, const_f64(0.0))")

    def _bin(self, axis: str, number: str) -> None:
        """Where a bin begins, and a range of samples that holds all that are inside the image."""
        kernel, t = self.kernel, self.place
        kernel.line(f"from_{axis} = add_{t}(start_{axis}, mul_{t}(cast_i64_{t}({number}), step_{axis}))")
        kernel.line(f"low_{axis} = 0")
        kernel.line(f"high_{axis} = 0")
        with kernel.block(f"if gt_f64(count_{axis}, const_f64(0.0))"):
            kernel.line(f"gap = div_f64({self._wide(f'step_{axis}')}, count_{axis})")
            kernel.line(f"origin = {self._wide(f'from_{axis}')}")
            kernel.line(f"size = cast_i64_f64(size_{axis})")
            with kernel.block("if eq_f64(gap, const_f64(0.0))"):
                kernel.line("inside = ge_f64(origin, const_f64(-1.0)) and le_f64(origin, size)")
                kernel.line(f"high_{axis} = select_i64(inside, cast_f64_i64(count_{axis}), 0)")
            with kernel.block("else"):
                kernel.line("one = div_f64(sub_f64(const_f64(-2.0), origin), gap)")
                kernel.line("other = div_f64(sub_f64(add_f64(size, const_f64(1.0)), origin), gap)")
                bounds = f"const_f64(0.0), count_{axis}"
                least, most = "floor_f64(min_f64(one, other))", "ceil_f64(max_f64(one, other))"
                kernel.line(f"low_{axis} = cast_f64_i64(clamp_f64(sub_f64({least}, const_f64(1.0)), {bounds}))")
                kernel.line(f"high_{axis} = cast_f64_i64(clamp_f64(add_f64({most}, const_f64(1.0)), {bounds}))")

    def _channels(self) -> None:
        """The samples of a bin for a block of channels."""
        kernel, h, mean = self.kernel, self.held, self.attrs["mode"] == "avg"
        infinity = f"neg_{h}(bits_{h}({0x7F800000 if h == 'f32' else 0x7FF0000000000000}))"
        with kernel.block("for c in range(c0, c1)"):
            kernel.line(f"storerw_{h}(sums, c - c0, {f'const_{h}(0.0)' if mean else infinity})")
        kernel.line("seen = 0")
        with kernel.block("for sy in range(low_h, high_h)"):
            self._sample("h", "sy")
            with kernel.block("if inside_h"), kernel.block("for sx in range(low_w, high_w)"):
                self._sample("w", "sx")
                with kernel.block("if inside_w"):
                    kernel.line("seen += 1")
                    self._accumulate(mean)
        suffix = SUFFIX[self.result.dtype]
        with kernel.block("for c in range(c0, c1)"):
            kernel.line(f"v = loadrw_{h}(sums, c - c0)")
            if mean:
                kernel.line(f"v = div_{h}(v, share)")
            else:
                missing = "lt_f64(cast_i64_f64(seen), mul_f64(count_h, count_w))"
                kernel.line(f"v = select_{h}({missing}, max_{h}(v, const_{h}(0.0)), v)")
                kernel.line(f"v = select_{h}(eq_f64(mul_f64(count_h, count_w), const_f64(0.0)), const_{h}(0.0), v)")
            place = f"region * {self.y[0]} + c * {self.y[1]} + p * {self.y[2]} + q * {self.y[3]}"
            kernel.line(f"store_{suffix}(y, {place}, v)")

    def _sample(self, axis: str, number: str) -> None:
        """A sample's two elements along an axis, and the weight of the upper one."""
        kernel, t, h = self.kernel, self.place, self.held
        half = f"add_{t}(cast_i64_{t}({number}), const_{t}(0.5))"
        count = f"count_{axis}" if t == "f64" else f"cast_f64_f32(count_{axis})"
        kernel.line(f"at = add_{t}(from_{axis}, div_{t}(mul_{t}({half}, step_{axis}), {count}))")
        size = f"cast_i64_{t}(size_{axis})"
        kernel.line(f"inside_{axis} = ge_{t}(at, const_{t}(-1.0)) and le_{t}(at, {size})")
        kernel.line(f"at = max_{t}(at, const_{t}(0.0))")
        kernel.line(f"low{axis} = clamp_i64(cast_{t}_i64(at), 0, size_{axis} - 1)")
        kernel.line(f"up = sub_{t}(at, cast_i64_{t}(low{axis}))")
        kernel.line(f"up = select_{t}(ge_i64(low{axis}, size_{axis} - 1), const_{t}(0.0), up)")
        kernel.line(f"up{axis} = {'up' if t == h else f'cast_{t}_{h}(up)'}")
        kernel.line(f"high{axis} = min(low{axis} + 1, size_{axis} - 1)")

    def _accumulate(self, mean: bool) -> None:
        kernel, h, corners = self.kernel, self.held, []
        for y in ("low", "high"):
            for x in ("low", "high"):
                down = "uph" if y == "high" else f"sub_{h}(const_{h}(1.0), uph)"
                along = "upw" if x == "high" else f"sub_{h}(const_{h}(1.0), upw)"
                place = kernel.define(f"image + {y}h * {self.x[2]} + {x}w * {self.x[3]}", "k")
                corners.append((place, kernel.define(f"mul_{h}({down}, {along})", "weight")))
        suffix = SUFFIX[self.image.dtype]
        with kernel.block("for c in range(c0, c1)"):
            terms = [f"mul_{h}({w}, load_{suffix}(x, {k} + c * {self.x[1]}))" for k, w in corners]
            join = "add" if mean else "max"
            sample = f"{join}_{h}({join}_{h}({terms[0]}, {terms[1]}), {join}_{h}({terms[2]}, {terms[3]}))"
            kernel.line(f"storerw_{h}(sums, c - c0, {join}_{h}(loadrw_{h}(sums, c - c0), {sample}))")

    def _wide(self, text: str) -> str:
        return text if self.place == "f64" else f"cast_f32_f64({text})"
