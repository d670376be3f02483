"""Cumulative sums and products, and triangles: rows whose elements depend on their position."""

from __future__ import annotations

import math

from basalt.ops import TensorType
from basalt.ops.types import is_float

from ..codegen.body import Body
from ..codegen.kernel import Call, KernelBuilder
from ..codegen.lowering import Lowering
from ..codegen.registry import template
from ..codegen.terms import register_suffix
from ..ir import Node, Value
from ..views import View, collapse, memory_order
from .elementwise import decode
from .raw import raw

BLOCK = 256
"""Neighbouring lines that are summed up together."""
BESIDE = 8
"""Fewest lines side by side for which that pays."""


@template("cumulative_sum", "cumulative_product")
def cumulative(node: Node, lowering: Lowering) -> None:
    """A running sum or product along one axis, of floats in float64, whose arithmetic takes no longer.

    A unit is one line along the axis, or a block of lines that lie side by side in memory.
    """
    source, target = lowering.read(node.present[0]), lowering.write(node.output)
    axis = node.attrs["axis"]
    if node.attrs["reversed"]:
        source, target = source.reversed([axis]), target.reversed([axis])
    lowering.add(_Totals(node.op, source, target, axis, exclusive=node.attrs["exclusive"]).write())


class _Totals:
    def __init__(self, op: str, source: View, target: View, axis: int, *, exclusive: bool) -> None:
        self.combine, identity = ("add", 0) if op == "cumulative_sum" else ("mul", 1)
        self.exclusive, self.length, self.size = exclusive, source.shape[axis], source.size
        shape = [d for i, d in enumerate(source.shape) if i != axis]
        strides = [_without(v.strides, axis) for v in (target, source)]
        order = memory_order(shape, strides)
        self.lines, (of_target, of_source) = collapse(
            [shape[a] for a in order], [[s[a] for a in order] for s in strides]
        )
        along = source.strides[axis]
        self.beside = self.lines[-1] >= BESIDE and abs(of_source[-1]) < abs(along)
        self.kernel = KernelBuilder(op)
        self.body = Body(self.kernel, (), len(self.lines) + 1, based=self.beside)
        self.given = self.body.declare_input(Value(_type(source)), source, (*of_source, along))
        self.result = self.body.declare_output(Value(_type(target)), target, (*of_target, target.strides[axis]))
        total = "float64" if is_float(source.dtype) else source.dtype
        self.held, self.wide = register_suffix(source.dtype), register_suffix(total)
        self.identity = self.body.terms.constant(identity, total)

    def write(self) -> Call:
        self.n = self.kernel.parameter("n", self.length)
        units = self._blocks() if self.beside else self._single_lines()
        return self.kernel.call(units, self.size * 1.2 + 5.0)

    def _single_lines(self) -> int:
        kernel = self.kernel
        sizes = [kernel.parameter(f"d{i}", d) for i, d in enumerate(self.lines)]
        with kernel.block("for u in range(start, stop)"):
            self.body.start_row(decode(kernel, "u", sizes))
            kernel.line(f"total = {self.identity}")
            with kernel.block(f"for j in range({self.n})"):
                kernel.line(f"total = {self._step('total', -1, 'j')}")
        return math.prod(self.lines)

    def _blocks(self) -> int:
        """Walk neighbouring lines together, so that memory is read in order; their totals lie on the stack."""
        kernel, last = self.kernel, len(self.lines) - 1
        kernel.line(f"totals = stack_{8 * BLOCK}()")
        width = kernel.parameter("width", self.lines[-1])
        blocks = -(-self.lines[-1] // BLOCK)
        sizes = [kernel.parameter(f"d{i}", d) for i, d in enumerate((*self.lines[:-1], blocks))]
        with kernel.block("for u in range(start, stop)"):
            indices = decode(kernel, "u", sizes)
            kernel.line(f"first = {indices[last]} * {BLOCK}")
            kernel.line(f"count = min({BLOCK}, {width} - first)")
            with kernel.block("for j in range(count)"):
                kernel.line(f"storerw_{self.wide}(totals, j, {self.identity})")
            with kernel.block(f"for k in range({self.n})"):
                self.body.start_row({**indices, last: "first", last + 1: "k"})
                with kernel.block("for j in range(count)"):
                    total = kernel.define(f"loadrw_{self.wide}(totals, j)", "total")
                    kernel.line(f"storerw_{self.wide}(totals, j, {self._step(total, last, 'j')})")
        return math.prod(self.lines[:-1]) * blocks

    def _step(self, total: str, axis: int, variable: str) -> str:
        """Write what one element takes; returns the name of the total behind it."""
        same = self.held == self.wide
        element = self.body.load(self.given, self.given.index(axis, variable))
        term = element if same else f"cast_{self.held}_{self.wide}({element})"
        after = self.kernel.define(f"{self.combine}_{self.wide}({total}, {term})", "sum")
        stored = total if self.exclusive else after
        rounded = stored if same else f"cast_{self.wide}_{self.held}({stored})"
        self.body.store(self.result, self.result.index(axis, variable), rounded)
        return after


@template("triangular")
def triangular(node: Node, lowering: Lowering) -> None:
    """A triangle of each matrix; a unit is one row, of which a stretch is copied and the rest zeroed."""
    source, target = (raw(v) for v in (lowering.read(node.present[0]), lowering.write(node.output)))
    batch, strides = collapse(source.shape[:-2], [v.strides[:-2] for v in (source, target)])
    kernel = KernelBuilder("triangular")
    body = Body(kernel, (), len(batch) + 2)
    given = body.declare_input(Value(_type(source)), source, (*strides[0], *source.strides[-2:]))
    result = body.declare_output(Value(_type(target)), target, (*strides[1], *target.strides[-2:]))
    rows, columns = source.shape[-2:]
    sizes = [kernel.parameter(f"d{i}", d) for i, d in enumerate((*batch, rows))]
    n = kernel.parameter("n", columns)
    diagonal = kernel.parameter("diagonal", node.attrs["diagonal"])
    zero = body.terms.constant(0, source.dtype)
    with kernel.block("for u in range(start, stop)"):
        indices = decode(kernel, "u", sizes)
        body.start_row(indices)
        kernel.line(f"edge = clamp_i64({indices[len(batch)]} + {diagonal} + {0 if node.attrs['upper'] else 1}, 0, {n})")
        kept, cleared = (("edge", n), ("0", "edge")) if node.attrs["upper"] else (("0", "edge"), ("edge", n))
        with kernel.block(f"for j in range({kept[0]}, {kept[1]})"):
            body.store(result, result.index(-1, "j"), body.load(given, given.index(-1, "j")))
        with kernel.block(f"for j in range({cleared[0]}, {cleared[1]})"):
            body.store(result, result.index(-1, "j"), zero)
    lowering.add(kernel.call(math.prod(batch) * rows, source.size * 0.3 + 5.0))


def _without(strides: tuple[int, ...], axis: int) -> tuple[int, ...]:
    return strides[:axis] + strides[axis + 1 :]


def _type(view: View) -> TensorType:
    return TensorType(view.dtype, view.shape)
