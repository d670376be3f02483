"""Operators that only rename where elements lie: reshape, transpose, expand, reverse."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .convert import nullable, positive, sequence, uint
from .dims import Dim, Shape, known, product
from .registry import register
from .schema import Arrays, Attrs, Operand, Operator, Option, Output, Types, fail
from .shapes import broadcastable_to, check_axes, check_shape, text
from .types import ANY, TensorType


class _Movement(Operator):
    operands = (Operand("input", ANY, doc="the input tensor, of any shape"),)


def concrete(shape: Sequence[Dim]) -> tuple[int, ...]:
    """A shape all of whose dimensions are known, as NumPy takes it."""
    return tuple(int(d) for d in shape)  # type: ignore[arg-type]


@register
class Reshape(_Movement):
    """The same elements, in row-major order, in another shape."""

    name = webnn = "reshape"
    arguments = (Option("new_shape", sequence(positive), doc="the output's shape, of as many elements"),)
    outputs = (Output(rank=(0, 8)),)
    section = "api-mlgraphbuilder-reshape-method"

    def infer(self, t: Types, a: Attrs) -> Sequence[TensorType]:
        shape = check_shape(a["new_shape"], "new_shape", zero=True)
        given, wanted = t.input.size, product(shape)
        if known(given, wanted) and given != wanted:
            fail(f"new_shape {text(shape)} has {wanted} elements, expected the input's {given}")
        return [TensorType(t.input.dtype, shape)]

    def evaluate(self, x: Arrays, a: Attrs, out: Sequence[TensorType]) -> Sequence[np.ndarray]:
        return [np.reshape(x.input, concrete(out[0].shape))]


@register
class Transpose(_Movement):
    """The dimensions in another order: dimension ``i`` of the output is dimension ``permutation[i]`` of the input."""

    name = webnn = "transpose"
    options = (
        Option("permutation", nullable(sequence(uint)), None, "each axis once; None for the reverse of their order"),
    )
    section = "api-mlgraphbuilder-transpose"

    def infer(self, t: Types, a: Attrs) -> Sequence[TensorType]:
        if a["permutation"] is None:
            a["permutation"] = tuple(reversed(range(t.input.rank)))
        permutation = a["permutation"]
        if sorted(permutation) != list(range(t.input.rank)):
            fail(f"permutation is {list(permutation)}, expected each of the {t.input.rank} axes once")
        return [TensorType(t.input.dtype, tuple(t.input.shape[i] for i in permutation))]

    def evaluate(self, x: Arrays, a: Attrs, out: Sequence[TensorType]) -> Sequence[np.ndarray]:
        return [np.transpose(x.input, a["permutation"])]


@register
class Expand(_Movement):
    """The input repeated along its dimensions of size 1, and along new leading ones, to fill a shape."""

    name = webnn = "expand"
    arguments = (Option("new_shape", sequence(positive), doc="the output's shape"),)
    outputs = (Output(rank=(0, 8)),)
    section = "api-mlgraphbuilder-expand"

    def infer(self, t: Types, a: Attrs) -> Sequence[TensorType]:
        target: Shape = tuple(a["new_shape"])
        if not broadcastable_to(t.input.shape, target):
            fail(f"input of shape {text(t.input.shape)} cannot be expanded to new_shape {text(target)}")
        return [TensorType(t.input.dtype, check_shape(target, "new_shape", zero=True))]

    def evaluate(self, x: Arrays, a: Attrs, out: Sequence[TensorType]) -> Sequence[np.ndarray]:
        return [np.broadcast_to(x.input, concrete(out[0].shape))]


@register
class Reverse(_Movement):
    """The elements in opposite order along the given axes."""

    name = webnn = "reverse"
    options = (Option("axes", nullable(sequence(uint)), None, "the axes, each once; None for all of them"),)
    section = "api-mlgraphbuilder-reverse-method"

    def infer(self, t: Types, a: Attrs) -> Sequence[TensorType]:
        axes = range(t.input.rank) if a["axes"] is None else a["axes"]
        a["axes"] = check_axes(tuple(axes), t.input.rank)
        return [t.input]

    def evaluate(self, x: Arrays, a: Attrs, out: Sequence[TensorType]) -> Sequence[np.ndarray]:
        return [np.flip(x.input, a["axes"])]
