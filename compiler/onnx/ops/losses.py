"""NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss."""

from __future__ import annotations

from basalt.ops.shapes import same_shape, text

from ..node import NodeContext
from ..registry import onnx_op
from ..tensor import Tensor
from .building import wide
from .softmax import log_softmax_of


@onnx_op("NegativeLogLikelihoodLoss", 12, 13, 22)
def negative_log_likelihood_loss(n: NodeContext) -> Tensor:
    x = n.tensor(0)
    return n.cast(_loss(n, n.cast(x, wide(x.dtype))), x.dtype)


@onnx_op("SoftmaxCrossEntropyLoss", 12, 13)
def softmax_cross_entropy_loss(n: NodeContext) -> tuple[Tensor, ...]:
    x = n.tensor(0)
    if x.rank < 2:
        raise n.error(f"the scores have rank {x.rank}, expected at least 2")
    log_probabilities = log_softmax_of(n, n.cast(x, wide(x.dtype)), 1)
    return n.cast(_loss(n, log_probabilities), x.dtype), n.cast(log_probabilities, x.dtype)


def _loss(n: NodeContext, x: Tensor) -> Tensor:
    """The loss of log-probabilities [N, C, d1, ...] under labels [N, d1, ...], reduced as the attribute says.

    The mean is that over the labels that are not ignored, weighted by their classes' weights.
    """
    reduction = n.attr("reduction")
    if reduction not in ("none", "sum", "mean"):
        raise n.error(f"attribute reduction is {reduction!r}, expected none, sum or mean")
    labels = n.tensor(1)
    if x.rank < 2 or not same_shape(labels.shape, (x.shape[0], *x.shape[2:])):
        raise n.error(f"the labels have shape {text(labels.shape)}, expected that of {x} without axis 1")
    ignored = n.attr("ignore_index")
    kept = None
    if ignored is not None:
        kept = n.emit("not_equal", labels, n.constant(ignored, labels.dtype), dtype="bool")
        # What an ignored label picks is dropped below; it need not be a class.
        labels = n.emit("where", kept, labels, n.scalar(0, like=labels))
    places = n.reshape(labels, (labels.shape[0], 1, *labels.shape[1:]))
    picked = n.reshape(n.emit("gather_elements", x, places, axis=1), labels.shape)
    weights = _weights(n, x, labels, kept)
    losses = n.emit("neg", picked)
    if weights is not None:
        losses = n.emit("mul", losses, weights)
    if kept is not None:
        losses = n.emit("where", kept, losses, n.scalar(0, like=losses))
    if reduction == "none":
        return losses
    if reduction == "mean" and weights is None:
        return n.emit("reduce_mean", losses)
    total = n.emit("reduce_sum", losses)
    if reduction == "sum" or weights is None:
        return total
    return n.emit("div", total, n.emit("reduce_sum", weights))


def _weights(n: NodeContext, x: Tensor, labels: Tensor, kept: Tensor | None) -> Tensor | None:
    """The weight of each label; None where all are 1."""
    given = n.optional(2)
    if given is None:
        return None if kept is None else n.cast(kept, x.dtype)
    if given.rank != 1 or not same_shape(given.shape, (x.shape[1],)):
        raise n.error(f"the weights have shape {text(given.shape)}, expected [{x.shape[1]}], one for each class")
    weights = n.emit("gather", n.cast(given, x.dtype), labels, axis=0)
    return weights if kept is None else n.emit("where", kept, weights, n.scalar(0, like=weights))
