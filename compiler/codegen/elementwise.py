"""Element-wise kernels: any chain of scalar operators over broadcast, strided operands.

The loops walk the results' memory in order. Where the innermost dimension is tiny it is unrolled and the next one
becomes the loop; where an operand's memory runs along another dimension, tiles of it are transposed first.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from basalt.ops import TensorType

from ..ir import Node, Value
from ..views import View, collapse, memory_order
from .body import LOAD_COST, Access, Body
from .kernel import Call, KernelBuilder
from .loop_nest import FLAT, write_loops
from .terms import SUFFIX
from .units import each_unit

TINY = 8
"""Most elements of a dimension that is unrolled."""
UNROLLED = 32
"""Most operators that unrolling may make."""
COLUMNS = 64
"""Columns of a tile."""
LINE = 64
"""Bytes of a cache line: what a tile holds of each of the operand's lines."""
SEVERAL = 4
"""Cache lines that a transposed copy reads one after the other where that pays."""
STRIP = 24_576
"""Most bytes that a unit of such a copy reads: a first-level cache holds what it writes until lines are whole."""
MANY_STRIPS = 16
"""Fewest units that such a copy should have, for all threads."""

Placed = tuple[Value, View]


def elementwise_call(nodes: Sequence[Node], inputs: Sequence[Placed], outputs: Sequence[Placed], label: str) -> Call:
    """The kernel that computes element-wise nodes.

    Args:
        nodes: the operators, in order.
        inputs: what they read; each view is broadcast to the outputs' shape.
        outputs: what is stored, all of one shape.
        label: the user's labels.
    """
    return _Writer(nodes, inputs, outputs).write(label)


def copy_call(source: View, target: View, label: str) -> Call:
    """The kernel that copies one view to another of the same shape and data type, bit by bit."""
    value = Value(TensorType(source.dtype, source.shape))
    return elementwise_call([], [(value, source.raw())], [(value, target.raw())], label)


def carry_call(source: View, target: View) -> Call:
    """The kernel that copies a contiguous view to another, unless both are the same memory."""
    kernel = KernelBuilder(CARRY_OVER)
    raw = source.raw()
    x, y = kernel.source("x", raw), kernel.target("y", target.raw())
    suffix = SUFFIX[raw.dtype]
    with kernel.block(f"if address({x}) != address({y})"), kernel.block("for i in range(start, stop)"):
        kernel.line(f"store_{suffix}({y}, i, load_{suffix}({x}, i))")
    return kernel.call(raw.size, 2 * raw.size * raw.itemsize * LOAD_COST, min_chunk=FLAT)


def fill_call(target: View, number: float | int, label: str) -> Call:
    """The kernel that stores a number in every element of a view."""
    writer = _Writer([], [], [(Value(TensorType(target.dtype, target.shape)), target)], "fill")
    writer.fill_with(number)
    return writer.write(label)


CARRY_OVER = "carry over"
"""What calls are that copy an input to an output, and leave it where the caller gives one array for both.

Their tables begin with the addresses of the two.
"""


