"""Pools of images and results that lie with their columns last, in one micro-kernel."""

from __future__ import annotations

from collections.abc import Sequence

from ..codegen.body import Body
from ..codegen.finishing import Formula
from ..codegen.kernel import Call
from ..codegen.lowering import Lowering
from .lines import LinesWriter, Planes
from .pool_sliding import FOLDS, PoolOperation, counts_of


def pool_lines_call(op: str, planes: Planes, lowering: Lowering) -> Call | None:
    """The kernel of a pool, None if this way of computing does not suit it."""
    if not planes.suits:
        return None
    writer = _Writer(op, planes, lowering)
    return None if writer.program is None else writer.write()


class _Writer(LinesWriter):
    def __init__(self, op: str, planes: Planes, lowering: Lowering) -> None:
        dtype = planes.image.dtype
        self.operation = FOLDS[op]
        self.meaning = PoolOperation(op, dtype, counts_of(op, dtype, planes.window, lowering))
        super().__init__(planes)

    def declare(self, body: Body) -> Formula:
        self.meaning.declare(self.kernel, body, "ncyx")
        return lambda total, known: self.meaning.finish(self.kernel, body, total, known, "0")

    def weights(self) -> tuple[str, Sequence[int]]:
        return "image", (0, 0)
