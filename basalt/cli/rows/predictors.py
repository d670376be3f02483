"""What a model gives for rows: the columns that it takes, and results with names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import click
import numpy as np

import basalt
from basalt.cli.rows.features import Features

__all__ = ["EstimatorPredictor", "GraphPredictor", "Predictor", "column_names", "predictor_of"]

BY_CLASS = ("predict_proba", "predict_log_proba", "predict_joint_log_proba")
"""Methods whose columns are classes."""
PREFERRED = ("predict", "transform", "score_samples", "decision_function")
"""Methods that are called unless another is named, the first that there is."""


class Predictor(Protocol):
    """A model that takes rows."""

    method: str
    features: Features

    def __call__(self, rows: np.ndarray) -> list[np.ndarray]:
        """The arrays of results for rows as in a Chunk. Raises ValidationError for rows that are refused."""

    def labels(self, part: int) -> Sequence[Any] | None:
        """What the columns of an array of results stand for, None if that is unknown."""

    def part_names(self, count: int) -> list[str]:
        """The names of ``count`` arrays of results."""


class EstimatorPredictor:
    """A method of an Estimator."""

    def __init__(self, estimator: basalt.Estimator, method: str | None) -> None:
        chosen = method or next((m for m in (*PREFERRED, *estimator.methods) if m in estimator.methods), "")
        if chosen not in estimator.methods:
            raise click.UsageError(
                f"--method: {estimator.class_name} has no {chosen!r}; it has {', '.join(estimator.methods)}"
            )
        self.method = chosen
        self._call = getattr(estimator, chosen)
        self._labels = _labels(estimator, chosen)
        facts = estimator.facts
        if chosen == "inverse_transform":
            (width,) = [int(v.shape[1]) for v in estimator.graph.inputs if v.name == "Z"]
            self.features = Features(None, width)
        else:
            self.features = Features(facts.feature_names, facts.n_features, facts.vocabularies.columns())

    def __call__(self, rows: np.ndarray) -> list[np.ndarray]:
        found = self._call(rows)
        return list(found) if isinstance(found, (tuple, list)) else [found]

    def labels(self, part: int) -> Sequence[Any] | None:
        return self._labels[part] if part < len(self._labels) else None

    def part_names(self, count: int) -> list[str]:
        if self.method == "kneighbors":
            return ["distance", "index"]
        return [self.method] if count == 1 else [f"{self.method}_{i}" for i in range(count)]


def _labels(estimator: basalt.Estimator, method: str) -> list[list[Any]]:
    """What the columns of each array of a method's results stand for, as far as the estimator says it."""
    classes = getattr(estimator, "classes_", None)
    if method in BY_CLASS and classes is not None:
        return [c.tolist() for c in classes] if isinstance(classes, list) else [classes.tolist()]
    names_out = getattr(estimator, "get_feature_names_out", None)
    return [names_out().tolist()] if method == "transform" and names_out is not None else []


class GraphPredictor:
    """An output of a graph whose only input is rows."""

    def __init__(self, model: Any, method: str | None, file: str) -> None:
        inputs, outputs = model.inputs, [spec.name for spec in model.outputs]
        shapes = ", ".join(f"{spec.name} {spec.dtype} {list(spec.shape)}" for spec in inputs)
        entry = inputs[0] if len(inputs) == 1 else None
        if entry is None or len(entry.shape) != 2 or entry.dtype not in ("float16", "float32", "float64"):
            raise click.ClickException(
                f"{file}: rows need a model with one input of rank 2 of floats; its inputs are {shapes}"
            )
        if isinstance(entry.shape[0], int):
            raise click.ClickException(f"{file}: rows need an input of any number of rows; the model's is {shapes}")
        if method is None and len(outputs) > 1:
            raise click.UsageError(f"the model has several outputs: give --method with one of {', '.join(outputs)}")
        self.method = method or outputs[0]
        if self.method not in outputs:
            raise click.UsageError(f"--method: the model has no output {method!r}; it has {', '.join(outputs)}")
        width = entry.shape[1]
        self.features = Features(None, width if isinstance(width, int) else None)
        self._model, self._name, self._dtype = model, entry.name, entry.dtype

    def __call__(self, rows: np.ndarray) -> list[np.ndarray]:
        with np.errstate(over="ignore"):
            fed = rows.astype(self._dtype, copy=False)
        return [np.asarray(self._model.run({self._name: fed})[self.method])]

    def labels(self, part: int) -> Sequence[Any] | None:
        return None

    def part_names(self, count: int) -> list[str]:
        return [self.method]


def predictor_of(model: Any, method: str | None, file: str) -> Predictor:
    """What gives rows' results of the model in a file. Raises click exceptions for models that take no rows."""
    if isinstance(model, basalt.Estimator):
        return EstimatorPredictor(model, method)
    if isinstance(model, (basalt.Executable, basalt.OnnxExecutable)):
        return GraphPredictor(model, method, file)
    raise click.ClickException(f"{file}: holds a {type(model).__name__}, expected an estimator or a model")


def column_names(predictor: Predictor, parts: Sequence[np.ndarray]) -> list[str]:
    """The name of each column of results: classes for probabilities, the features that a transformer says it gives,
    else the method, numbered if it gives several.

    Raises click.ClickException for results that are no rows of columns.
    """
    names: list[str] = []
    for index, (part, name) in enumerate(zip(parts, predictor.part_names(len(parts)), strict=True)):
        if part.ndim not in (1, 2):
            raise click.ClickException(f"{name} has shape {list(part.shape)}, which is no table; write a .npy file")
        width = part.shape[1] if part.ndim == 2 else 1
        labels = predictor.labels(index)
        if labels is not None and len(labels) == width:
            names += [str(label) if len(parts) == 1 else f"{name}_{label}" for label in labels]
        else:
            names += [name] if width == 1 else [f"{name}_{i}" for i in range(width)]
    return names
