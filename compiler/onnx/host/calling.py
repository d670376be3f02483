"""Calling host operators: with run-time values, and by what a file with machine code says of them."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from basalt.errors import BasaltError, ValidationError
from basalt.runtime.stored.flow import Flow, HostOperator, Programs
from basalt.runtime.stored.items import stored_array
from basalt.serialization.program.fields import Fields

from .registry import HostFunction, HostNode, find
from .repeating import KINDS, Repeat, Repetition, stack_entries

__all__ = ["call_operator", "stored_operator"]


def call_operator(node: HostNode, function: HostFunction, values: Sequence[Any]) -> list[Any]:
    """The outputs of an operator for run-time inputs.

    Raises:
        BasaltError: what the operator refuses; it names the node.
    """
    try:
        with np.errstate(all="ignore"):
            results = function(node, *values)
    except (BasaltError, KeyboardInterrupt):
        raise
    except (ValueError, IndexError, TypeError, KeyError, OverflowError, ZeroDivisionError) as error:
        shown = ", ".join(_shown(v) for v in values)
        raise ValidationError(f"{node.describe()} ({shown}): {error}") from error
    return list(results) if isinstance(results, tuple) else [results]


def stored_operator(fields: Fields, programs: Programs) -> HostOperator:
    """The host operator that a file's record describes. Raises ModelFormatError for one that does not exist.

    ``programs`` gives the programs of the body, where there is one.
    """
    operator, domain, version = fields.text("operator"), fields.text("domain"), fields.integer("version")
    found = _repetition(fields, programs) if fields.has("body") else _function(fields, operator, domain, version)
    attributes = {name: _attribute(fields, name) for name in fields.record("attributes").names()}
    dtypes = tuple(fields.plain("output_dtypes"))
    node = HostNode(operator, version, domain, fields.text("label"), attributes, fields.integer("outputs"), dtypes)
    return lambda values: call_operator(node, found, values)


def _function(fields: Fields, operator: str, domain: str, version: int) -> HostFunction:
    module = fields.text("module")
    # The file names a module of this folder, so that the others need not be imported; never one of anywhere else.
    if not module.isidentifier():
        fields.fail("module", f"{module!r} is no name of a module")
    try:
        importlib.import_module(f"{__package__}.{module}")
    except ModuleNotFoundError:
        fields.fail("module", f"there is no module {module!r} of host operators")
    function = find(operator, version, domain, declared=True)
    if function is None:
        fields.fail("operator", f"there is no host operator {domain}.{operator}-{version}")
    return function


def _repetition(fields: Fields, programs: Programs) -> HostFunction:
    kind = fields.text("repeat")
    if kind not in KINDS:
        fields.fail("repeat", f"{kind!r} given, expected one of {', '.join(KINDS)}")
    numbers = [fields.integers(name, -(1 << 31)) for name in ("in_axes", "in_reversed", "out_axes", "out_reversed")]
    repeat = Repeat(kind, fields.integer("given"), fields.integer("states"), *numbers)
    return Repetition(_StoredBody(fields.record("body"), programs), repeat)


class _StoredBody:
    """A body in a file; a :class:`.repeating.Body`."""

    def __init__(self, fields: Fields, programs: Programs) -> None:
        self._flow = Flow(fields, programs, stored_operator)
        self._names, self._outputs = fields.texts("inputs"), fields.texts("outputs")
        self.input_count = fields.integer("input_count", 0, len(self._names))
        self.output_count = len(self._outputs)
        dtypes, shapes = fields.texts("dtypes"), fields.plain("shapes")
        self._declared = list(zip(dtypes, shapes))
        if len(self._declared) != self.output_count:
            fields.fail("dtypes", f"{len(dtypes)} given, expected {self.output_count}")

    def __call__(self, values: Sequence[Any], captured: Sequence[Any]) -> list[Any]:
        results = self._flow.run(dict(zip(self._names, [*values, *captured])))
        return [results[name] for name in self._outputs]

    def stack(self, place: int, entries: Sequence[Any], axis: int = 0) -> np.ndarray:
        return stack_entries(*self._declared[place], entries, axis)


def _attribute(fields: Fields, name: str) -> Any:
    attributes = fields.record("attributes")
    value = attributes.value(name)
    if isinstance(value, dict):
        return stored_array(attributes.record(name))
    return tuple(value) if isinstance(value, list) else value


def _shown(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.dtype.name}{list(value.shape)}"
    return type(value).__name__
