"""Values between a model's programs and host operators: constants, results by slot, lists of values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import itemgetter
from typing import Any

import numpy as np

from basalt.serialization.program.fields import Fields

__all__ = ["Getter", "getter", "getters", "stored_array"]

Getter = Callable[[Mapping[str, Any]], Any]
"""Gives a value from those that are there by slot."""


def getters(fields: Fields, name: str) -> list[Getter]:
    """What gives each of a list of values."""
    return [getter(item) for item in fields.records(name)]


def getter(item: Fields) -> Getter:
    """What gives a value: that of a ``slot``, a constant ``array``, a ``list``, or nothing."""
    if item.has("slot"):
        return itemgetter(item.text("slot"))
    if item.has("list"):
        entries = getters(item, "list")
        return lambda env: [get(env) for get in entries]
    constant = stored_array(item) if item.has("array") or item.has("texts") else None
    return lambda env: constant


def stored_array(item: Fields) -> np.ndarray:
    """A constant: an ``array``, or ``texts`` of a ``shape``."""
    if item.has("array"):
        return item.any_array("array")
    texts, shape = item.texts("texts"), item.integers("shape")
    array = np.array(texts, object)
    if array.size != int(np.prod(shape)):
        item.fail("texts", f"{array.size} texts given, expected those of shape {list(shape)}")
    return array.reshape(shape)
