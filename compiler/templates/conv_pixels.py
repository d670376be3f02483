"""Convolutions whose results lie with their channels last, from the products to the store in one micro-kernel.

A tile is a run of pixels of a row for a panel of output channels. Its micro-kernel reads the image where it is, in any
layout; where the window hangs over the edge, it reads a small copy of the part that the tile sees, with zeros around
it. Rows of the window above or below the image are left out. A row's last tile is moved back to end with it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..codegen.body import Body
from ..codegen.finishing import Program, program_of
from ..codegen.kernel import Call, KernelBuilder
from ..codegen.lowering import Lowering
from ..codegen.terms import SUFFIX
from ..codegen.tiling import TileShape, register_type, tile_shape
from ..codegen.units import decode
from ..ir import Value
from ..views import View
from .conv import Convolution
from .geometry import declare_bias

CHAIN = 512
"""Most products that are summed up in one go, if rows of the window are not longer: short chains round less."""
PATCH = 1 << 16
"""Most bytes of a copied part of the image."""
BLOCK = 1 << 15
"""Bytes of sums that are kept between the parts of the window."""
WEIGHTS = 1 << 19
"""Bytes of weights that stay in a second-level cache while an image passes."""
UNIT = 2_500.0
"""Nanoseconds of work in a unit: little, so that all threads get as much."""
MOST_UNITS = 64
_AXES = "yx"


@dataclass(frozen=True)
class Space:
    """An image and the results as rows of pixels: height and width, the image's strides, the views' strides."""

    height: int
    width: int
    image: tuple[int, int, int, int, int]
    """Over [n, group, channel, y, x]."""
    views: list[tuple[int, ...]]
    """Over [n, y, x, channel], or in the order that a tile's rows and columns ask for."""


def pixels_call(convolution: Convolution, lowering: Lowering) -> Call | None:
    """The kernel of a convolution, None if this way of computing does not suit it."""
    c = convolution
    if register_type(c.dtype) != c.dtype or not c.places.channels_last or c.window.outputs == (1, 1):
        return None
    writer = PixelsWriter(c)
    return writer.write(lowering) if writer.suits else None


