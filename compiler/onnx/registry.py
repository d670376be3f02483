"""The table of translators: one function an operator and since-version."""

from __future__ import annotations

import bisect
import importlib
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from basalt.serialization.onnx import OnnxNode

    from .node import NodeContext

Translator = Callable[["NodeContext"], Any]
"""Gets the node; returns its output, or a tuple of its outputs."""

Expander = Callable[["OnnxNode", Mapping[str, Any], int], "Sequence[OnnxNode] | None"]
"""Gets a node, its decoded attributes and the domain's version; returns nodes that stand for it, None for itself."""

_EXPANDERS: dict[tuple[str, str], Expander] = {}
_TRANSLATORS: dict[tuple[str, str], dict[int, Translator]] = {}

MICROSOFT = "com.microsoft"
ML = "ai.onnx.ml"


def onnx_op(name: str, *versions: int, domain: str = "") -> Callable[[Translator], Translator]:
    """Declare a function as the translator of an operator at the given since-versions.

    Versions are those at which the standard says so; a later one that only allows further types is listed with the
    earlier ones. A version that is not listed is not supported.
    """

    def declare(function: Translator) -> Translator:
        table = _TRANSLATORS.setdefault((domain, name), {})
        for version in versions or (1,):
            if version in table:
                raise TypeError(f"{domain or 'ai.onnx'}.{name} has two translators at version {version}")
            table[version] = function
        return function

    return declare


def expands(name: str, domain: str = "") -> Callable[[Expander], Expander]:
    """Declare a function that may put other nodes in place of an operator's before they are translated."""

    def declare(function: Expander) -> Expander:
        _EXPANDERS[domain, name] = function
        return function

    return declare


def find_expander(name: str, domain: str = "") -> Expander | None:
    """What may put other nodes in place of an operator's."""
    _declare_all()
    return _EXPANDERS.get((domain, name))


def find(name: str, version: int, domain: str = "") -> Translator | None:
    """The translator of exactly this since-version, None if there is none."""
    _declare_all()
    return _TRANSLATORS.get((domain, name), {}).get(version)


def find_newest(name: str, opset: int, domain: str) -> tuple[int, Translator] | None:
    """The translator of the newest version that is not newer than an opset; for operators without a schema."""
    _declare_all()
    versions = sorted(_TRANSLATORS.get((domain, name), {}))
    place = bisect.bisect_right(versions, opset)
    if not place:
        return None
    return versions[place - 1], _TRANSLATORS[domain, name][versions[place - 1]]


def translators() -> Mapping[tuple[str, str], Mapping[int, Translator]]:
    """All of them, by (domain, name) and version."""
    _declare_all()
    return _TRANSLATORS


@cache
def _declare_all() -> None:
    package = importlib.import_module(f"{__package__}.ops")
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        importlib.import_module(module.name)
