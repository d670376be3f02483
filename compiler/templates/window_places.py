"""Where the windows of a block of pixels lie: listed for a micro-kernel, in the image or in a copy of what they see."""

from __future__ import annotations

from ..codegen.kernel import KernelBuilder
from ..codegen.tiling import TileShape
from .conv import Convolution

MOST_WOVEN = 4
"""Channels of an image that are copied into one row together, which LLVM does by shuffles."""


class WindowPlaces:
    """Writes the list of windows (see :mod:`basalt.compiler.kernels.window_tiles`) and the copy.

    The block is rows ``first_y`` to ``last_y`` and columns ``first_x`` to ``last_x`` of the results; ``plane`` is the
    index of the image's first element, ``origin`` the address of what is listed, ``blank`` that of a row of zeros, and
    ``step`` the list's entries for a tile.
    """

    c: Convolution
    kernel: KernelBuilder
    tile: TileShape
    suffix: str
    bytes: int
    copies: bool
    """Whether windows are listed in a copy."""
    merged: bool
    """Whether the taps of a row of the window are one run."""

    def list_windows(self) -> None:
        """Where the windows' taps begin: those of a tile's pixels lie side by side, tap by tap."""
        kernel, rows = self.kernel, self.tile.rows
        kernel.line("tile = 0")
        kernel.line("row = 0")
        with kernel.block("for y in range(first_y, last_y)"), kernel.block("for x in range(first_x, last_x)"):
            kernel.line("at = tile + row")
            if self.copies:
                self._list_in_patch()
            else:
                self._list_in_image()
            kernel.line("row += 1")
            with kernel.block(f"if row == {rows}"):
                kernel.line("row = 0")
                kernel.line("tile += step")
        # Pixels that do not exist are read where a tile's first one is.
        with kernel.block("if row > 0"), kernel.block(f"for at in range(tile, tile + step, {rows})"):
            kernel.line("place = loadrw_i64(places, at)")
            with kernel.block(f"for i in range(at + row, at + {rows})"):
                kernel.line("storerw_i64(places, i, place)")

    def _list_in_image(self) -> None:
        kernel, rows = self.kernel, self.tile.rows
        kernel.line("left = x * stride_x - begin_x")
        kernel.line("at_y = y * stride_y - begin_y")
        with kernel.block("for ky in range(taps_y)"):
            kernel.line("at_x = left")
            kernel.line(f"line = origin + (plane + at_y * image_y + left * image_x) * {self.bytes}")
            with kernel.block("for kx in range(taps_x)"):
                kernel.line("place = line")
                with kernel.block("if at_y < 0 or at_y >= input_y or at_x < 0 or at_x >= input_x"):
                    kernel.line("place = blank")
                kernel.line("storerw_i64(places, at, place)")
                kernel.line(f"at += {rows}")
                kernel.line("at_x += dilation_x")
                kernel.line(f"line += dilation_x * image_x * {self.bytes}")
            kernel.line("at_y += dilation_y")

    def _list_in_patch(self) -> None:
        kernel, rows = self.kernel, self.tile.rows
        kernel.line("corner = (y - first_y) * stride_y * patch_y + (x - first_x) * stride_x * channels")
        with kernel.block("for ky in range(taps_y)"):
            kernel.line("line = corner + ky * dilation_y * patch_y")
            if self.merged:
                kernel.line(f"storerw_i64(places, at, origin + line * {self.bytes})")
                kernel.line(f"at += {rows}")
                return
            with kernel.block("for kx in range(taps_x)"):
                kernel.line(f"place = origin + (line + kx * dilation_x * channels) * {self.bytes}")
                kernel.line("storerw_i64(places, at, place)")
                kernel.line(f"at += {rows}")

    def copy_image(self) -> None:
        """The part of the image that a block sees, with zeros around it, and its channels last."""
        kernel = self.kernel
        kernel.line("width = (last_x - first_x - 1) * stride_x + (taps_x - 1) * dilation_x + 1")
        kernel.line("height = (last_y - first_y - 1) * stride_y + (taps_y - 1) * dilation_y + 1")
        kernel.line("patch_y = width * channels")
        kernel.line("left = first_x * stride_x - begin_x")
        kernel.line("begin = max(0, min(-left, width))")
        kernel.line("end = max(begin, min(width, input_x - left))")
        with kernel.block("for line in range(height)"):
            kernel.line("at_y = first_y * stride_y - begin_y + line")
            kernel.line("first = begin")
            kernel.line("last = end")
            with kernel.block("if at_y < 0 or at_y >= input_y"):
                kernel.line("first = width")
                kernel.line("last = width")
            kernel.line("source = plane + at_y * image_y + left * image_x")
            kernel.line("base = line * patch_y")
            self._clear("0", "first * channels")
            self._clear("last * channels", "patch_y")
            if self.c.image.strides[2] == 1 and self.c.image.strides[4] == self.c.channels:
                with kernel.block("for i in range(first * channels, last * channels)"):
                    kernel.line(self._moved("source + i", "base + i"))
                return
            if self.c.channels <= MOST_WOVEN:
                number = self.c.channels
                with kernel.block("for i in range(first, last)"):
                    for j in range(number):
                        kernel.line(self._moved(f"source + {j} * image_c + i * image_x", f"base + i * {number} + {j}"))
                return
            with kernel.block("for j in range(channels)"), kernel.block("for i in range(first, last)"):
                kernel.line(self._moved("source + j * image_c + i * image_x", "base + i * channels + j"))

    def _moved(self, source: str, target_: str) -> str:
        return f"store_{self.suffix}(patch, {target_}, load_{self.suffix}(image, {source}))"

    def _clear(self, first: str, last: str) -> None:
        with self.kernel.block(f"for i in range({first}, {last})"):
            self.kernel.line(f"store_{self.suffix}(patch, base + i, zero)")
