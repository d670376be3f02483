"""What an estimator says of itself beside its graph, and its form in files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from basalt.errors import ModelFormatError, UnsupportedError
from basalt.serialization import AttrValue, Kind

from .finishes import FINISHES
from .vocabulary import Vocabularies, plain

__all__ = ["CHECK_OUTPUTS", "Facts"]

CHECK_OUTPUTS = {"refused": "check.refused", "unknown": "check.unknown", "strays": "check.strays"}
"""Outputs of the graph that say whether the rows are to be refused: those with values that are not finite, those with
categories that were not fitted, and those of which a step makes what the next one does not take."""


@dataclass(frozen=True)
class Facts:
    """The plain data of an estimator.

    ``methods`` names the outputs of each method; ``classes`` are what ``predict``'s results stand for, ``class_lists``
    what each column of them does where there are several; ``names_out`` the features that ``transform`` gives;
    ``ignored`` the columns that nothing depends on; ``finishes`` what is done to the outputs of some methods;
    ``vocabularies`` holds the categories of columns that are not numbers. ``kind`` is that of the file that it was
    loaded from, which it keeps; None stands for its family's.
    """

    class_name: str
    dtype: str
    n_features: int
    methods: Mapping[str, tuple[str, ...]]
    finishes: Mapping[str, str]
    classes: np.ndarray | None
    feature_names: tuple[str, ...] | None
    vocabularies: Vocabularies
    kind: Kind | None = None
    class_lists: tuple[np.ndarray, ...] = ()
    names_out: tuple[str, ...] | None = None
    ignored: frozenset[int] = frozenset()

    @property
    def looks_up_classes(self) -> bool:
        """Whether the graph's ``predict`` gives places in ``classes``, not the classes themselves."""
        return self.classes is not None and self.classes.dtype not in (np.int64, np.int32)

    def to_plain(self) -> dict[str, AttrValue]:
        """The facts as attributes of a file.

        Raises:
            UnsupportedError: for classes or categories that are neither numbers, strings, bools nor None.
        """
        later: dict[str, AttrValue] = {}
        if self.class_lists:
            later["class_lists"] = tuple(_plain_classes(c) for c in self.class_lists)
        if self.names_out is not None:
            later["names_out"] = self.names_out
        if self.ignored:
            later["ignored"] = tuple(sorted(self.ignored))
        return {
            "class": self.class_name,
            "dtype": self.dtype,
            "n_features": self.n_features,
            "methods": tuple((name, *outputs) for name, outputs in self.methods.items()),
            "finishes": tuple(self.finishes.items()),
            "classes": None if self.classes is None else _plain_classes(self.classes),
            "feature_names": self.feature_names,
            "vocabularies": tuple(
                (column, *map(_stored, values)) for column, values in self.vocabularies.columns().items()
            ),
            **later,
        }

    @staticmethod
    def from_plain(given: Mapping[str, AttrValue]) -> Facts:
        """The facts in a file, which need not be trusted.

        Raises:
            ModelFormatError: for facts that are missing or of another type.
        """
        try:
            return _read(given)
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise ModelFormatError(f"the facts of the estimator are malformed: {error!r}") from None


def _stored(value: Any) -> AttrValue:
    value = plain(value)
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise UnsupportedError(f"a file holds numbers, strings, bools and None as categories, not {type(value).__name__}")


def _plain_classes(classes: np.ndarray) -> tuple[AttrValue, ...]:
    return (classes.dtype.str, *map(_stored, classes.tolist()))


def _read(given: Mapping[str, Any]) -> Facts:
    vocabularies = Vocabularies()
    features = _typed(given, "n_features", int)
    for column, *values in _typed(given, "vocabularies", tuple):
        if not isinstance(column, int) or not 0 <= column < features:
            raise ValueError(f"a vocabulary is of column {column!r}")
        vocabularies.codes(column, values)
    names = given["feature_names"]
    if names is not None and (len(names) != features or not all(isinstance(n, str) for n in names)):
        raise ValueError(f"{len(names)} feature names are given for {features} features")
    methods = {str(name): tuple(map(str, outputs)) for name, *outputs in _typed(given, "methods", tuple)}
    finishes = {str(name): str(finish) for name, finish in _typed(given, "finishes", tuple)}
    if not (finishes.keys() <= methods.keys() and set(finishes.values()) <= FINISHES.keys()):
        raise ValueError(f"finishes is {finishes}, expected some of {', '.join(FINISHES)} for methods")
    return Facts(
        class_name=_typed(given, "class", str),
        dtype=_typed(given, "dtype", str),
        n_features=features,
        methods=methods,
        finishes=finishes,
        classes=_classes(given["classes"]),
        feature_names=None if names is None else tuple(names),
        vocabularies=vocabularies,
        class_lists=_class_lists(given.get("class_lists", ())),
        names_out=_names(given.get("names_out")),
        ignored=_places(given.get("ignored", ()), features),
    )


def _places(given: Any, features: int) -> frozenset[int]:
    if not all(isinstance(place, int) and 0 <= place < features for place in given):
        raise ValueError(f"ignored is {given!r}, expected columns")
    return frozenset(given)


def _class_lists(given: Any) -> tuple[np.ndarray, ...]:
    found = tuple(_classes(each) for each in given)
    if any(each is None for each in found):
        raise ValueError("class_lists holds None, expected the classes of a target")
    return tuple(each for each in found if each is not None)


def _names(given: Any) -> tuple[str, ...] | None:
    if given is not None and not all(isinstance(name, str) for name in given):
        raise ValueError("names_out holds something else than strings")
    return None if given is None else tuple(given)


def _typed(given: Mapping[str, Any], name: str, kind: type) -> Any:
    value = given[name]
    if not isinstance(value, kind) or isinstance(value, bool):
        raise ValueError(f"{name} is {value!r}, expected {kind.__name__}")
    return value


def _classes(given: Any) -> np.ndarray | None:
    if given is None:
        return None
    name, *values = given
    dtype = np.dtype(name)
    if dtype.kind not in "biufUO":
        raise ValueError(f"classes are of data type {name!r}")
    held = np.empty(len(values), dtype)
    held[:] = values
    return held
