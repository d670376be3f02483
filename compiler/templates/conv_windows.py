"""Convolutions for few registers whose results lie with their channels last: tiles of pixels over blocks of the depth.

A unit is a block of pixels for a group of panels of output channels. A part of a panel that fits in a first-level
cache is multiplied with all tiles of the block before the next part, while that is fetched. Where a pixel's window
lies is listed once for all panels, tap by tap, so that tiles run on from one row to the next, and what is beyond the
image's edge is a row of zeros. Where the taps of a row of the window are few elements, the part of the image that the
block sees is copied, with zeros around it, and they are one run. Windows of one element need no list.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from basalt.ops import numpy_dtype

from ..codegen.body import Body
from ..codegen.choices import choose
from ..codegen.finishing import Program, program_of
from ..codegen.kernel import Call, KernelBuilder
from ..codegen.lowering import Lowering
from ..codegen.terms import SUFFIX
from ..codegen.tiling import TileShape, register_type, tile_shape
from ..codegen.units import decode
from ..ir import Value
from ..kernels.target import target
from .conv import Convolution
from .conv_parts import Derived, copy_results, own_places
from .geometry import declare_bias
from .window_places import WindowPlaces

PART = 20_480
"""Most bytes of a panel's part: with the pixels' elements it stays in a first-level cache."""
LONGEST = 512
"""Most products that are summed up in one go: short chains round less."""
IMAGE = 256 << 10
"""Bytes of the image that a block sees at most, so that they stay in a second-level cache."""
BLOCK = 1 << 14
"""Bytes of the sums of a panel that are kept from part to part."""
FEWEST_PIXELS = 24
"""Pixels of a block below which weights would take longer to come than to be multiplied."""
PLACES = 1 << 15
"""Bytes of the list of windows."""
PATCH = 1 << 16
"""Most bytes of a copied part of the image."""
SHORT_RUN = 32
"""Channels below which the taps of a row are better one run."""
WORTH_A_COPY = 16
"""Output channels, and products of a result, from which on results are worth a copy."""
PRODUCTS = 400_000
"""Products of a unit, some ten microseconds: few, so that all threads get as many."""
MOST_UNITS = 64
FEWEST_UNITS = 32
"""Units below which blocks are made smaller, so that many threads get as much."""
SMALL_BLOCK = 48
"""Pixels of a block that is not made smaller for that."""
MOST_ROWS = 10
"""Rows of a tile whose addresses leave registers for others."""


def windows_call(convolution: Convolution, lowering: Lowering) -> Call | None:
    """The kernel of a convolution, None if this way of computing does not suit it."""
    c = convolution
    if target().registers > 16 or register_type(c.dtype) != c.dtype or c.window.outputs == (1, 1):
        return None
    if c.groups > 1 and c.outputs < target().lanes(32):
        return None
    last = [v.strides[c.places.layout.index("c")] for _, v in c.places.epilogue.results]
    scattered = any(step != 1 for step in last) or not c.places.channels_last
    scattered = scattered and not isinstance(c, Derived)
    if scattered:
        if min(c.outputs, c.channels * math.prod(c.window.taps)) < WORTH_A_COPY:
            return None
        if c.window.is_point and c.image.strides[2] != 1:
            return None
        c = replace(c, places=own_places(c.places, "nhwc"))
    copied = c.image.strides[2] != 1 and c.channels >= SHORT_RUN
    if copied:
        n, g, k, h, w = c.image.shape
        own = lowering.scratch(c.dtype, (n, g, h, w, k)).permuted((0, 1, 4, 2, 3))
        c = replace(c, image=own)
    writer = WindowsWriter(c)
    if writer.program is None or not writer.suits:
        return None
    if copied:
        lowering.copy(convolution.image, c.image)
    if scattered:
        copy_results(lowering, c.places, convolution.places)
    return writer.write(lowering)


@dataclass(frozen=True)
class Plane:
    """Pixels of the results: height and width, the image's strides over y and x, and the views' over [n, y, x, c]."""

    height: int
    width: int
    steps: tuple[int, int]
    views: list[tuple[int, ...]]

    @property
    def is_flat(self) -> bool:
        """Whether a row of results begins where the one before ends."""
        return self.height == 1 or all(v[1] == v[2] * self.width for v in self.views)


class WindowsWriter(WindowPlaces):
    """Writes the kernel."""

    def __init__(self, convolution: Convolution) -> None:
        self.c = c = convolution
        self.w = w = c.window
        self.suffix = SUFFIX[c.dtype]
        self.bytes = numpy_dtype(c.dtype).itemsize
        neighbours = c.image.strides[2] == 1 or c.channels == 1
        flat = _flat(c) if neighbours else None
        self.even = flat is not None
        self.plane = flat or Plane(*w.outputs, c.image.strides[3:], c.places.strides("nhwc"))  # type: ignore[arg-type]
        short = c.channels < SHORT_RUN and w.taps[1] > 1 and w.dilations[1] == 1
        self.copies = not self.even and (not neighbours or (short and self._patch(1, MOST_ROWS) <= PATCH))
        self.merged = self.copies and w.dilations[1] == 1
        # Threads have small stacks, and a copy lies there too.
        self.places = PLACES // 2 if self.copies else PLACES
        joined = self.merged or self.even
        self.taps = w.taps[0] * (1 if joined else w.taps[1])
        self.run = c.channels * (w.taps[1] if joined else 1)
        self.unrolled = 3 if self.run % 4 and self.run % 3 == 0 else 4
        self.vectors = tile_shape(c.dtype, 64, c.outputs).vectors
        self._plan_blocks()
        epilogue = c.places.epilogue
        self.kernel = KernelBuilder("+".join([epilogue.root.op, *(n.op for n in epilogue.nodes)]))
        self.body, self.bias = self._declared()
        self.program: Program | None = program_of(self.kernel, self.body, epilogue.root.output, self.bias, c.dtype)

    def _declared(self) -> tuple[Body, Value | None]:
        bias, places = self.c.places.bias, self.c.places
        body = places.epilogue.declare_over(self.kernel, self.plane.views)
        if bias is None:
            return body, None
        return body, declare_bias(body, bias, (0, 0, 0, 0 if bias.shape[0] == 1 else bias.strides[0]))

    # What a unit computes

    def _most_pixels(self) -> int:
        """Pixels of a block whose sums, list and image fit where they should."""
        columns = self.vectors * target().lanes(8 * self.bytes)
        most = BLOCK // (columns * self.bytes) - MOST_ROWS
        if not self.even:
            most = min(most, self.places // (8 * self.taps) - MOST_ROWS)
        return min(most, max(FEWEST_PIXELS, IMAGE // (self.c.channels * self.bytes)))

    def _seen(self, pixels: int, axis: int) -> int:
        """Elements of the image along an axis that some results see."""
        w = self.w
        return (pixels - 1) * w.strides[axis] + (w.taps[axis] - 1) * w.dilations[axis] + 1

    def _patch(self, rows: int, columns: int) -> int:
        return self._seen(rows, 0) * self._seen(columns, 1) * self.c.channels * self.bytes

    def _plan_blocks(self) -> None:
        """The block of pixels and the rows of a tile."""
        plane, most = self.plane, max(1, self._most_pixels())
        lanes = target().lanes(8 * self.bytes)
        down, across = 1, plane.width
        if plane.width <= most and plane.is_flat:
            down = _even_share(plane.height, most // plane.width)
        else:
            across = _even_share(plane.width, most)
        while self.copies and self._patch(down, across) > PATCH and down * across > 1:
            down, across = (-(-down // 2), across) if down > 1 else (1, -(-across // 2))
        while self._units(down, across) < self._wanted(FEWEST_UNITS) and down * across >= 2 * SMALL_BLOCK:
            down, across = (-(-down // 2), across) if down > 1 else (1, -(-across // 2))
        pixels, vectors = down * across, self.vectors
        limit = min(MOST_ROWS, (target().registers - 1 - vectors) // vectors)

        def cost(rows: int) -> float:
            return -(-pixels // rows) * (max(rows * vectors, rows + vectors + 0.5, 9.5) + 0.8)

        rows = choose(range(limit, 0, -1), cost)
        if across < plane.width:
            across = -(-across // rows) * rows
        self.tile = TileShape(rows, vectors, lanes)
        self.block_y, self.block_x = down, across
        self.down, self.across = -(-plane.height // down), -(-plane.width // across)

    def _units(self, down: int, across: int) -> int:
        """Units of one panel and a block of some size."""
        panels = -(-self.c.outputs // (self.vectors * target().lanes(8 * self.bytes)))
        blocks = -(-self.plane.height // down) * -(-self.plane.width // across)
        return self.c.batch * self.c.groups * blocks * panels

    def _wanted(self, most: int) -> int:
        """Units that are worth the work, up to some number."""
        c = self.c
        points = c.batch * c.groups * c.outputs * math.prod(self.w.outputs)
        return max(1, min(most, int(points * self.run * self.taps / PRODUCTS)))

    @property
    def suits(self) -> bool:
        fits = not self.copies or self._patch(self.block_y, self.block_x) <= PATCH
        return fits and self._most_pixels() > 0

    def _plan_units(self) -> None:
        """The panels of a unit, and the parts of a panel."""
        c, tile = self.c, self.tile
        self.panels = -(-c.outputs // tile.columns)
        stacks = c.batch * c.groups * self.down * self.across
        wanted = self._wanted(MOST_UNITS)
        self.group = -(-self.panels // max(1, min(self.panels, -(-wanted // stacks))))
        self.groups = -(-self.panels // self.group)
        self.units = stacks * self.groups
        longest = min(LONGEST, PART // (tile.columns * self.bytes))
        self.chunk, self.several = self.run, max(1, _even_share(self.taps, max(1, longest // self.run)))
        if self.run > longest:
            self.chunk = -(-_even_share(self.run, longest) // 4) * 4

    # The kernel

    def write(self, lowering: Lowering) -> Call:
        kernel = self.kernel
        self._plan_units()
        self.weights = self.c.panels(lowering, self.tile)
        self._declare(lowering)
        with kernel.block("for u in range(start, stop)"):
            self._decode()
            if not self.even:
                if self.copies:
                    self.copy_image()
                self.list_windows()
            self.body.start_row({0: "n", 1: "first_y", 2: "first_x"})
            self._parts()
        return kernel.call(self.units, self._cost())

    def _declare(self, lowering: Lowering) -> None:
        kernel, c, w, plane = self.kernel, self.c, self.w, self.plane
        kernel.source("image", c.image)
        kernel.source("weights", self.weights)
        if not self.even and not self.copies:
            length = -(-c.channels // 256) * 256
            zeros = lowering.shared(
                ("zeros", c.dtype, length), lambda: lowering.add_constant(np.zeros(length, numpy_dtype(c.dtype)))
            )
            kernel.source("zeros", zeros)
            kernel.line("blank = address(zeros)")
        image = (*c.image.strides[:3], *plane.steps)
        values = dict(zip(("image_n", "image_g", "image_c", "image_y", "image_x"), image))
        values |= dict(zip(("weights_g", "weights_p"), self.weights.strides))
        values |= {"channels": c.channels, "outputs": c.outputs, "panels": self.panels, "group": self.group}
        values |= {"weights_all": math.prod(self.weights.shape)}
        values |= {"run": self.run, "taps": self.taps, "chunk": self.chunk, "several": self.several}
        for axis, letter in enumerate("yx"):
            values |= {f"taps_{letter}": w.taps[axis], f"stride_{letter}": w.strides[axis]}
            values |= {f"dilation_{letter}": w.dilations[axis], f"begin_{letter}": w.begin[axis]}
            values |= {f"input_{letter}": w.inputs[axis], f"output_{letter}": (plane.height, plane.width)[axis]}
        values |= {"block_y": self.block_y, "block_x": self.block_x}
        for name, value in values.items():
            kernel.parameter(name, value)
        kernel.line(f"block = stack_{BLOCK}()")
        if self.even:
            kernel.line("step = image_x")
            return
        kernel.line(f"places = stack_{self.places}()")
        kernel.line(f"step = taps * {self.tile.rows}")
        if self.copies:
            kernel.line(f"patch = stack_{PATCH}()")
            kernel.line("origin = address(patch)")
            kernel.top(f"zero = const_{self.suffix}(0.0)")
        else:
            kernel.line("origin = address(image)")

    def _decode(self) -> None:
        kernel = self.kernel
        sizes = {"n": self.c.batch, "g": self.c.groups, "p": self.groups, "by": self.down, "bx": self.across}
        names = [kernel.parameter(f"size_{name}", size) for name, size in sizes.items()]
        for axis, text in decode(kernel, "u", names).items():
            kernel.line(f"{list(sizes)[axis]} = {text}")
        for letter in "yx":
            kernel.line(f"first_{letter} = b{letter} * block_{letter}")
            kernel.line(f"last_{letter} = min(first_{letter} + block_{letter}, output_{letter})")
        kernel.line("plane = n * image_n + g * image_g")
        kernel.line("pixels = (last_y - first_y) * (last_x - first_x)")
        kernel.line(f"tiles = (pixels + {self.tile.rows - 1}) // {self.tile.rows}")

    def _parts(self) -> None:
        """Each panel, part by part, for all tiles."""
        kernel, tile = self.kernel, self.tile
        columns = tile.columns
        assert self.program is not None
        kernel.line("first_panel = p * group")
        kernel.line("last_panel = min(first_panel + group, panels)")
        with kernel.block("for q in range(first_panel, last_panel)"):
            kernel.line(f"column = g * outputs + q * {columns}")
            program = self.program.arguments(self.body, "column")
            kernel.line("panel = g * weights_g + q * weights_p")
            with kernel.block("for c in range(0, run, chunk)"):
                kernel.line("length = min(chunk, run - c)")
                with kernel.block("for tap in range(0, taps, several)"):
                    kernel.line("count = min(several, taps - tap)")
                    kernel.line(f"part = panel + (tap * run + c) * {columns}")
                    kernel.line("begins = c == 0 and tap == 0")
                    kernel.line("ends = c + length == run and tap + count == taps")
                    kernel.line(f"ahead = part + count * run * {columns}")
                    with kernel.block("if tap + count == taps and chunk < run"):
                        kernel.line(f"ahead = panel + (c + length) * {columns}")
                        with kernel.block("if ends"):
                            kernel.line("ahead = panel + weights_p")
                    # What is after the last panel may be no memory, which takes long to find out; the next unit may
                    # begin with the first panel.
                    with kernel.block("if ends and q + 1 == last_panel"):
                        kernel.line("ahead = g * weights_g + first_panel * weights_p")
                    kernel.line(f"ahead = min(ahead, weights_all - count * length * {columns})")
                    kinds = f"{SUFFIX[self.weights.dtype]}_{self.suffix}"
                    name = f"windows_{tile.rows}x{tile.vectors}x{tile.lanes}_{kinds}"
                    name += f"_{'even' if self.even else 'listed'}{self.unrolled}{self.program.name}"
                    first = "plane + first_x * image_x" if self.even else f"tap * {tile.rows}"
                    operands = ["block", "image" if self.even else "places", first, "step", "count", "c", "length"]
                    operands += ["weights", "part", "ahead", "tiles", "begins", "ends", "pixels"]
                    operands += [f"outputs - q * {columns}"]
                    kernel.line(f"{name}({', '.join([*operands, *program])})")

    def _cost(self) -> float:
        c, tile = self.c, self.tile
        tiles = c.batch * c.groups * self.down * self.across * -(-self.block_y * self.block_x // tile.rows)
        points = c.batch * c.groups * c.outputs * math.prod(self.w.outputs)
        panels = -(-c.outputs // tile.columns)
        return tiles * panels * tile.nanoseconds(self.run * self.taps) + points * self.body.cost_of_point()


def _even_share(count: int, most: int) -> int:
    """How many of some things each of the fewest parts has, which are as even as possible."""
    return -(-count // -(-count // max(1, min(count, most))))


def _flat(c: Convolution) -> Plane | None:
    """The pixels as one row, if their windows are runs of the image and nothing depends on where rows end."""
    w, (height, width) = c.window, c.window.outputs
    ends = [(n - 1) * s + t for n, s, t in zip(w.outputs, w.strides, w.taps)]
    inside = w.begin == (0, 0) and all(e <= n for e, n in zip(ends, w.inputs))
    down, along = (step * s for step, s in zip(c.image.strides[3:], w.strides))
    plane = Plane(height, width, (down, along), c.places.strides("nhwc"))
    run = w.taps[1] == 1 or (c.image.strides[4] == c.channels and w.dilations[1] == 1)
    if w.taps[0] > 1 or not run or not inside or not plane.is_flat:
        return None
    if height > 1 and down != along * width:
        return None
    return Plane(1, height * width, (0, along), [(v[0], 0, v[2], v[3]) for v in plane.views])
