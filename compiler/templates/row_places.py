"""The operands and results of a row group's kernel, whichever way the kernel walks."""

from __future__ import annotations

from collections.abc import Sequence

from ..codegen.body import Access, Body
from ..codegen.rows import RowGroup
from ..ir import Value


class RowPlaces:
    """Declares a group's operands and results in a body over its space."""

    def __init__(self, group: RowGroup, body: Body, order: Sequence[int] | None = None) -> None:
        """``order`` is that of the kernel's loops over the group's dimensions, innermost last."""
        self.group, self.body = group, body
        axes = range(len(group.kept) + len(group.reduced)) if order is None else order
        for value, view in group.inputs:
            body.declare_input(value, view, [view.strides[a] for a in axes])
        for value, view in group.outputs:
            body.declare_output(value, view, [view.strides[a] for a in axes])

    def result(self, value: Value) -> Access:
        return next(access for v, access in self.body.outputs if v is value)

    def row_results(self) -> list[tuple[Value, Access]]:
        """The results with an element for each of the row's."""
        return [(v, self.result(v)) for v, _ in self.group.row_outputs()]

    def row_numbers(self) -> list[tuple[Value, Access]]:
        """The results that are one number a row."""
        along = {v for v, _ in self.group.row_outputs()}
        return [(v, access) for v, access in self.body.outputs if v not in along]

    def offer_in_place(self) -> None:
        """Name the operands that the only row of results may overwrite: the last pass reads an element, then writes it.

        A spilled value would overwrite the operand before that.
        """
        results = self.group.row_outputs()
        if len(results) != 1 or self.group.plan.spilled:
            return
        ((_, result),) = results
        for _, view in self.group.inputs:
            if view.strides == result.strides and view.itemsize == result.itemsize:
                self.body.kernel.in_place.append((view, result))
