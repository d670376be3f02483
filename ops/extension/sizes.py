"""Sizes as data: how a symbolic shape becomes a tensor."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from basalt.errors import ValidationError

from ..convert import dimension, sequence
from ..dims import SymDim
from ..registry import register_extension
from ..schema import Arrays, Attrs, Operator, Option, Output, Types
from ..types import TensorType


@register_extension
class Sizes(Operator):
    """A vector of sizes, int64[len(dims)]; it has no operands.

    Once a graph has its sizes the vector is a constant.
    """

    name = "sizes"
    operands = ()
    arguments = (Option("dims", sequence(dimension), doc="the sizes, each a number or a symbolic dimension"),)
    outputs = (Output(dtypes=frozenset({"int64"}), rank=1),)

    def infer(self, t: Types, a: Attrs) -> Sequence[TensorType]:
        return [TensorType("int64", (len(a["dims"]),))]

    def evaluate(self, x: Arrays, a: Attrs, out: Sequence[TensorType]) -> Sequence[np.ndarray]:
        """The vector.

        Raises:
            ValidationError: for a dimension whose symbols have no sizes.
        """
        for d in a["dims"]:
            if isinstance(d, SymDim):
                raise ValidationError(f"sizes: the size of {d} does not follow from the inputs' sizes")
        return [np.asarray(a["dims"], np.int64).reshape(len(a["dims"]))]
