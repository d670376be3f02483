"""Normalizations and softmax as element-wise operators around primitive reductions."""

from __future__ import annotations

from types import SimpleNamespace

from basalt import ops

from ..ir import Node, Value
from .canonicalise_reductions import Axes, long_axes, mean, reduce, settle, widen
from .emitter import Emitter
from .patterns import Match, op
from .rewriting import rewrite


def operands(node: Node) -> SimpleNamespace:
    """The operands of a node by name, None for absent ones."""
    return ops.get(node.op).bind(node.inputs)


def _along(e: Emitter, vector: Value | None, axis: int, rank: int) -> Value | None:
    """A vector shaped to lie along one axis of a tensor."""
    if vector is None:
        return None
    return widen(e, e.reshape(vector, tuple(vector.shape[0] if i == axis else 1 for i in range(rank))))


def _over(e: Emitter, tensor: Value | None, axes: Axes, rank: int) -> Value | None:
    """A tensor with a dimension for each of some axes, in their order, shaped to be broadcast to the whole."""
    if tensor is None:
        return None
    order = sorted(range(len(axes)), key=lambda i: axes[i])
    ordered = e.emit("transpose", tensor, permutation=tuple(order)) if order != sorted(order) else tensor
    sizes = dict(zip(axes, tensor.shape))
    return widen(e, e.reshape(ordered, tuple(sizes.get(i, 1) for i in range(rank))))


def _deviation(e: Emitter, variance: Value, epsilon: float) -> Value:
    return e.emit("sqrt", e.emit("add", variance, e.scalar(epsilon, variance.dtype)))


def _factor(e: Emitter, deviation: Value, scale: Value | None) -> Value:
    return e.emit("reciprocal", deviation) if scale is None else e.emit("div", scale, deviation)


@rewrite(op("batch_normalization", "x", "mean", "variance", name="normalization"), exact=False)
def batch_normalization(m: Match, e: Emitter) -> Value:
    """``(x - mean) * (scale / sqrt(variance + epsilon)) + bias``.

    The difference comes first, so that no digits are lost where x lies near the mean; the factor is one for a channel,
    and a constant if the parameters are.
    """
    given, axis = operands(m.root), m.root.attrs["axis"]
    x = widen(e, given.input)
    middle, variance, scale, bias = (
        _along(e, v, axis, x.type.rank) for v in (given.mean, given.variance, given.scale, given.bias)
    )
    assert middle is not None and variance is not None
    factor = _factor(e, _deviation(e, variance, m.root.attrs["epsilon"]), scale)
    result = e.emit("mul", e.emit("sub", x, middle), factor)
    return settle(e, result if bias is None else e.emit("add", result, bias), m.output)


def _centred(e: Emitter, x: Value, axes: Axes) -> tuple[Value, Value]:
    """The differences from the mean over axes, and the variance: in two passes, for a sum of squares loses digits."""
    centred = e.emit("sub", x, mean(e, x, axes))
    return centred, mean(e, e.emit("mul", centred, centred), axes)


@rewrite(op("instance_normalization", "x", name="normalization"), exact=False)
def instance_normalization(m: Match, e: Emitter) -> Value:
    """The scale is one for a channel, as the deviation is, so that both are one factor."""
    given, layout = operands(m.root), m.root.attrs["layout"]
    x = widen(e, given.input)
    axes = long_axes(x, (layout.index("h"), layout.index("w")))
    scale, bias = (_along(e, v, layout.index("c"), 4) for v in (given.scale, given.bias))
    centred, variance = _centred(e, x, axes)
    result = e.emit("mul", centred, _factor(e, _deviation(e, variance, m.root.attrs["epsilon"]), scale))
    return settle(e, result if bias is None else e.emit("add", result, bias), m.output)


@rewrite(op("layer_normalization", "x", name="normalization"), exact=False)
def layer_normalization(m: Match, e: Emitter) -> Value:
    """The deviation is one for a whole row and its reciprocal a factor; the scale differs along the row."""
    given, axes = operands(m.root), m.root.attrs["axes"]
    x = widen(e, given.input)
    scale, bias = (_over(e, v, axes, x.type.rank) for v in (given.scale, given.bias))
    centred, variance = _centred(e, x, long_axes(x, axes))
    result = e.emit("mul", centred, _factor(e, _deviation(e, variance, m.root.attrs["epsilon"]), None))
    if scale is not None:
        result = e.emit("mul", result, scale)
    return settle(e, result if bias is None else e.emit("add", result, bias), m.output)


@rewrite(op("softmax", "x", name="softmax"), exact=False)
def softmax(m: Match, e: Emitter) -> Value:
    """The largest element is subtracted first, against overflow.

    The sum is at least 1: its reciprocal loses nothing, and products take a fraction of the time of quotients.
    """
    x = widen(e, m["x"])
    axes = long_axes(x, (m.root.attrs["axis"],))
    powers = e.emit("exp", e.emit("sub", x, reduce(e, "reduce_max", x, axes)))
    inverse = e.emit("reciprocal", reduce(e, "reduce_sum", powers, axes))
    return settle(e, e.emit("mul", powers, inverse), m.output)


REWRITES = (batch_normalization, instance_normalization, layer_normalization, softmax)
