"""Transposed convolutions, gathered: output pixels that lie a stride apart see the same part of the window.

Pixel ``o`` of a row meets tap ``k`` if ``o + begin - k * dilation`` is a multiple of the stride; the quotient is the
input pixel. So the pixels ``r, r + stride, r + 2 * stride, ...`` of a row are a convolution with a stride of 1 over
some of the taps.
"""

from __future__ import annotations

from ..codegen.kernel import Call
from ..codegen.lowering import Lowering
from .conv import Convolution
from .conv_channels import ChannelsWriter


def transposed_call(convolution: Convolution, lowering: Lowering) -> Call:
    """The kernel of a transposed convolution over output channels."""
    return _Writer(convolution, lowering).write()


class _Writer(ChannelsWriter):
    """A unit is one row of the output for a group of panels; its pixels are taken a stride apart, block by block."""

    def row_length(self) -> int:
        return -(-self.window.outputs[1] // self.window.strides[1])

    def _plan(self) -> None:
        tile, c, (height, _) = self.tile, self.c, self.window.outputs
        self.panels = -(-c.outputs // tile.columns)
        self.group = min(self.panels, max(1, 128 // tile.columns))
        self.groups_of_panels = -(-self.panels // self.group)
        self.block_width = self.capacity // (self.group * tile.columns) // tile.rows * tile.rows
        self.block_height, self.down, self.across = 1, height, 1
        self.units = c.batch * c.groups * self.groups_of_panels * height

    def write(self) -> Call:
        kernel, bytes_ = self.kernel, self.bytes
        kernel.line(f"tile = stack_{self.capacity * bytes_ + self.tile.columns * bytes_}()")
        self._declare()
        with kernel.block("for u in range(start, stop)"):
            self._decode()
            kernel.line("first_panel = p * group")
            kernel.line("last_panel = min(first_panel + group, panels)")
            kernel.line("y = by")
            with kernel.block("for phase in range(min(stride_x, output_x))"):
                kernel.line("length = (output_x - phase + stride_x - 1) // stride_x")
                with kernel.block("for x_begin in range(0, length, block_x)"):
                    kernel.line("x_end = min(x_begin + block_x, length)")
                    self._clear("(x_end - x_begin) * pitch")
                    self._sums()
                    self._finish()
        return kernel.call(self.units, self._cost())

    def _sums(self) -> None:
        kernel, tile = self.kernel, self.tile
        call = self._products(
            place="place",
            rows=f"min({tile.rows}, end - x)",
            left=("image", "row + (x + left) * image_x", "image_x"),
            right=("weights", "part"),
            loops=[("channels", "image_c", "weights_c")],
        )
        with kernel.block("for ky in range(taps_y)"):
            kernel.line("line = y + begin_y - ky * dilation_y")
            with kernel.block("if line >= 0 and line % stride_y == 0 and line // stride_y < input_y"):
                kernel.line("row = n * image_n + g * image_g + line // stride_y * image_y")
                with kernel.block("for kx in range(taps_x)"):
                    kernel.line("column = phase + begin_x - kx * dilation_x")
                    with kernel.block("if column % stride_x == 0"):
                        kernel.line("left = column // stride_x")
                        kernel.line("begin = max(x_begin, -left)")
                        kernel.line("end = min(x_end, input_x - left)")
                        with kernel.block("for q in range(first_panel, last_panel)"):
                            kernel.line("part = g * weights_g + q * weights_p + ky * weights_y + kx * weights_x")
                            with kernel.block(f"for x in range(begin, end, {tile.rows})"):
                                kernel.line(f"place = (x - x_begin) * pitch + (q - first_panel) * {tile.columns}")
                                kernel.line(call)

    def _finish(self) -> None:
        kernel, tile = self.kernel, self.tile
        kernel.line(f"c_begin = g * outputs + first_panel * {tile.columns}")
        kernel.line(f"c_end = g * outputs + min(last_panel * {tile.columns}, outputs)")
        place = "(i - x_begin) * pitch + c - c_begin"
        if self.order == "nyxc":
            with kernel.block("for i in range(x_begin, x_end)"):
                kernel.line("x = phase + i * stride_x")
                self.body.start_row({0: "n", 1: "y", 2: "x"})
                known = self.body.hoist(3)
                with kernel.block("for c in range(c_begin, c_end)"):
                    self._point(place, "c", known)
            return
        with kernel.block("for c in range(c_begin, c_end)"):
            self.body.start_row({0: "n", 1: "c", 2: "y"})
            known = self.body.hoist(3)
            with kernel.block("for i in range(x_begin, x_end)"):
                kernel.line("x = phase + i * stride_x")
                self._point(place, "x", known)

    def _cost(self) -> float:
        c, (height, width) = self.c, self.window.inputs
        taps = self.window.taps[0] * self.window.taps[1]
        tiles = c.batch * c.groups * height * -(-width // self.tile.rows) * self.panels * taps
        points = c.batch * c.groups * c.outputs * self.window.outputs[0] * self.window.outputs[1]
        return tiles * self.tile.nanoseconds(c.channels) + points * (0.2 + self.body.cost_of_point())
