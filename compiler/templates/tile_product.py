"""Products whose micro-kernel keeps sums in registers, finishes them there and stores the results.

A unit is a block of tiles of rows by a chunk of panels. It walks bands of tiles that the second-level cache holds a
part of the depth of; each panel's part of that depth passes through the first-level cache once for a band. What cannot
be finished in registers (results of other types, or whose columns are not neighbours) is collected in a small block and
finished by a loop.
"""

from __future__ import annotations

import math

from ..codegen.epilogue import Epilogue
from ..codegen.finishing import Program, program_of
from ..codegen.kernel import Call
from ..codegen.terms import SUFFIX
from ..codegen.units import even_shares
from ..ir import Value
from ..kernels.sizes import STACK_LIMIT
from ..kernels.target import target
from .product import DEPTH_BLOCK, MOST_UNITS, UNIT, Product, ProductWriter, Root

UNROLLED = 4
"""Steps that a micro-kernel takes at a time."""
COLLECTED = 1 << 14
"""Bytes of sums that a loop finishes at once."""
ENOUGH = 8
"""Tiles of a band that are worth reading a panel from beyond the second-level cache."""
FEW = 4
"""Panels that are worth reading a band from there."""


class TileProductWriter(ProductWriter):
    """Writes the kernel of a product of tiles."""

    def __init__(self, product: Product, epilogue: Epilogue, root: Root | None) -> None:
        super().__init__(product, epilogue, root)
        self.program = self._program()

    def _program(self) -> Program | None:
        if self.epilogue.root.output.dtype != self.dtype:
            return None

        def formula(total: str, known: dict[Value, str]) -> str:
            return self.root(total, known, "") if self.root else total

        return program_of(self.kernel, self.body, self.epilogue.root.output, None, self.dtype, formula)

    def _plan(self) -> None:
        self.size = 8 if self.dtype == "float64" else 4
        p, tile = self.product, self.product.tile
        self.panels = max(1, -(-p.columns // tile.columns))
        self.tiles = max(1, -(-p.rows // tile.rows))
        missing = self.tiles * tile.rows - p.rows
        self.full = self.tiles - missing if missing <= self.tiles else self.tiles - 1
        self.length = self._length()

    def _length(self) -> int:
        """The depth of a part: all parts are nearly alike."""
        p = self.product
        # Few rows read an operand that is not packed once: best in the order of its own rows.
        once = not p.right.panels and p.rows <= 2 * p.tile.rows
        most = DEPTH_BLOCK // 4 if once else DEPTH_BLOCK
        parts = max(1, -(-p.depth // most))
        return max(UNROLLED, -(-p.depth // (parts * UNROLLED)) * UNROLLED)

    def _divide(self) -> None:
        """Bands of tiles, groups of panels whose sums wait for the rest of the depth, and units of both."""
        p, tile = self.product, self.product.tile
        batches = math.prod(p.batches)
        work = batches * self.tiles * self.panels * tile.nanoseconds(p.depth)
        wanted = max(1.0, min(MOST_UNITS, work / UNIT) / max(1, batches))
        most, group, least = self._fitting()
        bands = max(-(-self.tiles // most), min(self.tiles, math.ceil(wanted / self.panels)))
        self.height = -(-self.tiles // bands)
        bands = -(-self.tiles // self.height)
        self.block = self.height * max(1, int(bands / wanted))
        self.blocks = -(-self.tiles // self.block)
        shares = min(wanted / self.blocks, max(1, self.panels // least))
        self.chunk, self.group = even_shares(self.panels, shares, max(1, group))
        self.chunks = -(-self.panels // self.chunk)
        self.units = batches * self.blocks * self.chunks if p.rows * p.columns else 0

    def _fitting(self) -> tuple[int, int, int]:
        """The most tiles of a band, the most panels of a group, and the least panels of a unit."""
        p, tile, caches = self.product, self.product.tile, target().caches
        depth = max(1, p.depth)
        part = min(self.length, depth)
        line = tile.rows * p.left.view.itemsize
        area = tile.rows * tile.columns * self.size
        room = STACK_LIMIT if self.program else COLLECTED
        waits = p.depth > self.length
        if self.panels * depth * tile.columns * p.right.view.itemsize <= caches.first // 2:
            # All columns stay in the first-level cache while rows pass.
            return 1, max(1, room // area), 1
        most = caches.second // 2 // (line * depth)
        if most >= min(self.tiles, ENOUGH):
            # The rows stay in the second-level cache while all columns pass.
            most = max(1, min(most, room // area))
            if waits:
                return most, 1, 1
            return most, self.panels if self.program else max(1, room // (area * most)), 1
        most = max(1, min(caches.second // 3 // (line * part), 2 * ENOUGH, room // (FEW * area)))
        group = max(1, room // (area * min(self.tiles, most)))
        return most, group, min(FEW, group)

    def write(self) -> Call:
        self._divide()
        kernel, p, tile = self.kernel, self.product, self.product.tile
        area = tile.rows * tile.columns * self.size
        kernel.line(f"sums = stack_{STACK_LIMIT if self.program else COLLECTED}()")
        if self.program is None:
            kernel.line(f"tile = stack_{COLLECTED}()")
        names = {"rows": p.rows, "columns": p.columns, "depth": p.depth, "panels": self.panels, "tiles": self.tiles}
        names |= {"full": self.full, "height": self.height, "group": self.group, "length": self.length}
        names |= {"block": self.block, "blocks": self.blocks, "chunk": self.chunk, "chunks": self.chunks}
        for name, value in names.items():
            kernel.parameter(name, value)
        # The sums of a tile are kept from part to part if there are several.
        kernel.parameter("keep_r", area * self.group if p.depth > self.length else 0)
        kernel.parameter("keep_p", area if p.depth > self.length else 0)
        if self.program is None:
            kernel.parameter("pitch", self.group * tile.columns)
        self._declare_strides()
        with kernel.block("for u in range(start, stop)"):
            indices = self._decode()
            kernel.line("end_tile = min((b + 1) * block, tiles)")
            kernel.line("end_panel = min((g + 1) * chunk, panels)")
            with kernel.block("for first_tile in range(b * block, end_tile, height)"):
                kernel.line("last_tile = min(first_tile + height, end_tile)")
                kernel.line(f"top = first_tile * {tile.rows} - max(0, first_tile - full)")
                with kernel.block("for first_panel in range(g * chunk, end_panel, group)"):
                    kernel.line("last_panel = min(first_panel + group, end_panel)")
                    self._parts(indices)
                    if self.program is None:
                        kernel.line(f"bottom = min(rows, last_tile * {tile.rows} - max(0, last_tile - full))")
                        kernel.line(f"first = first_panel * {tile.columns}")
                        kernel.line(f"last = min(last_panel * {tile.columns}, columns)")
                        self._finish(indices)
        return kernel.call(self.units, self._cost())

    def _declare_strides(self) -> None:
        kernel, p = self.kernel, self.product
        self._declare_batches()
        kernel.parameter("left_r", p.left.stride)
        kernel.parameter("left_k", p.left.depth)
        kernel.parameter("right_p", p.right.stride * (1 if p.right.panels else p.tile.columns))
        kernel.parameter("right_k", p.right.depth)

    def _parts(self, indices: dict[int, str]) -> None:
        kernel, tile = self.kernel, self.product.tile
        with kernel.block("for k in range(0, max(depth, 1), length)"):
            kernel.line("steps = min(depth - k, length)")
            kernel.line(f"pace = ({tile.columns} - 1) // (last_tile - first_tile) + 1")
            kernel.open("for panel in range(first_panel, last_panel)")
            kernel.line("ahead_panel = right_at + (panel + 1) * right_p + k * right_k")
            with kernel.block("if panel + 1 == last_panel"):
                kernel.line("ahead_panel = right_at + first_panel * right_p + (k + length) * right_k")
                with kernel.block("if k + length >= depth"):
                    kernel.line("ahead_panel = right_at + last_panel * right_p")
            with kernel.block("for i in range(first_tile, last_tile)"):
                kernel.line(f"r = i * {tile.rows} - max(0, i - full)")
                kernel.line(f"ahead = left_at + (r + {tile.rows}) * left_r + k * left_k")
                with kernel.block("if i + 1 == last_tile"):
                    kernel.line("ahead = left_at + top * left_r + k * left_k")
                    with kernel.block("if panel + 1 == last_panel"):
                        kernel.line("ahead += length * left_k")
                kernel.line(f"count = {tile.rows}")
                with kernel.block("if i >= full"):
                    kernel.line(f"count = min({max(1, tile.rows - 1)}, rows - r)")
                self._tile(indices)
            kernel.close()

    def _tile(self, indices: dict[int, str]) -> None:
        kernel, p, tile = self.kernel, self.product, self.product.tile
        kernel.line(f"column = panel * {tile.columns}")
        if self.program is not None:
            self.body.start_row({**indices, len(p.batches): "r"})
            program, arguments = self.program.name, self.program.arguments(self.body, "column")
        else:
            place = f"(r - top) * pitch + column - first_panel * {tile.columns}"
            program, arguments = "_y_0", ["tile", place, "pitch"]
        kinds = "_".join(SUFFIX[d] for d in (p.left.view.dtype, p.right.view.dtype, self.dtype))
        walk = ("u" if p.left.depth == 1 or p.depth == 1 else "a") + ("p" if p.right.panels else "m")
        if walk == "up" and target().registers < 32:
            walk += "n"
        name = f"product_{tile.rows}x{tile.vectors}x{tile.lanes}_{kinds}_{walk}{program}"
        operands = ["offset(sums, (i - first_tile) * keep_r + (panel - first_panel) * keep_p)"]
        operands += ["left", "left_at + r * left_r + k * left_k", "left_r", "left_k"]
        operands += ["right", "right_at + panel * right_p + k * right_k", "right_k", "steps"]
        operands += ["k == 0", "k + length >= depth", "count", "columns - column"]
        operands += ["ahead", "ahead_panel + (i - first_tile) * pace * length", "pace"]
        kernel.line(f"{name}({', '.join([*operands, *arguments])})")
