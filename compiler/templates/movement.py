"""Movement operators: views where that is possible, copies into place where it is not."""

from __future__ import annotations

from dataclasses import replace

from ..codegen.lowering import Lowering
from ..codegen.placement import concat_slot
from ..codegen.registry import template
from ..ir import Node


@template("identity")
def identity(node: Node, lowering: Lowering) -> None:
    """The operand itself."""
    lowering.bind(node.output, lowering.read(node.present[0]))


@template("bitcast")
def bitcast(node: Node, lowering: Lowering) -> None:
    """The operand's memory seen as another data type."""
    lowering.bind(node.output, replace(lowering.read(node.present[0]), dtype=node.output.dtype))


@template("reshape")
def reshape(node: Node, lowering: Lowering) -> None:
    """The operand's memory seen in another shape; copied to the result's place if its strides do not allow that."""
    view = lowering.read(node.present[0])
    shape = node.output.shape
    seen = view.reshaped(shape)
    if seen is None:
        place = lowering.write(node.output)
        parts = place.reshaped(view.shape)
        if parts is not None:
            lowering.copy(view, parts)
            return
        seen = lowering.contiguous(view).reshaped(shape)
    assert seen is not None
    lowering.bind(node.output, seen)


@template("transpose")
def transpose(node: Node, lowering: Lowering) -> None:
    """The operand with its strides in another order."""
    lowering.bind(node.output, lowering.read(node.present[0]).permuted(node.attrs["permutation"]))


@template("slice")
def slice_(node: Node, lowering: Lowering) -> None:
    """A window of the operand."""
    view = lowering.read(node.present[0])
    steps = node.attrs["strides"] or (1,) * len(view.shape)
    lowering.bind(node.output, view.sliced(node.attrs["starts"], node.output.shape, steps))


@template("expand")
def expand(node: Node, lowering: Lowering) -> None:
    """The operand with strides of 0 where it repeats."""
    lowering.bind(node.output, lowering.read(node.present[0]).expanded(node.output.shape))


@template("reverse")
def reverse(node: Node, lowering: Lowering) -> None:
    """The operand read backwards."""
    view = lowering.read(node.present[0])
    axes = node.attrs["axes"]
    lowering.bind(node.output, view.reversed(range(len(view.shape)) if axes is None else axes))


@template("split")
def split(node: Node, lowering: Lowering) -> None:
    """Windows of the operand."""
    view = lowering.read(node.present[0])
    axis, start = node.attrs["axis"], 0
    for value in node.outputs:
        lowering.bind(value, concat_slot(view, axis, start, value.shape))
        start += value.shape[axis]


@template("concat")
def concat(node: Node, lowering: Lowering) -> None:
    """Operands that could be computed in place are there already; the others are copied."""
    target = lowering.write(node.output)
    axis, start = node.attrs["axis"], 0
    for value in node.present:
        place = concat_slot(target, axis, start, value.shape)
        start += value.shape[axis]
        view = lowering.read(value)
        if not view.same_elements(place):
            lowering.copy(view, place)


@template("tile")
def tile(node: Node, lowering: Lowering) -> None:
    """A copy from a view that repeats the operand along an extra dimension before each of its own."""
    view, target = lowering.read(node.present[0]), lowering.write_contiguous(node.output)
    times = node.attrs["repetitions"]
    shape = tuple(d for pair in zip(times, view.shape) for d in pair)
    source = replace(view, shape=shape, strides=tuple(s for stride in view.strides for s in (0, stride)))
    repeated = target.reshaped(shape)
    assert repeated is not None
    lowering.copy(source, repeated)
