"""Estimators in ``.bsl`` files."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

from basalt import serialization
from basalt.errors import ModelFormatError
from basalt.serialization import EstimatorData, Kind

from ..exchange import from_data
from ..ir import Graph
from .emitter import INPUT, INVERSE_INPUT
from .estimator import Estimator
from .facts import Facts
from .registry import kind_of

__all__ = ["load_estimator", "save_estimator"]


def save_estimator(estimator: Estimator, path: str | os.PathLike[str]) -> None:
    """Write an estimator to a file, of its family's kind; one that was loaded keeps the kind that it had.

    Raises:
        UnsupportedError: for classes or categories that no file holds.
        ValidationError: for an estimator larger than 2**31 - 25 bytes.
        OSError: if the file cannot be written.
    """
    serialization.save(path, estimator.to_data())


def load_estimator(data: EstimatorData, **options: Any) -> Estimator:
    """The estimator in plain data, which need not be trusted; ``options`` as for the constructor.

    Raises:
        ModelFormatError: for data that are no estimator, and for a kind that is not of the estimator's family.
        UnsupportedError: for an operator that does not exist.
    """
    facts = replace(Facts.from_plain(data.facts), kind=data.kind)
    family = kind_of(facts.class_name)
    if data.kind not in (family, Kind.ESTIMATOR):
        raise ModelFormatError(
            f"the file is of kind {int(data.kind)} ({data.kind.name}), but holds a {facts.class_name}, whose files are "
            f"of kind {int(family)} ({family.name})"
        )
    graph, constants = from_data(data.graph)
    _check(graph, facts)
    return Estimator(graph, constants, facts, **options)


def _check(graph: Graph, facts: Facts) -> None:
    """That the graph has the inputs and outputs that the facts speak of."""
    outputs = {name for name, _ in graph.outputs}
    missing = [o for needed in facts.methods.values() for o in needed if o not in outputs]
    if missing:
        raise ModelFormatError(f"the estimator's graph has no output {missing[0]!r}")
    shape = dict(graph.outputs)["predict"].shape if "predict" in outputs else ()
    if facts.class_lists and (len(shape) != 2 or shape[1] != len(facts.class_lists)):
        raise ModelFormatError(
            f"the estimator has classes of {len(facts.class_lists)} targets, but its predict gives {list(shape)}"
        )
    for value in graph.inputs:
        width = facts.n_features if value.name == INPUT else value.shape[-1] if value.shape else None
        is_matrix = len(value.shape) == 2 and value.dtype == facts.dtype and isinstance(width, int)
        if value.name not in (INPUT, INVERSE_INPUT) or not is_matrix or value.shape[1] != width:
            raise ModelFormatError(
                f"the estimator's graph has an input {value.name!r} of {value.type}, which is no rows"
            )
