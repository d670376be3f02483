"""The Python types that an option accepts, found by asking its converter, for signatures and type stubs."""

from __future__ import annotations

from typing import Any

from basalt.ops import symbol
from basalt.ops.schema import Option, RuleError

__all__ = ["annotation"]

_SAMPLES: dict[str, tuple[Any, ...]] = {"bool": (True,), "int": (0, 1, 2), "float": (0.5,), "Dim": (symbol("n"),)}
_MAX_LENGTH = 8
_TEXTS = ("constant", "float32", "int32", "nchw", "relu", "floor", "linear")


def annotation(option: Option) -> str:
    """The annotation of an option's parameter: ``int``, ``Sequence[Dim]``, ``str | None``, ...; ``Any`` if unknown.

    ``Dim`` stands for ``int | SymDim``.
    """
    found = _scalars(option)
    items = _items(option)
    if items:
        found.append(f"Sequence[{items[0]}]")
    if not found:
        return "Any"
    if _accepts(option, None) or option.default is None:
        found.append("None")
    return " | ".join(found)


def _scalars(option: Option) -> list[str]:
    names = [name for name, samples in _SAMPLES.items() if any(_accepts(option, s) for s in samples)]
    if isinstance(option.default, str) or any(_accepts(option, text) for text in _TEXTS):
        names.append("str")
    return _narrowest(names)


def _items(option: Option) -> list[str]:
    """The type of the items of a sequence, of whatever length the option wants."""
    names = [name for name, samples in _SAMPLES.items() if any(_takes_sequence(option, s) for s in samples)]
    if any(_takes_sequence(option, text) for text in _TEXTS):
        names.append("str")
    return _narrowest(names)


def _takes_sequence(option: Option, item: Any) -> bool:
    return any(_accepts(option, (item,) * length) for length in range(1, _MAX_LENGTH + 1))


def _narrowest(names: list[str]) -> list[str]:
    """One name for the numbers: type checkers take an int for a float, and a bool for an int."""
    for wider, narrower in (("Dim", "int"), ("float", "int"), ("float", "bool"), ("int", "bool")):
        if wider in names and narrower in names:
            names.remove(narrower)
    return names


def _accepts(option: Option, value: Any) -> bool:
    try:
        option.convert(value)
    except RuleError:
        return False
    return True
