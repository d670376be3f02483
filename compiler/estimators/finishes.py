"""What is left to do to the graph's outputs of some methods: iterations that end where each row's do."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

__all__ = ["FINISHES", "PAIRS"]

PAIRS = "pair_probability"
"""The output with the probability of the first class of each pair of classes i < j, [rows, pairs]."""
ITERATIONS = 100


def coupling(pairs: np.ndarray) -> np.ndarray:
    """The probabilities of classes [rows, classes] that agree best with those of their pairs.

    The second method of Wu, Lin and Weng, "Probability estimates for multi-class classification by pairwise coupling"
    (2004), stopped where libsvm stops: once every component is within 0.005 / classes of the optimality condition.
    """
    classes = round((1 + np.sqrt(1 + 8 * pairs.shape[1])) / 2)
    system = _system(pairs.astype(np.float64), classes)
    found = np.full((len(pairs), classes), 1.0 / classes)
    going = np.arange(len(pairs))
    for _ in range(max(ITERATIONS, classes)):
        q, p = system[going], found[going]
        products = np.einsum("nij,nj->ni", q, p)
        total = np.einsum("ni,ni->n", p, products)
        wrong = np.abs(products - total[:, None]).max(axis=1) >= 0.005 / classes
        if not wrong.any():
            break
        going = going[wrong]
        found[going] = _improved(q[wrong], p[wrong], products[wrong], total[wrong])
    return found.astype(pairs.dtype)


def _system(pairs: np.ndarray, classes: int) -> np.ndarray:
    """The matrix of the quadratic form of each row, [rows, classes, classes]."""
    first, second = np.triu_indices(classes, 1)
    r = np.zeros((len(pairs), classes, classes))
    r[:, first, second] = pairs
    r[:, second, first] = 1 - pairs
    system = -np.swapaxes(r, 1, 2) * r
    place = np.arange(classes)
    system[:, place, place] = np.square(r).sum(axis=1)
    return system


def _improved(q: np.ndarray, p: np.ndarray, products: np.ndarray, total: np.ndarray) -> np.ndarray:
    """One round over the components of ``p``, each brought to its best value and all scaled to add up to 1."""
    for t in range(p.shape[1]):
        step = (total - products[:, t]) / q[:, t, t]
        p[:, t] += step
        scale = 1 + step
        total = (total + step * (step * q[:, t, t] + 2 * products[:, t])) / scale / scale
        products = (products + step[:, None] * q[:, t]) / scale[:, None]
        p /= scale[:, None]
    return p


def log_coupling(pairs: np.ndarray) -> np.ndarray:
    """The logarithms of :func:`coupling`."""
    return np.log(coupling(pairs))


FINISHES: dict[str, Callable[[np.ndarray], np.ndarray]] = {"coupling": coupling, "log_coupling": log_coupling}
