"""The element-wise operators fused behind a root (a product, a convolution, a reduction), and where they store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ..ir import FUSED, Node, Value
from ..views import View
from .body import Body, cost_of
from .kernel import KernelBuilder

if TYPE_CHECKING:
    from .lowering import Lowering


class Epilogue:
    """What a template does with its root's result at each point.

    ``root`` is the root's own node, whatever it is fused with; ``operand_values`` are its operands in the graph, which
    :meth:`operand` gives views of. A template declares the extra operands and results over its own space with
    :meth:`declare`, then uses the :class:`Body`.
    """

    def __init__(self, lowering: Lowering, node: Node) -> None:
        self.node = node
        self.root = node.body.nodes[0] if node.op == FUSED else node
        self.nodes: tuple[Node, ...] = node.body.nodes[1:] if node.op == FUSED else ()
        self._lowering = lowering
        outer = dict(zip(node.body.inputs, node.present)) if node.op == FUSED else {v: v for v in node.present}
        self.operand_values: tuple[Value | None, ...] = tuple(None if v is None else outer[v] for v in self.root.inputs)
        read = dict.fromkeys(v for n in self.nodes for v in n.present)
        self.extras: list[tuple[Value, View]] = [(v, lowering.read(outer[v])) for v in read if v in outer]
        inner = [v for _, v in node.body.outputs] if node.op == FUSED else list(node.outputs)
        self.results: list[tuple[Value, View]] = [(i, lowering.write(o)) for i, o in zip(inner, node.outputs)]

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the root's result, over which everything fused is computed."""
        return self.root.output.shape

    def operand(self, position: int) -> View:
        """Where the root's operand lives. A constant that is only read in another layout must not be asked for here."""
        value = self.operand_values[position]
        assert value is not None
        return self._lowering.read(value)

    def views(self) -> list[View]:
        """Every extra operand, stretched to the root's shape, and every result."""
        return [v.expanded(self.shape) for _, v in self.extras] + [v for _, v in self.results]

    def declare(
        self, kernel: KernelBuilder, order: Sequence[int] | None = None, split: Sequence[int] | None = None
    ) -> Body:
        """Declare extra operands and results over the dimensions of the root's result.

        Args:
            kernel: the kernel being written.
            order: the result's dimensions in the order of the kernel's loops, innermost last (default: as they are).
            split: the shape that the template sees the result in, if it merges or splits dimensions; every view
                must allow it without a copy (:meth:`fits`).
        """
        shape = tuple(split or self.shape)
        axes = tuple(order or range(len(shape)))
        return self.declare_over(kernel, [self._strides(view, shape, axes) for view in self.views()])

    def declare_over(self, kernel: KernelBuilder, strides: Sequence[Sequence[int]]) -> Body:
        """Declare extra operands and results over any space, given the strides over it of each of :meth:`views`."""
        body = Body(kernel, self.nodes, len(strides[0]))
        for (value, view), s in zip(self.extras, strides):
            body.declare_input(value, view, s)
        for (value, view), s in zip(self.results, strides[len(self.extras) :]):
            body.declare_output(value, view, s)
        return body

    def fits(self, split: Sequence[int]) -> bool:
        """Whether every extra operand and result can be seen in another shape without a copy."""
        return all(v.reshaped(split) is not None for v in self.views())

    def finish(self, body: Body, value: str, axis: int, variable: str, known: Mapping[Value, str]) -> None:
        """Write the fused operators and the stores for one point whose root result is in local ``value``."""
        body.point(axis, variable, {**known, self.root.output: value})

    def cost(self) -> float:
        """Estimated nanoseconds an element of the fused operators."""
        return cost_of(self.nodes)

    def _strides(self, view: View, shape: tuple[int, ...], axes: tuple[int, ...]) -> list[int]:
        seen: View | None = view if shape == self.shape else view.reshaped(shape)
        if seen is None:
            raise ValueError(f"{view.shape} cannot be seen as {shape} without a copy")
        return [0 if shape[a] == 1 else seen.strides[a] for a in axes]
