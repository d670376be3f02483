"""SVMClassifier and SVMRegressor of ai.onnx.ml; probabilities, which iterate, are the host's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...errors import OnHostError
from ...node import NodeContext
from ...registry import ML, onnx_op
from ...tensor import Tensor
from .scores import features, integer_labels, labels_at, score_pair, transform, transform_of

_KERNELS = ("LINEAR", "POLY", "RBF", "SIGMOID")


def _matrix(n: NodeContext, name: str, x: Tensor, rows: int, columns: int) -> np.ndarray:
    flat: Sequence[Any] = n.attr(name, None) or ()
    if len(flat) != rows * columns:
        raise n.error(f"attribute {name} has {len(flat)} elements, expected {rows} x {columns}")
    return np.asarray(flat, np.float32).reshape(rows, columns).astype(x.dtype)


def _rho(n: NodeContext, x: Tensor, count: int) -> np.ndarray:
    flat = n.attr("rho", None) or ()
    if len(flat) < count:
        raise n.error(f"attribute rho has {len(flat)} elements, expected {count}")
    return np.asarray(flat[:count], np.float32).astype(x.dtype)


def _times(n: NodeContext, x: Tensor, weights: np.ndarray) -> Tensor:
    """``x @ weights.T``"""
    return n.emit("matmul", x, n.constant(np.ascontiguousarray(weights.T)))


def _kernel(n: NodeContext, x: Tensor, vectors: np.ndarray) -> Tensor:
    """The kernel of each row of ``x`` [rows, features] with each support vector: [rows, vectors]."""
    kind = str(n.attr("kernel_type", "LINEAR"))
    if kind not in _KERNELS:
        raise n.error(f"attribute kernel_type is {kind!r}, expected one of {', '.join(_KERNELS)}")
    parameters = n.attr("kernel_params", None) or (0.0, 0.0, 0.0)
    if len(parameters) != 3:
        raise n.error(f"attribute kernel_params has {len(parameters)} elements, expected gamma, coef0 and degree")
    gamma, offset, degree = (n.scalar(p, x) for p in parameters)
    if kind == "RBF":
        # Differences first: |x|^2 + |v|^2 - 2 x v would cancel for a row near a vector.
        rows = n.reshape(x, (x.shape[0], 1, x.shape[1]))
        distance = n.emit("sub", rows, n.constant(vectors[None]))
        squares = n.emit("reduce_sum_square", distance, axes=(2,), keep_dimensions=False)
        return n.emit("exp", n.emit("neg", n.emit("mul", gamma, squares)))
    products = _times(n, x, vectors)
    if kind == "LINEAR":
        return products
    scaled = n.emit("add", n.emit("mul", gamma, products), offset)
    return n.emit("pow", scaled, degree) if kind == "POLY" else n.emit("tanh", scaled)


def _pair_weights(n: NodeContext, x: Tensor, per_class: Sequence[int]) -> np.ndarray:
    """The weight of each support vector in the decision of each pair of classes i < j: [pairs, vectors]."""
    classes, count = len(per_class), sum(per_class)
    coefficients = _matrix(n, "coefficients", x, classes - 1, count)
    ends = np.cumsum(per_class)
    spans = [slice(int(e - s), int(e)) for s, e in zip(per_class, ends)]
    rows = []
    for i in range(classes):
        for j in range(i + 1, classes):
            row = np.zeros(count, coefficients.dtype)
            row[spans[i]] = coefficients[j - 1, spans[i]]
            row[spans[j]] = coefficients[i, spans[j]]
            rows.append(row)
    return np.stack(rows)


def _votes(n: NodeContext, values: Tensor, classes: int) -> Tensor:
    """How many pairs each class wins: a positive value is for the first of its pair. [rows, classes]"""
    first, second = np.triu_indices(classes, 1)
    won = n.emit("cast", n.emit("greater", values, n.scalar(0, values), dtype="bool"), data_type="float32")
    table = np.zeros((len(first), classes), np.float32)
    table[np.arange(len(first)), first] += 1
    table[np.arange(len(first)), second] -= 1
    lost = np.bincount(second, minlength=classes).astype(np.float32)
    return n.emit("add", n.emit("matmul", won, n.constant(table)), n.constant(lost))


@onnx_op("SVMClassifier", 1, domain=ML)
def svm_classifier(n: NodeContext) -> tuple[Tensor, Tensor]:
    """Classes vote in pairs; without ``vectors_per_class`` a linear function each class gives its score."""
    labels = integer_labels(n, "classlabels_ints")
    per_class = tuple(int(v) for v in n.attr("vectors_per_class", None) or ())
    if n.attr("prob_a", None):
        raise OnHostError
    x = features(n)
    (columns,) = n.static(x.shape[1])
    name = transform_of(n)
    if not sum(per_class):
        classes = max(len(labels), 1)
        weights = _matrix(n, "coefficients", x, classes, columns)
        values = n.emit("add", _times(n, x, weights), n.constant(_rho(n, x, 1)))
        chosen = values
    else:
        classes = len(per_class)
        if min(per_class) < 0 or classes < 2 or len(labels) not in (0, classes):
            raise n.error(f"vectors_per_class is {per_class} for {len(labels)} labels, expected a count a class")
        kernel = _kernel(n, x, _matrix(n, "support_vectors", x, sum(per_class), columns))
        values = _times(n, kernel, _pair_weights(n, x, per_class))
        values = n.emit("add", values, n.constant(_rho(n, x, classes * (classes - 1) // 2)))
        chosen = _votes(n, values, classes)
    places = n.emit("arg_max", chosen, axis=1, keep_dimensions=False, output_data_type="int64")
    paired = sum(per_class) > 0 and classes == 2
    scores = score_pair(n, name, values, n.emit("neg", values)) if paired else transform(n, name, values)
    return labels_at(n, labels or tuple(range(classes)), places), n.cast(scores, "float32")


@onnx_op("SVMRegressor", 1, domain=ML)
def svm_regressor(n: NodeContext) -> Tensor:
    x = features(n)
    (columns,) = n.static(x.shape[1])
    count = int(n.attr("n_supports", 0) or 0)
    if count > 0:
        kernel = _kernel(n, x, _matrix(n, "support_vectors", x, count, columns))
        terms = _times(n, kernel, _matrix(n, "coefficients", x, 1, count))
    else:
        terms = _times(n, x, _matrix(n, "coefficients", x, 1, columns))
    values = n.emit("add", terms, n.constant(_rho(n, x, 1)))
    if n.attr("one_class", 0):
        positive = n.emit("greater", values, n.scalar(0, values), dtype="bool")
        return n.emit("where", positive, n.scalar(1, "float32"), n.scalar(-1, "float32"))
    return n.cast(transform(n, transform_of(n), values), "float32")
