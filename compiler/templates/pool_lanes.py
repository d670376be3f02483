"""Pools of images and results that lie with their channels last, in one micro-kernel."""

from __future__ import annotations

from collections.abc import Sequence

from ..codegen.body import Body
from ..codegen.choices import choose
from ..codegen.finishing import Formula
from ..codegen.kernel import Call
from ..codegen.lowering import Lowering
from ..codegen.tiling import TileShape, lanes_of
from ..kernels.target import target
from .geometry import Window
from .lanes import LanesWriter, Windows
from .pool_sliding import FOLDS, PoolOperation, counts_of

MOST_TAPS = 8
"""Columns of a window that are written out."""
MOST_PIXELS = 8


def pool_lanes_call(op: str, windows: Windows, lowering: Lowering) -> Call | None:
    """The kernel of a pool, None if this way of computing does not suit it."""
    if windows.window.taps[1] > MOST_TAPS or not windows.suits:
        return None
    writer = _Writer(op, windows, lowering)
    return None if writer.program is None else writer.write()


class _Writer(LanesWriter):
    def __init__(self, op: str, windows: Windows, lowering: Lowering) -> None:
        image = windows.image
        self.operation = FOLDS[op]
        self.meaning = PoolOperation(op, image.dtype, counts_of(op, image.dtype, windows.window, lowering))
        super().__init__(windows, _tile(image.dtype, image.shape[1], windows.window))

    def declare(self, body: Body) -> Formula:
        self.meaning.declare(self.kernel, body, "nyxc")
        return lambda total, known: self.meaning.finish(self.kernel, body, total, known, "0")

    def weights(self) -> tuple[str, Sequence[int]]:
        return "image", (0, 0)


def _tile(dtype: str, channels: int, window: Window) -> TileShape:
    """Pixels and vectors of channels of a block: they, what is read and a test for NaN fit in the registers."""
    lanes = lanes_of(dtype)
    needed = -(-channels // lanes)
    vectors = 2 if needed % 2 == 0 or needed > 8 else 1
    if window.outputs[1] < 3:
        # Sums of single pixels wait for each other.
        vectors = choose((8, 4, 2, 1), lambda v: -(-needed // v) * v)
    most = max(1, min(MOST_PIXELS, (target().registers - 8) // vectors))
    width = window.outputs[1]
    # An element is read once for all results of a tile.
    each = (window.taps[1] - window.strides[1]) / 2
    rows = choose(range(1, most + 1), lambda r: -(-width // r) * (r + each + 1.0))
    return TileShape(rows, vectors, lanes)
