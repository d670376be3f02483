"""Reductions in two steps: parts of the rows on their own, then the parts together.

Few long rows would leave threads idle, and rows that lie side by side only a few elements wide would leave vectors
empty. So a reduced dimension is split in two, of which one is kept: the outer one gives parts for threads, the inner
one gives neighbours for vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from basalt.ops import TensorType

from ..codegen.elementwise import elementwise_call
from ..codegen.lowering import Lowering
from ..codegen.rows import REDUCTIONS, Placed, RowGroup, nodes_for
from ..ir import Node, Value
from ..views import View

PARTS = 32
"""Parts of rows for threads to share, if there are no other units."""
PART = 1 << 15
"""Fewest elements of all rows' parts."""
SUM = 1 << 13
"""Elements of rows that lie side by side up to which sums keep their digits."""
NEIGHBOURS = 512
"""Elements side by side that are enough for vectors."""

Lower = Callable[[RowGroup, Lowering, Collection[str]], None]


@dataclass(frozen=True)
class _Parts:
    """A stretch of the dimension that is split: where it starts, and how many parts of which length it has."""

    axis: int
    start: int
    count: int
    length: int


class SplitReduction:
    """A row group in separate kernels: two for each stage, and one for what is stored for each element."""

    def __init__(self, group: RowGroup, lowering: Lowering, lower: Lower, units: int = 0) -> None:
        """
        Args:
            group: the group.
            lowering: where kernels go.
            lower: lowers the parts, given how they may be split further.
            units: the units that there are without splitting; 0 to split off neighbours rather than parts.
        """
        self.group, self.lowering, self.lower = group, lowering, lower
        self.units, self.neighbours = units, units == 0
        self.known: dict[Value, View] = dict(group.inputs)
        self.results = dict(group.outputs)
        self.space = (*group.kept, *group.reduced)

    def write(self) -> None:
        group = self.group
        for stage, reductions in enumerate(group.plan.stages):
            partial = {node: self._partial(node) for node in reductions}
            self._combine(partial, stage + 1)
        rows = dict(group.row_outputs())
        if rows:
            nodes = nodes_for(group.nodes, rows, self.known)
            self.lowering.add(elementwise_call(nodes, self._inputs(nodes, rows), list(rows.items()), ""))

    def _partial(self, node: Node) -> Value:
        """Reduce the parts; returns the value of their results, one after another along a first dimension."""
        nodes = nodes_for(self.group.nodes, node.inputs, self.known)
        inputs = self._inputs(nodes, node.inputs)
        axis, size = self._axis()
        count = self._count(size)
        length, rest = divmod(size, count)
        value = Value(TensorType(node.output.dtype, (count + bool(rest), *self._row_shape())))
        place = self.known[value] = self.lowering.scratch(node.output.dtype, value.shape)
        self._parts([*nodes, node], inputs, place, _Parts(axis, 0, count, length))
        if rest:
            last = replace(place, offset=place.offset + count * place.strides[0])
            self._parts([*nodes, node], inputs, last, _Parts(axis, count * length, 1, rest))
        return value

    def _parts(self, nodes: Sequence[Node], inputs: Sequence[Placed], place: View, parts: _Parts) -> None:
        """Add the kernels that reduce parts of equal length; their results go to ``place``, one after another."""
        axis = parts.axis
        sizes = (parts.length, parts.count) if self.neighbours else (parts.count, parts.length)
        shape = (*self.space[:axis], *sizes, *self.space[axis + 1 :])
        kept = axis + self.neighbours
        reduced = [a for a in range(len(self.group.kept), len(shape)) if a != kept]
        strides = [*place.strides[1 : 1 + len(self.group.kept)], *(0 for _ in shape[len(self.group.kept) :])]
        strides[kept] = place.strides[0]
        result = View(place.buffer, place.dtype, shape, tuple(strides), place.offset)
        views = [(v, _split(view, axis, parts.start, sizes)) for v, view in inputs]
        group = RowGroup.of(nodes, views, [(nodes[-1].output, result)], shape, reduced)
        self.lower(group, self.lowering, ("parts",) if self.neighbours else ())

    def _combine(self, partial: dict[Node, Value], stage: int) -> None:
        """Reduce the parts' results, and compute what is one number a row and becomes available with them."""
        plan = self.group.plan
        numbers = [
            n
            for n in self.group.nodes
            if n.op not in REDUCTIONS and not plan.varies[n.output] and plan.stage_of[n.output] in (0, stage)
        ]
        finals = [Node(n.op, (v,), n.outputs, n.attrs) for n, v in partial.items()]
        made = [n.output for n in (*finals, *numbers) if n.output not in self.known]
        shape = (next(iter(partial.values())).shape[0], *self._row_shape())
        outputs = []
        for value in made:
            place = self.results.get(value)
            if place is None or self.group.along(place):
                place = self.lowering.scratch(value.dtype, self._row_shape())
            outputs.append((value, self._one_a_row(place)))
        nodes = [*finals, *nodes_for(numbers, made, [*self.known, *(n.output for n in finals)])]
        inputs = [(v, self._one_a_row(self.known[v])) for v in self._read(nodes) if v not in partial.values()]
        inputs += [(v, self.known[v]) for v in partial.values()]
        self.lower(RowGroup.of(nodes, inputs, outputs, shape, (0,)), self.lowering, ())
        self.known |= {value: view.expanded(self.space) for value, view in outputs}

    def _inputs(self, nodes: Sequence[Node], wanted: Iterable[Value | None]) -> list[Placed]:
        """The known values that some nodes read, or that are wanted as they are."""
        values = [*self._read(nodes), *(v for v in wanted if v in self.known)]
        return [(v, self.known[v]) for v in dict.fromkeys(values) if v is not None]

    def _read(self, nodes: Sequence[Node]) -> list[Value]:
        made = {n.output for n in nodes}
        return list(dict.fromkeys(v for n in nodes for v in n.present if v not in made))

    def _row_shape(self) -> tuple[int, ...]:
        return (*self.group.kept, *(1 for _ in self.group.reduced))

    def _one_a_row(self, view: View) -> View:
        """A view of the whole space whose rows hold one number, with that number alone."""
        return replace(view, shape=self._row_shape()) if len(view.shape) == len(self.space) else view

    def _axis(self) -> tuple[int, int]:
        """The reduced dimension to split, in the space, and its size."""
        first, reduced = len(self.group.kept), self.group.reduced
        if self.neighbours:
            return first + len(reduced) - 1, reduced[-1]
        best = max(range(len(reduced)), key=lambda i: (min(reduced[i], PARTS), -i))
        return first + best, reduced[best]

    def _count(self, size: int) -> int:
        """The parts that a dimension is split into, a divisor of it if one is near."""
        if self.neighbours:
            wanted = max(1, min(size, NEIGHBOURS // self.group.kept[-1]))
        else:
            most = max(PARTS // self.units, self.group.length // SUM)
            wanted = max(2, min(size, most, self.group.rows * self.group.length // PART))
        return next((d for d in range(wanted, wanted // 2, -1) if size % d == 0), wanted)


def _split(view: View, axis: int, start: int, sizes: tuple[int, int]) -> View:
    """A dimension of a view as two, from an element on."""
    stride = view.strides[axis]
    return replace(
        view,
        offset=view.offset + start * stride,
        shape=(*view.shape[:axis], *sizes, *view.shape[axis + 1 :]),
        strides=(*view.strides[:axis], sizes[1] * stride, stride, *view.strides[axis + 1 :]),
    )


def worth_parts(group: RowGroup, units: int, *, beside: bool) -> bool:
    """Whether rows should be split for threads, or for digits where each is summed up on its own."""
    if beside and group.length >= SUM:
        return True
    return units < 4 and group.rows * group.length >= 4 * PART and group.length >= 64
