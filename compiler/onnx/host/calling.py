"""Calling host operators: with run-time values, and by what a file with machine code says of them."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from basalt.errors import BasaltError, ValidationError
from basalt.runtime.stored.items import stored_array
from basalt.serialization.program.fields import Fields

from .registry import HostFunction, HostNode, find

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


def stored_operator(fields: Fields) -> Callable[[Sequence[Any]], list[Any]]:
    """The host operator that a file's record describes. Raises ModelFormatError for one that does not exist."""
    operator, domain, module = fields.text("operator"), fields.text("domain"), fields.text("module")
    version = fields.integer("version")
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
    attributes = {name: _attribute(fields, name) for name in fields.record("attributes").names()}
    dtypes = tuple(fields.plain("output_dtypes"))
    node = HostNode(operator, version, domain, fields.text("label"), attributes, fields.integer("outputs"), dtypes)
    return lambda values: call_operator(node, function, values)


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
