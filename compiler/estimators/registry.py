"""Which function translates which estimator class."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from basalt.serialization import ESTIMATOR_KINDS, Kind

from ..ir import Value
from .emitter import Emitter

__all__ = [
    "Frame",
    "Results",
    "Translator",
    "class_name",
    "family",
    "inverse",
    "inverse_of",
    "kind_of",
    "known_classes",
    "translator",
    "translator_of",
]


@dataclass(frozen=True)
class Frame:
    """A matrix [rows, columns] on its way through the steps.

    ``sources`` says which column of the input each column still is; None for one that was computed. ``clean`` is True
    where no element can be NaN or infinite unless the step before overflowed. ``strays`` is True where elements may be
    so although all of the input's are finite, as the logarithm of 0 is.
    """

    value: Value
    sources: tuple[int | None, ...]
    clean: bool = False
    strays: bool = False

    @property
    def width(self) -> int:
        return len(self.sources)

    @staticmethod
    def computed(value: Value, strays: bool = False) -> Frame:
        """A matrix none of whose columns is the input's."""
        (_, width) = value.shape
        return Frame(value, (None,) * int(width), strays=strays)


@dataclass
class Results:
    """What the methods of an estimator give.

    ``values`` has the result of each method. ``classes`` are the estimator's ``classes_``, in which ``predict`` gives
    places; a list of them, one a target, where it gives [rows, targets].
    ``frame`` is what a later step takes, where that is more than the value of ``transform``.
    """

    values: dict[str, Value] = field(default_factory=dict)
    classes: Any = None
    frame: Frame | None = None
    finishes: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Methods of which the graph computes a part: the output with it, and the finish (see ``finishes``)."""
    pairs: tuple[str, ...] = ()
    """Methods that give several arrays: their values are ``name.0``, ``name.1`` and so on."""


Translator: TypeAlias = Callable[[Emitter, Any, Frame], Results]
Inverse: TypeAlias = Callable[[Emitter, Any, Value], Value | None]
"""None where a step of a composition has none."""
_translators: dict[str, Translator] = {}
_inverses: dict[str, Inverse] = {}
_kinds: dict[str, Kind] = {}


def translator(*names: str) -> Callable[[Translator], Translator]:
    """Register a function for scikit-learn's classes of these names."""

    def register(function: Translator) -> Translator:
        _translators.update(dict.fromkeys(names, function))
        return function

    return register


def inverse(*names: str) -> Callable[[Inverse], Inverse]:
    """Register the ``inverse_transform`` of scikit-learn's classes of these names."""

    def register(function: Inverse) -> Inverse:
        _inverses.update(dict.fromkeys(names, function))
        return function

    return register


def family(kind: Kind, *names: str) -> None:
    """Say that files of scikit-learn's classes of these names are of ``kind``.

    Raises TypeError for a kind that no estimator has, and for a class that has another.
    """
    for name in names:
        if kind not in ESTIMATOR_KINDS or _kinds.setdefault(name, kind) is not kind:
            raise TypeError(f"{name} cannot be of kind {kind.name}; it is of kind {kind_of(name).name}")


def kind_of(name: str) -> Kind:
    """The kind of files of the class of that name: its family's, or ESTIMATOR if it is of none."""
    return _kinds.get(name, Kind.ESTIMATOR)


def class_name(estimator: Any) -> str:
    """The name of an estimator's class."""
    return type(estimator).__name__


def translator_of(e: Emitter, estimator: Any) -> Translator:
    """The translator of an estimator's class. Raises UnsupportedError, with the step's path, if there is none."""
    found = _translators.get(class_name(estimator)) if _is_sklearn(estimator) else None
    if found is None:
        origin = f"{type(estimator).__module__}.{type(estimator).__qualname__}"
        raise e.unsupported(f"{origin} cannot be translated; docs/sklearn.md lists the classes that can")
    return found


def inverse_of(estimator: Any) -> Inverse | None:
    """What translates an estimator's ``inverse_transform``, None if nothing does."""
    return _inverses.get(class_name(estimator)) if _is_sklearn(estimator) else None


def _is_sklearn(estimator: Any) -> bool:
    """Whether a class is scikit-learn's own: subclasses elsewhere may compute something else."""
    return type(estimator).__module__.split(".")[0] == "sklearn"


def known_classes() -> Mapping[str, Translator]:
    """The translator of each class name."""
    return _translators
