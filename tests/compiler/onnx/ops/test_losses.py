"""Losses at every version, against the standard's formulas."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import special

from basalt.errors import ValidationError

from .one_node import allowed, close, run, sample, versions

LOSSES = [(op, version) for op in ("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss") for version in versions(op)]
NLL, SCE = "NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"


def expected_loss(
    log_probabilities: np.ndarray, labels: np.ndarray, weights: np.ndarray | None, ignored: int | None, reduction: str
) -> Any:
    losses, factors = np.zeros(labels.shape), np.zeros(labels.shape)
    for place in np.ndindex(labels.shape):
        label = int(labels[place])
        if label != ignored:
            factors[place] = 1 if weights is None else weights[label]
            losses[place] = -log_probabilities[(place[0], label, *place[1:])] * factors[place]
    if reduction == "none":
        return losses
    return losses.sum() if reduction == "sum" else losses.sum() / factors.sum()


@pytest.mark.parametrize(("op", "version"), LOSSES)
@pytest.mark.parametrize("reduction", [None, "none", "sum", "mean"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("ignored", [None, 1, -100])
def test_every_version(op: str, version: int, reduction: str | None, weighted: bool, ignored: int | None) -> None:
    attributes: dict[str, Any] = {} if reduction is None else {"reduction": reduction}
    if ignored is not None:
        attributes["ignore_index"] = ignored
    for dtype in allowed(op, version):
        for shape in ((4, 3), (2, 3, 4), (2, 3, 2, 2)):
            x = sample(dtype, shape, low=-2, high=-0.5)
            labels = np.random.default_rng(2).integers(0, 3, (shape[0], *shape[2:]))
            labels = labels.astype(np.int32 if len(shape) == 3 else np.int64)
            if ignored is not None:
                labels.reshape(-1)[1] = ignored
            weights = sample(dtype, (3,), low=0.5, high=2, seed=3) if weighted else None
            wide = x.astype(np.float64)
            logs = wide if op == NLL else special.log_softmax(wide, axis=1)
            scale = None if weights is None else weights.astype(np.float64)
            expected = expected_loss(logs, labels, scale, ignored, reduction or "mean")
            compiled = dtype == "float32" and len(shape) == 3
            close(run(op, version, x, labels, weights, compiled=compiled, **attributes), expected, dtype, 4)


@pytest.mark.parametrize("version", versions(SCE))
def test_log_probabilities(version: int) -> None:
    for dtype in allowed(SCE, version):
        x, labels = sample(dtype, (2, 3, 4)), np.zeros((2, 4), np.int64)
        loss, logs = run(SCE, version, x, labels, outputs=2, reduction="sum")
        wide = special.log_softmax(x.astype(np.float64), axis=1)
        close(logs, wide, dtype, 2)
        close(loss, -wide[:, 0].sum(), dtype, 4)


@pytest.mark.parametrize("op", [NLL, SCE])
def test_symbolic_sizes(op: str) -> None:
    x, labels = sample("float32", (2, 3, 4)), np.ones((2, 4), np.int64)
    logs = x if op == NLL else special.log_softmax(x, axis=1)
    close(run(op, 13, x, labels, symbolic=True), -logs[:, 1].mean(), "float32")


@pytest.mark.parametrize("op", [NLL, SCE])
@pytest.mark.parametrize(
    ("shape", "labels", "weights", "reduction", "message"),
    [
        ((2, 3), (3,), None, "mean", "labels"),
        ((2, 3, 4), (2, 3), None, "mean", "labels"),
        ((3,), (3,), None, "mean", "labels|rank 1"),
        ((2, 3), (2,), (4,), "mean", "weights"),
        ((2, 3), (2,), (3, 1), "mean", "weights"),
        ((2, 3), (2,), None, "most", "reduction"),
    ],
)
def test_what_does_not_fit(op: str, shape: Any, labels: Any, weights: Any, reduction: str, message: str) -> None:
    given = None if weights is None else sample("float32", weights)
    with pytest.raises(ValidationError, match=message):
        run(op, 13, sample("float32", shape), np.zeros(labels, np.int64), given, reduction=reduction)
