"""Linear interpolation at evenly spaced coordinates."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..convert import double, positive, sequence, uint
from ..layout import concrete
from ..registry import register_extension
from ..rounding import narrow
from ..schema import Arrays, Attrs, Operand, Operator, Option, Output, Types, fail
from ..shapes import check_axes, check_shape
from ..types import FLOATS, INTS, TensorType, is_float


@register_extension
class Interpolate2d(Operator):
    """The input resampled along two axes: element ``i`` of the result lies at coordinate ``offset + i * step``.

    Coordinates are moved to the nearest element if they lie outside; the two elements beside each are blended, in an
    integer type in float64 and rounded to nearest even. ``resample2d`` is the case of offset ``n / m / 2 - 0.5`` and
    step ``n / m``.
    """

    name = "interpolate2d"
    operands = (Operand("input", FLOATS | INTS, 4, doc="the input tensor"),)
    arguments = (
        Option("sizes", sequence(positive, 2), doc="the output's sizes of the two axes"),
        Option("offsets", sequence(double, 2), doc="the coordinates of the first elements, for the two axes"),
        Option("steps", sequence(double, 2), doc="how far the coordinates of neighbours are apart, for the two axes"),
    )
    options = (Option("axes", sequence(uint, 2), (2, 3), "the two axes to resample"),)
    outputs = (Output(rank=4),)

    def infer(self, t: Types, a: Attrs) -> Sequence[TensorType]:
        shape = list(t.input.shape)
        for name in ("offsets", "steps"):
            if not np.isfinite(a[name]).all():
                fail(f"{name} are {a[name]}, expected finite numbers")
        for size, axis in zip(a["sizes"], check_axes(a["axes"], 4)):
            if shape[axis] == 0:
                fail(f"axis {axis} of the input is empty")
            shape[axis] = size
        return [TensorType(t.input.dtype, check_shape(shape, zero=True))]

    def evaluate(self, x: Arrays, a: Attrs, out: Sequence[TensorType]) -> Sequence[np.ndarray]:
        result = np.asarray(x.input).astype(np.float64)
        for axis, offset, step in zip(a["axes"], a["offsets"], a["steps"]):
            low, high, weight = blended(result.shape[axis], concrete(out[0].shape)[axis], offset, step)
            spread = weight.reshape([-1 if i == axis else 1 for i in range(4)])
            with np.errstate(invalid="ignore"):
                result = result.take(low, axis) * (1 - spread) + result.take(high, axis) * spread
        return [narrow(result if is_float(out[0].dtype) else np.rint(result), out[0])]


def blended(size: int, count: int, offset: float, step: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For each of ``count`` results the elements below and above its coordinate, and the weight of the one above."""
    coordinate = np.clip(offset + np.arange(count) * step, 0, size - 1)
    below = np.floor(coordinate)
    return below.astype(np.int64), np.ceil(coordinate).astype(np.int64), coordinate - below
