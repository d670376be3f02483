"""Windows that slide over the channels of images one by one: depthwise convolutions and pooling.

Vectors run over channels where those are neighbours in memory, else over columns; rows of a tile are pixels of a row,
or rows of the output. Where the window hangs over the input's edge, its taps are added line by line, for the rows of
the tile that they meet; columns beyond the edge are masked.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from basalt.ops import numpy_dtype

from ..codegen.body import Body
from ..codegen.kernel import Call, KernelBuilder
from ..codegen.terms import SUFFIX
from ..codegen.tiling import TileShape, register_type, strip_shape
from ..ir import Value
from ..views import View
from .elementwise import decode
from .geometry import Places, Window
from .product import rounded

UNIT = 10_000.0
"""Nanoseconds of work that are worth a unit of their own."""
LONGEST_STRIDE = 64
"""A tile visits all taps that any of its rows meets: of windows that lie far apart, these are too many."""
LANES_OF_ROW = 256
"""Channels that are finished together, at least."""

Loop = tuple[str, str, str]
"""A loop's count, and the steps of the image and the weights."""


@dataclass(frozen=True)
class Slide:
    """A window over images [n, channels, height, width]; each channel gives ``outputs`` results."""

    image: View
    window: Window
    places: Places
    operation: Operation
    outputs: int = 1

    @property
    def batch(self) -> int:
        return self.image.shape[0]

    @property
    def channels(self) -> int:
        return self.image.shape[1]


@dataclass(frozen=True)
class Step:
    """One call of a micro-kernel, as source."""

    sums: tuple[str, str, str]
    """The index of the first sum, the distance of rows, and the index of the row to waste."""
    rows: str
    image: tuple[str, str]
    """The index of the first element, and the stride of rows."""
    weights: str
    """The index of the first weight."""
    loops: Sequence[Loop]
    """Innermost first."""
    fresh: str
    """Whether sums are overwritten."""
    mask: tuple[str, str, str]
    """The columns that may be read: low, high, shift."""


class Operation(ABC):
    """What happens to the elements in a window."""

    identity: float | int = 0
    """What sums start from."""
    weights: View | None = None

    @abstractmethod
    def source(self, tile: TileShape, form: str, step: Step) -> str:
        """The source of a micro-kernel's call; the form is ``v`` (neighbouring elements) or ``e`` (every second)."""

    def declare(self, kernel: KernelBuilder, body: Body, order: str) -> None:  # noqa: B027
        """Declare further operands over loops in some order of the letters n, c, y, x."""

    def finish(self, kernel: KernelBuilder, body: Body, total: str, known: dict[Value, str], at: str) -> str:
        """Write the root's value from a sum, at the innermost loop's variable; returns its name."""
        return total


def slides(image: View, window: Window, places: Places) -> bool:
    """Whether :func:`sliding_call` computes windows over images [n, channels, height, width]."""
    if max(window.strides) > LONGEST_STRIDE:
        return False
    if places.channels_last:
        return image.strides[1] == 1
    return image.strides[3] == 1 and window.strides[1] in (1, 2)


def sliding_call(slide: Slide, taps_cost: float) -> Call:
    """The kernel of a sliding window.

    Args:
        slide: the window and what it slides over; :func:`slides` holds.
        taps_cost: nanoseconds that a vector takes for each tap.
    """
    kind = _Channels if slide.places.channels_last else _Columns
    return kind(slide, taps_cost).write()