class _Writer:
    """Writes one kernel; ``dims`` are its loops, outermost first."""

    def __init__(
        self, nodes: Sequence[Node], inputs: Sequence[Placed], outputs: Sequence[Placed], kind: str = ""
    ) -> None:
        shape = outputs[0][1].shape
        views = [v.expanded(shape) for _, v in inputs] + [v for _, v in outputs]
        strides = [v.strides for v in views]
        order = memory_order(shape, strides[len(inputs) :] + strides[: len(inputs)])
        self.dims, strides = collapse([shape[a] for a in order], [[s[a] for a in order] for s in strides])
        self.tiny = _tiny(self.dims, len(nodes))
        self.inner = len(self.dims) - (2 if self.tiny else 1)
        self.kernel = KernelBuilder(kind or "+".join(n.op for n in nodes) or "copy")
        self.body = Body(self.kernel, nodes, len(self.dims), literal=TINY if self.tiny else 1)
        for (value, view), s in zip(inputs, strides):
            self.body.declare_input(value, view, s)
        for (value, view), s in zip(outputs, strides[len(inputs) :]):
            self.body.declare_output(value, view, s)
        if len(outputs) == 1:
            self.kernel.in_place += _reusable(inputs, outputs[0], strides)
        self.across = None if self.tiny else _dimension_across(self.dims, strides[: len(inputs)])
        self.known: dict[Value, str] = {}

    def fill_with(self, number: float | int) -> None:
        """Store a number instead of computing something."""
        ((value, access),) = self.body.outputs
        self.known[value] = self.body.terms.parameter("value", number, access.dtype)

    def write(self, label: str) -> Call:
        if self.across is not None:
            units, shortest = self._tiles(self.across), 1
        else:
            loops = self.dims[: self.inner + 1]
            units, shortest = write_loops(self.body, loops, self._hoisted, self._point)
        cost = math.prod(self.dims) * self.body.cost_of_point() + (units * 5.0 if self.inner else 0.0)
        return self.kernel.call(units, cost, min_chunk=shortest, label=label)

    def _hoisted(self) -> list[dict[Value, str]]:
        """Load what does not change along the loop: local names for each place of the unrolled dimension."""
        names: list[dict[Value, str]] = [dict(self.known) for _ in range(self.tiny or 1)]
        for value, access in self.body.inputs.items():
            if access.strides[self.inner] == "0":
                self._load(value, access, "0", names)
        return names

    def _point(self, variable: str, hoisted: Sequence[dict[Value, str]]) -> None:
        """Write everything at one place of the loop, for each place of the unrolled dimension."""
        names = [dict(known) for known in hoisted]
        for value, access in self.body.inputs.items():
            if value not in names[0]:
                self._load(value, access, variable, names)
        for known in names:
            self.body.compute_all(known)
        for value, access in self.body.outputs:
            for place, known in enumerate(names):
                self.body.store(access, self._index(access, variable, place), known[value])

    def _load(self, value: Value, access: Access, variable: str, names: Sequence[dict[Value, str]]) -> None:
        for place, known in enumerate(names):
            if place and access.strides[-1] == "0":
                known[value] = names[0][value]
            else:
                known[value] = self.body.load(access, self._index(access, variable, place))

    def _index(self, access: Access, variable: str, place: int) -> str:
        if not self.tiny:
            return access.index(self.inner, variable)
        return access.element(self.inner, variable, {self.inner + 1: place})

    def _tiles(self, across: int) -> int:
        """A unit is a strip of rows along the dimension that some operands' memory runs along."""
        kernel, body, inner = self.kernel, self.body, self.inner
        turned = {v: a for v, a in body.inputs.items() if a.strides[across] == "1" and a.strides[inner] not in "01"}
        copied = not body.nodes and len(body.outputs) == 1 and body.outputs[0][1].strides[inner] == "1"
        size = min(_itemsize(a) for a in turned.values())
        height = LINE // size * (_lines(self.dims[across], self.dims[inner], size) if copied else 1)
        n, depth = (kernel.parameter(name, self.dims[axis]) for name, axis in (("n", inner), ("depth", across)))
        strips = -(-self.dims[across] // height)
        sizes = [d if axis != across else strips for axis, d in enumerate(self.dims[:inner])]
        tiles = {} if copied else {v: _Tile(f"tile{i}", a, height) for i, (v, a) in enumerate(turned.items())}
        for tile in tiles.values():
            kernel.line(f"{tile.name} = stack_{tile.nbytes}()")
        counts = [kernel.parameter(f"d{axis}", d) for axis, d in enumerate(sizes)]
        with each_unit(kernel, counts) as indices:
            kernel.line(f"top = {indices[across]} * {height}")
            kernel.line(f"rows = min({height}, {depth} - top)")
            outer = {axis: index for axis, index in indices.items() if axis != across}
            if copied:
                self._turn_into_place(across, outer, n)
            else:
                self._turn_and_compute(across, outer, n, tiles)
        return math.prod(sizes)

    def _turn_into_place(self, across: int, outer: dict[int, str], n: str) -> None:
        """A transposed copy needs no tile between."""
        ((_, source),), ((_, target),) = self.body.inputs.items(), self.body.outputs
        bits = 8 * _itemsize(source)
        self.body.start_row({**outer, across: "top"})
        self.kernel.line(
            f"transpose_{bits}({target.pointer}, {target.base}, {target.strides[across]}, "
            f"{source.pointer}, {source.base}, {source.strides[self.inner]}, rows, {n})"
        )

    def _turn_and_compute(self, across: int, outer: dict[int, str], n: str, tiles: dict[Value, _Tile]) -> None:
        kernel, body, inner = self.kernel, self.body, self.inner
        with kernel.block(f"for left in range(0, {n}, {COLUMNS})"):
            kernel.line(f"right = min(left + {COLUMNS}, {n})")
            body.start_row({**outer, across: "top"})
            for tile in tiles.values():
                tile.fill(kernel, inner)
            with kernel.block("for r in range(rows)"):
                kernel.line("row = top + r")
                kernel.line(f"t = r * {COLUMNS} - left")
                body.start_row({**outer, across: "row"})
                known = body.hoist(inner)
                with kernel.block("for j in range(left, right)"):
                    turned = {value: body.load(tile.access, "t + j") for value, tile in tiles.items()}
                    body.point(inner, "j", {**known, **turned})


class _Tile:
    """A part of an operand, turned so that its rows run along the kernel's innermost dimension."""

    def __init__(self, name: str, operand: Access, height: int) -> None:
        self.name, self.operand = name, operand
        self.access = Access(name, operand.dtype, (), "0")
        self.nbytes = height * COLUMNS * _itemsize(operand)

    def fill(self, kernel: KernelBuilder, inner: int) -> None:
        """Write the copy of the columns from ``left`` to ``right``, of ``rows`` rows."""
        kernel.line(
            f"transpose_{8 * _itemsize(self.operand)}({self.name}, 0, {COLUMNS}, "
            f"{self.operand.pointer}, {self.operand.index(inner, 'left')}, {self.operand.strides[inner]}, "
            "rows, right - left)"
        )


def _itemsize(access: Access) -> int:
    from basalt.ops import numpy_dtype

    return numpy_dtype(access.dtype).itemsize


def _lines(depth: int, n: int, itemsize: int) -> int:
    """Cache lines along each of ``n`` columns that a unit of a transposed copy reads.

    Several in a row are fetched ahead, which pays as long as what a unit writes stays in a first-level cache.
    """
    fits = SEVERAL * LINE * n <= STRIP and depth * itemsize >= MANY_STRIPS * SEVERAL * LINE
    return SEVERAL if fits else 1


def _tiny(dims: Sequence[int], nodes: int) -> int:
    """The innermost dimension if it should be unrolled, else 0."""
    if len(dims) < 2 or dims[-1] > TINY or dims[-1] * nodes > UNROLLED or dims[-2] < TINY:
        return 0
    return dims[-1]


def _dimension_across(dims: Sequence[int], inputs: Sequence[Sequence[int]]) -> int | None:
    """The outer dimension along which the memory of an operand runs that is walked with long steps, if there is one."""
    if dims[-1] < TINY:
        return None
    for strides in inputs:
        if abs(strides[-1]) > 1 and 1 in strides:
            axis = strides.index(1)
            if dims[axis] >= TINY:
                return axis
    return None


def _reusable(inputs: Sequence[Placed], output: Placed, strides: Sequence[tuple[int, ...]]) -> list[tuple[View, View]]:
    """Inputs that the output may overwrite: the same elements in the same places."""
    _, view = output
    return [
        (given, view) for (_, given), s in zip(inputs, strides) if s == strides[-1] and given.itemsize == view.itemsize
    ]
