"""Resampling of images (the standard's section "resample2d")."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from .convert import double, enum, nullable, positive, sequence, uint
from .dims import Dim
from .registry import register
from .rounding import narrow
from .schema import Arrays, Attrs, Operand, Operator, Option, Output, Types, fail
from .shapes import check_axes, check_shape
from .types import FLOATS, TensorType, is_float


def _scale(value: Any) -> float:
    with np.errstate(over="ignore"):
        scale = float(np.float32(double(value)))
    if not 0 < scale < math.inf:
        fail(f"expected a finite number above 0, got {value!r}")
    return scale


@register
class Resample2d(Operator):
    """The input resampled along two axes to other sizes, by the nearest element or by linear interpolation.

    Element ``i`` of ``m`` along an axis lies at coordinate ``(i + 0.5) * n / m - 0.5`` of the input's ``n``, clamped to
    the input. Nearest-neighbor takes element ``ceil(coordinate - 0.5)``; linear blends the two beside the coordinate,
    and rounds to nearest even in an integer type.
    """

    name = "resample2d"
    webnn = "resample2d"
    section = "api-mlgraphbuilder-resample2d-method"
    operands = (Operand("input", FLOATS | {"uint8", "int8"}, 4, doc="the input tensor"),)
    outputs = (Output(rank=4),)
    options = (
        Option("mode", enum("nearest-neighbor", "linear"), "nearest-neighbor", "how values are interpolated"),
        Option("scales", sequence(_scale, 2), (1.0, 1.0), "factors of the two axes; output sizes are rounded down"),
        Option("sizes", nullable(sequence(positive, 2)), None, "the output's sizes of the two axes; override scales"),
        Option("axes", sequence(uint, 2), (2, 3), "the two axes to resample"),
    )

    def infer(self, t: Types, a: Attrs) -> Sequence[TensorType]:
        shape = list(t.input.shape)
        for i, axis in enumerate(check_axes(a["axes"], t.input.rank)):
            if shape[axis] == 0:
                fail(f"axis {axis} of the input is empty")
            size = _scaled(shape[axis], a["scales"][i]) if a["sizes"] is None else a["sizes"][i]
            if isinstance(size, int) and size < 1:
                fail(f"the output's size of axis {axis} is {size}, expected at least 1")
            shape[axis] = size
        return [TensorType(t.input.dtype, check_shape(shape, zero=True))]

    def evaluate(self, x: Arrays, a: Attrs, out: Sequence[TensorType]) -> Sequence[np.ndarray]:
        if a["mode"] == "nearest-neighbor":
            result = np.asarray(x.input)
            for axis in a["axes"]:
                result = result.take(nearest_positions(result.shape[axis], out[0].shape[axis]), axis)
            return [result]
        result = np.asarray(x.input).astype(np.float64)
        for axis in a["axes"]:
            result = _interpolate(result, axis, out[0].shape[axis])
        return [narrow(result if is_float(out[0].dtype) else np.rint(result), out[0])]


def _scaled(size: Dim, scale: float) -> Dim:
    """``floor(size * scale)``, for the simplest fraction that is ``scale`` in float32.

    The scale 0.7 is a little less than 7 / 10 in float32; the fraction makes 10 * 0.7 seven all the same, and is exact
    for symbolic sizes as well.
    """
    fraction = Fraction(scale)
    for limit in (1, 10, 100, 1000, 10000):
        simple = fraction.limit_denominator(limit)
        if float(np.float32(float(simple))) == scale:
            return size * simple.numerator // simple.denominator
    return size * fraction.numerator // fraction.denominator


def nearest_positions(size: int, count: int) -> np.ndarray:
    """The elements nearest to each coordinate, ``ceil(coordinate - 0.5)``, in exact integer arithmetic."""
    position = np.arange(count, dtype=np.int64) * 2 + 1
    return np.clip(-((2 * count - position * size) // (2 * count)), 0, size - 1)


def neighbours(size: int, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For each of ``count`` results the elements below and above its coordinate, and the weight of the one above."""
    numerator = (np.arange(count, dtype=np.int64) * 2 + 1) * size - count
    coordinate = np.clip(numerator / (2 * count), 0, size - 1)
    below = np.floor(coordinate)
    return below.astype(np.int64), np.ceil(coordinate).astype(np.int64), coordinate - below


def _interpolate(x: np.ndarray, axis: int, count: int) -> np.ndarray:
    below, above, weight = neighbours(x.shape[axis], count)
    shape = [1] * x.ndim
    shape[axis] = count
    weight = weight.reshape(shape)
    with np.errstate(invalid="ignore"):
        low, high = x.take(below, axis), x.take(above, axis)
        return low * (1 - weight) + high * weight
