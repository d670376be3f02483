"""Folds what is done to each input channel into the constant weights of the node behind.

What is folded: multiplication and division by constants, and batch normalization where there is no padding, whose zeros
the addend would have to reach as well. Where numbers are large and nearly equal, subtracting before the product keeps
digits, so that a mean is folded only if it is of the size of the deviation. The results differ by rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from basalt.ops import numpy_dtype

from ..ir import Graph, Node, Value
from .affine import Affine, Weighted
from .context import Context
from .emitter import Emitter
from .fold_normalisation import along_channels, arithmetic, normalization
from .patterns import Match, OpPattern, constant, op
from .rewriting import Guard, Rewrite, apply_rewrites, index, rewrite
from .traits import alone

_LINEAR = ("conv2d", "gemm", "matmul")
_MOVING = (
    "concat",
    "expand",
    "gather",
    "pad",
    "resample2d",
    "reshape",
    "reverse",
    "slice",
    "split",
    "tile",
    "transpose",
)
"""What computes nothing, so that nothing behind it is computed along with it."""
_MEAN = 8.0
"""The largest mean, in deviations, that may be subtracted after the product: three binary digits are lost."""


def fold_inputs(graph: Graph, context: Context) -> Graph:
    """The graph with constant factors and addends of input channels folded into convolutions and matrix products."""
    return apply_rewrites(graph, context, _RULES, "fold_inputs")


@dataclass(frozen=True, slots=True)
class _Reader(Weighted):
    """A conv2d, gemm or matmul node as a linear function of its input's channels."""

    @property
    def channel_axis(self) -> int:
        """The axis of the input along which each index has weights of its own."""
        if self.node.op == "conv2d":
            return str(self.node.attrs["input_layout"]).index("c")
        return 0 if self.node.attrs.get("a_transpose") else len(self.node.present[0].shape) - 1

    @property
    def channels(self) -> int:
        return int(self.node.present[0].shape[self.channel_axis])

    @property
    def takes_addends(self) -> bool:
        """Whether an addend of the input is one of the output: no padding, and a bias that can be changed."""
        if any(self.node.attrs.get("padding", ())):
            return False
        return self.bias is None or (self.bias.is_constant and self.bias.shape[:-1] in ((), (1,)))

    def along_weights(self, factor: np.ndarray) -> np.ndarray:
        """The channels' factors, shaped to multiply the weights."""
        attrs = self.node.attrs
        if self.node.op != "conv2d":
            return factor if attrs.get("b_transpose") else factor[:, None]
        layout = str(attrs["filter_layout"])
        outputs, inputs = (int(self.weights.shape[layout.index(letter)]) for letter in "oi")
        # Outputs of a group meet its own inputs only.
        table = np.repeat(factor.reshape(attrs["groups"], inputs), outputs // attrs["groups"], axis=0)
        ordered = table if layout.index("o") < layout.index("i") else table.T
        return ordered.reshape([self.weights.shape[k] if letter in "oi" else 1 for k, letter in enumerate(layout)])

    def total(self, weights: np.ndarray) -> np.ndarray:
        """The sum of weights over everything but the output's channels."""
        if self.node.op != "conv2d":
            return weights.sum(1 if self.node.attrs.get("b_transpose") else 0)
        layout = str(self.node.attrs["filter_layout"])
        return weights.sum(tuple(k for k, letter in enumerate(layout) if letter != "o"))


def _reader(m: Match) -> _Reader:
    return _Reader(m.root)


def _affine(m: Match) -> Affine | None:
    before, reader = m.node("before"), _reader(m)
    if before.op == "batch_normalization":
        found = normalization(m, before, reader.channel_axis)
        return found if found is not None and _has_small_means(m, before) else None
    rank = len(before.output.shape)
    if along_channels(m["c"], rank, reader.channel_axis, reader.channels) is None:
        return None
    return arithmetic(m, before, m["c"], reader.channels)


def _has_small_means(m: Match, node: Node) -> bool:
    mean, variance = (m.graph.context.constants.array(v).astype(np.float64) for v in node.present[1:3])
    with np.errstate(all="ignore"):
        return bool((np.abs(mean) <= _MEAN * np.sqrt(variance + node.attrs["epsilon"])).all())


def _takes_a_pass(m: Match) -> bool:
    """Whether the input is read once more for it; a kernel that computes the input does it in registers.

    Weights that stay are packed once for programs of all sizes.
    """
    producer = m.graph.producer(m["x"])
    return producer is None or producer.op in _MOVING


def _fits(m: Match) -> bool:
    """Whether there is something to fold, and weights and bias stay finite: an overflow would be no rounding."""
    affine, reader = _affine(m), _reader(m)
    if affine is None or (affine.addend.any() and not reader.takes_addends):
        return False
    limit = float(np.finfo(numpy_dtype(reader.weights.dtype)).max)
    factor, addend = np.abs(affine.factor).max(initial=0), np.abs(affine.addend).max(initial=0)
    largest = float(np.abs(m.graph.context.constants.array(reader.weights)).max(initial=0))
    terms = reader.weights.type.size * abs(m.root.attrs.get("alpha", 1.0))
    return bool(factor <= limit and largest * factor <= limit and terms * largest * addend <= limit)


def _keeps_its_size(m: Match) -> bool:
    affine = _affine(m)
    return affine is None or not _reader(m).would_grow(affine, m.graph.context.constants)


def _own_constant_weights(m: Match) -> bool:
    weights = _reader(m).weights
    alike = m.root.op != "matmul" or len(weights.shape) == 2
    return alike and weights.is_constant and m.graph.uses(weights) <= 1


_GUARDS: tuple[Guard, ...] = (
    alone("before"),
    ("it is computed along with its operand", _takes_a_pass),
    ("the weights are not constants of this node alone", _own_constant_weights),
    ("the data type has no digits to spare", lambda m: m.output.dtype in ("float32", "float64")),
    ("it is not one finite factor and addend for each channel", _fits),
    ("the weights would take twice the bytes", _keeps_its_size),
)


def _emitted(m: Match, e: Emitter) -> Value:
    affine, reader, attrs = _affine(m), _reader(m), dict(m.root.attrs)
    assert affine is not None
    dtype, array = numpy_dtype(reader.weights.dtype), e.context.constants.array(reader.weights)
    scaled = (array * reader.along_weights(affine.factor)).astype(dtype)
    weights, x = e.constant(scaled, reader.weights.name), m["x"]
    if not affine.addend.any():
        return e.emit(m.root.op, x, weights, *m.root.inputs[2:], **attrs)
    added = reader.total(array * reader.along_weights(affine.addend)) * attrs.get("alpha", 1.0)
    if m.root.op == "matmul":
        return e.emit("add", e.emit("matmul", x, weights), e.constant(added.astype(dtype)))
    if reader.bias is not None:
        own = e.context.constants.array(reader.bias).astype(np.float64).reshape(-1)
        added = added + own * attrs.get("beta", 1.0)
    if m.root.op == "gemm":
        attrs["beta"] = 1.0
    return e.emit(m.root.op, x, weights, e.constant(added.astype(dtype)), **attrs)


def _rule(name: str, before: OpPattern, reason: str) -> Rewrite:
    def fold(m: Match, e: Emitter) -> Value:
        return _emitted(m, e)

    fold.__name__, fold.__doc__ = name, reason
    return rewrite(op(_LINEAR, before), *_GUARDS, exact=False)(fold)


REWRITES: Sequence[Rewrite] = (
    _rule(
        "batch_normalization_of_input",
        op("batch_normalization", "x", name="before"),
        "A normalization by known mean and variance is a factor and an addend for each channel.",
    ),
    _rule(
        "factor_of_input",
        op("mul", "x", constant("c"), name="before", commutes=True),
        "A factor scales the weights of a channel.",
    ),
    _rule("divisor_of_input", op("div", "x", constant("c"), name="before"), "As a factor."),
)
_RULES = index(REWRITES)
