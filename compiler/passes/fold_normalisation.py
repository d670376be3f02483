"""Folds a factor and an addend for each channel into the constant weights of the node before.

What is folded: batch normalization, and multiplication, division, addition and subtraction by constants. The results
differ by rounding, for ``(x * w) * s`` becomes ``x * (w * s)``; only float32 and float64 have digits to spare for that.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..ir import Graph, Node, Value
from .affine import Affine, linear
from .context import Context
from .emitter import Emitter
from .patterns import Match, OpPattern, constant, op
from .rewriting import Guard, Rewrite, apply_rewrites, index, rewrite
from .traits import alone

_LINEAR = op(("conv2d", "conv_transpose2d", "gemm"), name="linear")


def fold_normalisation(graph: Graph, context: Context) -> Graph:
    """The graph with constant factors and addends of channels folded into convolutions and matrix products."""
    return apply_rewrites(graph, context, _RULES, "fold_normalisation")


def _array(m: Match, value: Value) -> np.ndarray:
    return m.graph.context.constants.array(value).astype(np.float64)


def normalization(m: Match, node: Node, channel_axis: int) -> Affine | None:
    """What a batch normalization by constants does to each channel; None for others, and along another axis."""
    _, mean, variance, scale, bias = (*node.inputs, None, None)[:5]
    parameters = [v for v in (mean, variance, scale, bias) if v is not None]
    if not all(v.is_constant for v in parameters) or node.attrs["axis"] != channel_axis:
        return None
    assert mean is not None and variance is not None
    with np.errstate(all="ignore"):
        factor = 1 / np.sqrt(_array(m, variance) + node.attrs["epsilon"])
        if scale is not None:
            factor = factor * _array(m, scale)
        addend = -_array(m, mean) * factor
    return Affine(factor, addend if bias is None else addend + _array(m, bias))


def arithmetic(m: Match, node: Node, c: Value, channels: int) -> Affine:
    """What a mul, div, add or sub by a constant of one number for each channel does to them."""
    numbers = np.broadcast_to(_array(m, c).reshape(-1), (channels,))
    ones, zeros = np.ones_like(numbers), np.zeros_like(numbers)
    with np.errstate(all="ignore"):
        match node.op:
            case "mul":
                return Affine(numbers, zeros)
            case "add":
                return Affine(ones, numbers)
            case "sub":
                return Affine(-ones, numbers) if node.inputs[0] is c else Affine(ones, -numbers)
        return Affine(1 / numbers, zeros)


def along_channels(c: Value, rank: int, axis: int, channels: int) -> Value | None:
    """The constant, if it is broadcast to one number for each channel and no larger result."""
    if c.type.rank > rank:
        return None
    shape = (1,) * (rank - c.type.rank) + c.shape
    lone = all(d == 1 for i, d in enumerate(shape) if i != axis)
    return c if lone and shape[axis] in (1, channels) else None


def _affine(m: Match) -> Affine | None:
    target = linear(m)
    if m.root.op == "batch_normalization":
        return normalization(m, m.root, target.channel_axis)
    if along_channels(m["c"], target.node.output.type.rank, target.channel_axis, target.channels) is None:
        return None
    return arithmetic(m, m.root, m["c"], target.channels)


def _fits(m: Match) -> bool:
    affine = _affine(m)
    return affine is not None and linear(m).stays_finite(affine, m.graph.context.constants)


def _keeps_its_size(m: Match) -> bool:
    affine = _affine(m)
    return affine is None or not linear(m).would_grow(affine, m.graph.context.constants)


_GUARDS: tuple[Guard, ...] = (
    alone("linear"),
    ("the weights are not constants", lambda m: linear(m).is_constant),
    ("the data type has no digits to spare", lambda m: m.output.dtype in ("float32", "float64")),
    ("the addend differs within a channel", lambda m: linear(m).has_channel_bias),
    ("it is not one finite factor and addend for each channel", _fits),
    ("the weights would take twice the bytes", _keeps_its_size),
)


def _rule(name: str, pattern: OpPattern, reason: str) -> Rewrite:
    def fold(m: Match, e: Emitter) -> Value:
        affine = _affine(m)
        assert affine is not None
        return linear(m).folded(affine, e)

    fold.__name__, fold.__doc__ = name, reason
    return rewrite(pattern, *_GUARDS, exact=False)(fold)


REWRITES: Sequence[Rewrite] = (
    _rule(
        "batch_normalization_into_weights",
        op("batch_normalization", _LINEAR),
        "A normalization by known mean and variance is a factor and an addend for each channel.",
    ),
    _rule(
        "factor_into_weights",
        op(("mul", "add"), _LINEAR, constant("c"), commutes=True),
        "A factor scales the weights of a channel, an addend its bias.",
    ),
    _rule("divisor_into_weights", op(("div", "sub"), _LINEAR, constant("c")), "As a factor and an addend."),
    _rule("difference_into_weights", op("sub", constant("c"), _LINEAR), "A negative factor and an addend."),
)

_RULES = index(REWRITES)
