"""What an operator declares: operands, options, limits, its shape rule and its meaning in NumPy."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, ClassVar, NoReturn

import numpy as np

from basalt.errors import ValidationError

from .dims import Dim
from .types import TensorType, widened

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
    number, or the name of the operand whose rank it shares. An ``optional`` operand is passed by keyword; a
    ``variadic`` one is a sequence.
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

    ``default`` is :data:`REQUIRED` for a positional argument. What only the standard's caller may not say (a size of 0,
    for one) is refused here and not by the rule, so that graphs from elsewhere may hold empty tensors.
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

    Subclasses set the class attributes and implement :meth:`infer` and :meth:`evaluate`. The class docstring becomes
    the builder method's.
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

    def operations(self, t: Types, a: Attrs, out: Sequence[TensorType]) -> Dim:
        """The arithmetic operations on elements; what only moves data has none.

        A multiplication and an addition of a product count as two, every function of an element as one.
        """
        return 0

    @property
    def variadic(self) -> bool:
        return bool(self.operands) and self.operands[0].variadic

    def bind(self, flat: Sequence[Any]) -> SimpleNamespace:
        """Operands by name from a node's flat inputs."""
        if self.variadic:
            return SimpleNamespace(**{self.operands[0].name: tuple(flat)})
        padded = list(flat) + [None] * (len(self.operands) - len(flat))
        return SimpleNamespace(**{o.name: v for o, v in zip(self.operands, padded)})

    def attributes(self, positional: Sequence[Any], keywords: Mapping[str, Any], label: str = "") -> Attrs:
        """Attributes in converted form, from the arguments after the operands and the keyword options of a call.

        Raises:
            ValidationError: names the operator, its label, the option, what was given and what was expected.
        """
        name = self.describe((), label)
        given = dict(zip((o.name for o in self.arguments), positional))
        if len(positional) > len(self.arguments) or given.keys() & keywords.keys():
            raise ValidationError(f"{name}: takes {[o.name for o in self.arguments]} after its operands, each once")
        given |= keywords
        attrs: Attrs = {}
        for option in self.arguments + self.options:
            value = given.pop(option.name, option.default)
            if value is REQUIRED:
                raise ValidationError(f"{name}: {option.name} is missing")
            try:
                attrs[option.name] = value if value is option.default else option.convert(value)
            except RuleError as error:
                raise ValidationError(f"{name}: {option.name}: {error}") from None
        if given:
            raise ValidationError(f"{name}: has no option {next(iter(given))}; its options are {sorted(attrs)}")
        return attrs

    def check(
        self, types: Sequence[TensorType | None], attrs: Mapping[str, Any], label: str = "", *, extended: bool = False
    ) -> tuple[tuple[TensorType, ...], Attrs]:
        """Check operand types and attributes against the limits and the rule.

        Args:
            types: the type of each operand in order, None for an absent optional one.
            attrs: attributes in converted form.
            label: the user's label, for messages.
            extended: also allow the data types of other formats that are like the allowed ones: float64 and bfloat16
                where float32 is, int16 and uint16 where int32 and uint32 are, bool for truth values (see
                :func:`basalt.ops.types.widened`).

        Returns:
            The output types and the completed attributes.

        Raises:
            ValidationError: names the operator, its label, its operands and what was expected.
        """
        completed = dict(attrs)
        try:
            bound = self.bind(types)
            self._check_limits(types, bound, extended)
            outputs = tuple(self.infer(bound, completed))
            for output in outputs:
                if output.rank > MAX_RANK:
                    fail(f"the output would have rank {output.rank}, expected at most {MAX_RANK}")
            return outputs, completed
        except RuleError as error:
            raise ValidationError(f"{self.describe(types, label)}: {error}") from None

    def describe(self, types: Sequence[TensorType | None], label: str = "") -> str:
        """``conv2d "stem" (input: float32[1, 3, 8, 8], filter: ...)``, for messages."""
        name = f'{self.name} "{label}"' if label else self.name
        if not types:
            return name
        names = (
            [f"{self.operands[0].name}[{i}]" for i in range(len(types))]
            if self.variadic
            else [o.name for o in self.operands]
        )
        shown = [f"{n}: {t}" for n, t in list(zip(names, types))[:8] if t is not None]
        return f"{name} ({', '.join(shown)}{', ...' if len(types) > 8 else ''})"

    def _check_limits(self, types: Sequence[TensorType | None], bound: Types, extended: bool) -> None:
        pairs = [(self.operands[0], t) for t in types] if self.variadic else list(zip(self.operands, types))
        for operand, given in pairs:
            if given is None:
                if not operand.optional:
                    fail(f"operand {operand.name} is missing")
                continue
            _check_dtype(operand, given, bound, extended)
            _check_rank(operand, given, bound)
        missing = [o.name for o in self.operands[len(types) :] if not o.optional and not o.variadic]
        if missing:
            fail(f"operand {missing[0]} is missing")


def _check_dtype(operand: Operand, given: TensorType, bound: Types, extended: bool) -> None:
    if isinstance(operand.dtypes, str):
        wanted = getattr(bound, operand.dtypes)
        wanted = wanted[0] if isinstance(wanted, tuple) else wanted
        if wanted is not None and given.dtype != wanted.dtype:
            fail(f"{operand.name} is {given.dtype}, but must have the data type of {operand.dtypes}, {wanted.dtype}")
    elif given.dtype not in (widened(operand.dtypes) if extended else operand.dtypes):
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
