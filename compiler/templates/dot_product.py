"""Products whose operands both lie along the depth: blocks of inner products for few rows."""

from __future__ import annotations

import math

from ..codegen.kernel import Call
from .product import CACHE, MOST_UNITS, UNIT, ProductWriter

SCRATCH = 1 << 14
"""Bytes of sums that are collected before the fused operators are applied."""


class DotProductWriter(ProductWriter):
    """Writes the kernel; a unit is a block of rows by a few panels of columns."""

    def _plan(self) -> None:
        """The block of sums that is collected at once (height x group), and the unit (block x chunk) made of such."""
        p, tile = self.product, self.product.tile
        self.panels = -(-p.columns // tile.columns)
        stays = p.depth * p.columns * p.right.view.itemsize <= CACHE
        # What does not stay in the cache is read once for each block of rows: the higher the better.
        wide = 256 if stays or p.rows <= tile.rows else tile.columns
        self.group = max(1, min(self.panels, wide // tile.columns))
        sums = SCRATCH // (8 if self.dtype == "float64" else 4)
        most = min(sums // (self.group * tile.columns), CACHE // (max(1, p.depth) * p.left.view.itemsize))
        bands = -(-p.rows // max(1, most // tile.rows * tile.rows))
        self.height = -(-p.rows // (bands * tile.rows)) * tile.rows
        work = math.prod(p.batches) * -(-p.rows // tile.rows) * self.panels * tile.nanoseconds(p.depth)
        wanted = max(1, min(MOST_UNITS, int(work / UNIT))) / math.prod(p.batches)
        self.block = self.height * max(1, int(bands / max(1.0, wanted)))
        self.blocks = -(-p.rows // self.block)
        self.chunk = self.group * max(1, -(-self.panels // self.group) * self.blocks // max(1, math.ceil(wanted)))
        self.chunks = -(-self.panels // self.chunk)
        self.units = math.prod(p.batches) * self.blocks * self.chunks

    def write(self) -> Call:
        kernel, p, tile = self.kernel, self.product, self.product.tile
        size = 8 if self.dtype == "float64" else 4
        kernel.line(f"tile = stack_{SCRATCH + (tile.rows + 1) * 256 * size}()")
        names = {"rows": p.rows, "columns": p.columns, "depth": p.depth, "panels": self.panels}
        names |= {"height": self.height, "group": self.group, "pitch": self.group * tile.columns}
        names |= {"block": self.block, "blocks": self.blocks, "chunk": self.chunk, "chunks": self.chunks}
        for name, value in names.items():
            kernel.parameter(name, value)
        self._declare_batches()
        kernel.parameter("left_r", p.left.stride)
        kernel.parameter("right_p", p.right.stride * tile.columns)
        kernel.parameter("right_n", p.right.stride)
        with kernel.block("for u in range(start, stop)"):
            indices = self._decode()
            kernel.line("end = min((b + 1) * block, rows)")
            kernel.line("end_panel = min((g + 1) * chunk, panels)")
            with kernel.block("for top in range(b * block, end, height)"):
                kernel.line("bottom = min(top + height, end)")
                with kernel.block("for first_panel in range(g * chunk, end_panel, group)"):
                    kernel.line("last_panel = min(first_panel + group, end_panel)")
                    kernel.line(f"first = first_panel * {tile.columns}")
                    kernel.line(f"last = min(last_panel * {tile.columns}, columns)")
                    self._sums()
                    self._finish(indices)
        return kernel.call(self.units, self._cost())

    def _sums(self) -> None:
        """The micro-kernel for each panel and tile of rows."""
        kernel, p, tile = self.kernel, self.product, self.product.tile
        name = tile.name("", p.left.view.dtype, p.right.view.dtype)
        place = f"(r - top) * pitch + (panel - first_panel) * {tile.columns}"
        panels = kernel.block("for panel in range(first_panel, last_panel)")
        with panels, kernel.block(f"for r in range(top, bottom, {tile.rows})"):
            kernel.line(f"count = min({tile.rows}, bottom - r)")
            kernel.line(
                f"{name}(tile, {place}, pitch, count, columns - panel * {tile.columns}, "
                "left, left_at + r * left_r, left_r, right, right_at + panel * right_p, right_n, depth)"
            )
