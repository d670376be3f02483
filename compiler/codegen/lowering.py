"""Lowering: walks a graph's nodes, gives every value a place, and collects the kernel calls that make a program."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from basalt import ops
from basalt.errors import BasaltError, UnsupportedError
from basalt.runtime.memory import streamed

from ..ir import FUSED, Constants, Graph, Node, Value
from ..kernels.target import target
from ..narrow import FORMS, narrow_type
from ..pointwise import is_pointwise
from ..views import Buffer, Storage, View, allocate
from . import registry
from .choices import at_node
from .elementwise import carry_call, copy_call, elementwise_call, fill_call
from .epilogue import Epilogue
from .kernel import Call, KernelBuilder
from .layouts import allocate_in, channels_last
from .placement import place_outputs
from .signature import node_signature
from .work import arithmetic_dtype, operations_of


class Lowering:
    """What templates work with: views of operands and results, kernel builders, and the list of calls made so far."""

    def __init__(self, graph: Graph, constants: Constants) -> None:
        self.graph = graph
        self.constants = constants
        self.calls: list[Call] = []
        self.spans: list[tuple[int, int]] = []
        """For each node lowered the first of its calls, and the one after the last."""
        self.constant_arrays: list[np.ndarray] = []
        self._views: dict[Value, View] = {}
        self._constant_views: dict[int, View] = {}
        self._packed: dict[tuple[object, ...], View] = {}
        self._stored_types: dict[int | None, str] = {}
        self._copies: list[tuple[View, View]] = []
        self._shared: dict[Hashable, Any] = {}
        self._label = ""
        self.carried: set[Buffer] = set()
        """Outputs that may hold an input when a run begins."""
        for index, value in enumerate(graph.inputs):
            self._views[value] = allocate(Storage.INPUT, value.dtype, value.shape, index)
        self._outputs = [allocate(Storage.OUTPUT, v.dtype, v.shape, i) for i, (_, v) in enumerate(graph.outputs)]
        self._last = channels_last(graph)
        self._placed = place_outputs(graph, self._outputs, self._last)

    def run(self) -> None:
        """Lower every node, then copy the outputs that could not be computed in place."""
        for node in self.graph.nodes:
            self._lower(node)
        self._label = "output"
        for (_, value), place in zip(self.graph.outputs, self._outputs):
            view = self.read(value)
            if view.buffer is not place.buffer:
                self.copy(view, place)

    # What templates call

    def read(self, value: Value) -> View:
        """Where an operand lives; the view may be strided."""
        if value.constant is not None:
            return self._constant(value)
        return self._views[value]

    def read_contiguous(self, value: Value) -> View:
        """An operand in row-major order, copied if it is not."""
        view = self.read(value)
        return view if view.is_contiguous else self.contiguous(view)

    def contiguous(self, view: View) -> View:
        """A row-major copy of a view."""
        copied = self.scratch(view.dtype, view.shape)
        self.copy(view, copied)
        return copied

    def write(self, value: Value) -> View:
        """Where a result goes: a place of its own, or inside an output or a concatenation (then maybe strided)."""
        view = self._placed.get(value) or allocate_in(value, self._last)
        self._views[value] = view
        return view

    def write_contiguous(self, value: Value) -> View:
        """A row-major place for a result; it is copied afterwards if its final place is not."""
        view = self.write(value)
        if view.is_contiguous:
            return view
        temporary = self.scratch(value.dtype, value.shape)
        self.copy_later(temporary, view)
        return temporary

    def copy_later(self, source: View, target: View) -> None:
        """Add a copy after the node's kernels."""
        self._copies.append((source, target))

    def bind(self, value: Value, view: View) -> None:
        """Make a result a view of what is there already; it is copied if it has to be elsewhere."""
        place = self._placed.get(value)
        if place is not None and not place.same_elements(view):
            self.copy(view, place)
            view = place
        self._views[value] = view

    def scratch(self, dtype: str, shape: tuple[int, ...]) -> View:
        """A temporary tensor in the arena."""
        return allocate(Storage.ARENA, dtype, shape)

    def copy(self, source: View, target: View) -> None:
        """Add the kernel that copies one view to another of the same shape and data type."""
        self.add(copy_call(source, target, self._label))

    def carry_over(self, value: Value, node: Node, target: View) -> None:
        """Copy an operand to where a node changes it; callers may give one array for both if nothing else reads it."""
        source = self.read(value)
        whole = source.covers_buffer and target.covers_buffer
        between = (source.buffer.storage, target.buffer.storage) == (Storage.INPUT, Storage.OUTPUT)
        if not (whole and between and self._read_only_by(value, node)):
            self.copy(source, target)
            return
        self.carried.add(target.buffer)
        self.add(carry_call(source, target))

    def _read_only_by(self, value: Value, node: Node) -> bool:
        readers = [n for n in self.graph.nodes if value in n.present]
        return (
            readers == [node] and node.present.count(value) == 1 and all(v is not value for _, v in self.graph.outputs)
        )

    def fill(self, target: View, number: float | int) -> None:
        """Add the kernel that stores a number in every element of a view."""
        self.add(fill_call(target, number, self._label))

    def add(self, call: Call) -> None:
        """Add a kernel call; one without work is dropped."""
        if call.units > 0:
            self.calls.append(call if call.label else replace(call, label=self._label))

    def epilogue(self, node: Node) -> Epilogue:
        """What a template with an epilogue applies to its root's result and stores."""
        return Epilogue(self, node)

    def constant_array(self, value: Value) -> np.ndarray | None:
        """The array of a constant operand, None if it is computed at run time."""
        return self.constants.array(value) if value.is_constant else None

    def add_constant(self, array: np.ndarray) -> View:
        """A view of an array made at compile time (packed weights, tables)."""
        array = np.asarray(array, order="C")
        self.constant_arrays.append(array)
        index = len(self.constant_arrays) - 1
        return allocate(Storage.CONSTANT, ops.dtype_name(array.dtype), array.shape, index)

    def packed(
        self,
        value: Value,
        layout: tuple[object, ...],
        pack: Callable[[np.ndarray], np.ndarray],
        *,
        narrow: bool = False,
    ) -> View:
        """A constant operand in another layout, made once for all nodes and programs that want it so.

        With ``narrow`` the view may be of a narrower data type that holds the same numbers; ``pack`` then only moves.
        """
        form = self.stored_type(value) if narrow else value.dtype
        if form != value.dtype:
            layout = (*layout, form)
        key = (value.constant, *layout)
        if key not in self._packed:

            def make(array: np.ndarray) -> np.ndarray:
                return streamed(pack(array.astype(ops.numpy_dtype(form), copy=False)))

            self._packed[key] = self.add_constant(self.constants.derived(value, layout, make))
        return self._packed[key]

    def stored_type(self, value: Value) -> str:
        """The data type to keep an operand in: a constant may be kept in a narrower one that holds the same numbers."""
        if not value.is_constant:
            return value.dtype
        if value.constant not in self._stored_types:
            # Widening float16 without an instruction for it takes longer than reading twice the bytes.
            forms = FORMS if target().widens_halves else FORMS[1:]
            found = narrow_type(self.constants.array(value), forms)
            self._stored_types[value.constant] = found or value.dtype
        return self._stored_types[value.constant]

    def read_stored(self, value: Value) -> View:
        """Where an operand lives, with a constant in its :meth:`stored_type`."""
        if self.stored_type(value) == value.dtype:
            return self.read(value)
        return self.packed(value, ("as it is",), lambda array: array, narrow=True)

    def shared(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """What ``make`` computes from a value in the arena, computed once for all nodes that read it so."""
        if key not in self._shared:
            self._shared[key] = make()
        return self._shared[key]

    # How nodes are lowered

    def _lower(self, node: Node) -> None:
        self._label = ", ".join(node.labels()) or (
            node.op if node.op != FUSED else "+".join(n.op for n in node.body.nodes)
        )
        # Nodes made from one of the caller's have its label all: what they hold of weights tells them apart.
        label = f"{self._label} {node.op} {[v.shape for v in node.present[:2] if v.is_constant]}"
        at_node(label, partial(node_signature, node, self._last))
        before = len(self.calls)
        try:
            self._dispatch(node)
        except BasaltError:
            raise
        except Exception as error:
            raise BasaltError(f"could not compile {node!r}: {type(error).__name__}: {error}") from error
        for temporary, place in self._copies:
            self.copy(temporary, place)
        self._copies.clear()
        self._note_work(node, before)
        self.spans.append((before, len(self.calls)))

    def _note_work(self, node: Node, first: int) -> None:
        """Put a node's arithmetic down to the costliest of its calls; the others prepare for it."""
        made = range(first, len(self.calls))
        if made and (operations := operations_of(node)):
            main = max(made, key=lambda i: self.calls[i].cost)
            self.calls[main] = replace(self.calls[main], operations=operations, dtype=arithmetic_dtype(node))

    def _dispatch(self, node: Node) -> None:
        if all(v.type.size == 0 for v in node.outputs):
            for v in node.outputs:
                self.write(v)
            return
        root = node.attrs["root"] if node.op == FUSED else node.op
        template = registry.find(root)
        if template is not None:
            template(node, self)
        elif root == "elementwise" or is_pointwise(node):
            self._elementwise(node)
        else:
            raise UnsupportedError(f"no kernel for operator {root} of {node!r}")

    def _elementwise(self, node: Node) -> None:
        if node.op == FUSED:
            body = node.body
            nodes, inputs, outputs = body.nodes, body.inputs, [v for _, v in body.outputs]
        else:
            nodes, inputs, outputs = (node,), tuple(dict.fromkeys(node.present)), [node.output]
        given = dict.fromkeys(node.present) if node.op != FUSED else node.present
        read = [(inner, self.read_stored(outer)) for inner, outer in zip(inputs, given)]
        written = [(inner, self.write(outer)) for inner, outer in zip(outputs, node.outputs)]
        self.add(elementwise_call(nodes, read, written, self._label))

    def _constant(self, value: Value) -> View:
        assert value.constant is not None
        if value.constant not in self._constant_views:
            self._constant_views[value.constant] = self.add_constant(self.constants.array(value))
        return self._constant_views[value.constant]


def builder(kind: str) -> KernelBuilder:
    """A builder of a kernel of some kind; the kind stands in its first line."""
    return KernelBuilder(kind)
