"""Convolutions with windows of 3 by 3 and strides of 1 by Winograd's minimal filtering: fewer products, of tiles.

The image is cut into tiles that overlap by 2, each of which gives 4 by 4 or 2 by 2 results. Some tiles are transformed
at a time (every pixel once for all output channels), multiplied by the transformed weights, point by point, and the
sums transformed back, to which the fused operators are applied before they are stored. All of that stays in scratch
memory that fits into a cache. See :mod:`basalt.compiler.kernels.winograd_layout` for sources.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from ..codegen.body import Body
from ..codegen.choices import agree, prefer
from ..codegen.finishing import Program, program_of
from ..codegen.kernel import Call, KernelBuilder
from ..codegen.lowering import Lowering
from ..codegen.tiling import TileShape, lanes_of, tile_shape
from ..ir import Value
from ..kernels.winograd_layout import CHAIN, LINE, POINTS, TAPS, depth_of, transformed_weights
from ..views import View
from .conv import Convolution, channels_last
from .geometry import declare_bias

GROUP = 128
"""Output channels whose sums are transformed back together."""
CACHE = 400_000
"""Bytes of tiles and their sums that stay in a second-level cache."""
SHARED = 1 << 17
"""Bytes of weights that are worth another tile in a block, if they do not stay in that cache."""
MOST_TILES = 64
"""Tiles of a block."""
MOST_CHUNKS = 32
"""Parts of the work that have scratch memory of their own."""
PRODUCTS, OTHERS = 0.85, 0.84
"""Parts of the greatest rate of multiply-adds that products reach, here and in other kernels."""
TRANSFORM = 3.0
"""Nanoseconds of a vector of channels and a point, transformed or transformed back."""
CALL = 1.0
"""Nanoseconds of a tile and a point besides."""
WEIGHTS = 14.0
"""Bytes of weights read in a nanosecond."""
COPIED = 4.0
"""Bytes of an image copied in a nanosecond into another order of its dimensions."""
ADVANTAGE = 0.85
"""Part of the other kernels' time from which on this one is chosen."""
LARGE_ADVANTAGE = 0.9
"""Part of the time of tiles of 2 by 2 from which on those of 4 by 4 are chosen, whose weights take more memory."""
LARGEST = 1e30
"""The greatest weight; those beyond could become infinite."""


