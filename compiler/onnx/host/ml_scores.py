"""What the classifiers and regressors of ai.onnx.ml share: post-transforms of scores, class labels, input matrices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from basalt.compiler.onnx.host.checks import tensor
from basalt.compiler.onnx.host.element_types import string_array, type_name
from basalt.compiler.onnx.host.registry import HostNode

__all__ = ["class_labels", "features", "label_tensor", "logistic", "score_pair", "transform", "transform_of"]

_ERF_INVERSE = 0.147
"""The constant of Winitzki, "A handy approximation for the error function and its inverse", 2008."""


def logistic(x: np.ndarray) -> np.ndarray:
    """1 / (1 + exp(-x)), without overflow."""
    with np.errstate(all="ignore"):
        positive = 1 / (1 + np.exp(-np.abs(x)))
    return np.where(x < 0, 1 - positive, positive).astype(x.dtype)


def _softmax(x: np.ndarray) -> np.ndarray:
    powers = np.exp(x - x.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def _softmax_zero(x: np.ndarray) -> np.ndarray:
    """Softmax in which scores of 0 stay 0: those below 1e-7 are only scaled."""
    largest = x.max(axis=-1, keepdims=True)
    powers = np.where(np.abs(x) > 1e-7, np.exp(x - largest), x * np.exp(-largest))
    total = powers.sum(axis=-1, keepdims=True)
    return np.where(total == 0, 0.5, powers / np.where(total == 0, 1, total)).astype(x.dtype)


def _probit(x: np.ndarray) -> np.ndarray:
    """The normal distribution's quantiles by Winitzki's approximation, which ONNX's reference and ONNX Runtime use."""
    y = 2 * x - 1
    log = np.log((1 - y) * (1 + y))
    half = 2 / (np.pi * _ERF_INVERSE) + 0.5 * log
    return (np.sign(y) * np.sqrt(2 * (np.sqrt(half * half - log / _ERF_INVERSE) - half))).astype(x.dtype)


_TRANSFORMS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "NONE": lambda x: x,
    "SOFTMAX": _softmax,
    "LOGISTIC": logistic,
    "SOFTMAX_ZERO": _softmax_zero,
    "PROBIT": _probit,
}


def transform_of(n: HostNode) -> str:
    """The name of the node's post-transform, a string or (in TreeEnsemble) a place among them."""
    given = n.attr("post_transform", "NONE")
    if isinstance(given, int) and 0 <= given < len(_TRANSFORMS):
        return list(_TRANSFORMS)[given]
    if given not in _TRANSFORMS:
        raise n.error(f"attribute 'post_transform' is {given!r}, expected one of {', '.join(_TRANSFORMS)}")
    return str(given)


def transform(name: str, scores: np.ndarray) -> np.ndarray:
    """The scores [N, E] after the named transform, over each row."""
    with np.errstate(all="ignore"):
        return _TRANSFORMS[name](scores)


def score_pair(name: str, score: np.ndarray, other: np.ndarray) -> np.ndarray:
    """The two scores [N, 2] that one score [N, 1] of two classes stands for, after the named transform.

    ``other, score`` with NONE; with PROBIT that of ``1 - score`` and ``score``; else that of ``-score`` and ``score``.
    The standard says nothing of this. ONNX Runtime does the same, but leaves out SOFTMAX and SOFTMAX_ZERO, which are
    applied here as in ONNX's reference.
    """
    first = {"NONE": other, "PROBIT": 1 - score}.get(name, -score)
    return transform(name, np.concatenate([first, score], axis=1))


def features(n: HostNode, x: np.ndarray) -> np.ndarray:
    """The input [N, F] (or [F]: one row) as float64 if it is that, else as float32."""
    x = np.atleast_2d(tensor(n, "X", x, (1, 2)))
    if x.dtype.kind not in "biuf":
        raise n.error(f"input 'X' is of type {type_name(x.dtype)}, expected numbers")
    return x if x.dtype in (np.float32, np.float64) else x.astype(np.float32)


def class_labels(n: HostNode, integers: str) -> Sequence[Any]:
    """The class labels: strings, or the ints of the named attribute; empty if neither is given."""
    strings, numbers = n.attr("classlabels_strings"), n.attr(integers)
    if strings and numbers:
        raise n.error(f"expected one of the attributes 'classlabels_strings' and {integers!r}")
    return tuple(strings or numbers or ())


def label_tensor(labels: Sequence[Any], places: np.ndarray) -> np.ndarray:
    """The labels at ``places`` [N], strings or int64."""
    chosen = [labels[place] for place in places.tolist()]
    if labels and isinstance(labels[0], str):
        return string_array(chosen, (len(chosen),))
    return np.array(chosen, dtype=np.int64)
