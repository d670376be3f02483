"""Attention in one kernel: a block of queries meets the keys block by block, and the scores stay on the stack.

A row's largest score so far, and the sum of its powers, are kept beside the sums of values; when a block has a larger
score, what was summed up is scaled down. Sources: Milakov and Gimelshein, "Online normalizer calculation for softmax",
2018; Dao, "FlashAttention-2", 2023.
"""

from __future__ import annotations

import math

from ..codegen.kernel import KernelBuilder
from ..codegen.loop_nest import MANY
from ..codegen.lowering import Lowering
from ..codegen.registry import template
from ..codegen.terms import SUFFIX
from ..codegen.tiling import TileShape, products, tile_shape
from ..codegen.units import decode
from ..ir import Node
from .matmul import swapped
from .packing import packed_copy

BLOCK = 256
"""Keys that are looked at together, about."""
QUERIES = 24
"""Queries of a unit, about: keys and values come from the second-level cache once for all of them."""
STACK = 56 << 10
"""Bytes of scores and sums of values."""
_EXP = 1.2
"""Nanoseconds that a score takes besides its products."""


@template("attention")
def attention(node: Node, lowering: Lowering) -> None:
    """A unit is a block of queries of one batch."""
    if node.present[1].shape[-2] == 0:
        lowering.fill(lowering.write(node.output), 0.0)
        return
    _Writer(node, lowering).write()