class _Writer:
    order = ""
    rows = columns = 0

    def __init__(self, slide: Slide, taps_cost: float) -> None:
        self.slide, self.window, self.operation = slide, slide.window, slide.operation
        self.form = "v"
        self.accumulator = register_type(slide.image.dtype)
        self.tile = strip_shape(slide.image.dtype, *self.tile_size())
        epilogue = slide.places.epilogue
        self.kernel = KernelBuilder("+".join([epilogue.root.op, *(n.op for n in epilogue.nodes)]))
        self.kernel.source("image", slide.image)
        if self.operation.weights is not None:
            self.kernel.source("weights", self.operation.weights)
        self.body, _ = slide.places.declare(self.kernel, self.order.replace("y", "h").replace("x", "w"))
        self.operation.declare(self.kernel, self.body, self.order)
        taps = slide.window.taps[0] * slide.window.taps[1]
        points = slide.batch * slide.channels * slide.outputs * slide.window.outputs[0] * slide.window.outputs[1]
        self.cost = points * ((taps * taps_cost + 0.5) / self.tile.lanes + 0.05 + self.body.cost_of_point())

    def tile_size(self) -> tuple[int, int]:
        """Rows and columns that tiles cover."""
        raise NotImplementedError

    def declare(self, values: Mapping[str, int]) -> None:
        """Declare the sizes and strides; a tile's scratch memory."""
        w = self.window
        found = dict(values) | dict(zip(("image_n", "image_c", "image_y", "image_x"), self.slide.image.strides))
        for axis, letter in enumerate("yx"):
            found |= {f"taps_{letter}": w.taps[axis], f"stride_{letter}": w.strides[axis]}
            found |= {f"dilation_{letter}": w.dilations[axis], f"begin_{letter}": w.begin[axis]}
            found |= {f"input_{letter}": w.inputs[axis], f"output_{letter}": w.outputs[axis]}
        for name, value in found.items():
            self.kernel.parameter(name, value)
        self.identity = self.body.terms.constant(self.operation.identity, self.accumulator)
        self.spare = self.tile.rows * self.pitch
        size = (self.spare + self.pitch) * numpy_dtype(self.accumulator).itemsize
        self.kernel.line(f"tile = stack_{size}()")

    @property
    def pitch(self) -> int:
        """The distance of a tile's rows of sums."""
        raise NotImplementedError

    def decode(self, sizes: Mapping[str, int]) -> None:
        kernel = self.kernel
        names = [kernel.parameter(f"size_{name}", size) for name, size in sizes.items()]
        for axis, text in decode(kernel, "u", names).items():
            kernel.line(f"{list(sizes)[axis]} = {text}")

    mask = ("0", "0", "0")

    def step(
        self, place: str, rows: str, image: tuple[str, str], weights: str, loops: Sequence[Loop], fresh: str
    ) -> None:
        """Write a micro-kernel's call."""
        sums = (place, str(self.pitch), str(self.spare))
        step = Step(sums, rows, image, weights, loops, fresh, self.mask)
        self.kernel.line(self.operation.source(self.tile, self.form, step))

    def clear(self, count: str) -> None:
        with self.kernel.block(f"for i in range({count})"):
            self.kernel.line(f"storerw_{SUFFIX[self.accumulator]}(tile, i, {self.identity})")

    def finish_row(self, indices: Mapping[int, str], inner: str, bounds: str, base: str) -> None:
        """Make a row of sums the root's values, apply the fused operators, and store it."""
        kernel, epilogue = self.kernel, self.slide.places.epilogue
        self.body.start_row(indices)
        known = self.body.hoist(3)
        kernel.line(f"base = {base}")
        with kernel.block(f"for {inner} in range({bounds})"):
            kernel.line(f"total = load_{SUFFIX[self.accumulator]}(tile, base + {inner})")
            names = dict(known)
            value = self.operation.finish(kernel, self.body, "total", names, inner)
            value = rounded(kernel, value, epilogue.root.output.dtype)
            epilogue.finish(self.body, value, 3, inner, names)


