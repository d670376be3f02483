"""The registry of host operators: one NumPy function an (operator, since-version).

A host operator is called with the node and its inputs by position and returns one value, or a tuple of outputs. Values
are in ONNX's own types: NumPy arrays (bool as bool; bfloat16, float8, float6, float4, int4, uint4, int2 and uint2 as
ml_dtypes types; strings as object arrays of ``str``), ``list`` for sequences, ``dict`` for maps, ``None`` for an input
that is absent and for an optional without an element. Inputs are never modified; a result may share an input's memory.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, wraps
from typing import Any, TypeVar

import numpy as np

from basalt.errors import UnsupportedError, ValidationError

__all__ = ["ML", "PREVIEW_TRAINING", "HostFunction", "HostNode", "find", "host_op", "registered"]

ML = "ai.onnx.ml"
PREVIEW_TRAINING = "ai.onnx.preview.training"

HostFunction = Callable[..., Any]
_Function = TypeVar("_Function", bound=HostFunction)
_Made = TypeVar("_Made")


@dataclass(frozen=True)
class HostNode:
    """What a host operator knows about the node that it computes.

    ``version`` is the since-version that applies; ``attributes`` hold int, float, str, tuples of them, and arrays for
    tensors (the operators know the schemas' defaults, so absent attributes may be left out); ``num_outputs`` is how
    many outputs the node names; ``output_dtypes`` their element types by NumPy's or ml_dtypes' names (or "string"),
    where known: only DictVectorizer asks; ``rng`` draws the random numbers of a node without a ``seed``.
    """

    op_type: str
    version: int
    domain: str = ""
    label: str = ""
    attributes: Mapping[str, Any] = field(default_factory=dict)
    num_outputs: int = 1
    output_dtypes: tuple[str | None, ...] = ()
    rng: np.random.Generator | None = None
    _kept: dict[str, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def attr(self, name: str, default: Any = None) -> Any:
        """The attribute, or ``default`` where the node has none (or None)."""
        value = self.attributes.get(name)
        return default if value is None else value

    def required(self, name: str) -> Any:
        """The attribute, which the schema requires."""
        value = self.attributes.get(name)
        if value is None:
            raise self.error(f"attribute {name!r} is missing")
        return value

    def once(self, key: str, make: Callable[[], _Made]) -> _Made:
        """What ``make`` gives, which depends on the attributes alone; made at the first call and kept."""
        if key not in self._kept:
            self._kept[key] = make()
        made: _Made = self._kept[key]
        return made

    def describe(self) -> str:
        """The node as messages name it: operator, version, domain and label."""
        domain = f"{self.domain}." if self.domain else ""
        label = f" {self.label!r}" if self.label else ""
        return f"{domain}{self.op_type}-{self.version}{label}"

    def error(self, message: str) -> ValidationError:
        """The error to raise for a value that the operator does not allow."""
        return ValidationError(f"{self.describe()}: {message}")

    def unsupported(self, message: str) -> UnsupportedError:
        """The error to raise for what Basalt does not implement."""
        return UnsupportedError(f"{self.describe()}: {message}")


_FUNCTIONS: dict[tuple[str, str], dict[int, HostFunction]] = {}


def host_op(op_type: str, *versions: int, domain: str = "") -> Callable[[_Function], _Function]:
    """Register the decorated function as ``op_type`` from each of the since-versions ``versions``."""

    def register(function: _Function) -> _Function:
        by_version = _FUNCTIONS.setdefault((domain, op_type), {})
        wrapped = _giving_arrays(function)
        for version in versions:
            if version in by_version:
                raise ValueError(f"{domain}:{op_type}-{version} is registered twice")
            by_version[version] = wrapped
        return function

    return register


def _giving_arrays(function: HostFunction) -> HostFunction:
    """``function`` with arrays of rank 0 for the scalars that NumPy's functions turn such arrays into."""

    @wraps(function)
    def wrapped(n: HostNode, *inputs: Any) -> Any:
        result = function(n, *inputs)
        return tuple(_array(value) for value in result) if isinstance(result, tuple) else _array(result)

    # Files with machine code can name it: it needs nothing but the node and its inputs.
    wrapped.stored = True  # type: ignore[attr-defined]
    return wrapped


def _array(value: Any) -> Any:
    if isinstance(value, str):
        return np.array(value, dtype=object)
    return np.asarray(value) if isinstance(value, np.generic) else value


def find(op_type: str, version: int, domain: str = "", *, declared: bool = False) -> HostFunction | None:
    """The function of the newest since-version that is at most ``version``; None if there is none.

    ``declared`` says that the function's module has been imported, so that the others need not be.
    """
    if not declared:
        _declare_all()
    by_version = _FUNCTIONS.get((domain, op_type), {})
    newest = max((v for v in by_version if v <= version), default=None)
    return None if newest is None else by_version[newest]


def registered() -> Iterator[tuple[str, str, int]]:
    """Every (domain, operator, since-version) that has a function."""
    _declare_all()
    for (domain, op_type), by_version in sorted(_FUNCTIONS.items()):
        for version in sorted(by_version):
            yield domain, op_type, version


@cache
def _declare_all() -> None:
    """Import every module of this folder, so that all functions are registered."""
    package = importlib.import_module(__package__ or "")
    for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        importlib.import_module(module.name)
