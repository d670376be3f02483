"""Sampling at the places of a grid: the elements and weights of a place first, then all channels."""

from __future__ import annotations

import math

from basalt.ops.extension.grid_sample import CUBIC, FAR, moves_inside

from ..codegen.kernel import Call, KernelBuilder
from ..codegen.lowering import Lowering
from ..codegen.registry import template
from ..codegen.terms import SUFFIX
from ..codegen.tiling import register_type
from ..ir import Node
from .elementwise import decode

_TAPS = {"nearest": 1, "linear": 2, "cubic": 4}


@template("grid_sample")
def grid_sample(node: Node, lowering: Lowering) -> None:
    """A unit is a line of places."""
    lowering.add(_Writer(node, lowering).write())


class _Writer:
    def __init__(self, node: Node, lowering: Lowering) -> None:
        self.kernel = kernel = KernelBuilder("grid_sample")
        image, grid = (lowering.read(v) for v in node.present)
        result = lowering.write(node.output)
        self.attrs, self.result = node.attrs, result
        self.sizes = image.shape[2:]
        self.taps = _TAPS[node.attrs["mode"]]
        self.held = SUFFIX[register_type(image.dtype)]
        self.place = SUFFIX[register_type(grid.dtype)]
        self.image_suffix, self.grid_suffix = SUFFIX[image.dtype], SUFFIX[grid.dtype]
        kernel.source("x", image)
        kernel.source("g", grid)
        kernel.target("y", result)
        self.x, self.g, self.y = (
            [kernel.integer(f"{n}_s{i}", s) for i, s in enumerate(view.strides)]
            for n, view in (("x", image), ("g", grid), ("y", result))
        )
        for i, size in enumerate(self.sizes):
            kernel.parameter(f"size{i}", size)
            kernel.real(f"real{i}", float(size), self.place)
        kernel.parameter("channels", image.shape[1])
        kernel.parameter("width", result.shape[-1])

    def write(self) -> Call:
        kernel, rank, taps = self.kernel, len(self.sizes), self.taps
        for name, size in (("index", 8 * rank * taps), ("weight", 8 * rank * taps)):
            kernel.line(f"{name} = stack_{size}()")
        kernel.line(f"at = stack_{8 * taps**rank}()")
        kernel.line(f"factor = stack_{8 * taps**rank}()")
        lines = (self.result.shape[0], *self.result.shape[2:-1])
        sizes = [kernel.parameter(f"d{i}", d) for i, d in enumerate(lines)]
        with kernel.block("for u in range(start, stop)"):
            indices = decode(kernel, "u", sizes)
            outer = {0: indices[0], **{axis + 1: i for axis, i in indices.items() if axis}}
            kernel.line("from_g = " + " + ".join(f"{i} * {self.g[axis]}" for axis, i in indices.items()))
            kernel.line("to_y = " + " + ".join(f"{i} * {self.y[axis]}" for axis, i in outer.items()))
            kernel.line(f"from_x = {indices[0]} * {self.x[0]}")
            with kernel.block("for j in range(width)"):
                for axis in range(rank):
                    self._axis(axis)
                self._combine()
                self._channels()
        points = math.prod(lines) * self.result.shape[-1]
        channels = self.result.shape[1]
        return kernel.call(math.prod(lines), points * (10.0 * rank + taps**rank * (2.0 + channels * 0.8)))

    def _axis(self, axis: int) -> None:
        """The elements along one axis, and their weights."""
        kernel, t, a = self.kernel, self.place, self.attrs
        which = len(self.sizes) - 1 - axis
        loaded = f"load_{self.grid_suffix}(g, from_g + j * {self.g[-2]} + {which} * {self.g[-1]})"
        kernel.line(f"p = add_{t}({loaded}, const_{t}(1.0))")
        if a["align_corners"]:
            kernel.line(f"p = mul_{t}(mul_{t}(p, const_{t}(0.5)), sub_{t}(real{axis}, const_{t}(1.0)))")
            low, high = f"const_{t}(0.0)", f"sub_{t}(real{axis}, const_{t}(1.0))"
        else:
            kernel.line(f"p = mul_{t}(sub_{t}(mul_{t}(p, real{axis}), const_{t}(1.0)), const_{t}(0.5))")
            low, high = f"const_{t}(-0.5)", f"sub_{t}(real{axis}, const_{t}(0.5))"
        far = f"const_{t}({FAR})"
        kernel.line(f"p = select_{t}(isnan_{t}(p), neg_{t}({far}), clamp_{t}(p, neg_{t}({far}), {far}))")
        if a["mode"] == "nearest":
            kernel.line(f"p = rint_{t}(p)")
        if moves_inside(a):
            kernel.line(f"low = {low}")
            kernel.line(f"high = {high}")
            with kernel.block(f"if lt_{t}(p, low) or gt_{t}(p, high)"):
                if a["padding_mode"] == "border":
                    kernel.line(f"p = clamp_{t}(p, const_{t}(0.0), sub_{t}(real{axis}, const_{t}(1.0)))")
                else:
                    self._reflect()
        self._weights(axis)

    def _reflect(self) -> None:
        kernel, t = self.kernel, self.place
        kernel.line(f"span = sub_{t}(high, low)")
        kernel.line(f"below = lt_{t}(p, low)")
        with kernel.block(f"if le_{t}(span, const_{t}(0.0))"):
            kernel.line("p = low")
        with kernel.block("else"):
            kernel.line(f"far = select_{t}(below, sub_{t}(low, p), sub_{t}(p, high))")
            kernel.line(f"times = trunc_{t}(div_{t}(far, span))")
            kernel.line(f"rest = sub_{t}(far, mul_{t}(times, span))")
            half = f"mul_{t}(times, const_{t}(0.5))"
            kernel.line(f"even = eq_{t}({half}, floor_{t}({half}))")
            kernel.line("forth = u8_bool(not_u8(xor_u8(bool_u8(below), bool_u8(even))))")
            kernel.line(f"p = select_{t}(forth, add_{t}(low, rest), sub_{t}(high, rest))")

    def _weights(self, axis: int) -> None:
        kernel, t, h = self.kernel, self.place, self.held
        mode, first = self.attrs["mode"], axis * self.taps
        kernel.line(f"whole = floor_{t}(p)")
        kernel.line(f"i = cast_{t}_i64(whole){' - 1' if mode == 'cubic' else ''}")
        fraction = f"sub_{t}(p, whole)"
        kernel.line(f"f = {fraction if t == h else f'cast_{t}_{h}({fraction})'}")
        if mode == "nearest":
            weights = [f"const_{h}(1.0)"]
        elif mode == "linear":
            weights = [f"sub_{h}(const_{h}(1.0), f)", "f"]
        else:
            weights = [self._cubic_far(f"add_{h}(f, const_{h}(1.0))"), self._cubic_near("f")]
            weights += [self._cubic_near(f"sub_{h}(const_{h}(1.0), f)"), self._cubic_far(f"sub_{h}(const_{h}(2.0), f)")]
        for tap, weight in enumerate(weights):
            kernel.line(f"k = i + {tap}")
            kernel.line(f"storerw_i64(index, {first + tap}, {self._resolved(axis)})")
            kernel.line(f"storerw_{h}(weight, {first + tap}, {weight})")

    def _cubic_near(self, u: str) -> str:
        h = self.held
        u = self.kernel.define(u)
        inner = f"sub_{h}(mul_{h}(const_{h}({CUBIC + 2}), {u}), const_{h}({CUBIC + 3}))"
        return self.kernel.define(f"add_{h}(mul_{h}(mul_{h}({inner}, {u}), {u}), const_{h}(1.0))")

    def _cubic_far(self, u: str) -> str:
        h = self.held
        u = self.kernel.define(u)
        inner = f"sub_{h}(mul_{h}(const_{h}({CUBIC}), {u}), const_{h}({5 * CUBIC}))"
        inner = f"add_{h}(mul_{h}({inner}, {u}), const_{h}({8 * CUBIC}))"
        return self.kernel.define(f"sub_{h}(mul_{h}({inner}, {u}), const_{h}({4 * CUBIC}))")

    def _resolved(self, axis: int) -> str:
        """The source of the index of element ``k`` of an axis: -1 for what is outside and 0."""
        size, padding = f"size{axis}", self.attrs["padding_mode"]
        if padding == "zeros":
            return f"select_i64(u8_bool(and_u8(bool_u8(ge_i64(k, 0)), bool_u8(lt_i64(k, {size})))), k, -1)"
        if padding == "border":
            return f"clamp_i64(k, 0, {size} - 1)"
        align = self.attrs["align_corners"]
        self.kernel.line(f"period = {f'max(1, 2 * ({size} - 1))' if align else f'2 * {size}'}")
        self.kernel.line("k = mod_i64(k, period)")
        return f"select_i64(lt_i64(k, {size}), k, period{'' if align else ' - 1'} - k)"

    def _combine(self) -> None:
        """All elements of a place that lie inside, with their weights."""
        kernel, h, rank = self.kernel, self.held, len(self.sizes)
        kernel.line("count = 0")
        for axis in range(rank):
            kernel.open(f"for tap{axis} in range({axis * self.taps}, {(axis + 1) * self.taps})")
            kernel.line(f"k{axis} = loadrw_i64(index, tap{axis})")
        with kernel.block("if " + " and ".join(f"k{axis} >= 0" for axis in range(rank))):
            place = " + ".join(f"k{axis} * {self.x[2 + axis]}" for axis in range(rank))
            kernel.line(f"storerw_i64(at, count, from_x + {place})")
            weight = f"loadrw_{h}(weight, tap0)"
            for axis in range(1, rank):
                weight = f"mul_{h}({weight}, loadrw_{h}(weight, tap{axis}))"
            kernel.line(f"storerw_{h}(factor, count, {weight})")
            kernel.line("count += 1")
        kernel.close(rank)

    def _channels(self) -> None:
        kernel, h = self.kernel, self.held
        with kernel.block("for c in range(channels)"):
            kernel.line(f"total = const_{h}(0.0)")
            with kernel.block("for q in range(count)"):
                loaded = f"load_{self.image_suffix}(x, loadrw_i64(at, q) + c * {self.x[1]})"
                kernel.line(f"total = add_{h}(total, mul_{h}(loadrw_{h}(factor, q), {loaded}))")
            suffix = SUFFIX[self.result.dtype]
            kernel.line(f"store_{suffix}(y, to_y + j * {self.y[-1]} + c * {self.y[1]}, total)")
