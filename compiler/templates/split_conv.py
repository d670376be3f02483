"""Convolutions of float32 by tiles of bfloat16 (see ``split_product``): windows are rows that lie a step apart.

The image is split and padded once, as ``[piece][n][32 channels][y][x]``. What a window's element adds to the outputs of
a row is then a product of pixels that lie side by side, and so are those of the next elements: nothing is gathered.
With strides of 1, all rows of an image are one long row, of which what falls between two rows is computed in vain.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..codegen.choices import agree, prefer
from ..codegen.kernel import Call, KernelBuilder
from ..codegen.lowering import Lowering
from ..codegen.units import even_shares
from ..kernels.split_layout import COLUMNS, PIECES, ROWS, STEP, split_columns, steps_of
from ..kernels.target import matrix_products
from ..views import View
from .conv import Convolution
from .geometry import with_bias
from .product import CACHE, MOST_UNITS
from .split_product import HEIGHT, LARGEST, MOST_PANELS, SPLIT_TIME, TILE_TIME, UNIT

FUSED_TIME = 1 / 75
"""Nanoseconds of a multiply-add of the other kernels."""
ADVANTAGE = 0.8
"""Part of the other kernels' time from which on this one is chosen."""


@dataclass(frozen=True)
class Lines:
    """Outputs in rows: ``count`` lines of ``length`` positions, whose windows are ``step`` pixels apart.

    ``whole`` lines are all rows of an image, padded ones.
    """

    count: int
    length: int
    step: int
    whole: bool

    @property
    def tiles(self) -> int:
        """Blocks of positions in a line."""
        return -(-self.length // HEIGHT)


@dataclass(frozen=True)
class Padded:
    """The sizes of a split image."""

    height: int
    width: int
    steps: int

    @staticmethod
    def of(c: Convolution) -> Padded:
        """The rows and columns that windows see."""
        w = c.window
        seen = [(n - 1) * s + (t - 1) * d + 1 for n, s, t, d in zip(w.outputs, w.strides, w.taps, w.dilations)]
        height, width = (max(s, b + i) for s, b, i in zip(seen, w.begin, w.inputs))
        return Padded(height, width, steps_of(c.channels))

    @property
    def plane(self) -> int:
        """Elements of 32 channels."""
        return self.height * self.width * STEP


def split_conv_call(c: Convolution, lowering: Lowering) -> Call | None:
    """The kernel of a convolution, None if others suit it better."""
    if not _possible(c):
        return None
    padded = Padded.of(c)
    lines = _lines(c, padded)
    if not agree(prefer(_gains(c, padded, lines), lines.count * lines.length)):
        return None
    weights = lowering.constant_array(c.filter)
    if weights is None or not (np.abs(weights) < LARGEST).all():
        return None
    image = c.image if c.image.strides[2] == 1 or c.channels == 1 else _channels_last(c.image, lowering)
    pieces, flags = lowering.shared(
        ("split image", image, padded, c.window.begin), lambda: _split(lowering, image, padded, c)
    )
    panels = lowering.packed(
        c.filter, ("split filter", c.layout, c.order), lambda a: _pack(c.weights_array(a)[0].astype(np.float32))
    )
    return _Writer(c, padded, lines, image, pieces, flags, panels).write()


def _possible(c: Convolution) -> bool:
    return (
        c.dtype == "float32"
        and c.groups == 1
        and c.filter.is_constant
        and c.places.channels_last
        and min(c.channels, c.outputs) >= STEP // 2
        and "bfloat16" in matrix_products()
    )


def _lines(c: Convolution, padded: Padded) -> Lines:
    (height, width), (down, across) = c.window.outputs, c.window.strides
    rows = Lines(c.batch * height, width, across, False)
    if (down, across) != (1, 1):
        return rows
    whole = Lines(c.batch, (height - 1) * padded.width + width, 1, True)
    return whole if whole.count * whole.tiles <= rows.count * rows.tiles else rows


def _products_time(c: Convolution, padded: Padded, lines: Lines) -> float:
    tiles = lines.count * lines.tiles * -(-c.outputs // COLUMNS)
    return 1.5 * tiles * math.prod(c.window.taps) * padded.steps * 24 * TILE_TIME


def _gains(c: Convolution, padded: Padded, lines: Lines) -> bool:
    terms = c.batch * math.prod(c.window.outputs) * c.outputs * math.prod(c.window.taps) * c.channels
    split = c.batch * padded.plane * padded.steps * SPLIT_TIME
    return _products_time(c, padded, lines) + split < ADVANTAGE * terms * FUSED_TIME


def _channels_last(image: View, lowering: Lowering) -> View:
    order, back = (0, 1, 3, 4, 2), (0, 1, 4, 2, 3)
    return lowering.contiguous(image.permuted(order)).permuted(back)


def _pack(weights: np.ndarray) -> np.ndarray:
    """[outputs, channels, height, width] as panels [panels, steps, height, width, 3, 16, 32, 2]."""
    outputs, channels, *taps = weights.shape
    steps = steps_of(channels)
    padded = np.zeros((outputs, steps * STEP, *taps), np.float32)
    padded[:, :channels] = weights
    rows = padded.reshape(outputs, steps, STEP, *taps).transpose(1, 3, 4, 2, 0)
    panels = split_columns(np.ascontiguousarray(rows).reshape(-1, outputs))
    return panels.reshape(panels.shape[0], steps, *taps, *panels.shape[2:])


def _split(lowering: Lowering, image: View, padded: Padded, c: Convolution) -> tuple[View, View]:
    """The split and padded image, and for each of its rows and 32 channels whether pieces stand for them."""
    rows = c.batch * padded.steps * padded.height
    piece = rows * padded.width * STEP
    # The last tile may look at pixels after the image.
    pieces = lowering.scratch("uint16", (PIECES * piece + 2 * HEIGHT * max(c.window.strides) * STEP,))
    flags = lowering.scratch("int64", (rows,))
    kernel = KernelBuilder("split image")
    kernel.source("image", image)
    kernel.target("pieces", pieces)
    kernel.target("flags", flags)
    names = {"steps": padded.steps, "height": padded.height, "width": padded.width, "piece": piece}
    names |= {"channels": c.channels, "top": c.window.begin[0], "left": c.window.begin[1]}
    names |= {"rows": c.window.inputs[0], "pixels": c.window.inputs[1]}
    names |= dict(zip(("image_n", "image_y", "image_x"), (image.strides[i] for i in (0, 3, 4))))
    for name, value in names.items():
        kernel.parameter(name, value)
    with kernel.block("for u in range(start, stop)"):
        kernel.line("q = u // height")
        kernel.line("y = u - q * height - top")
        kernel.line("n = q // steps")
        kernel.line(f"c = (q - n * steps) * {STEP}")
        kernel.line(f"to = u * width * {STEP}")
        kernel.line("inside = min(y + 1, rows - y, 1)")
        kernel.line("seen = min(pixels, width - left) * max(inside, 0)")
        kernel.line("before = left if inside > 0 else width")
        kernel.line("blank = split_pixels(pieces, to, piece, image, 0, 0, before, 0)")
        kernel.line("at = n * image_n + max(y, 0) * image_y + c")
        kernel.line(f"flag = split_pixels(pieces, to + left * {STEP}, piece, image, at, image_x, seen, channels - c)")
        kernel.line("after = (width - left - seen) * max(inside, 0)")
        kernel.line(f"blank = split_pixels(pieces, to + (left + seen) * {STEP}, piece, image, 0, 0, after, 0)")
        kernel.line("storerw_i64(flags, u, flag + blank)")
    lowering.add(kernel.call(rows, piece * SPLIT_TIME))
    return pieces, flags


class _Writer:
    def __init__(
        self, c: Convolution, padded: Padded, lines: Lines, image: View, pieces: View, flags: View, panels: View
    ) -> None:
        self.c, self.padded, self.lines = c, padded, lines
        epilogue = c.places.epilogue
        self.kernel = KernelBuilder("+".join([epilogue.root.op, *(n.op for n in epilogue.nodes)]))
        self.kernel.source("image", image)
        self.kernel.source("pieces", pieces)
        self.kernel.source("flags", flags)
        self.kernel.source("weights", panels)
        self.body, self.bias = c.places.declare(self.kernel, "nhwc")
        self.image = image
        self._plan()

    def _plan(self) -> None:
        """Units of some panels for some blocks of positions; groups of panels stay in the second-level cache."""
        c, lines = self.c, self.lines
        self.panels = -(-c.outputs // COLUMNS)
        self.tiles = lines.count * lines.tiles
        self.panel = math.prod(c.window.taps) * self.padded.steps * PIECES * STEP * COLUMNS
        wanted = max(1.0, min(MOST_UNITS, _products_time(c, self.padded, lines) / UNIT))
        fitting = max(1, CACHE // (2 * self.panel))
        # Few panels are read again for each block of positions; many are read once.
        cuts = wanted if self.panels <= fitting else max(1.0, wanted / self.panels)
        self.block, _ = even_shares(self.tiles, cuts, 1)
        self.blocks = -(-self.tiles // self.block)
        share, self.group = even_shares(self.panels, wanted / self.blocks, min(MOST_PANELS, fitting))
        self.chunk = share
        self.chunks = -(-self.panels // share)

    def write(self) -> Call:
        kernel = self.kernel
        kernel.line(f"tile = stack_{HEIGHT * MOST_PANELS * COLUMNS * 4}()")
        self._declare()
        kernel.line("bad = 0")
        with kernel.block("for f in range(flag_count)"):
            kernel.line("bad = bad + load_i64(flags, f)")
        kernel.line("amx_configure(16)")
        with kernel.block("for u in range(start, stop)"):
            kernel.line("b = u // chunks")
            kernel.line("end_panel = min((u - b * chunks + 1) * chunk, panels)")
            with kernel.block("for first_panel in range((u - b * chunks) * chunk, end_panel, group)"):
                kernel.line("last_panel = min(first_panel + group, end_panel)")
                kernel.line(f"first = first_panel * {COLUMNS}")
                kernel.line(f"last = min(last_panel * {COLUMNS}, outputs)")
                with kernel.block("for t in range(b * block, min((b + 1) * block, tiles))"):
                    self._block()
        kernel.line("amx_release()")
        return kernel.call(self.blocks * self.chunks, self._cost())

    def _declare(self) -> None:
        kernel, c, w, p = self.kernel, self.c, self.c.window, self.padded
        pixel = self.lines.step * STEP
        names = {"outputs": c.outputs, "panels": self.panels, "group": self.group, "pitch": self.group * COLUMNS}
        names |= {"block": self.block, "chunk": self.chunk, "chunks": self.chunks, "tiles": self.tiles}
        names |= {"across": self.lines.tiles, "length": self.lines.length, "pixel": pixel}
        names |= {"flag_count": c.batch * p.steps * p.height, "piece": c.batch * p.steps * p.plane}
        names |= {"plane": p.plane, "row": p.width * STEP, "steps": p.steps, "width": p.width}
        names |= {"panel_size": self.panel, "output_y": w.outputs[0], "output_x": w.outputs[1]}
        for axis, letter in enumerate("yx"):
            names |= {f"taps_{letter}": w.taps[axis], f"dilation_{letter}": w.dilations[axis]}
            names |= {f"stride_{letter}": w.strides[axis], f"begin_{letter}": w.begin[axis]}
            names |= {f"input_{letter}": w.inputs[axis]}
        names |= {"channels": c.channels}
        names |= dict(zip(("image_n", "image_y", "image_x"), (self.image.strides[i] for i in (0, 3, 4))))
        for name, value in names.items():
            kernel.parameter(name, value)

    def _block(self) -> None:
        """The sums of a block of positions, and what becomes of them."""
        kernel = self.kernel
        kernel.line("line = t // across")
        kernel.line(f"low = (t - line * across) * {HEIGHT}")
        kernel.line(f"high = min(low + {HEIGHT}, length)")
        if self.lines.whole:
            kernel.line("at = line * steps * plane + low * pixel")
        else:
            kernel.line("n = line // output_y")
            kernel.line("y = line - n * output_y")
            kernel.line("at = n * steps * plane + y * stride_y * row + low * pixel")
        with kernel.block("for panel in range(first_panel, last_panel)"):
            kernel.line(f"to = (panel - first_panel) * {COLUMNS}")
            with kernel.block("if bad == 0"):
                loops = "steps, plane, taps_y, dilation_y * row, taps_x, dilation_x * " + str(STEP)
                right = "weights, panel * panel_size"
                kernel.line(
                    f"amx_window_32(tile, to, pitch, pieces, at, {ROWS} * pixel, pixel, piece, {right}, {loops})"
                )
            with kernel.block("else"):
                self._unsplit_sums()
        with kernel.block("for i in range(low, high)"):
            self._position("i")
            if self.lines.whole:
                with kernel.block("if x < output_x"):
                    self._finish()
            else:
                self._finish()

    def _position(self, index: str) -> None:
        kernel = self.kernel
        if self.lines.whole:
            kernel.line("n = line")
            kernel.line(f"y = {index} // width")
            kernel.line(f"x = {index} - y * width")
        else:
            kernel.line(f"x = {index}")

    def _finish(self) -> None:
        kernel, epilogue = self.kernel, self.c.places.epilogue
        self.body.start_row({0: "n", 1: "y", 2: "x"})
        known = self.body.hoist(3)
        kernel.line("base = (i - low) * pitch - first")
        with kernel.block("for j in range(first, last)"):
            kernel.line("sum = load_f32(tile, base + j)")
            names = dict(known)
            value = with_bias(kernel, self.body, self.bias, "sum", names, "j")
            epilogue.finish(self.body, value, 3, "j", names)

    def _unsplit_sums(self) -> None:
        """Numbers that pieces cannot stand for, one position and element of the window after the other."""
        kernel = self.kernel
        with kernel.block("for k in range(low, high)"):
            self._position("k")
            kernel.line("place = to + (k - low) * pitch")
            with kernel.block(f"for j in range({COLUMNS})"):
                kernel.line("storerw_f32(tile, place + j, const_f32(0.0))")
            with kernel.block("for s in range(steps * taps_y * taps_x)"):
                kernel.line("q = s // taps_x")
                kernel.line("c = q // taps_y")
                kernel.line("iy = y * stride_y + (q - c * taps_y) * dilation_y - begin_y")
                kernel.line("ix = x * stride_x + (s - q * taps_x) * dilation_x - begin_x")
                kernel.line("inside = min(iy + 1, input_y - iy, ix + 1, input_x - ix, 1)")
                with kernel.block("if inside > 0"):
                    left = f"image, n * image_n + iy * image_y + ix * image_x + c * {STEP}, 0, 1"
                    right = f"weights, panel * panel_size + s * {PIECES * STEP * COLUMNS}"
                    kernel.line(
                        f"split_sums(tile, place, pitch, {left}, {right}, min(channels - c * {STEP}, {STEP}), 0)"
                    )

    def _cost(self) -> float:
        points = self.c.batch * math.prod(self.c.window.outputs) * self.c.outputs
        return _products_time(self.c, self.padded, self.lines) + points * (0.05 + self.body.cost_of_point())
