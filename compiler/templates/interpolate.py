"""Linear interpolation at evenly spaced coordinates: as resampling, with other tables."""

from __future__ import annotations

import numpy as np

from basalt.ops.extension.interpolate import blended

from ..codegen.lowering import Lowering
from ..codegen.registry import template
from ..ir import Node
from .resample import Resampling


@template("interpolate2d")
def interpolate2d(node: Node, lowering: Lowering) -> None:
    """A unit is a row along the last dimension."""
    _Interpolation(node, lowering, linear=True).write()


class _Interpolation(Resampling):
    def places(self, number: int, size: int, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return blended(size, count, self.node.attrs["offsets"][number], self.node.attrs["steps"][number])
