"""Depthwise convolutions whose images and results lie with their channels last, in one micro-kernel."""

from __future__ import annotations

import math

from ..codegen.body import Body
from ..codegen.choices import choose
from ..codegen.finishing import Program, program_of
from ..codegen.kernel import Call, KernelBuilder
from ..codegen.lowering import Lowering
from ..codegen.terms import SUFFIX
from ..codegen.tiling import TileShape, lanes_of, register_type
from ..codegen.units import decode
from ..ir import Value
from ..kernels.target import target
from .conv import Convolution
from .conv_depthwise import channel_panels
from .geometry import declare_bias

MOST_TAPS = 7
"""Columns of a window whose weights are held in registers."""
BLOCK = 1 << 13
UNIT = 2_500.0
"""Nanoseconds of work in a unit: little, so that all threads get as much."""
MOST_UNITS = 64


def lanes_call(convolution: Convolution, lowering: Lowering) -> Call | None:
    """The kernel of a depthwise convolution, None if this way of computing does not suit it."""
    c, w = convolution, convolution.window
    if register_type(c.dtype) != c.dtype or not c.places.channels_last or (c.channels, c.outputs) != (1, 1):
        return None
    if w.dilations[1] != 1 or w.strides[1] > 2 or w.taps[1] > MOST_TAPS or c.image_of_groups.strides[1] != 1:
        return None
    writer = _Writer(c)
    return None if writer.program is None else writer.write(lowering)


class _Writer:
    """Writes the kernel; a unit is a block of rows."""

    def __init__(self, convolution: Convolution) -> None:
        self.c = c = convolution
        self.window = c.window
        self.tile = _tile(c)
        self.suffix = SUFFIX[c.dtype]
        epilogue = c.places.epilogue
        self.kernel = KernelBuilder("+".join([epilogue.root.op, *(n.op for n in epilogue.nodes)]))
        self.body, self.bias = self._declared()
        self.program: Program | None = program_of(self.kernel, self.body, epilogue.root.output, self.bias, c.dtype)

    def _declared(self) -> tuple[Body, Value | None]:
        bias, places = self.c.places.bias, self.c.places
        body = places.epilogue.declare_over(self.kernel, places.strides("nhwc"))
        if bias is None:
            return body, None
        return body, declare_bias(body, bias, (0, 0, 0, 0 if bias.shape[0] == 1 else bias.strides[0]))

    def write(self, lowering: Lowering) -> Call:
        kernel, tile, (height, _) = self.kernel, self.tile, self.window.outputs
        self.weights = channel_panels(self.c, lowering, tile)
        units = max(1, min(MOST_UNITS, int(self._cost() / UNIT)))
        block = max(1, -(-height * self.c.batch // units))
        down = -(-height // block)
        self._declare(block)
        with kernel.block("for u in range(start, stop)"):
            names = [kernel.parameter(name, size) for name, size in (("size_n", self.c.batch), ("size_b", down))]
            for axis, text in decode(kernel, "u", names).items():
                kernel.line(f"{'nb'[axis]} = {text}")
            with kernel.block("for y in range(b * block_y, min((b + 1) * block_y, output_y))"):
                kernel.line("top = y * stride_y - begin_y")
                kernel.line("low = max(0, (dilation_y - 1 - top) // dilation_y)")
                kernel.line("high = max(low, min(taps_y, (input_y - top + dilation_y - 1) // dilation_y))")
                kernel.line("row = n * image_n + (top + low * dilation_y) * image_y")
                with kernel.block(f"for next_x in range(0, output_x, {tile.rows})"):
                    kernel.line(f"x = max(0, min(next_x, output_x - {tile.rows}))")
                    kernel.line("left = x * stride_x - begin_x")
                    self.body.start_row({0: "n", 1: "y", 2: "x"})
                    self._call()
        return kernel.call(self.c.batch * down, self._cost())

    def _declare(self, block: int) -> None:
        kernel, c, w = self.kernel, self.c, self.window
        kernel.source("image", c.image)
        kernel.source("weights", self.weights)
        n, _, y, x = c.image_of_groups.strides
        values = {"image_n": n, "image_y": y, "image_x": x, "weights_p": self.weights.strides[0]}
        values |= {"weights_y": self.weights.strides[1], "channels": c.groups, "block_y": block}
        values |= {"panels": self.weights.shape[0]}
        for axis, letter in enumerate("yx"):
            values |= {f"taps_{letter}": w.taps[axis], f"stride_{letter}": w.strides[axis]}
            values |= {f"begin_{letter}": w.begin[axis], f"input_{letter}": w.inputs[axis]}
            values |= {f"output_{letter}": w.outputs[axis]}
        values |= {"dilation_y": w.dilations[0]}
        for name, value in values.items():
            kernel.parameter(name, value)
        kernel.line(f"block = stack_{BLOCK}()")

    def _call(self) -> None:
        kernel, tile, w = self.kernel, self.tile, self.window
        assert self.program is not None
        program = self.program.arguments(self.body, "0")
        size = f"{tile.rows}x{tile.vectors}x{tile.lanes}_{self.suffix}_{w.taps[1]}s{w.strides[1]}"
        operands = ["image", "row + left * image_x", "dilation_y * image_y", "image_x", "weights", "low * weights_y"]
        operands += ["weights_p", "high - low", "-left", "input_x - left", f"min({tile.rows}, output_x - x)"]
        operands += ["channels", "panels", "block", *program]
        kernel.line(f"channels_{size}{self.program.name}({', '.join(operands)})")

    def _cost(self) -> float:
        c, w = self.c, self.window
        points = c.batch * c.groups * math.prod(w.outputs)
        return points * (math.prod(w.taps) * 0.25 / self.tile.lanes + self.body.cost_of_point())


def _tile(c: Convolution) -> TileShape:
    """Pixels and vectors of channels of a block: sums and a row of weights fit in the registers."""
    lanes = lanes_of(c.dtype)
    vectors = 2 if target().registers >= 32 and -(-c.groups // lanes) % 2 == 0 else 1
    room = target().registers - 2 - vectors * c.window.taps[1]
    most = max(1, min(8, room // vectors))
    width = c.window.outputs[1]
    rows = choose(range(1, most + 1), lambda r: -(-width // r) * (max(r, most / 2) + 1.0))
    return TileShape(rows, vectors, lanes)
