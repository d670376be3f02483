"""What the classifiers and regressors of ai.onnx.ml share: input matrices, post-transforms, labels."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from ...errors import OnHostError
from ...node import NodeContext
from ...tensor import Tensor

__all__ = ["above_zero", "features", "integer_labels", "labels_at", "score_pair", "transform", "transform_of"]

_ERF_INVERSE = 0.147
"""The constant of Winitzki, "A handy approximation for the error function and its inverse", 2008."""
NAMES = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")


def features(n: NodeContext) -> Tensor:
    """The input as a matrix [rows, features], float64 if it is that, else float32; a vector is one row."""
    x = n.tensor(0)
    if x.rank == 1:
        x = n.reshape(x, (1, *x.shape))
    if x.rank != 2:
        raise n.error(f"input X is {x}, expected a matrix")
    return x if x.dtype in ("float32", "float64") else n.cast(x, "float32")


def transform_of(n: NodeContext) -> str:
    """The name of the node's post-transform, which may be given by its number."""
    given = n.attr("post_transform", "NONE")
    name = NAMES[given] if isinstance(given, int) and 0 <= given < len(NAMES) else given
    if name not in NAMES:
        raise n.error(f"attribute post_transform is {given!r}, expected one of {', '.join(NAMES)}")
    return str(name)


def transform(n: NodeContext, name: str, x: Tensor) -> Tensor:
    """Scores [rows, classes] after a post-transform of each row."""
    return _TRANSFORMS[name](n, x)


def _softmax_zero(n: NodeContext, x: Tensor) -> Tensor:
    """Softmax in which scores of 0 stay 0: those below 1e-7 are only scaled."""
    largest = n.emit("reduce_max", x, axes=(1,), keep_dimensions=True)
    scaled = n.emit("mul", x, n.emit("exp", n.emit("neg", largest)))
    powers = n.emit("exp", n.emit("sub", x, largest))
    far = n.emit("greater", n.emit("abs", x), n.scalar(1e-7, x), dtype="bool")
    kept = n.emit("where", far, powers, scaled)
    total = n.emit("reduce_sum", kept, axes=(1,), keep_dimensions=True)
    empty = n.emit("equal", total, n.scalar(0, x), dtype="bool")
    share = n.emit("div", kept, n.emit("where", empty, n.scalar(1, x), total))
    return n.emit("where", empty, n.scalar(0.5, x), share)


def _probit(n: NodeContext, x: Tensor) -> Tensor:
    """The normal distribution's quantiles by Winitzki's approximation, as ONNX Runtime computes them."""

    def plus(a: Tensor, b: float) -> Tensor:
        return n.emit("add", a, n.scalar(b, a))

    def times(a: Tensor, b: float) -> Tensor:
        return n.emit("mul", a, n.scalar(b, a))

    y = plus(times(x, 2.0), -1.0)
    product = n.emit("mul", plus(n.emit("neg", y), 1.0), plus(y, 1.0))
    log = n.emit("log", product)
    half = plus(times(log, 0.5), 2 / (math.pi * _ERF_INVERSE))
    root = n.emit("sqrt", n.emit("sub", n.emit("mul", half, half), times(log, 1 / _ERF_INVERSE)))
    size = n.emit("sqrt", times(n.emit("sub", root, half), 2.0))
    return n.emit("mul", n.emit("sign", y), size)


_TRANSFORMS: dict[str, Callable[[NodeContext, Tensor], Tensor]] = {
    "NONE": lambda n, x: x,
    "SOFTMAX": lambda n, x: n.emit("softmax", x, axis=1),
    "LOGISTIC": lambda n, x: n.emit("sigmoid", x),
    "SOFTMAX_ZERO": _softmax_zero,
    "PROBIT": _probit,
}


def integer_labels(n: NodeContext, attribute: str) -> tuple[int, ...]:
    """The class labels, empty if none are given; string labels are the host's."""
    if n.attr("classlabels_strings", None):
        raise OnHostError
    return tuple(n.attr(attribute, None) or ())


def labels_at(n: NodeContext, labels: Sequence[int], places: Tensor) -> Tensor:
    """The labels, int64, at places [rows]."""
    if tuple(labels) == tuple(range(len(labels))):
        return places if places.dtype == "int64" else n.emit("cast", places, data_type="int64")
    return n.emit("gather", n.constant(np.array(labels, np.int64)), places, axis=0)


def score_pair(n: NodeContext, name: str, score: Tensor, other: Tensor) -> Tensor:
    """The two scores [rows, 2] that one score [rows, 1] of two classes stands for, after a post-transform.

    ``other, score`` with NONE; with PROBIT that of ``1 - score`` and ``score``; else that of ``-score`` and ``score``.
    """
    first = other
    if name == "PROBIT":
        first = n.emit("sub", n.scalar(1, score), score)
    elif name != "NONE":
        first = n.emit("neg", score)
    return transform(n, name, n.emit("concat", first, score, axis=1))


def above_zero(n: NodeContext, s: Tensor) -> Tensor:
    """1 where the only score [rows, 1] is above 0, else 0; int64 [rows]."""
    chosen = n.emit("greater", s, n.scalar(0, s), dtype="bool")
    return n.emit("cast", n.reshape(chosen, (s.shape[0],)), data_type="int64", dtype="int64")
