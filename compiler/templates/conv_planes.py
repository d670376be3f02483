"""Convolutions whose results lie with their columns last, and have few channels: vectors run over columns.

A tile is some output channels by vectors of a row's columns; weights are broadcast. As in :mod:`.conv_pixels`, whose
micro-kernel does this too with its operands exchanged, a small copy stands for what lies at the image's edge.
"""

from __future__ import annotations

import math
from dataclasses import replace

from ..codegen.choices import choose
from ..codegen.kernel import Call
from ..codegen.lowering import Lowering
from ..codegen.tiling import TileShape, lanes_of, register_type
from ..kernels.target import target
from ..views import View
from .conv import Convolution
from .conv_parts import copy_results, own_places
from .conv_pixels import PixelsWriter, Space

MOST_OUTPUTS = 14
"""Output channels of a group beyond which vectors over channels are better."""
MOST_VECTORS = 8
LONGEST_STRIDE = 4
"""Columns between windows up to which the image's columns are copied apart: those that one tap meets lie together."""
LONG = 32
"""Columns of a window from which on its sums are better kept in the registers."""
WORTH_A_COPY = 8
"""Products of an element of the image from which on it is worth a copy (of a result: products that make it)."""


def planes_call(convolution: Convolution, lowering: Lowering) -> Call | None:
    """The kernel of a convolution, None if this way of computing does not suit it.

    Images and results whose columns are no neighbours are copied, if there is enough to compute.
    """
    c = convolution
    if register_type(c.dtype) != c.dtype or c.places.channels_last or c.outputs > MOST_OUTPUTS:
        return None
    longest = 1 if target().registers > 16 else LONGEST_STRIDE
    if c.window.strides[1] > min(longest, c.window.taps[1]) or c.window.outputs[1] < lanes_of(c.dtype) // 2:
        return None
    if c.window.strides[1] > 1 and c.window.dilations[1] > 1:
        return None
    taps = math.prod(c.window.taps)
    image = c.image if c.image.strides[4] == 1 else None
    if image is None and taps * c.outputs < WORTH_A_COPY:
        return None
    results = c.places.epilogue.results
    scattered = any(v.strides[c.places.layout.index("w")] != 1 for _, v in results)
    if scattered and taps * c.channels < WORTH_A_COPY:
        return None
    places = own_places(c.places, "nchw") if scattered else c.places
    writer = _Writer(replace(c, image=image or lowering.scratch(c.dtype, c.image.shape), places=places))
    if not writer.suits:
        return None
    if image is None:
        lowering.copy(c.image, writer.c.image)
    if scattered:
        copy_results(lowering, places, c.places)
    return writer.write(lowering)


def is_filter_of_lines(c: Convolution) -> bool:
    """Whether a convolution of one channel to one has windows so long that vectors for each tap are better."""
    return target().registers <= 16 and (c.groups, c.channels, c.outputs) == (1, 1, 1) and c.window.taps[1] >= LONG


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

    def columns_seen(self) -> int:
        stride = self.window.strides[1]
        return -(-super().columns_seen() // stride) * stride

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
        return {"weights_o": self.output, "phase_x": self.span // self.window.strides[1]}

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
            kinds = f"{self.suffix}_{self.suffix}"
            name = f"pixels_{tile.rows}x{tile.vectors}x{tile.lanes}_{kinds}_any{self.program.name}"
            area = f"offset(block, o * {tile.columns * self.bytes})"
            part = f"g * weights_g + o * weights_o + {ky} * weights_y"
            down = (lines, "weights_y", "patch_y" if source == "patch" else "dilation_y * image_y")
            ends = ["ky == low", "end == high"]
            if self.window.strides[1] > 1:
                ends = ["ky == low and phase == 0", "end == high and phase == stride_x - 1"]
                loops = [("channels", "weights_c", "patch_c")]
                loops += [("(taps_x - phase + stride_x - 1) // stride_x", "weights_x * stride_x", "1"), down]
                part += " + phase * weights_x"
                index = "phase * phase_x"
            else:
                loops = [("channels", "weights_c", f"{source}_c")]
                loops += [("taps_x", "weights_x", f"dilation_x * {source}_x"), down]
            operands = [area, "weights", part, "weights_o", pointer, index]
            operands += [*(x for loop in loops for x in loop), *ends, str(tile.rows), "last_x - x"]
            call = f"{name}({', '.join([*operands, *program])})"
            if self.window.strides[1] > 1:
                with kernel.block("for phase in range(stride_x)"):
                    kernel.line(call)
            else:
                kernel.line(call)

    def _parts(self) -> None:
        """As with neighbouring columns, but always from a copy: the columns that a tap meets do not lie together."""
        if self.window.strides[1] == 1:
            super()._parts()
            return
        kernel = self.kernel
        with kernel.block("for ky in range(low, high, chain)"):
            kernel.line("end = min(ky + chain, high)")
            self._copy()
            self.tiles("patch", "0", "ky", "end - ky", "patch")

    def _copy(self) -> None:
        if self.window.strides[1] == 1:
            super()._copy()
            return
        kernel = self.kernel
        kernel.line("begin = max(0, min(-left, span))")
        with kernel.block("for line in range(end - ky)"), kernel.block("for j in range(channels)"):
            kernel.line("at_y = top + (ky + line) * dilation_y")
            kernel.line("stop_x = max(begin, min(span, input_x - left))")
            with kernel.block("if at_y < 0 or at_y >= input_y"):
                kernel.line("stop_x = begin")
            kernel.line("source = plane + at_y * image_y + left * image_x + j * image_c")
            with kernel.block("for phase in range(stride_x)"):
                kernel.line("target = line * patch_y + j * patch_c + phase * phase_x")
                kernel.line("first = min((begin - phase + stride_x - 1) // stride_x, phase_x)")
                kernel.line("stop_i = max(first, (stop_x - phase + stride_x - 1) // stride_x)")
                self._fill("0", "first", "target")
                with kernel.block("for i in range(first, stop_i)"):
                    kernel.line(self._moved("source + (i * stride_x + phase) * image_x", "target + i"))
                self._fill("stop_i", "phase_x", "target")
