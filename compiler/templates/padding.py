"""Padding: the interior is copied (or computed) in place, then one slab of padding after another is filled.

Axis by axis, each slab takes its elements from what is already there, so that corners need no care of their own.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..codegen.lowering import Lowering
from ..codegen.placement import interior
from ..codegen.registry import template
from ..ir import Node
from ..views import View


@template("pad")
def pad(node: Node, lowering: Lowering) -> None:
    """All three modes."""
    target = lowering.write(node.output)
    before, after = node.attrs["beginning_padding"], node.attrs["ending_padding"]
    source = lowering.read(node.present[0])
    middle = interior(target, before, source.shape)
    if not source.same_elements(middle):
        lowering.copy(source, middle)
    starts, sizes = list(before), list(source.shape)
    for axis in range(len(sizes)):
        inner = (starts[axis], sizes[axis])
        for start, count in ((0, before[axis]), (inner[0] + inner[1], after[axis])):
            if count:
                slab = _window(target, starts, sizes, axis, start, count)
                _fill_slab(node, lowering, target, slab, (starts, sizes, axis), start < inner[0])
        starts[axis], sizes[axis] = 0, target.shape[axis]


def _fill_slab(
    node: Node,
    lowering: Lowering,
    target: View,
    slab: View,
    place: tuple[Sequence[int], Sequence[int], int],
    front: bool,
) -> None:
    starts, sizes, axis = place
    first, count, wide = starts[axis], sizes[axis], slab.shape[axis]
    if node.attrs["mode"] == "constant":
        lowering.fill(slab, node.attrs["value"])
        return
    if node.attrs["mode"] == "edge":
        edge = first if front else first + count - 1
        lowering.copy(_window(target, starts, sizes, axis, edge, 1).expanded(slab.shape), slab)
        return
    mirrored = first + 1 if front else first + count - 1 - wide
    lowering.copy(_window(target, starts, sizes, axis, mirrored, wide).reversed([axis]), slab)


def _window(view: View, starts: Sequence[int], sizes: Sequence[int], axis: int, start: int, count: int) -> View:
    """The part of a view that lies within the given box, but for one axis from ``start`` on."""
    begin = [start if i == axis else s for i, s in enumerate(starts)]
    extent = [count if i == axis else s for i, s in enumerate(sizes)]
    return view.sliced(begin, extent, (1,) * len(extent))
