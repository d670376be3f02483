"""What a kernel computes at each point of its iteration space: operands loaded, expressions, results stored.

A :class:`Body` is the element-wise part of a kernel. An element-wise kernel is nothing else; a convolution, a product
or a reduction computes its root value and hands it to the body, which applies the fused operators and stores results.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from basalt import ops
from basalt.ops.elementwise import Expressed

from ..ir import Node, Value
from ..views import View
from .kernel import KernelBuilder
from .terms import SUFFIX, TermWriter, wrap_nibble

LOAD_COST = 0.06
"""Nanoseconds an element and byte moved, for the cost model: some 16 GB/s a core."""
HEAVY = frozenset(
    {"exp", "tanh", "erf", "sigmoid", "gelu", "softplus", "log", "sin", "cos", "tan", "pow", "elu"}
    | {"asin", "acos", "atan", "sinh", "cosh", "asinh", "acosh", "atanh", "expm1", "log1p", "mod", "fmod"}
)


@dataclass(frozen=True, slots=True)
class Access:
    """An operand or result inside a kernel: its pointer and its strides over the kernel's dimensions (as source)."""

    pointer: str
    dtype: str
    strides: tuple[str, ...]
    base: str

    def index(self, axis: int, variable: str) -> str:
        """The element's index when ``variable`` runs over dimension ``axis``."""
        stride = self.strides[axis]
        if stride == "0":
            return self.base
        step = variable if stride == "1" else f"{variable} * {stride}"
        return step if self.base == "0" else f"{self.base} + {step}"

    def element(self, axis: int, variable: str, places: Mapping[int, int]) -> str:
        """As :meth:`index`, at fixed places along other dimensions."""
        index = self.index(axis, variable)
        steps = [_product(place, self.strides[other]) for other, place in places.items()]
        known = sum(int(step) for step in steps if _is_number(step))
        unknown = [step for step in steps if not _is_number(step)]
        parts = [p for p in (index, *unknown, str(known)) if p != "0"]
        return " + ".join(parts) or "0"


def _product(place: int, stride: str) -> str:
    if _is_number(stride):
        return str(place * int(stride))
    return "0" if place == 0 else stride if place == 1 else f"{place} * {stride}"


def _is_number(text: str) -> bool:
    return text.lstrip("-").isdigit()


class Body:
    """The element-wise operators of a kernel over a space of some rank."""

    def __init__(
        self, kernel: KernelBuilder, nodes: Sequence[Node], rank: int, *, literal: int = 1, based: bool = False
    ) -> None:
        """
        Args:
            kernel: the kernel being written.
            nodes: the operators, in order.
            rank: the dimensions of the space.
            literal: the greatest stride that stands in the source itself, for loops that need to know it.
            based: whether rows start at some place of the innermost dimension, too.
        """
        self.kernel = kernel
        self.nodes = nodes
        self.rank = rank
        self.literal = literal
        self.based = based
        self.terms = TermWriter(kernel)
        self.inputs: dict[Value, Access] = {}
        self.outputs: list[tuple[Value, Access]] = []

    def declare_input(self, value: Value, view: View, strides: Sequence[int]) -> Access:
        """Declare an operand with its strides over the kernel's space."""
        name = f"x{len(self.inputs)}"
        access = self._access(name, self.kernel.source(name, view), view.dtype, strides)
        self.inputs[value] = access
        return access

    def declare_output(self, value: Value, view: View, strides: Sequence[int]) -> Access:
        """Declare a result with its strides over the kernel's space."""
        name = f"y{len(self.outputs)}"
        access = self._access(name, self.kernel.target(name, view), view.dtype, strides)
        self.outputs.append((value, access))
        return access

    def start_row(self, indices: Mapping[int, str]) -> None:
        """Write the base index of every operand and result, given the source of the outer dimensions' indices."""
        for access in [*self.inputs.values(), *(a for _, a in self.outputs)]:
            if access.base == "0":
                continue
            parts = [
                index if access.strides[axis] == "1" else f"{index} * {access.strides[axis]}"
                for axis, index in indices.items()
                if access.strides[axis] != "0" and index != "0"
            ]
            self.kernel.line(f"{access.base} = {' + '.join(parts) or '0'}")

    def hoist(self, axis: int) -> dict[Value, str]:
        """Load the operands that do not change along ``axis``; returns their local names."""
        return {v: self.load(a, a.base) for v, a in self.inputs.items() if a.strides[axis] == "0"}

    def load(self, access: Access, index: str) -> str:
        """Write the load of one element; returns its local name."""
        name = self.kernel.temporary("v")
        text = f"load_{SUFFIX[access.dtype]}({access.pointer}, {index})"
        if access.dtype in ("int4", "uint4"):
            text = wrap_nibble(text, access.dtype)
        self.kernel.line(f"{name} = {f'u8_bool({text})' if access.dtype == 'bool' else text}")
        return name

    def store(self, access: Access, index: str, name: str) -> None:
        """Write the store of one element."""
        value = f"bool_u8({name})" if access.dtype == "bool" else name
        self.kernel.line(f"store_{SUFFIX[access.dtype]}({access.pointer}, {index}, {value})")

    def point(self, axis: int, variable: str, known: Mapping[Value, str]) -> dict[Value, str]:
        """Write everything for one point: remaining loads, the expressions, the stores.

        Args:
            axis: the dimension that the innermost loop runs over.
            variable: its loop variable.
            known: values that are there already (hoisted operands, the root's result).
        """
        names = dict(known)
        for value, access in self.inputs.items():
            if value not in names:
                names[value] = self.load(access, access.index(axis, variable))
        self.compute_all(names)
        for value, access in self.outputs:
            self.store(access, access.index(axis, variable), names[value])
        return names

    def compute_all(self, names: dict[Value, str]) -> None:
        """Write every node, given the names of the operands; adds those of the results."""
        for node in self.nodes:
            names[node.output] = self.compute(node, names)

    def compute(self, node: Node, names: Mapping[Value, str]) -> str:
        """Write one element-wise node; returns its value's local name."""
        operator = ops.get(node.op)
        assert isinstance(operator, Expressed)
        types = [None if v is None else v.type for v in node.inputs]
        term = operator.term(types, dict(node.attrs), node.output.type)
        operands = {o.name: names[v] for o, v in zip(operator.operands, node.inputs) if v is not None}
        params = {name: node.attrs[name] for name in operator.parameters}
        return self.terms.write(term, operands, params)

    def cost_of_point(self) -> float:
        """Estimated nanoseconds a point on one core."""
        moved = sum(
            ops.numpy_dtype(a.dtype).itemsize
            for a in [*self.inputs.values(), *(a for _, a in self.outputs)]
            if any(s != "0" for s in a.strides)
        )
        return moved * LOAD_COST + cost_of(self.nodes)

    def _access(self, name: str, pointer: str, dtype: str, strides: Sequence[int]) -> Access:
        declared = tuple(self.kernel.integer(f"{name}_s{i}", s, self.literal) for i, s in enumerate(strides))
        outer = self.based or (self.rank > 1 and any(s != "0" for s in declared[:-1]))
        return Access(pointer, dtype, declared, f"{name}_b" if outer else "0")


def cost_of(nodes: Sequence[Node]) -> float:
    """Estimated nanoseconds of arithmetic an element."""
    return sum(0.6 if n.op in HEAVY else 0.05 for n in nodes)
