"""The fused operators behind a root as a program that a micro-kernel applies to vectors of sums."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..ir import Value
from .body import Access, Body
from .kernel import KernelBuilder
from .terms import SUFFIX

__all__ = ["Formula", "Program", "program_of"]

_LINE = re.compile(r"\s*(\w+) = ([a-z][a-z0-9]*)_(f32|f64)\(([\w, ]*)\)")
MOST_OPERATORS = 40
"""Operators beyond which a program would not fit in the registers."""
_OPERATORS = frozenset(
    {"add", "sub", "mul", "div", "max", "min", "relu", "clamp", "neg", "abs", "sqrt", "rcp", "fma", "sign"}
    | {"floor", "ceil", "rint", "trunc", "select", "eq", "ne", "lt", "le", "gt", "ge", "isnan"}
    | {"exp", "log", "tanh", "sigmoid", "erf", "gelu", "softplus"}
)
"""Primitives that work on vectors as they do on numbers."""


Formula = Callable[[str, dict[Value, str]], str]
"""Writes what makes a root's value of a sum, given the names of the sum and of operands; returns its name."""


@dataclass(frozen=True)
class Program:
    """A program, and where its operands and results are."""

    name: str
    """The program as a part of a micro-kernel's name (see :mod:`basalt.compiler.kernels.finish`)."""
    kinds: Sequence[str]
    operands: Sequence[Access | str]
    """An operand in memory, or the name of a number."""
    results: Sequence[Access]

    def arguments(self, body: Body, column: str, *, lines: bool = False) -> list[str]:
        """Write what the micro-kernel's call needs once :meth:`Body.start_row` is written; returns its arguments.

        Args:
            body: what the program was made of.
            column: the source of the number of the block's first column.
            lines: whether what varies by row also varies along the dimension before, whose stride then follows.
        """
        found: list[str] = []
        for kind, operand in zip(self.kinds, self.operands):
            if isinstance(operand, str):
                found.append(operand)
            elif kind == "k":
                found.append(body.load(operand, operand.base))
            else:
                along = kind in "cx"
                found += [operand.pointer, f"{operand.base} + {column}" if along else operand.base]
                found += [] if kind == "c" else self._steps(operand, lines)
        for result in self.results:
            found += [result.pointer, f"{result.base} + {column}", *self._steps(result, lines)]
        return found

    def _steps(self, access: Access, lines: bool) -> list[str]:
        return [access.strides[-2], access.strides[-3]] if lines else [access.strides[-2]]


def program_of(
    kernel: KernelBuilder, body: Body, root: Value, bias: Value | None, dtype: str, formula: Formula | None = None
) -> Program | None:
    """The program of a body whose last two dimensions are the rows and columns of blocks of sums.

    Args:
        kernel: the kernel being written; numbers are declared in it.
        body: the operators, operands and results.
        root: the value of a sum, with the bias if there is one.
        bias: an operand of the body that is added to the sum first.
        dtype: the data type of sums and of everything else; others cannot be had.
        formula: makes the root of a sum in another way than by adding a bias.

    Returns:
        None if something is no work for vectors: another data type, strides, or an operator of other types.
    """
    accesses = [*body.inputs.values(), *(access for _, access in body.outputs)]
    single = [access.strides[-1] == "1" for _, access in body.outputs]
    if any(access.dtype != dtype for access in accesses) or not all(single):
        return None
    maker = _Maker(kernel, SUFFIX[dtype])
    for value, access in body.inputs.items():
        if access.strides[-1] not in ("0", "1"):
            return None
        maker.operand(value, access)
    lines = _operators(kernel, body, maker, root, formula or _with_bias(kernel, bias, maker.suffix))
    if lines is None or len(lines) > MOST_OPERATORS:
        return None
    for target, op, arguments in lines:
        if not maker.operator(target, op, arguments):
            return None
    stored = tuple(maker.number[maker.names[value]] for value, _ in body.outputs)
    return Program(maker.program(stored), maker.kinds, maker.operands, [access for _, access in body.outputs])


def _with_bias(kernel: KernelBuilder, bias: Value | None, suffix: str) -> Formula:
    def add(total: str, known: dict[Value, str]) -> str:
        return total if bias is None else kernel.define(f"add_{suffix}({total}, {known[bias]})")

    return add


def _operators(
    kernel: KernelBuilder, body: Body, maker: _Maker, root: Value, formula: Formula
) -> list[tuple[str, str, list[str]]] | None:
    """What the body's lines compute, step by step; the lines are not left in the kernel."""
    names = maker.names
    mark = len(kernel.lines)
    names[root] = formula("sum", names)
    body.compute_all(names)
    written, kernel.lines[mark:] = kernel.lines[mark:], []
    matches = [_LINE.fullmatch(line) for line in written]
    if not all(match is not None and match[3] == maker.suffix for match in matches):
        return None
    return [(m[1], m[2], [a.strip() for a in m[4].split(",")]) for m in matches if m is not None]


class _Maker:
    """Numbers the values of a program: the sum, the operands, numbers, then what operators give."""

    def __init__(self, kernel: KernelBuilder, suffix: str) -> None:
        self.kernel, self.suffix = kernel, suffix
        self.names: dict[Value, str] = {}
        self.kinds: list[str] = []
        self.operands: list[Access | str] = []
        self.steps: list[tuple[str, str, list[str]]] = []
        self.order = ["sum"]
        self.made: set[str] = set()

    def operand(self, value: Value, access: Access) -> None:
        along, down = access.strides[-1] == "1", access.strides[-2] != "0"
        name = self.kernel.temporary("operand")
        self.names[value] = name
        self._add(name, ("x" if down else "c") if along else ("s" if down else "k"), access)

    def operator(self, target: str, op: str, arguments: list[str]) -> bool:
        """Add a step; False if it is none for vectors."""
        if op not in _OPERATORS:
            return False
        for name in arguments:
            if name not in self.order and name not in self.made:
                self._add(name, "k", name)
        self.made.add(target)
        self.steps.append((target, op, arguments))
        return True

    def _add(self, name: str, kind: str, operand: Access | str) -> None:
        self.order.append(name)
        self.kinds.append(kind)
        self.operands.append(operand)

    @property
    def number(self) -> dict[str, int]:
        return {name: i for i, name in enumerate([*self.order, *(target for target, _, _ in self.steps)])}

    def program(self, stored: tuple[int, ...]) -> str:
        number = self.number
        steps = [f"{op}_{'_'.join(str(number[a]) for a in arguments)}" for _, op, arguments in self.steps]
        return "_" + "_".join([*self.kinds, *steps, *(f"y_{n}" for n in stored)])
