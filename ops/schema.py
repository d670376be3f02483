"""What an operator declares: operands, options, limits, its shape rule and its meaning in NumPy."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, ClassVar, NoReturn

import numpy as np

from basalt.errors import ValidationError

from .types import TensorType

Attrs = dict[str, Any]
Types = SimpleNamespace
"""Operand types by operand name (None for an absent optional one, a tuple for a variadic one)."""
Arrays = SimpleNamespace
"""Operand values by operand name, like :data:`Types`."""

MAX_RANK = 8


class RuleError(Exception):
    """A rule is broken; the message says what was given and what was expected. Becomes a ValidationError."""


def fail(message: str) -> NoReturn:
    """Refuse a call; the caller adds the operator, its label and its operands."""
    raise RuleError(message)


class _Required:
    def __repr__(self) -> str:
        return "required"


REQUIRED = _Required()


@dataclass(frozen=True)
class Operand:
    """A tensor operand and its limits.

    ``dtypes`` is a set of data types or the name of the operand whose data type it shares; ``rank`` is (min, max), one
    number, or the name of the operand whose rank it shares. An ``optional`` operand is passed by keyword. A ``variadic``
    one is a sequence. ``limits_rank`` is reported in op_support_limits() where it differs from what is checked.
    """

    name: str
    dtypes: frozenset[str] | str
    rank: tuple[int, int] | int | str = (0, MAX_RANK)
    optional: bool = False
    variadic: bool = False
    doc: str = ""

    @property
    def rank_range(self) -> tuple[int, int] | None:
        if isinstance(self.rank, str):
            return None
        return (self.rank, self.rank) if isinstance(self.rank, int) else self.rank


@dataclass(frozen=True)
class Option:
    """An attribute: ``convert`` checks what the caller gave and returns its canonical form (raising RuleError).

    ``default`` is :data:`REQUIRED` for a positional argument. ``number`` marks MLNumber options, which the operator's
    rule casts to an operand's data type.
    """

    name: str
    convert: Callable[[Any], Any]
    default: Any = REQUIRED
    doc: str = ""


@dataclass(frozen=True)
class Output:
    """An output's limits, as op_support_limits() reports them; ``variadic`` for a sequence of outputs."""

    name: str = "output"
    dtypes: frozenset[str] | str = "input"
    rank: tuple[int, int] | int | str = "input"
    variadic: bool = False
    doc: str = ""


class Operator(ABC):
    """One operator of the language: everything the builder, the documents and the tests say of it is derived from here.

    Subclasses set the class attributes and implement :meth:`infer` and :meth:`evaluate`. The class docstring becomes the
    builder method's.
    """

    name: ClassVar[str]
    """snake_case name of the builder method and of the node."""
    webnn: ClassVar[str | None] = None
    """The standard's method name; None for operators that the standard lacks."""
    operands: ClassVar[tuple[Operand, ...]]
    arguments: ClassVar[tuple[Option, ...]] = ()
    """Positional arguments after the operands."""
    options: ClassVar[tuple[Option, ...]] = ()
    """Keyword options."""
    outputs: ClassVar[tuple[Output, ...]] = (Output(),)
    section: ClassVar[str] = ""
    """Anchor of the standard's section."""

    @abstractmethod
    def infer(self, t: Types, a: Attrs) -> Sequence[TensorType]:
        """The output types; checks what the limits can't say and completes ``a`` (defaults that depend on shapes).

        Dimensions may be symbolic: refuse only what known sizes prove wrong.
        """

    @abstractmethod
    def evaluate(self, x: Arrays, a: Attrs, out: Sequence[TensorType]) -> Sequence[np.ndarray]:
        """The outputs in NumPy: the operator's meaning, used for folding, as oracle, and until code is ready.

        Must not modify its operands; may return views of them.
        """

    @property
    def variadic(self) -> bool:
        return self.operands[0].variadic

    def bind(self, flat: Sequence[Any]) -> SimpleNamespace:
        """Operands by name from a node's flat inputs."""
        if self.variadic:
            return SimpleNamespace(**{self.operands[0].name: tuple(flat)})
        padded = list(flat) + [None] * (len(self.operands) - len(flat))
        return SimpleNamespace(**{o.name: v for o, v in zip(self.operands, padded)})

    def check(
        self, types: Sequence[TensorType | None], attrs: Mapping[str, Any], label: str = ""
    ) -> tuple[tuple[TensorType, ...], Attrs]:
        """Check operand types and attributes against the limits and the rule.

        Args:
            types: the type of each operand in order, None for an absent optional one.
            attrs: attributes in converted form.
            label: the user's label, for messages.

        Returns:
            The output types and the completed attributes.

        Raises:
            ValidationError: names the operator, its label, its operands and what was expected.
        """
        completed = dict(attrs)
        try:
            bound = self.bind(types)
            self._check_limits(types, bound)
            return tuple(self.infer(bound, completed)), completed
        except RuleError as error:
            raise ValidationError(f"{self.describe(types, label)}: {error}") from None

    def describe(self, types: Sequence[TensorType | None], label: str = "") -> str:
        """``conv2d "stem" (input: float32[1, 3, 8, 8], filter: ...)``, for messages."""
        name = f'{self.name} "{label}"' if label else self.name
        names = (
            [f"{self.operands[0].name}[{i}]" for i in range(len(types))]
            if self.variadic
            else [o.name for o in self.operands]
        )
        shown = [f"{n}: {t}" for n, t in list(zip(names, types))[:8] if t is not None]
        return f"{name} ({', '.join(shown)}{', ...' if len(types) > 8 else ''})"

    def _check_limits(self, types: Sequence[TensorType | None], bound: Types) -> None:
        pairs = [(self.operands[0], t) for t in types] if self.variadic else list(zip(self.operands, types))
        for operand, given in pairs:
            if given is None:
                if not operand.optional:
                    fail(f"operand {operand.name} is missing")
                continue
            _check_dtype(operand, given, bound)
            _check_rank(operand, given, bound)
        missing = [o.name for o in self.operands[len(types) :] if not o.optional and not o.variadic]
        if missing:
            fail(f"operand {missing[0]} is missing")


def _check_dtype(operand: Operand, given: TensorType, bound: Types) -> None:
    if isinstance(operand.dtypes, str):
        wanted = getattr(bound, operand.dtypes)
        wanted = wanted[0] if isinstance(wanted, tuple) else wanted
        if wanted is not None and given.dtype != wanted.dtype:
            fail(f"{operand.name} is {given.dtype}, but must have the data type of {operand.dtypes}, {wanted.dtype}")
    elif given.dtype not in operand.dtypes:
        fail(f"{operand.name} is {given.dtype}, expected one of {', '.join(sorted(operand.dtypes))}")


def _check_rank(operand: Operand, given: TensorType, bound: Types) -> None:
    if isinstance(operand.rank, str):
        wanted = getattr(bound, operand.rank)
        wanted = wanted[0] if isinstance(wanted, tuple) else wanted
        if wanted is not None and given.rank != wanted.rank:
            fail(f"{operand.name} has rank {given.rank}, but must have the rank of {operand.rank}, {wanted.rank}")
        return
    low, high = operand.rank_range or (0, MAX_RANK)
    if not low <= given.rank <= high:
        fail(f"{operand.name} has rank {given.rank}, expected {low if low == high else f'{low} to {high}'}")
