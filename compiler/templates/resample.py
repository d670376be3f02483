"""Resampling along two axes; where each result lies between the input's elements is computed at compile time."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from basalt.ops import TensorType
from basalt.ops.resample import nearest_positions, neighbours
from basalt.ops.types import is_float

from ..codegen.body import Access, Body
from ..codegen.kernel import KernelBuilder
from ..codegen.lowering import Lowering
from ..codegen.registry import template
from ..codegen.terms import SUFFIX, register_suffix
from ..ir import Node, Value
from ..views import View, memory_order
from .elementwise import decode
from .raw import raw

SIDES = ("low", "high")
LONGEST = 4096
"""Elements of a row that scratch memory holds."""


@template("resample2d")
def resample2d(node: Node, lowering: Lowering) -> None:
    """A unit is a row along the dimension whose elements are neighbours in memory."""
    Resampling(node, lowering, linear=node.attrs["mode"] == "linear").write()


@dataclass(frozen=True)
class _Axis:
    """The tables of a resampled axis: the element below each result, the one above, and the latter's weight."""

    axis: int
    number: int
    tables: tuple[str, ...]


class Resampling:
    """Writes the kernel; what lies where is overridden for other coordinates than those of ``resample2d``."""

    def __init__(self, node: Node, lowering: Lowering, *, linear: bool) -> None:
        self.lowering, self.node = lowering, node
        self.linear = linear
        source, target = lowering.read(node.present[0]), lowering.write(node.output)
        # Dimensions of size 1 outside: the innermost loop needs length.
        order = sorted(memory_order(target.shape, [target.strides]), key=lambda axis: target.shape[axis] != 1)
        source, target = source.permuted(order), target.permuted(order)
        self.dtype = source.dtype
        self.source, self.target = (source, target) if self.linear else (raw(source), raw(target))
        # Integers are rounded to nearest: in float32, weights of thirds would decide ties.
        self.register = register_suffix(self.dtype) if is_float(self.dtype) else "f64"
        self.kernel = KernelBuilder(f"resample2d {'linear' if linear else 'nearest-neighbor'}")
        self.body = Body(self.kernel, (), 4)
        # Along a resampled axis the input's index comes from a table: its own stride is not walked.
        resampled = [order.index(axis) for axis in node.attrs["axes"]]
        walked = [0 if i in resampled else s for i, s in enumerate(self.source.strides)]
        self.given = self.body.declare_input(_value(self.source), self.source, walked)
        self.result = self.body.declare_output(_value(self.target), self.target, self.target.strides)
        # The blend of two whole rows is the same for all results of a row, and vectors can make it.
        self.rows = linear and is_float(self.dtype) and resampled[1] == 3 and 1 < self.source.shape[3] <= LONGEST
        self.axes = [self._axis(number, axis) for number, axis in enumerate(resampled)]

    def write(self) -> None:
        kernel, shape = self.kernel, self.target.shape
        sizes = [kernel.parameter(f"d{i}", d) for i, d in enumerate(shape[:3])]
        n = kernel.parameter("n", shape[3])
        if self.rows:
            kernel.parameter("width", self.source.shape[3])
            kernel.parameter("step", self.source.strides[3])
            kernel.line(f"row = stack_{LONGEST * 8}()")
        with kernel.block("for u in range(start, stop)"):
            indices = decode(kernel, "u", sizes)
            self.body.start_row(indices)
            for axis in self.axes:
                if axis.axis != 3:
                    self._look_up(axis, indices[axis.axis])
            if self.rows:
                self._blend_rows()
            with kernel.block(f"for j in range({n})"):
                for axis in self.axes:
                    if axis.axis == 3:
                        self._look_up(axis, "j")
                if self.rows:
                    load = f"loadrw_{self.register}"
                    value = self._blend(f"{load}(row, {SIDES[0]}1)", f"{load}(row, {SIDES[1]}1)", "weight1")
                else:
                    value = self._linear() if self.linear else self._element("low0", "low1")
                self.body.store(self.result, self.result.index(-1, "j"), value)
        taps = 8.0 if self.linear else 1.0
        self.lowering.add(kernel.call(math.prod(shape[:3]), self.target.size * taps * 0.4))

    def places(self, number: int, size: int, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """For each result along an axis the elements below and above its coordinate, and the weight of the latter."""
        return neighbours(size, count)

    def _axis(self, number: int, axis: int) -> _Axis:
        size, count = self.source.shape[axis], self.target.shape[axis]
        stride = 1 if self.rows and axis == 3 else self.source.strides[axis]
        if not self.linear:
            tables: list[np.ndarray] = [nearest_positions(size, count) * stride]
        else:
            low, high, weight = self.places(number, size, count)
            tables = [low * stride, high * stride, weight.astype(np.float64 if self.register == "f64" else np.float32)]
        names = [f"{name}{number}_table" for name in ("low", "high", "weight")]
        for name, table in zip(names, tables):
            self.kernel.source(name, self.lowering.add_constant(table))
        return _Axis(axis, number, tuple(names[: len(tables)]))

    def _blend_rows(self) -> None:
        """The blend along the first axis of all elements of a row of the input, in scratch memory."""
        base, step = self.given.base, "" if self.source.strides[3] == 1 else " * step"
        with self.kernel.block("for i in range(width)"):
            low, high = (self.body.load(self.given, f"{base} + i{step} + {side}0") for side in SIDES)
            self.kernel.line(f"storerw_{self.register}(row, i, {self._blend(low, high, 'weight0')})")

    def _look_up(self, axis: _Axis, index: str) -> None:
        for table in axis.tables:
            suffix = self.register if table.startswith("weight") else "i64"
            self.kernel.line(f"{table.removesuffix('_table')} = load_{suffix}({table}, {index})")

    def _element(self, *offsets: str) -> str:
        access: Access = self.given
        name = self.body.load(access, " + ".join([access.index(-1, "j"), *offsets]))
        if is_float(self.dtype) or not self.linear:
            return name
        self.kernel.line(f"{name}f = cast_{SUFFIX[self.dtype]}_f64({name})")
        return name + "f"

    def _linear(self) -> str:
        """The blend along the first axis on either side of the second, then along the second."""
        low, high = (
            self._blend(self._element("low0", s), self._element("high0", s), "weight0") for s in ("low1", "high1")
        )
        value = self._blend(low, high, "weight1")
        if is_float(self.dtype):
            return value
        return f"cast_f64_{SUFFIX[self.dtype]}(rint_f64({value}))"

    def _blend(self, low: str, high: str, weight: str) -> str:
        t, name = self.register, self.kernel.temporary()
        one = f"sub_{t}(const_{t}(1.0), {weight})"
        self.kernel.line(f"{name} = add_{t}(mul_{t}({low}, {one}), mul_{t}({high}, {weight}))")
        return name


def _value(view: View) -> Value:
    return Value(TensorType(view.dtype, view.shape))