@dataclass(frozen=True)
class Plan:
    """How a convolution is cut up."""

    size: int
    """Results of a tile along each dimension."""
    down: int
    across: int
    """Tiles of an image."""
    tiles: int
    """Tiles of all images."""
    tile: TileShape
    block: int
    """Tiles that are transformed together."""
    group: int
    """Panels of weights whose sums are transformed back together."""

    @staticmethod
    def of(c: Convolution, size: int) -> Plan:
        down, across = (-(-n // size) for n in c.window.outputs)
        tiles = c.batch * down * across
        block = _block(c, size, tiles)
        tile = tile_shape(c.dtype, block, c.outputs)
        group = min(-(-c.outputs // tile.columns), max(1, GROUP // tile.columns))
        return Plan(size, down, across, tiles, tile, block, group)

    @property
    def points(self) -> int:
        return (self.size + TAPS - 1) ** 2

    @property
    def blocks(self) -> int:
        return -(-self.tiles // self.block)


def winograd_call(c: Convolution, lowering: Lowering) -> Call | None:
    """The kernel of a convolution, None if others suit it better."""
    if not _possible(c):
        return None
    size = _best_size(c)
    if not agree(prefer(_gains(c, size), math.prod(c.window.outputs))):
        return None
    weights = lowering.constant_array(c.filter)
    if weights is None or not (np.abs(weights) < LARGEST).all():
        return None
    copies: list[tuple[View, View]] = []
    if not c.places.channels_last:
        places, copies = channels_last(c.places, lowering)
        c = replace(c, places=places)
    writer = _Writer(c, Plan.of(c, size))
    if not writer.suits:
        return None
    for own, view in copies:
        lowering.copy_later(own, view)
    return writer.write(lowering)


def _possible(c: Convolution) -> bool:
    w = c.window
    return (
        c.dtype == "float32"
        and c.groups == 1
        and c.filter.is_constant
        and w.taps == (TAPS, TAPS)
        and w.strides == w.dilations == (1, 1)
    )


def _best_size(c: Convolution) -> int:
    """The results of a tile along each dimension for which this is fastest.

    Only the sizes of one image count, here and where it is chosen, so that its results do not depend on how many there
    are.
    """
    small, large = (image_time(c, size) for size in POINTS)
    return max(POINTS) if large < LARGE_ADVANTAGE * small else min(POINTS)


def _gains(c: Convolution, size: int) -> bool:
    others = math.prod(c.window.outputs) * TAPS**2 * c.channels * _columns(c) / (_rate() * OTHERS)
    moved = 0 if _has_neighbours(c) else c.channels * math.prod(c.window.inputs)
    moved += 0 if c.places.channels_last else c.outputs * math.prod(c.window.outputs)
    return image_time(c, size) + 4 * moved / COPIED < ADVANTAGE * others


def _has_neighbours(c: Convolution) -> bool:
    """Whether a pixel's channels are neighbours in memory."""
    return c.image.strides[2] == 1 or c.channels == 1


def _columns(c: Convolution) -> int:
    """Output channels, with those that fill up the last panel."""
    panel = 2 * lanes_of("float32")
    return -(-c.outputs // panel) * panel


def _rate() -> float:
    """Multiply-adds a nanosecond: two vectors a cycle at 3 GHz."""
    return 6.0 * lanes_of("float32")


def image_time(c: Convolution, size: int) -> float:
    """Estimated nanoseconds for one image on one core."""
    tiles = math.prod(-(-n // size) for n in c.window.outputs)
    points, columns, lanes = (size + TAPS - 1) ** 2, _columns(c), lanes_of("float32")
    products = max(tiles, 4) * points * depth_of(c.channels) * columns / (_rate() * PRODUCTS)
    transforms = tiles * points * (TRANSFORM * (-(-c.channels // lanes) + columns // lanes) + CALL)
    return products + transforms + 4 * points * c.channels * columns / WEIGHTS


def _block(c: Convolution, size: int, tiles: int) -> int:
    """Even shares of the tiles, of as many as are best read together."""
    points = (size + TAPS - 1) ** 2
    of_tile = 4 * points * (c.channels + min(_columns(c), GROUP))
    weights = 4 * points * c.channels * _columns(c)
    fitting = max(1, CACHE // of_tile)
    # Weights that lie in no near cache are better read less often than tiles.
    wanted = max(fitting, min(MOST_TILES, weights // SHARED))
    return -(-tiles // -(-tiles // wanted))


class _Writer:
    """Writes the kernel; a unit is a block of tiles for some of the panels."""

    def __init__(self, c: Convolution, plan: Plan) -> None:
        self.c, self.plan = c, plan
        epilogue = c.places.epilogue
        self.kernel = KernelBuilder("+".join([epilogue.root.op, *(n.op for n in epilogue.nodes)]))
        self.body, self.bias = self._declared()
        self.program: Program | None = program_of(self.kernel, self.body, epilogue.root.output, self.bias, c.dtype)

    @property
    def suits(self) -> bool:
        """Whether the fused operators work on tiles: what does not vary by pixel must not vary by row either."""
        if self.program is None:
            return False
        shared = [a for a in self.body.inputs.values() if a.strides[-2] == "0"]
        return all(access.strides[-3] == "0" for access in shared)

    def _declared(self) -> tuple[Body, Value | None]:
        places = self.c.places
        body = places.epilogue.declare_over(self.kernel, places.strides("nhwc"))
        if places.bias is None:
            return body, None
        return body, declare_bias(body, places.bias, places.bias_strides("nhwc"))

    def write(self, lowering: Lowering) -> Call:
        c, plan, kernel = self.c, self.plan, self.kernel
        self.image = c.image if _has_neighbours(c) else _channels_last(c.image, lowering)
        self.filter = c.weights_view(lowering)
        columns, size = plan.tile.columns, plan.size
        self.weights = lowering.packed(
            c.filter,
            ("winograd", c.layout, c.order, size, columns),
            lambda a: transformed_weights(c.weights_array(a)[0], size, columns),
        )
        self.panels = self.weights.shape[1]
        # The units of a block share its transformed tiles if one thread has them.
        self.shares = min(self.panels, -(-MOST_CHUNKS // plan.blocks))
        units = plan.blocks * self.shares
        step = -(-units // MOST_CHUNKS)
        self._declare(lowering, step, -(-units // step))
        self._write()
        return kernel.call(units, self._cost(), min_chunk=step)

    def _declare(self, lowering: Lowering, step: int, chunks: int) -> None:
        kernel, c, plan, w = self.kernel, self.c, self.plan, self.c.window
        held = max(plan.block, plan.tile.rows)
        v_tile, m_tile = (_odd_lines(n) for n in (c.channels, plan.group * plan.tile.columns))
        v_point, m_point = (_odd_lines(held * n) for n in (v_tile, m_tile))
        slot = plan.points * (v_point + m_point)
        kernel.source("image", self.image)
        kernel.source("weights", self.weights)
        kernel.source("filter", self.filter)
        kernel.target("scratch", lowering.scratch("float32", (chunks * slot,)))
        values = {
            "slot": 4 * slot,
            "sums": plan.points * v_point,
            "v_tile": v_tile,
            "v_point": v_point,
            "m_tile": m_tile,
        }
        values |= {"m_point": m_point, "u_point": self.weights.strides[0], "u_panel": self.weights.strides[1]}
        values |= {"depth": depth_of(c.channels), "chain": _chain(c.channels), "held": plan.tile.rows}
        values |= {"channels": c.channels, "outputs": c.outputs, "panels": self.panels}
        values |= {"group": plan.group, "shares": self.shares, "share": -(-self.panels // self.shares), "step": step}
        values |= {"block": plan.block, "tiles": plan.tiles}
        values |= {"down": plan.down, "across": plan.across}
        values |= dict(zip(("image_n", "image_y", "image_x"), (self.image.strides[i] for i in (0, 3, 4))))
        values |= dict(zip(("filter_o", "filter_c", "filter_y", "filter_x"), self.filter.strides[1:]))
        for axis, letter in enumerate("yx"):
            values |= {f"begin_{letter}": w.begin[axis], f"input_{letter}": w.inputs[axis]}
            values |= {f"output_{letter}": w.outputs[axis]}
        for name, value in values.items():
            kernel.parameter(name, value)

    def _write(self) -> None:
        kernel, plan = self.kernel, self.plan
        columns = plan.tile.columns
        kernel.line("own = offset(scratch, start // step * slot)")
        with kernel.block("for b in range(start // shares, (stop - 1) // shares + 1)"):
            kernel.line("first = b * block")
            kernel.line("count = min(block, tiles - first)")
            # Products of some tiles at least are computed, which are there more than once then.
            with kernel.block("for t in range(max(count, held))"):
                self._place("min(t, count - 1)")
                lanes = plan.tile.lanes
                kernel.line(f"winograd_input_{plan.size}x{lanes}_f32(own, t * v_tile, v_point, {self._seen()})")
            kernel.line("end = min((min(stop, (b + 1) * shares) - b * shares) * share, panels)")
            with kernel.block("for panel in range((max(start, b * shares) - b * shares) * share, end, group)"):
                name = f"winograd_products_{plan.tile.rows}x{plan.tile.vectors}x{plan.tile.lanes}_f32"
                operands = "own, sums, m_tile, m_point, own, 0, v_tile, v_point, weights, panel * u_panel, u_point"
                sizes = f"{plan.points}, min(group, end - panel), max(count, held), depth, chain"
                kernel.line(f"{name}({operands}, {sizes})")
                kernel.line(f"column = panel * {columns}")
                kernel.line(f"width = min(min(group, end - panel) * {columns}, outputs - column)")
                with kernel.block("for t in range(count)"):
                    self._place("t")
                    self._output()

    def _place(self, tile: str) -> None:
        """Write where a tile of the block is."""
        kernel, size = self.kernel, self.plan.size
        kernel.line(f"tile = first + {tile}")
        kernel.line("line = tile // across")
        kernel.line("n = line // down")
        kernel.line(f"y = (line - n * down) * {size}")
        kernel.line(f"x = (tile - line * across) * {size}")
        kernel.line("top = y - begin_y")
        kernel.line("left = x - begin_x")

    def _seen(self) -> str:
        """What a tile sees of the image, as operands."""
        at = "image, n * image_n + top * image_y + left * image_x, image_y, image_x"
        return f"{at}, -top, input_y - top, -left, input_x - left, channels"

    def _output(self) -> None:
        kernel, plan, program = self.kernel, self.plan, self.program
        assert program is not None
        self.body.start_row({0: "n", 1: "y", 2: "x"})
        name = f"winograd_output_{plan.size}x{plan.tile.lanes}_f32{program.name}"
        operands = ["own", "sums + t * m_tile", "m_point", "width", self._seen(), "filter", "column * filter_o"]
        operands += ["filter_o", "filter_c", "filter_y", "filter_x"]
        operands += [f"min({plan.size}, output_y - y)", f"min({plan.size}, output_x - x)"]
        operands += program.arguments(self.body, "column", lines=True)
        kernel.line(f"{name}({', '.join(operands)})")

    def _cost(self) -> float:
        c = self.c
        points = c.batch * c.outputs * math.prod(c.window.outputs)
        return c.batch * image_time(c, self.plan.size) + points * self.body.cost_of_point()


def _chain(channels: int) -> int:
    """Even parts of a sum, none longer than may be."""
    parts = -(-channels // CHAIN)
    return depth_of(-(-channels // parts))


def _odd_lines(elements: int) -> int:
    """Elements up to an odd number of cache lines: what lies that far apart does not crowd a few places of a cache."""
    lines = -(-elements // LINE)
    return (lines + 1 - lines % 2) * LINE


def _channels_last(image: View, lowering: Lowering) -> View:
    order, back = (0, 1, 3, 4, 2), (0, 1, 4, 2, 3)
    return lowering.contiguous(image.permuted(order)).permuted(back)
