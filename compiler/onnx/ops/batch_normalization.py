"""BatchNormalization by given statistics, or by those of the batch (training)."""

from __future__ import annotations

from basalt.ops.dims import product

from ..node import NodeContext
from ..registry import onnx_op
from ..tensor import Tensor
from .normalization import moments


def _flattened(n: NodeContext) -> tuple[Tensor, list[Tensor]]:
    """The input as [batch, features, ...] and its four vectors [features], in one data type.

    Without ``spatial`` each place of a feature map is a feature of its own. A vector is a batch with one feature.
    """
    x = n.tensor(0)
    vectors = [n.tensor(i) for i in range(1, 5)]
    if x.rank == 0:
        raise n.error("input X is a number, expected a tensor of rank 1 or more")
    if x.rank == 1:
        x = n.reshape(x, (x.shape[0], 1))
    elif not n.attr("spatial", 1):
        x = n.reshape(x, (x.shape[0], product(x.shape[1:])))
    vectors = [n.reshape(v, (product(v.shape),)) for v in vectors]
    dtypes = {t.dtype for t in (x, *vectors)}
    work = "float64" if "float64" in dtypes else "float32"
    if len(dtypes) == 1 and not _training(n):
        work = x.dtype
    return n.cast(x, work), [n.cast(v, work) for v in vectors]


def _training(n: NodeContext) -> bool:
    """Whether the batch's own statistics count: said by ``training_mode``, by the outputs, or first by ``is_test``."""
    if n.version >= 14:
        return bool(n.attr("training_mode"))
    return any(n.wants(i) for i in range(1, 5)) or (n.version < 7 and not n.attr("is_test"))


@onnx_op("BatchNormalization", 1, 6, 7, 9, 14, 15)
def batch_normalization(n: NodeContext) -> Tensor | tuple[Tensor | None, ...]:
    x, (scale, bias, mean, variance) = _flattened(n)
    given = n.tensor(0)
    if not _training(n):
        if any(n.wants(i) for i in range(1, 5)):
            raise n.error("there are further outputs, which only training_mode 1 gives")
        return _normalized(n, given, x, mean, variance, scale, bias)
    axes = (0, *range(2, x.rank))
    own_mean, _, own_variance = moments(n, x, axes)
    own = n.reshape(own_mean, (x.shape[1],)), n.reshape(own_variance, (x.shape[1],))
    y = _normalized(n, given, x, own[0], own[1], scale, bias)
    momentum, rest = n.scalar(n.attr("momentum"), x), n.scalar(1 - n.attr("momentum"), x)
    running = [
        n.emit("add", n.emit("mul", before, momentum), n.emit("mul", now, rest))
        for before, now in zip((mean, variance), own)
    ]
    results = running if n.version >= 14 else [*running, *own]
    like = n.tensor(3)
    return (y, *[n.reshape(n.cast(r, like.dtype), like.shape) for r in results])


def _normalized(
    n: NodeContext, given: Tensor, x: Tensor, mean: Tensor, variance: Tensor, scale: Tensor, bias: Tensor
) -> Tensor:
    y = n.emit("batch_normalization", x, mean, variance, scale, bias, axis=1, epsilon=n.attr("epsilon"))
    return n.reshape(n.cast(y, given.dtype), given.shape)