class _Channels(_Writer):
    """Rows of pixels by vectors of channels; a unit is a block of rows for a group of channels."""

    order = "nyxc"

    def tile_size(self) -> tuple[int, int]:
        return self.window.outputs[1], self.slide.channels

    @property
    def pitch(self) -> int:
        return max(LANES_OF_ROW, self.tile.columns)

    def write(self) -> Call:
        kernel, slide, tile = self.kernel, self.slide, self.tile
        panels = -(-slide.channels // tile.columns)
        group = min(panels, max(1, LANES_OF_ROW // tile.columns))
        chunks, height = -(-panels // group), self.window.outputs[0]
        block = max(1, min(height, int(UNIT * slide.batch * chunks * height / self.cost)))
        down = -(-height // block)
        self.mask = ("0", f"channels - q * {tile.columns}", "0")
        weights = self.operation.weights
        values = dict(zip(("weights_p", "weights_y", "weights_x"), (0, 0, 0) if weights is None else weights.strides))
        self.declare(values | {"channels": slide.channels, "panels": panels, "group": group, "block": block})
        with kernel.block("for u in range(start, stop)"):
            self.decode({"n": slide.batch, "p": chunks, "b": down})
            kernel.line("first_panel = p * group")
            kernel.line("last_panel = min(first_panel + group, panels)")
            kernel.line(f"first = first_panel * {tile.columns}")
            kernel.line(f"last = min(last_panel * {tile.columns}, channels)")
            with kernel.block("for y in range(b * block, min((b + 1) * block, output_y))"):
                kernel.line("top = y * stride_y - begin_y")
                kernel.line("low = max(0, (dilation_y - 1 - top) // dilation_y)")
                kernel.line("high = min(taps_y, (input_y - top + dilation_y - 1) // dilation_y)")
                kernel.line("row = n * image_n + (top + low * dilation_y) * image_y")
                with kernel.block(f"for x in range(0, output_x, {tile.rows})"):
                    kernel.line(f"count = min({tile.rows}, output_x - x)")
                    self._sums()
                    with kernel.block("for i in range(count)"):
                        kernel.line("column = x + i")
                        self.finish_row({0: "n", 1: "y", 2: "column"}, "c", "first, last", f"i * {self.pitch} - first")
        return kernel.call(slide.batch * chunks * down, self.cost)

    def _sums(self) -> None:
        kernel, width = self.kernel, self.tile.columns
        place, weights = f"(q - first_panel) * {width}", "q * weights_p + low * weights_y"
        height = ("high - low", "dilation_y * image_y", "weights_y")
        panels = "for q in range(first_panel, last_panel)"
        kernel.line("left = x * stride_x - begin_x")
        last = "left + (count - 1) * stride_x + (taps_x - 1) * dilation_x"
        with kernel.block(f"if low < high and left >= 0 and {last} < input_x"), kernel.block(panels):
            image = (f"row + left * image_x + q * {width}", "stride_x * image_x")
            self.step(
                place, "count", image, weights, [("taps_x", "dilation_x * image_x", "weights_x"), height], fresh="1"
            )
        with kernel.block("else"):
            self.clear(f"count * {self.pitch}")
            kernel.line("first_tap = max(0, (dilation_x - 1 - left - (count - 1) * stride_x) // dilation_x)")
            kernel.line("last_tap = min(taps_x, (input_x - left + dilation_x - 1) // dilation_x)")
            with kernel.block("for kx in range(first_tap, last_tap)"):
                kernel.line("column = left + kx * dilation_x")
                kernel.line("begin = max(0, (stride_x - 1 - column) // stride_x)")
                kernel.line("end = min(count, (input_x - column + stride_x - 1) // stride_x)")
                kernel.line("at = row + (column + begin * stride_x) * image_x")
                with kernel.block("if begin < end"), kernel.block(panels):
                    image = (f"at + q * {width}", "stride_x * image_x")
                    self.step(
                        f"{place} + begin * {self.pitch}",
                        "end - begin",
                        image,
                        f"{weights} + kx * weights_x",
                        [height],
                        fresh="0",
                    )


class _Columns(_Writer):
    """Rows of output rows by vectors of columns; a unit is a block of rows of one channel's image."""

    order = "ncyx"

    def __init__(self, slide: Slide, taps_cost: float) -> None:
        super().__init__(slide, taps_cost)
        self.form = "e" if self.window.strides[1] == 2 else "v"

    def tile_size(self) -> tuple[int, int]:
        return self.window.outputs

    @property
    def pitch(self) -> int:
        return self.tile.columns

    def write(self) -> Call:
        kernel, slide, tile = self.kernel, self.slide, self.tile
        images = slide.batch * slide.channels * slide.outputs
        strips = -(-self.window.outputs[0] // tile.rows)
        block = tile.rows * max(1, min(strips, int(UNIT * images * strips / self.cost)))
        down = -(-self.window.outputs[0] // block)
        self.mask = ("-left", "input_x - left", "dilation_x")
        names = ("weights_g", "weights_o", "weights_c", "weights_y", "weights_x")
        weights = self.operation.weights
        strides = (0,) * 5 if weights is None else weights.strides
        self.declare(dict(zip(names, strides)) | {"outputs": slide.outputs, "block": block})
        with kernel.block("for u in range(start, stop)"):
            self.decode({"n": slide.batch, "g": slide.channels, "o": slide.outputs, "b": down})
            kernel.line("channel = g * outputs + o")
            kernel.line("part = g * weights_g + o * weights_o")
            kernel.line("plane = n * image_n + g * image_c")
            kernel.line("bottom = min((b + 1) * block, output_y)")
            with kernel.block(f"for y in range(b * block, bottom, {tile.rows})"):
                kernel.line(f"count = min({tile.rows}, bottom - y)")
                kernel.line("top = y * stride_y - begin_y")
                with kernel.block(f"for x in range(0, output_x, {tile.columns})"):
                    kernel.line(f"last = min(x + {tile.columns}, output_x)")
                    self._sums()
                    with kernel.block("for i in range(count)"):
                        kernel.line("line = y + i")
                        self.finish_row({0: "n", 1: "channel", 2: "line"}, "j", "x, last", f"i * {tile.columns} - x")
        return kernel.call(images * down, self.cost)

    def _sums(self) -> None:
        kernel = self.kernel
        kernel.line("left = x * stride_x - begin_x")
        kernel.line(f"reach = left + ({self.tile.columns} - 1) * stride_x")
        kernel.line("first_tap = max(0, (dilation_x - 1 - reach) // dilation_x)")
        kernel.line("last_tap = min(taps_x, (input_x - left + dilation_x - 1) // dilation_x)")
        kernel.line("column = left + first_tap * dilation_x")
        width = ("last_tap - first_tap", "dilation_x", "weights_x")
        self.mask = ("-column", "input_x - column", "dilation_x")
        with kernel.block("if top >= 0 and top + (count - 1) * stride_y + (taps_y - 1) * dilation_y < input_y"):
            self.step(
                "0",
                "count",
                ("plane + top * image_y + column", "stride_y * image_y"),
                "part + first_tap * weights_x",
                [("taps_y", "dilation_y * image_y", "weights_y"), width],
                fresh="1",
            )
        with kernel.block("else"):
            self.clear(f"count * {self.pitch}")
            kernel.line("low = max(0, (dilation_y - 1 - top - (count - 1) * stride_y) // dilation_y)")
            kernel.line("high = min(taps_y, (input_y - top + dilation_y - 1) // dilation_y)")
            with kernel.block("for ky in range(low, high)"):
                kernel.line("line = top + ky * dilation_y")
                kernel.line("begin = max(0, (stride_y - 1 - line) // stride_y)")
                kernel.line("end = min(count, (input_y - line + stride_y - 1) // stride_y)")
                with kernel.block("if begin < end"):
                    self.step(
                        f"begin * {self.pitch}",
                        "end - begin",
                        ("plane + (line + begin * stride_y) * image_y + column", "stride_y * image_y"),
                        "part + ky * weights_y + first_tap * weights_x",
                        [("1", "0", "0"), width],
                        fresh="0",
                    )
