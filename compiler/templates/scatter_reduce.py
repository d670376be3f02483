"""Scatter with a reduction: each update is combined with what is there, in order, by one thread."""

from __future__ import annotations

import math
from collections.abc import Sequence

from basalt import ops
from basalt.ops.elementwise import Expressed

from ..codegen.body import Body
from ..codegen.lowering import Lowering
from ..codegen.registry import template
from ..ir import Node, Value
from ..views import View, collapse
from .elementwise import decode
from .indexing import _along, _coordinates, _copied, _Indexed, _IndexWriter, _type


@template("scatter_nd_reduce")
def scatter_nd_reduce(node: Node, lowering: Lowering) -> None:
    """A copy with slices at coordinates combined with updates."""
    indices, updates = (lowering.read(v) for v in node.present[1:])
    indexed, places, spread = _coordinates(_copied(node, lowering), indices)
    _ReducingWriter(indexed, places, spread, node.attrs["reduction"]).add_to(lowering, updates)


@template("scatter_elements_reduce")
def scatter_elements_reduce(node: Node, lowering: Lowering) -> None:
    """A copy with single elements along an axis combined with updates."""
    indices, updates = (lowering.read(v) for v in node.present[1:])
    indexed = _along(_copied(node, lowering), node.attrs["axis"])
    _ReducingWriter(indexed, indices, indices.strides, node.attrs["reduction"]).add_to(lowering, updates)


class _ReducingWriter(_IndexWriter):
    def __init__(self, target: _Indexed, indices: View, spread: Sequence[int], reduction: str) -> None:
        super().__init__(f"scatter_{reduction}", (), target, indices, spread)
        self.reduction = reduction

    def add_to(self, lowering: Lowering, updates: View) -> None:
        """Add the kernel, whose unit is a row of updates."""
        kernel, indexed = self.kernel, self.indexed
        dims, strides = collapse(updates.shape, [indexed.strides, self.spread, updates.strides])
        inner = len(dims) - 1
        body = Body(kernel, (), len(dims))
        target = body.declare_output(Value(_type(indexed.view)), indexed.view, strides[0])
        given = body.declare_input(Value(_type(updates)), updates, strides[2])
        index = body.declare_input(Value(_type(self.indices)), self.indices, strides[1])
        sizes = [kernel.parameter(f"d{i}", d) for i, d in enumerate(dims)]
        limits = [kernel.parameter(f"size{k}", s) for k, s in enumerate(indexed.sizes)]
        steps = [kernel.integer(f"step{k}", s) for k, s in enumerate(indexed.steps)]
        apart = kernel.integer("apart", self.indices.strides[-1] if len(limits) > 1 else 0)
        rows = inner > 0
        # Updates of a row that share their index need it only once.
        shared = rows and index.strides[inner] == "0"
        with kernel.block("for u in range(start, stop)"):
            if rows:
                body.start_row(decode(kernel, "u", sizes[:-1]))
            along = "j" if rows else "u"
            if shared:
                self._offset(index, index.base, limits, steps, apart)
            with kernel.block(f"for j in range({sizes[-1]})" if rows else "if True"):
                if not shared:
                    self._offset(index, index.index(inner, along), limits, steps, apart)
                at = f"{target.index(inner, along)} + place"
                old, new = body.load(target, at), body.load(given, given.index(inner, along))
                body.store(target, at, self._combine(body, indexed.view, old, new))
        units = math.prod(dims[:-1]) if rows else dims[0]
        lowering.add(kernel.call(units, math.prod(dims) * 1.5 + 5.0, serial=True, min_chunk=1))

    def _combine(self, body: Body, view: View, old: str, new: str) -> str:
        operator = ops.get(self.reduction)
        assert isinstance(operator, Expressed)
        held = ops.TensorType(view.dtype, ())
        return body.terms.write(operator.term([held, held], {}, held), {"a": old, "b": new}, {})
