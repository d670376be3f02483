"""Reductions over any axes, with everything element-wise before, between and after them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from ..codegen.choices import stays
from ..codegen.lowering import Lowering
from ..codegen.registry import template
from ..codegen.rows import REDUCTIONS, RowGroup
from ..ir import FUSED, Node
from ..views import View
from .column_kernel import column_call, column_units
from .row_kernel import row_call
from .short_rows import fits_registers, short_row_call
from .split_reduction import SplitReduction, worth_parts

FEW = 8
"""Rows side by side that do not fill a vector."""
LONG = 64
"""Elements of a row from which it pays to reduce neighbours of its own first."""


@template("rows", *REDUCTIONS)
def reduce(node: Node, lowering: Lowering) -> None:
    """Lower a reduction, or a fused group of reductions over one set of axes."""
    if node.op == FUSED:
        nodes, inner_in, inner_out = node.body.nodes, node.body.inputs, [v for _, v in node.body.outputs]
    else:
        nodes, inner_in, inner_out = (node,), node.present, list(node.outputs)
    inputs = [(i, lowering.read(o)) for i, o in zip(inner_in, node.present)]
    outputs = [(i, lowering.write(o)) for i, o in zip(inner_out, node.outputs)]
    if node.op != FUSED:
        outputs = [(v, _with_kept_dimensions(node, view)) for v, view in outputs]
    first = next(n for n in nodes if n.op in REDUCTIONS)
    shape, axes = first.present[0].shape, first.attrs["axes"]
    lower_rows(RowGroup.of(nodes, inputs, outputs, shape, axes), lowering)


def lower_rows(group: RowGroup, lowering: Lowering, splits: Collection[str] = ("neighbours", "parts")) -> None:
    """Choose how to walk a row group, and add its kernels; ``splits`` are the kinds of splitting that may be done."""
    beside = _side_by_side(group)
    units = column_units(group) if beside else group.rows
    if fits_registers(group) and stays(group.reduced):
        lowering.add(short_row_call(group))
    elif "neighbours" in splits and beside and _narrow(group):
        SplitReduction(group, lowering, lower_rows).write()
    elif "parts" in splits and worth_parts(group, units, beside=beside):
        SplitReduction(group, lowering, lower_rows, units).write()
    else:
        lowering.add(column_call(group) if beside else row_call(group))


def _side_by_side(group: RowGroup) -> bool:
    """Whether neighbouring rows lie closer in memory than neighbouring elements of a row."""
    lead = group.lead
    if lead is None:
        return False
    beside, along = abs(lead.strides[len(group.kept) - 1]), abs(lead.strides[-1])
    return group.kept[-1] > 1 and beside > 0 and (beside < along or along == 0)


def _narrow(group: RowGroup) -> bool:
    """Whether the rows side by side are too few for vectors, and elements of longer rows could stand in for more."""
    lead = group.lead
    assert lead is not None
    follows = lead.strides[-1] == lead.strides[len(group.kept) - 1] * group.kept[-1]
    return group.kept[-1] < FEW and group.reduced[-1] >= LONG and follows


def _with_kept_dimensions(node: Node, view: View) -> View:
    """The result of a reduction with its reduced dimensions as dimensions of size 1."""
    if node.attrs["keep_dimensions"]:
        return view
    shape, strides = list(view.shape), list(view.strides)
    for axis in sorted(node.attrs["axes"]):
        shape.insert(axis, 1)
        strides.insert(axis, 0)
    return replace(view, shape=tuple(shape), strides=tuple(strides))
