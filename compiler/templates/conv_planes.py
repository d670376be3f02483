"""Convolutions whose results lie with their columns last, and have few channels: vectors run over columns.

A tile is some output channels by vectors of a row's columns; weights are broadcast. As in :mod:`.conv_pixels`, whose
micro-kernel does this too with its operands exchanged, a small copy stands for what lies at the image's edge.
"""

from __future__ import annotations

import math
from copy import copy
from dataclasses import replace

from ..codegen.choices import choose
from ..codegen.kernel import Call
from ..codegen.lowering import Lowering
from ..codegen.tiling import TileShape, lanes_of, register_type
from ..kernels.target import target
from ..views import Storage, View, allocate
from .conv import Convolution
from .conv_pixels import PixelsWriter, Space
from .geometry import Places

MOST_OUTPUTS = 14
"""Output channels of a group beyond which vectors over channels are better."""
MOST_VECTORS = 8
WORTH_A_COPY = 8
"""Products of an element of the image from which on it is worth a copy (of a result: products that make it)."""


def planes_call(convolution: Convolution, lowering: Lowering) -> Call | None:
    """The kernel of a convolution, None if this way of computing does not suit it.

    Images and results whose columns are no neighbours are copied, if there is enough to compute.
    """
    c = convolution
    if register_type(c.dtype) != c.dtype or c.places.channels_last or c.outputs > MOST_OUTPUTS:
        return None
    if c.window.strides[1] != 1 or c.window.outputs[1] < lanes_of(c.dtype) // 2:
        return None
    taps = math.prod(c.window.taps)
    image = c.image if c.image.strides[4] == 1 else None
    if image is None and taps * c.outputs < WORTH_A_COPY:
        return None
    results = c.places.epilogue.results
    scattered = any(v.strides[c.places.layout.index("w")] != 1 for _, v in results)
    if scattered and taps * c.channels < WORTH_A_COPY:
        return None
    places = _planar(c.places) if scattered else c.places
    writer = _Writer(replace(c, image=image or lowering.scratch(c.dtype, c.image.shape), places=places))
    if not writer.suits:
        return None
    if image is None:
        lowering.copy(c.image, writer.c.image)
    if scattered:
        for (_, place), (_, own) in zip(results, places.epilogue.results):
            lowering.copy_later(own, place)
    return writer.write(lowering)


def _planar(places: Places) -> Places:
    """The same with results in places of their own whose columns are neighbours."""
    epilogue = copy(places.epilogue)
    order = [places.layout.index(letter) for letter in "nchw"]
    inverse = [order.index(axis) for axis in range(4)]

    def own(view: View) -> View:
        return allocate(Storage.ARENA, view.dtype, [view.shape[axis] for axis in order]).permuted(inverse)

    epilogue.results = [(value, own(view)) for value, view in epilogue.results]
    return Places(epilogue, places.layout, places.bias)


class _Writer(PixelsWriter):
    """A unit is a block of rows of a group's output channels."""

    def seen(self) -> Space:
        height, width = self.window.outputs
        return Space(height, width, self.c.image.strides, self.c.places.strides("nhcw"))  # type: ignore[arg-type]

    def shape(self) -> TileShape:
        c, lanes, registers = self.c, lanes_of(self.c.dtype), target().registers
        needed = -(-self.space.width // lanes)
        if registers > 16:
            room = min(MOST_VECTORS, max(1, (registers - 2) // (c.outputs + 1)))
            vectors = choose(range(1, room + 1), lambda v: -(-needed // v) * (max(v * c.outputs, 8) + v + 4))
            return TileShape(c.outputs, vectors, lanes)

        def cost(size: int) -> float:
            """Of a row: half a vector of the image lies across two cache lines."""
            rows, vectors = divmod(size, registers)
            tiles = -(-needed // vectors) * (c.outputs // rows)
            return tiles * (max(rows * vectors, rows + 1.5 * vectors, 9.5) + 1)

        parts = [rows for rows in range(1, c.outputs + 1) if c.outputs % rows == 0]
        sizes = [r * registers + v for r in parts for v in range(1, MOST_VECTORS + 1) if (r + 1) * v < registers]
        rows, vectors = divmod(choose(sizes, cost), registers)
        return TileShape(rows, vectors, lanes)

    def pixels(self) -> int:
        return self.tile.columns

    def channels_are_neighbours(self) -> bool:
        return False

    def needs_no_edges(self) -> bool:
        return False

    def over_channels(self, step: int) -> tuple[int, ...]:
        return 0, 0, step, 0

    def packed(self, lowering: Lowering) -> tuple[View, tuple[int, ...]]:
        weights = self.c.weights_view(lowering)
        group, self.output, channel, y, x = weights.strides
        return weights, (group, 0, y, x, channel)

    def parameters(self) -> dict[str, int]:
        return {"weights_o": self.output}

    def panel_count(self) -> int:
        return 1

    def start_tile(self) -> None:
        self.kernel.line("x = next_x")

    def tiles(self, pointer: str, index: str, ky: str, lines: str, source: str = "image") -> None:
        kernel, tile = self.kernel, self.tile
        assert self.program is not None
        with kernel.block(f"for o in range(0, outputs, {tile.rows})"):
            kernel.line("channel = g * outputs + o")
            self.body.start_row({0: "n", 1: "y", 2: "channel"})
            program = self.program.arguments(self.body, "x")
            name = f"pixels_{tile.rows}x{tile.vectors}x{tile.lanes}_{self.suffix}_any{self.program.name}"
            loops = [("channels", "weights_c", f"{source}_c"), ("taps_x", "weights_x", f"dilation_x * {source}_x")]
            loops.append((lines, "weights_y", "patch_y" if source == "patch" else "dilation_y * image_y"))
            operands = [f"offset(block, o * {tile.columns * self.bytes})", "weights"]
            operands += [f"g * weights_g + o * weights_o + {ky} * weights_y", "weights_o", pointer, index]
            operands += [*(x for loop in loops for x in loop), "ky == low", "end == high", str(tile.rows), "last_x - x"]
            kernel.line(f"{name}({', '.join([*operands, *program])})")
