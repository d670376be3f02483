"""Pooling by micro-kernels: blocks of results are held in vector registers while the window's elements pass."""

from __future__ import annotations

import math

import numpy as np

from basalt.ops import TensorType, numpy_dtype
from basalt.ops.types import integer_bounds, is_float

from ..codegen.body import Body
from ..codegen.kernel import Call, KernelBuilder
from ..codegen.lowering import Lowering
from ..codegen.terms import SUFFIX
from ..codegen.tiling import TileShape, register_type
from ..ir import Value
from ..views import View
from .geometry import Places, Window
from .sliding import Operation, Slide, Step, slides, sliding_call

FOLDS = {"average_pool2d": "sum", "l2_pool2d": "squares", "max_pool2d": "max"}
TAP = {"average_pool2d": 0.25, "l2_pool2d": 0.25, "max_pool2d": 0.5}
"""Nanoseconds that a vector of elements takes."""
FEWEST_COLUMNS = 4
"""Columns below which most lanes would stay empty."""
NUMBERS = frozenset({"float16", "bfloat16", "float32", "float64"}) | {
    f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)
}
"""The data types that micro-kernels know."""


def can_slide(image: View, window: Window, places: Places) -> bool:
    """Whether :func:`sliding_pool` computes a pool over images [n, channels, height, width]."""
    wide = places.channels_last or window.outputs[1] >= FEWEST_COLUMNS
    return image.dtype in NUMBERS and wide and slides(image, window, places)


def sliding_pool(op: str, image: View, window: Window, places: Places, lowering: Lowering) -> Call:
    """The kernel of a pool."""
    operation = PoolOperation(op, image.dtype, counts_of(op, image.dtype, window, lowering))
    return sliding_call(Slide(image, window, places, operation), TAP[op])


def counts_of(op: str, dtype: str, window: Window, lowering: Lowering) -> tuple[View, ...] | None:
    """Numbers of elements by row and column of the results of an average, None for other pools."""
    if op != "average_pool2d":
        return None
    kind = numpy_dtype(register_type(dtype))
    return tuple(lowering.add_constant(elements_met(window, axis).astype(kind)) for axis in (0, 1))


def elements_met(window: Window, axis: int) -> np.ndarray:
    """How many taps along an axis meet an element, for each position."""
    edge = np.arange(window.outputs[axis], dtype=np.int64) * window.strides[axis] - window.begin[axis]
    step = window.dilations[axis]
    low = np.maximum(0, (step - 1 - edge) // step)
    high = np.minimum(window.taps[axis], (window.inputs[axis] - edge + step - 1) // step)
    return np.maximum(high - low, 0)


class PoolOperation(Operation):
    """Maxima, sums divided by the number of elements, or roots of sums of squares."""

    def __init__(self, op: str, dtype: str, counts: tuple[View, ...] | None) -> None:
        self.op, self.dtype, self.counts = op, dtype, counts
        self.register = register_type(dtype)
        self.keys: list[Value] = []
        if op == "max_pool2d":
            self.identity = -math.inf if is_float(dtype) else integer_bounds(dtype)[0]

    def source(self, tile: TileShape, form: str, step: Step) -> str:
        size = f"{tile.rows}x{tile.vectors}x{tile.lanes}"
        name = f"fold_{FOLDS[self.op]}_{form}_{size}_{SUFFIX[self.dtype]}_{SUFFIX[self.register]}"
        loops = [x for loop in [*step.loops, *[("1", "0", "0")] * (3 - len(step.loops))] for x in loop[:2]]
        operands = [*step.sums, step.rows, "image", *step.image, *loops, step.fresh, *step.mask]
        return f"{name}(tile, {', '.join(operands)})"

    def declare(self, kernel: KernelBuilder, body: Body, order: str) -> None:
        if self.counts is None:
            return
        self.keys = [Value(TensorType(view.dtype, view.shape)) for view in self.counts]
        for key, view, axis in zip(self.keys, self.counts, "yx"):
            step = 0 if view.shape[0] == 1 else 1
            body.declare_input(key, view, [step if letter == axis else 0 for letter in order])

    def finish(self, kernel: KernelBuilder, body: Body, total: str, known: dict[Value, str], at: str) -> str:
        suffix = SUFFIX[self.register]
        if self.op == "l2_pool2d":
            return kernel.define(f"sqrt_{suffix}({total})")
        if self.counts is None:
            return total
        for key in self.keys:
            if key not in known:
                access = body.inputs[key]
                known[key] = body.load(access, access.index(-1, at))
        area = kernel.define(f"mul_{suffix}({known[self.keys[0]]}, {known[self.keys[1]]})")
        return kernel.define(f"div_{suffix}({total}, {area})")
