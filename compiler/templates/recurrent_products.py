"""The products of a recurrent network's states with its weights, of which every step makes one for each block of rows.

Constant weights are packed in the order in which a step reads them: for one row of the batch, a step is bound by the
cache that they come from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..codegen.choices import choose
from ..codegen.kernel import KernelBuilder
from ..codegen.lowering import Lowering
from ..codegen.tiling import TileShape, dot_shape, lanes_of, pack_panels, products
from ..ir import Value
from ..views import View

ROWS = 4
"""Rows of the batch that walk together, so that the state's weights are read once for all of them."""
_VECTORS = {1: 8, 2: 4, 3: 3, 4: 3}
"""Vectors of a tile by its rows: at least eight sums, each of one chain, so that a row's bits depend on no other."""


@dataclass(frozen=True)
class StateProducts:
    """How ``sums[r, low:high] = state[r] * weights[d, low:high].T`` is computed for the rows of a block.

    ``rows`` walk together, ``room`` is the number of rows that a block's sums take.
    """

    lowering: Lowering
    weights: Value
    tile: TileShape
    rows: int
    room: int
    register: str
    stored: str
    """The weights' data type in memory."""

    @staticmethod
    def of(lowering: Lowering, weights: Value, register: str, batch: int) -> StateProducts:
        """The products for weights [directions, gates * hidden, hidden] and a batch."""
        if not weights.is_constant:
            tile = dot_shape(register, min(ROWS, batch))
            # A tile may have fewer rows than walk together: the processor's registers, or another batch, chose it.
            return StateProducts(
                lowering, weights, tile, ROWS, -(-ROWS // tile.rows) * tile.rows, register, weights.dtype
            )
        # Up to two rows take as long as reading the weights.
        rows = choose(range(1, ROWS + 1), lambda r: -(-batch // r) * (max(2, r) + 0.2 * r))
        tile = TileShape(rows, _VECTORS[rows], lanes_of(register))
        return StateProducts(lowering, weights, tile, rows, rows + 1, register, lowering.stored_type(weights))

    def declare(self, kernel: KernelBuilder, parts: Sequence[tuple[int, int]], size: int) -> None:
        """Declare the weights of every part of the gates (from, to) that is computed at once."""
        if self.tile.dot:
            kernel.source("recurrent_weight", self.lowering.read_contiguous(self.weights))
            return
        for low, high in parts:
            panels = self._panels(low * size, high * size)
            kernel.source(f"panels_{low}", panels)
            kernel.parameter(f"panels_{low}_d", panels.strides[0])

    def _panels(self, low: int, high: int) -> View:
        """Those weights as [directions, panels, hidden, columns]."""
        columns = self.tile.columns
        return self.lowering.packed(
            self.weights,
            ("recurrent", low, high, columns),
            lambda array: pack_panels(array[:, low:high].swapaxes(-1, -2), columns),
            narrow=True,
        )

    def write(self, kernel: KernelBuilder, low: int, high: int, state: str) -> None:
        """The products of gates ``low`` to ``high`` for the ``count`` rows from ``row`` on."""
        tile, stored = self.tile, self.stored
        if tile.dot:
            name = tile.name("", self.register, stored)
            with (
                kernel.block(f"for r in range(0, count, {tile.rows})"),
                kernel.block(f"for k in range({low} * size, {high} * size, {tile.columns})"),
            ):
                kernel.line(
                    f"{name}(sums, sum_row + r * pitch + k, pitch, min({tile.rows}, count - r), {high} * size - k, "
                    f"{state}, (row + r) * size, size, recurrent_weight, (d * width + k) * size, size, size)"
                )
            return
        with kernel.block(f"for k in range(0, {high - low} * size, {tile.columns})"):
            kernel.line(
                products(
                    tile.name("bv", self.register, stored),
                    sums="sums",
                    place=f"sum_row + {low} * size + k",
                    pitch="pitch",
                    spare=f"sum_row + {self.rows} * pitch",
                    rows="count",
                    left=(state, "row * size", "size"),
                    right=(f"panels_{low}", f"d * panels_{low}_d + k * size"),
                    loops=[("size", "1", str(tile.columns))],
                    fresh="1",
                )
            )
