"""Gather and scatter: one loop nest in which some strides are multiplied by indices read from a tensor.

Each index is clamped to its dimension after negative ones were counted from the end, so that nothing outside a buffer
is ever touched, whatever the indices are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..codegen.body import Access, Body
from ..codegen.kernel import KernelBuilder
from ..codegen.lowering import Lowering
from ..codegen.registry import template
from ..codegen.terms import SUFFIX
from ..ir import Node, Value
from ..views import View, collapse
from .elementwise import decode
from .raw import raw


@dataclass(frozen=True)
class _Indexed:
    """A tensor addressed by indices: its strides over the loop's space, and what each index is multiplied by."""

    view: View
    strides: Sequence[int]
    steps: Sequence[int]
    sizes: Sequence[int]


@template("gather")
def gather(node: Node, lowering: Lowering) -> None:
    """Slices along an axis."""
    source, indices = lowering.read_stored(node.present[0]), lowering.read(node.present[1])
    axis, count = node.attrs["axis"], len(indices.shape)
    strides = source.strides[:axis] + (0,) * count + source.strides[axis + 1 :]
    spread = (0,) * axis + indices.strides + (0,) * (len(source.shape) - axis - 1)
    _take(node, lowering, _Indexed(source, strides, [source.strides[axis]], [source.shape[axis]]), indices, spread)


@template("gather_elements")
def gather_elements(node: Node, lowering: Lowering) -> None:
    """Single elements along an axis."""
    source, indices = (lowering.read(v) for v in node.present)
    axis = node.attrs["axis"]
    _take(node, lowering, _along(source, axis), indices, indices.strides)


@template("gather_nd")
def gather_nd(node: Node, lowering: Lowering) -> None:
    """Slices by coordinates."""
    source, indices = (lowering.read(v) for v in node.present)
    _take(node, lowering, *_coordinates(source, indices))


@template("scatter_elements")
def scatter_elements(node: Node, lowering: Lowering) -> None:
    """A copy with single elements replaced along an axis."""
    indices, updates = (lowering.read(v) for v in node.present[1:])
    target = _copied(node, lowering)
    _put(lowering, _along(target, node.attrs["axis"]), indices, indices.strides, updates)


@template("scatter_nd")
def scatter_nd(node: Node, lowering: Lowering) -> None:
    """A copy with slices replaced by coordinates."""
    indices, updates = (lowering.read(v) for v in node.present[1:])
    target = _copied(node, lowering)
    _put(lowering, *_coordinates(target, indices), updates)


def _along(view: View, axis: int) -> _Indexed:
    strides = tuple(0 if i == axis else s for i, s in enumerate(view.strides))
    return _Indexed(view, strides, [view.strides[axis]], [view.shape[axis]])


def _coordinates(view: View, indices: View) -> tuple[_Indexed, View, tuple[int, ...]]:
    length = indices.shape[-1]
    lead = len(indices.shape) - 1
    strides = (0,) * lead + view.strides[length:]
    spread = indices.strides[:-1] + (0,) * (len(view.shape) - length)
    return _Indexed(view, strides, view.strides[:length], view.shape[:length]), indices, spread


def _copied(node: Node, lowering: Lowering) -> View:
    target = lowering.write(node.output)
    lowering.carry_over(node.present[0], node, target)
    return target


def _take(node: Node, lowering: Lowering, source: _Indexed, indices: View, spread: Sequence[int]) -> None:
    target = lowering.write(node.output)
    writer = _IndexWriter("gather", target.shape, source, indices, spread)
    writer.write(lowering, target, read=True)


def _put(lowering: Lowering, target: _Indexed, indices: View, spread: Sequence[int], updates: View) -> None:
    writer = _IndexWriter("scatter", updates.shape, target, indices, spread)
    writer.write(lowering, updates, read=False)


class _IndexWriter:
    def __init__(
        self, kind: str, shape: Sequence[int], indexed: _Indexed, indices: View, spread: Sequence[int]
    ) -> None:
        self.kernel = KernelBuilder(kind)
        self.shape, self.indexed, self.indices, self.spread = shape, indexed, indices, spread

    def write(self, lowering: Lowering, plain: View, *, read: bool) -> None:
        """Add the kernel that moves between the indexed tensor and a plain one; ``read`` says which way."""
        kernel, indexed = self.kernel, self.indexed
        dims, strides = collapse(self.shape, [indexed.strides, self.spread, plain.strides])
        body = Body(kernel, (), len(dims))
        if indexed.view.dtype == plain.dtype:
            indexed, plain = replace(indexed, view=raw(indexed.view)), raw(plain)
        moved, places = Value(_type(plain)), Value(_type(self.indices))
        declare = (body.declare_input, body.declare_output) if read else (body.declare_output, body.declare_input)
        far = declare[0](moved, indexed.view, strides[0])
        near = declare[1](moved if not read else Value(moved.type), plain, strides[2])
        index = body.declare_input(places, self.indices, strides[1])
        sizes = [kernel.parameter(f"d{i}", d) for i, d in enumerate(dims[:-1])]
        n = kernel.parameter("n", dims[-1])
        limits = [kernel.parameter(f"size{k}", s) for k, s in enumerate(indexed.sizes)]
        steps = [kernel.integer(f"step{k}", s) for k, s in enumerate(indexed.steps)]
        apart = kernel.integer("apart", self.indices.strides[-1] if len(limits) > 1 else 0)
        inner = len(dims) - 1
        with kernel.block("for u in range(start, stop)"):
            if sizes:
                body.start_row(decode(kernel, "u", sizes))
            along = "j" if sizes else "u"
            fixed = index.strides[inner] == "0" and bool(sizes)
            place = self._offset(index, index.base, limits, steps, apart) if fixed else ""
            depth = kernel._depth
            if sizes:
                kernel.line(f"for j in range({n}):")
                kernel._depth += 1
            if not fixed:
                place = self._offset(index, index.index(inner, along), limits, steps, apart)
            source, target = (far, near) if read else (near, far)
            at = {id(far): f"{far.index(inner, along)} + {place}", id(near): near.index(inner, along)}
            body.store(target, at[id(target)], body.load(source, at[id(source)]))
            kernel._depth = depth
        points = math.prod(dims)
        lowering.add(
            kernel.call(math.prod(dims[:-1]) if sizes else dims[0], points * 1.0 + 5.0, serial=not read, min_chunk=1)
        )

    def _offset(self, index: Access, at: str, limits: Sequence[str], steps: Sequence[str], apart: str) -> str:
        """Write the loads and clamping of the indices; returns the sum of what they add to the element's index."""
        kernel, suffix = self.kernel, SUFFIX[self.indices.dtype]
        parts = []
        for k, (limit, step) in enumerate(zip(limits, steps)):
            place = at if k == 0 else f"{at} + {apart}" if k == 1 else f"{at} + {k} * {apart}"
            loaded = f"load_{suffix}({index.pointer}, {place})"
            kernel.line(f"at{k} = {loaded if suffix == 'i64' else f'cast_{suffix}_i64({loaded})'}")
            kernel.line(f"at{k} = select_i64(lt_i64(at{k}, 0), at{k} + {limit}, at{k})")
            kernel.line(f"at{k} = clamp_i64(at{k}, 0, {limit} - 1)")
            parts.append(f"at{k} * {step}")
        kernel.line(f"place = {' + '.join(parts) or '0'}")
        return "place"


def _type(view: View):  # type: ignore[no-untyped-def]
    from basalt.ops import TensorType

    return TensorType(view.dtype, view.shape)