class PixelsWriter:
    """Writes the kernel; a unit is a block of rows for a group of panels."""

    def __init__(self, convolution: Convolution) -> None:
        self.c = c = convolution
        self.window = c.window
        self.space = self.seen()
        epilogue = c.places.epilogue
        self.kernel = KernelBuilder("+".join([epilogue.root.op, *(n.op for n in epilogue.nodes)]))
        self.tile = self.shape()
        self.suffix = SUFFIX[c.dtype]
        self.bytes = 8 if c.dtype == "float64" else 4
        taps_y, taps_x = self.window.taps
        self.span = self.columns_seen()
        self.neighbours = self.channels_are_neighbours()
        self.dense = self.neighbours and self.space.image[4] == c.channels
        self.body, self.bias = self._declared()
        self.program: Program | None = program_of(self.kernel, self.body, epilogue.root.output, self.bias, c.dtype)
        line = self.span * c.channels * self.bytes
        self.chain = max(1, min(taps_y, CHAIN // max(1, taps_x * c.channels), PATCH // line))
        self.patch = self.chain * line
        self.direct = self.needs_no_edges()

    def needs_no_edges(self) -> bool:
        """Whether no tile reads beyond the image."""
        return self.window.is_point and self.tile.rows <= self.space.width

    def seen(self) -> Space:
        """The image and results as rows of pixels."""
        return _space(self.c)

    def shape(self) -> TileShape:
        return tile_shape(self.c.dtype, self.space.width, self.c.outputs)

    def pixels(self) -> int:
        """Pixels of a tile."""
        return self.tile.rows

    def columns_seen(self) -> int:
        """Columns of the image that a tile sees."""
        w = self.window
        return (self.pixels() - 1) * w.strides[1] + (w.taps[1] - 1) * w.dilations[1] + 1

    def channels_are_neighbours(self) -> bool:
        return self.space.image[2] == 1 or self.c.channels == 1

    @property
    def suits(self) -> bool:
        return self.program is not None and (self.direct or self.patch <= PATCH)

    def _declared(self) -> tuple[Body, Value | None]:
        c, views = self.c, list(self.space.views)
        bias = None
        body = c.places.epilogue.declare_over(self.kernel, views)
        if c.places.bias is not None:
            step = 0 if c.places.bias.shape[0] == 1 else c.places.bias.strides[0]
            bias = declare_bias(body, c.places.bias, self.over_channels(step))
        return body, bias

    def over_channels(self, step: int) -> tuple[int, ...]:
        """Strides that walk the output channels only."""
        return 0, 0, 0, step

    def packed(self, lowering: Lowering) -> tuple[View, tuple[int, ...]]:
        """The weights, and their strides over groups, panels, and the window's height, width and channels."""
        weights = self.c.panels(lowering, self.tile)
        return weights, weights.strides[:5]

    def write(self, lowering: Lowering) -> Call:
        kernel = self.kernel
        self.weights, self.weight_strides = self.packed(lowering)
        self._plan()
        self._declare()
        with kernel.block("for u in range(start, stop)"):
            self._decode()
            with kernel.block("for y in range(first_y, last_y)"):
                kernel.line("top = y * stride_y - begin_y")
                # A row that sees padding alone has one row of zeros to sum up.
                kernel.line("low = min(taps_y - 1, max(0, (dilation_y - 1 - top) // dilation_y))")
                kernel.line("high = max(low + 1, min(taps_y, (input_y - top + dilation_y - 1) // dilation_y))")
                with kernel.block(f"for next_x in range(first_x, last_x, {self.pixels()})"):
                    self.start_tile()
                    kernel.line("left = x * stride_x - begin_x")
                    if self.direct:
                        self.tiles("image", "plane + top * image_y + left * image_x", "0", "1")
                    else:
                        self._parts()
        return kernel.call(self.units, self._cost())

    def start_tile(self) -> None:
        """Write where a tile starts."""
        self.kernel.line(f"x = max(0, min(next_x, last_x - {self.tile.rows}))")
        self.kernel.line(f"rows = min({self.tile.rows}, last_x - x)")
        self.body.start_row({0: "n", 1: "y", 2: "x"})

    def panel_count(self) -> int:
        return -(-self.c.outputs // self.tile.columns)

    def _plan(self) -> None:
        """The block of rows, the part of each, and the group of panels that a unit computes."""
        c, tile, space = self.c, self.tile, self.space
        self.panels = self.panel_count()
        depth = c.channels * math.prod(self.window.taps)
        self.group = max(1, min(self.panels, WEIGHTS // (depth * tile.columns * self.bytes)))
        # Sums of a group's panels are kept between the parts of the window.
        self.group = min(self.group, max(1, BLOCK // (tile.rows * tile.columns * self.bytes)))
        self.groups = -(-self.panels // self.group)
        self.group = -(-self.panels // self.groups)
        tiles = space.height * -(-space.width // self.pixels())
        stacks = c.batch * c.groups * self.groups
        wanted = max(1, min(MOST_UNITS, int(self._cost() / UNIT))) / stacks
        each = max(1, int(tiles / max(1.0, wanted)))
        across = -(-space.width // self.pixels())
        self.block_y = max(1, min(space.height, each // across))
        self.block_x = space.width if self.block_y > 1 or each >= across else each * self.pixels()
        self.across = max(1, space.width // self.block_x)
        self.down = -(-space.height // self.block_y)
        self.units = stacks * self.down * self.across

    def _declare(self) -> None:
        kernel, c, w, space = self.kernel, self.c, self.window, self.space
        kernel.source("image", c.image)
        kernel.source("weights", self.weights)
        values = dict(zip(("image_n", "image_g", "image_c", "image_y", "image_x"), space.image))
        values |= dict(zip(("weights_g", "weights_p", "weights_y", "weights_x", "weights_c"), self.weight_strides))
        values |= {"channels": c.channels, "outputs": c.outputs, "panels": self.panels, "group": self.group}
        outputs = (space.height, space.width)
        inputs = outputs if w.is_point else w.inputs
        for axis, letter in enumerate(_AXES):
            values |= {f"taps_{letter}": w.taps[axis], f"stride_{letter}": w.strides[axis]}
            values |= {f"dilation_{letter}": w.dilations[axis], f"begin_{letter}": w.begin[axis]}
            values |= {f"input_{letter}": inputs[axis], f"output_{letter}": outputs[axis]}
        values |= self.parameters()
        values |= {"block_y": self.block_y, "block_x": self.block_x, "chain": self.chain, "span": self.span}
        for name, value in values.items():
            kernel.parameter(name, value)
        kernel.line(f"block = stack_{BLOCK}()")
        if not self.direct:
            kernel.line(f"patch = stack_{PATCH if 2 * self.patch > PATCH else PATCH // 2}()")
            kernel.top(f"zero = const_{self.suffix}(0.0)")
            # The copy's own strides; its innermost dimension is the image's.
            if self.neighbours:
                kernel.line("patch_c = 1")
                kernel.line("patch_x = channels")
            else:
                kernel.line("patch_x = 1")
                kernel.line("patch_c = span")
            kernel.line("patch_y = span * channels")

    def parameters(self) -> dict[str, int]:
        """Further numbers that the kernel uses."""
        return {}

    def _decode(self) -> None:
        kernel = self.kernel
        sizes = {"n": self.c.batch, "g": self.c.groups, "p": self.groups, "by": self.down, "bx": self.across}
        names = [kernel.parameter(f"size_{name}", size) for name, size in sizes.items()]
        for axis, text in decode(kernel, "u", names).items():
            kernel.line(f"{list(sizes)[axis]} = {text}")
        kernel.line("first_panel = p * group")
        kernel.line("last_panel = min(first_panel + group, panels)")
        kernel.line("first_y = by * block_y")
        kernel.line("last_y = min(first_y + block_y, output_y)")
        kernel.line("first_x = bx * block_x")
        kernel.line("last_x = first_x + block_x")
        with kernel.block("if bx == size_bx - 1"):
            kernel.line("last_x = output_x")
        kernel.line("plane = n * image_n + g * image_g")

    def _parts(self) -> None:
        """A tile's sums over a few rows of the window after another, from the image or from a copy of it."""
        kernel = self.kernel
        kernel.line("inside = left >= 0 and left + span <= input_x and top + low * dilation_y >= 0")
        with kernel.block("for ky in range(low, high, chain)"):
            kernel.line("end = min(ky + chain, high)")
            kernel.line("row = plane + (top + ky * dilation_y) * image_y")
            with kernel.block("if inside and top + (end - 1) * dilation_y < input_y"):
                self.tiles("image", "row + left * image_x", "ky", "end - ky", "image")
            with kernel.block("else"):
                self._copy()
                self.tiles("patch", "0", "ky", "end - ky", "patch")

    def _copy(self) -> None:
        """The part of the image that a tile sees, with zeros around it."""
        kernel = self.kernel
        with kernel.block("for line in range(end - ky)"):
            kernel.line("at_y = top + (ky + line) * dilation_y")
            kernel.line("begin = max(0, min(-left, span))")
            kernel.line("stop_x = max(begin, min(span, input_x - left))")
            with kernel.block("if at_y < 0 or at_y >= input_y"):
                kernel.line("begin = span")
                kernel.line("stop_x = span")
            kernel.line("source = plane + at_y * image_y + left * image_x")
            if self.neighbours:
                self._fill("0", "begin * channels", "line * patch_y")
                kernel.line("target = line * patch_y")
                if self.dense:
                    with kernel.block("for i in range(begin * channels, stop_x * channels)"):
                        kernel.line(self._moved("source + i", "target + i"))
                else:
                    with kernel.block("for i in range(begin, stop_x)"), kernel.block("for j in range(channels)"):
                        kernel.line(self._moved("source + i * image_x + j", "target + i * channels + j"))
                self._fill("stop_x * channels", "patch_y", "line * patch_y")
                return
            with kernel.block("for j in range(channels)"):
                kernel.line("target = line * patch_y + j * patch_c")
                self._fill("0", "begin", "target")
                with kernel.block("for i in range(begin, stop_x)"):
                    kernel.line(self._moved("source + j * image_c + i * image_x", "target + i"))
                self._fill("stop_x", "span", "target")

    def _moved(self, source: str, target: str) -> str:
        return f"store_{self.suffix}(patch, {target}, load_{self.suffix}(image, {source}))"

    def _fill(self, first: str, last: str, base: str) -> None:
        with self.kernel.block(f"for i in range({first}, {last})"):
            self.kernel.line(f"store_{self.suffix}(patch, {base} + i, zero)")

    def tiles(self, pointer: str, index: str, ky: str, lines: str, source: str = "image") -> None:
        """The micro-kernel for each panel of the group."""
        kernel, tile = self.kernel, self.tile
        kernel.line(f"from_ = {index}")
        with kernel.block("for q in range(first_panel, last_panel)"):
            kernel.line(f"column = g * outputs + q * {tile.columns}")
            assert self.program is not None
            program = self.program.arguments(self.body, "column")
            first, last = ("1", "1") if self.direct else ("ky == low", "end == high")
            walk, loops = self._loops(lines, source)
            kinds = f"{SUFFIX[self.weights.dtype]}_{self.suffix}"
            name = f"pixels_{tile.rows}x{tile.vectors}x{tile.lanes}_{kinds}_{walk}{self.program.name}"
            area = tile.rows * tile.columns
            operands = [f"offset(block, (q - first_panel) * {area * self.bytes})", pointer, "from_"]
            operands += [f"stride_x * {source}_x", "weights", f"g * weights_g + q * weights_p + {ky} * weights_y"]
            operands += [*(x for loop in loops for x in loop), first, last, "rows", f"outputs - q * {tile.columns}"]
            kernel.line(f"{name}({', '.join([*operands, *program])})")

    def _loops(self, lines: str, source: str) -> tuple[str, list[tuple[str, str, str]]]:
        """How the innermost loop walks, and the loops, innermost first."""
        w = self.window
        down = (lines, "patch_y" if source == "patch" else "dilation_y * image_y", "weights_y")
        if not self.neighbours:
            along = ("taps_x", f"dilation_x * {source}_x", "weights_x")
            return "any", [along, ("channels", f"{source}_c", "weights_c"), down]
        if self.direct:
            return "run", [("channels", "1", "weights_c"), ("1", "0", "0"), ("1", "0", "0")]
        if w.dilations[1] == 1 and (source == "patch" or self.dense):
            return "run", [("taps_x * channels", "1", "weights_c"), ("1", "0", "0"), down]
        return "run", [("channels", "1", "weights_c"), ("taps_x", f"dilation_x * {source}_x", "weights_x"), down]

    def _cost(self) -> float:
        c, space = self.c, self.space
        tiles = c.batch * c.groups * space.height * -(-space.width // self.pixels()) * self.panel_count()
        depth = c.channels * math.prod(self.window.taps)
        points = c.batch * c.groups * c.outputs * space.height * space.width
        return tiles * self.tile.nanoseconds(depth) + points * self.body.cost_of_point()


def _space(c: Convolution) -> Space:
    """The pixels as one row, if nothing depends on where rows end; else as they are."""
    height, width = c.window.outputs
    image = c.image.strides
    views = c.places.strides("nhwc")
    if c.window.is_point and image[3] == image[4] * width and all(_is_flat(v, width) for v in views):
        return Space(1, height * width, (*image[:3], 0, image[4]), [(v[0], 0, v[2], v[3]) for v in views])  # type: ignore[arg-type]
    return Space(height, width, image, views)  # type: ignore[arg-type]


def _is_flat(strides: tuple[int, ...], width: int) -> bool:
    return strides[1] == strides[2] * width