class _Writer:
    def __init__(self, node: Node, lowering: Lowering) -> None:
        self.node, self.lowering = node, lowering
        given = [None if v is None else lowering.read(v) for v in node.inputs]
        query, key, value, mask, keep = (*given, None, None)[:5]
        assert query is not None and key is not None and value is not None
        *batches, self.rows, self.depth = query.shape
        self.batches = tuple(batches)
        self.keys, self.columns = value.shape[-2:]
        self.dtype = query.dtype
        self.suffix = SUFFIX[self.dtype]
        self.size = query.itemsize
        self.score_tile = tile_shape(self.dtype, self.rows, min(self.keys, BLOCK))
        self.sum_tile = tile_shape(self.dtype, self.rows, self.columns)
        self._plan()
        self.kernel = KernelBuilder("attention")
        scores = (*self.batches, self.rows, self.keys)
        # The largest of scores is the largest of unscaled ones only for a factor above 0.
        self.scales_late = mask is None and keep is None and node.attrs["scale"] > 0
        self.views = {
            "query": query,
            "key": packed_copy(lowering, swapped(key), self.score_tile),
            "value": packed_copy(lowering, value, self.sum_tile),
        }
        # Keys that a mask of minus infinity hides weigh nothing.
        self.hides = (mask is not None or keep is not None) and (keep is None or node.attrs["fill"] == -math.inf)
        self.views |= {n: v.expanded(scores) for n, v in (("mask", mask), ("keep", keep)) if v is not None}
        self.result = lowering.write(node.output)

    def _plan(self) -> None:
        """Queries of a unit, keys of a block, and the rows' pitch in the buffers of scores and of sums of values."""
        wide = self.score_tile.columns
        self.width = wide * max(1, min(BLOCK, self.keys + wide - 1) // wide)
        self.pitch = self.sum_tile.columns * -(-self.columns // self.sum_tile.columns)
        tall = max(self.score_tile.rows, self.sum_tile.rows)
        most = STACK // (self.size * (self.width + self.pitch)) - 1
        self.height = max(1, min(self.rows, max(2, -(-QUERIES // tall)) * tall, most))
        self.blocks = -(-self.rows // self.height)

    def write(self) -> None:
        kernel = self.kernel
        for name, view in self.views.items():
            kernel.source(name, view)
        kernel.target("result", self.result)
        scale = kernel.real("scale", self.node.attrs["scale"], self.suffix)
        if "keep" in self.views:
            kernel.real("fill", self.node.attrs["fill"], self.suffix)
        kernel.line(f"scores = stack_{(self.height + 1) * self.width * self.size}()")
        kernel.line(f"sums = stack_{(self.height + 1) * self.pitch * self.size}()")
        kernel.line(f"state = stack_{2 * self.height * self.size}()")
        self._declare()
        with kernel.block("for u in range(start, stop)"):
            self._locate()
            with kernel.block("for i in range(bottom - top)"):
                kernel.line(f"storerw_{self.suffix}(state, 2 * i, lowest)")
                kernel.line(f"storerw_{self.suffix}(state, 2 * i + 1, const_{self.suffix}(0.0))")
            kernel.line("begun = 0")
            with kernel.block(f"for first in range(0, keys, {self.width})"):
                kernel.line(f"count = min({self.width}, keys - first)")
                if self.hides:
                    self._leave_out()
                with kernel.block("if count > 0"):
                    self._scores()
                    with kernel.block("for i in range(bottom - top)"):
                        self._softmax(scale)
                    self._values()
                    kernel.line("begun = 1")
            self._store()
        self.lowering.add(kernel.call(math.prod(self.batches) * self.blocks, self._cost()))

    def _declare(self) -> None:
        kernel, rank = self.kernel, len(self.batches)
        bits = "0xfff0000000000000" if self.size == 8 else "0xff800000"
        kernel.line(f"lowest = bits_{self.suffix}({bits})  # -inf")
        sizes = {"rows": self.rows, "keys": self.keys, "depth": self.depth, "columns": self.columns}
        for name, value in (sizes | {"blocks": self.blocks}).items():
            kernel.parameter(name, value)
        for name, view in (*self.views.items(), ("result", self.result)):
            strides = view.strides
            for axis in range(rank):
                kernel.parameter(f"{name}_b{axis}", 0 if view.shape[axis] == 1 else strides[axis])
            if name in ("key", "value"):
                kernel.parameter(f"{name}_p", strides[-3])
                continue
            kernel.parameter(f"{name}_r", strides[-2])

    def _locate(self) -> None:
        """Where the unit's batch begins in each operand, and its rows."""
        kernel = self.kernel
        kernel.line("s = u // blocks")
        kernel.line(f"top = (u - s * blocks) * {self.height}")
        kernel.line(f"bottom = min(top + {self.height}, rows)")
        sizes = [kernel.parameter(f"d{i}", d) for i, d in enumerate(self.batches)]
        indices = decode(kernel, "s", sizes) if sizes else {}
        for name in (*self.views, "result"):
            terms = [f"{index} * {name}_b{axis}" for axis, index in indices.items()]
            kernel.line(f"{name}_at = " + (" + ".join(terms) or "0"))

    def _leave_out(self) -> None:
        """Cut off what all of the unit's queries are not to see at the end of the block, if it is not all there is."""
        kernel, t, wide = self.kernel, self.suffix, self.score_tile.columns
        varies = any(self.views[name].strides[-2] for name in self._masks())
        with kernel.block("while count > 0"):
            kernel.line(f"edge = (count - 1) // {wide} * {wide}")
            kernel.line("most = lowest")
            with kernel.block(f"for i in range({'bottom - top' if varies else 1})"):
                self._rows_of_masks()
                with kernel.block("for j in range(edge, count)"):
                    kernel.line(f"x = const_{t}(0.0)")
                    self._mask("x")
                    kernel.line(f"most = rmax_{t}(most, x)")
            with kernel.block(f"if ne_{t}(most, lowest)"):
                kernel.line("break")
            kernel.line("count = edge")
        # Somewhere the sums have to begin, even if there are no keys to see.
        with kernel.block(f"if begun + count == 0 and first + {self.width} >= keys"):
            kernel.line("count = keys - first")

    def _scores(self) -> None:
        """The products of the unit's queries with a block of keys."""
        kernel, wide = self.kernel, self.score_tile.columns
        panels = kernel.block(f"for panel in range(first // {wide}, (first + count + {wide - 1}) // {wide})")
        with panels, kernel.block(f"for r in range(top, bottom, {self.score_tile.rows})"):
            kernel.line(
                self._products(
                    self.score_tile,
                    ("scores", f"(r - top) * {self.width} + panel * {wide} - first", self.width),
                    ("query", "query_at + r * query_r", "query_r"),
                    ("key", "key_at + panel * key_p"),
                    ("depth", self._inner("query"), str(wide)),
                    "1",
                )
            )

    def _values(self) -> None:
        """The powers of the scores times a block of values, added to the sums."""
        kernel, wide = self.kernel, self.sum_tile.columns
        panels = kernel.block(f"for panel in range({self.pitch // wide})")
        with panels, kernel.block(f"for r in range(top, bottom, {self.sum_tile.rows})"):
            kernel.line(
                self._products(
                    self.sum_tile,
                    ("sums", f"(r - top) * {self.pitch} + panel * {wide}", self.pitch),
                    ("scores", f"(r - top) * {self.width}", str(self.width)),
                    ("value", f"value_at + panel * value_p + first * {wide}"),
                    ("count", "1", str(wide)),
                    "begun == 0",
                )
            )

    def _products(
        self,
        tile: TileShape,
        target: tuple[str, str, int],
        left: tuple[str, str, str],
        right: tuple[str, str],
        loop: tuple[str, str, str],
        fresh: str,
    ) -> str:
        buffer, place, pitch = target
        text = products(
            tile.name("bv", self.dtype, self.dtype),
            place=place,
            pitch=pitch,
            spare=self.height * pitch,
            rows=f"min({tile.rows}, bottom - r)",
            left=left,
            right=right,
            loops=[loop],
            fresh=fresh,
        )
        return text.replace("(tile, ", f"({buffer}, ", 1)

    def _inner(self, name: str) -> str:
        stride = self.views[name].strides[-1]
        return self.kernel.integer(f"{name}_k", stride)

    def _softmax(self, scale: str) -> None:
        """One row's scores become powers; what was summed up before is brought to the new largest score."""
        kernel, t = self.kernel, self.suffix
        kernel.line(f"base = i * {self.width}")
        kernel.line(f"old = loadrw_{t}(state, 2 * i)")
        score = f"loadrw_{t}(scores, base + j)"
        if self.scales_late:
            kernel.line("most = lowest")
            with kernel.block("for j in range(count)"):
                kernel.line(f"most = xmax_{t}(most, {score})")
            kernel.line(f"best = max_{t}(old, mul_{t}(most, {scale}))")
            score = f"mul_{t}({score}, {scale})"
        else:
            self._scale_and_mask(score, scale)
        # A NaN may be missing in the largest score: the sum of the powers has it.
        # As long as all scores are minus infinity, their powers are to be 0 and not NaN.
        kernel.line(f"shift = select_{t}(eq_{t}(best, lowest), const_{t}(0.0), best)")
        kernel.line(f"total = const_{t}(0.0)")
        with kernel.block("for j in range(count)"):
            if min(self.width, self.keys) >= MANY:
                kernel.line("many_iterations()")
            kernel.line(f"power = fall_{t}(sub_{t}({score}, shift))")
            kernel.line(f"storerw_{t}(scores, base + j, power)")
            kernel.line(f"total = radd_{t}(total, power)")
        kernel.line(f"factor = fall_{t}(sub_{t}(old, shift))")
        kernel.line(f"storerw_{t}(state, 2 * i, best)")
        kernel.line(f"storerw_{t}(state, 2 * i + 1, add_{t}(mul_{t}(loadrw_{t}(state, 2 * i + 1), factor), total))")
        with kernel.block("if begun > 0"), kernel.block(f"for j in range({self.pitch})"):
            kernel.line(f"place = i * {self.pitch} + j")
            kernel.line(f"storerw_{t}(sums, place, mul_{t}(loadrw_{t}(sums, place), factor))")

    def _scale_and_mask(self, score: str, scale: str) -> None:
        """The row's final scores, and the largest so far."""
        kernel, t = self.kernel, self.suffix
        kernel.line("best = old")
        self._rows_of_masks()
        with kernel.block("for j in range(count)"):
            kernel.line(f"x = mul_{t}({score}, {scale})")
            self._mask("x")
            kernel.line(f"storerw_{t}(scores, base + j, x)")
            kernel.line(f"best = xmax_{t}(best, x)")

    def _rows_of_masks(self) -> None:
        for name in self._masks():
            self.kernel.line(f"{name}_row = {name}_at + (top + i) * {name}_r + first{self._along(name)}")

    def _mask(self, score: str) -> None:
        """What the masks make of a score."""
        kernel, t = self.kernel, self.suffix
        if "mask" in self.views:
            kernel.line(f"{score} = add_{t}({score}, load_{t}(mask, mask_row + j{self._along('mask')}))")
        if "keep" in self.views:
            kernel.line(f"kept = u8_bool(load_u8(keep, keep_row + j{self._along('keep')}))")
            kernel.line(f"{score} = select_{t}(kept, {score}, fill)")

    def _masks(self) -> list[str]:
        return [name for name in ("mask", "keep") if name in self.views]

    def _along(self, name: str) -> str:
        """A mask's step from key to key, as a factor."""
        stride = self.views[name].strides[-1]
        return "" if stride == 1 else f" * {self.kernel.integer(f'{name}_c', stride)}"

    def _store(self) -> None:
        kernel, t = self.kernel, self.suffix
        along = self.kernel.integer("result_c", self.result.strides[-1])
        with kernel.block("for i in range(bottom - top)"):
            kernel.line(f"total = loadrw_{t}(state, 2 * i + 1)")
            kernel.line("row = result_at + (top + i) * result_r")
            with kernel.block("for j in range(columns)"):
                kernel.line(f"value_sum = loadrw_{t}(sums, i * {self.pitch} + j)")
                kernel.line(f"store_{t}(result, row + j * {along}, div_{t}(value_sum, total))")

    def _cost(self) -> float:
        batches = math.prod(self.batches)
        tiles = -(-self.rows // self.score_tile.rows) * -(-self.keys // self.score_tile.columns)
        sums = -(-self.rows // self.sum_tile.rows) * -(-self.columns // self.sum_tile.columns)
        time = tiles * self.score_tile.nanoseconds(self.depth) + sums * self.sum_tile.nanoseconds(self.keys)
        return batches * (time + self.rows * self.keys * _EXP)
