"""SVMClassifier and SVMRegressor of ai.onnx.ml.

The standard gives no formulas; these are libsvm's (Chang and Lin, "LIBSVM: A Library for Support Vector Machines",
2011), with the meaning of the attributes that ONNX's reference and ONNX Runtime agree on.
"""

from __future__ import annotations

import numpy as np

from basalt.compiler.onnx.host.checks import check_size
from basalt.compiler.onnx.host.ml_scores import (
    class_labels,
    features,
    label_tensor,
    logistic,
    score_pair,
    transform,
    transform_of,
)
from basalt.compiler.onnx.host.registry import ML, HostNode, host_op

_KERNELS = ("LINEAR", "POLY", "RBF", "SIGMOID")


def _kernel(n: HostNode, x: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """The kernel of each row of ``x`` [N, F] with each support vector [S, F]: [N, S]."""
    kind = str(n.attr("kernel_type", "LINEAR"))
    if kind not in _KERNELS:
        raise n.error(f"attribute 'kernel_type' is {kind!r}, expected one of {', '.join(_KERNELS)}")
    parameters = n.attr("kernel_params") or (0.0, 0.0, 0.0)
    if len(parameters) != 3:
        raise n.error(f"attribute 'kernel_params' has {len(parameters)} elements, expected gamma, coef0 and degree")
    gamma, offset, degree = (x.dtype.type(p) for p in parameters)
    with np.errstate(all="ignore"):
        if kind == "RBF":
            return (
                np.stack([np.exp(-gamma * np.square(row - vectors).sum(axis=1)) for row in x]) if len(x) else x[:, :0]
            )
        products = x @ vectors.T
        if kind == "POLY":
            return (gamma * products + offset) ** degree
        return np.tanh(gamma * products + offset) if kind == "SIGMOID" else products


def _vectors(n: HostNode, x: np.ndarray, count: int) -> np.ndarray:
    flat = n.attr("support_vectors", ())
    check_size(n, (len(x), count))
    if len(flat) != count * x.shape[1]:
        raise n.error(f"attribute 'support_vectors' has {len(flat)} elements, expected {count} vectors of {x.shape[1]}")
    return np.asarray(flat, dtype=x.dtype).reshape(count, x.shape[1])


def _coefficients(n: HostNode, x: np.ndarray, rows: int, columns: int) -> np.ndarray:
    flat = n.attr("coefficients", ())
    if len(flat) != rows * columns:
        raise n.error(f"attribute 'coefficients' has {len(flat)} elements, expected {rows} x {columns}")
    return np.asarray(flat, dtype=x.dtype).reshape(rows, columns)


def _rho(n: HostNode, x: np.ndarray, count: int) -> np.ndarray:
    rho = n.attr("rho", ())
    if len(rho) < count:
        raise n.error(f"attribute 'rho' has {len(rho)} elements, expected {count}")
    return np.asarray(rho, dtype=x.dtype)


def _pairwise(n: HostNode, x: np.ndarray, per_class: tuple[int, ...]) -> np.ndarray:
    """Decision values [N, pairs] of each pair of classes i < j; positive ones vote for i."""
    classes, count = len(per_class), sum(per_class)
    kernel = _kernel(n, x, _vectors(n, x, count))
    weights = _coefficients(n, x, classes - 1, count)
    rho = _rho(n, x, classes * (classes - 1) // 2)
    ends = np.cumsum(per_class)
    spans = [slice(int(e - s), int(e)) for s, e in zip(per_class, ends, strict=True)]
    values: list[np.ndarray] = []
    for i in range(classes):
        for j in range(i + 1, classes):
            first, second = spans[i], spans[j]
            value = kernel[:, first] @ weights[j - 1, first] + kernel[:, second] @ weights[i, second]
            values.append(value + rho[len(values)])
    return np.stack(values, axis=1)


def _votes(values: np.ndarray, classes: int) -> np.ndarray:
    votes = np.zeros((len(values), classes), dtype=np.int64)
    for value, i, j in zip(values.T, *np.triu_indices(classes, 1), strict=True):
        votes[:, i] += value > 0
        votes[:, j] += ~(value > 0)
    return votes


def _coupled(pairs: np.ndarray) -> np.ndarray:
    """Class probabilities [k] from those of pairs [k, k].

    Wu, Lin and Weng, "Probability Estimates for Multi-class Classification by Pairwise Coupling", 2004, algorithm 2.
    """
    k = len(pairs)
    q = -pairs.T * pairs
    np.fill_diagonal(q, np.square(pairs).sum(axis=0))
    p = np.full(k, 1 / k)
    for _ in range(max(100, k)):
        qp = q @ p
        total = p @ qp
        if np.abs(qp - total).max() < 0.005 / k:
            break
        for t in range(k):
            change = (total - qp[t]) / q[t, t]
            p[t] += change
            total = (total + change * (change * q[t, t] + 2 * qp[t])) / (1 + change) ** 2
            qp = (qp + change * q[t]) / (1 + change)
            p /= 1 + change
    return p


def _probabilities(n: HostNode, values: np.ndarray, classes: int) -> np.ndarray:
    a, b = n.attr("prob_a"), n.attr("prob_b", ())
    if len(a) != values.shape[1] or len(b) != len(a):
        raise n.error(f"prob_a and prob_b have {len(a)} and {len(b)} elements, expected {values.shape[1]}")
    wide = values.astype(np.float64)
    won = np.clip(1 - logistic(wide * np.asarray(a) + np.asarray(b)), 1e-7, 1 - 1e-7)
    upper = np.triu_indices(classes, 1)
    result = np.empty((len(values), classes), dtype=values.dtype)
    for row, chances in enumerate(won):
        pairs = np.zeros((classes, classes))
        pairs[upper] = chances
        pairs.T[upper] = 1 - chances
        result[row] = _coupled(pairs)
    return result


@host_op("SVMClassifier", 1, domain=ML)
def svm_classifier(n: HostNode, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The labels [N] and scores [N, classes], [N, pairs of classes], or [N, 2] for one pair, float32.

    With ``vectors_per_class`` classes vote in pairs; the scores are probabilities if ``prob_a`` is given, else decision
    values, a single one ``s`` being written as ``-s, s``. Without it a linear function each class gives its score.
    """
    x = features(n, x)
    labels = class_labels(n, "classlabels_ints")
    per_class = tuple(int(v) for v in n.attr("vectors_per_class") or ())
    name = transform_of(n)
    if not sum(per_class):
        classes = max(len(labels), 1)
        scores = x @ _coefficients(n, x, classes, x.shape[1]).T + _rho(n, x, 1)[0]
        places = np.argmax(scores, axis=1)
    else:
        classes = len(per_class)
        if min(per_class) < 0 or classes < 2 or len(labels) not in (0, classes):
            raise n.error(f"vectors_per_class is {per_class} for {len(labels)} labels, expected a count a class")
        values = _pairwise(n, x, per_class)
        places = np.argmax(_votes(values, classes), axis=1)
        scores = _probabilities(n, values, classes) if n.attr("prob_a") else values
        if scores.shape[1] == 1:
            return label_tensor(labels or range(classes), places), score_pair(name, scores, -scores).astype(np.float32)
    return label_tensor(labels or range(classes), places), transform(name, scores).astype(np.float32)


@host_op("SVMRegressor", 1, domain=ML)
def svm_regressor(n: HostNode, x: np.ndarray) -> np.ndarray:
    """[N, 1], float32: the weighted kernels of ``n_supports`` vectors (a linear function without any) plus ``rho``.

    With ``one_class`` 1 where that is positive, else -1.
    """
    x = features(n, x)
    count = int(n.attr("n_supports", 0))
    if count > 0:
        terms = _kernel(n, x, _vectors(n, x, count)) @ _coefficients(n, x, 1, count)[0]
    else:
        terms = x @ _coefficients(n, x, 1, x.shape[1])[0]
    values = (terms + _rho(n, x, 1)[0])[:, None]
    if n.attr("one_class", 0):
        return np.where(values > 0, 1, -1).astype(np.float32)
    return transform(transform_of(n), values).astype(np.float32)
