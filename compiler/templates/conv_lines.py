"""Depthwise convolutions whose images and results lie with their columns last, in one micro-kernel."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..codegen.body import Body
from ..codegen.finishing import Formula
from ..codegen.kernel import Call
from ..codegen.lowering import Lowering
from ..views import View
from .conv import Convolution
from .geometry import declare_bias
from .lines import LinesWriter, Planes

MOST_TAPS = 25
"""Elements of a window beyond which weights do not stay near, and images are better copied with their channels last."""


def lines_call(convolution: Convolution, lowering: Lowering) -> Call | None:
    """The kernel of a depthwise convolution, None if this way of computing does not suit it."""
    c = convolution
    if c.channels != 1 or c.groups == 1 or math.prod(c.window.taps) > MOST_TAPS:
        return None
    planes = Planes(c.image_of_groups, c.window, c.places, c.outputs)
    weights = c.rows(lowering) if planes.suits else None
    if weights is None:
        return None
    writer = _Writer(planes, c, weights)
    return None if writer.program is None else writer.write()


class _Writer(LinesWriter):
    operation = "products"

    def __init__(self, planes: Planes, convolution: Convolution, weights: View) -> None:
        self.c, self.taps = convolution, weights
        super().__init__(planes)

    def declare(self, body: Body) -> Formula:
        bias = self.c.places.bias
        if bias is None:
            return lambda total, known: total
        key = declare_bias(body, bias, (0, 0 if bias.shape[0] == 1 else bias.strides[0], 0, 0))
        return lambda total, known: self.kernel.define(f"add_{self.suffix}({total}, {known[key]})")

    def weights(self) -> tuple[str, Sequence[int]]:
        return self.kernel.source("weights", self.taps), self.taps.strides[:2]
