"""The bases of operators that a scalar expression describes: element by element, over broadcast operands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from .convert import cast_number
from .dims import Dim, Shape
from .expression import Term, typed
from .numpy_terms import evaluate
from .schema import Arrays, Attrs, Operator, Types
from .shapes import broadcast, check_shape
from .types import TensorType


class Expressed(Operator):
    """An operator each of whose output elements is :attr:`expression` of one element of each operand."""

    expression: ClassVar[str]
    """The scalar expression (see :mod:`basalt.ops.expression`)."""
    parameters: ClassVar[tuple[str, ...]] = ()
    """Options that the expression uses: MLNumbers, cast to the data type of the first operand."""

    def expression_for(self, a: Attrs) -> str:
        """The expression for given attributes; overridden where an attribute chooses between expressions."""
        return self.expression

    def term(self, types: Sequence[TensorType | None], a: Attrs, output: TensorType) -> Term:
        """The typed expression for operands of these types."""
        dtypes = {o.name: t.dtype for o, t in zip(self.operands, types) if t is not None}
        return typed(self.expression_for(a), {**dtypes, "output": output.dtype}, self.parameters)

    def operations(self, t: Types, a: Attrs, out: Sequence[TensorType]) -> Dim:
        return out[0].size

    def evaluate(self, x: Arrays, a: Attrs, out: Sequence[TensorType]) -> Sequence[np.ndarray]:
        present = {o.name: np.asarray(getattr(x, o.name)) for o in self.operands if getattr(x, o.name) is not None}
        types = [_type_of(present[o.name]) if o.name in present else None for o in self.operands]
        values = {**present, **{name: a[name] for name in self.parameters}}
        result = evaluate(self.term(types, a, out[0]), values, out[0].dtype)
        return [np.broadcast_to(result, tuple(int(d) for d in out[0].shape))]  # type: ignore[arg-type]


class Elementwise(Expressed):
    """An operator computed element by element from its expression; its operands are broadcast to each other."""

    def output_dtype(self, t: Types, a: Attrs) -> str:
        """The output's data type: the first operand's, unless the operator says otherwise."""
        return getattr(t, self.operands[0].name).dtype

    def output_shape(self, t: Types, a: Attrs) -> Shape:
        """The output's shape: all operands broadcast to each other."""
        shape: Shape = ()
        for operand in self.operands:
            if (given := getattr(t, operand.name)) is not None:
                shape = broadcast(shape, given.shape)
        return check_shape(shape, zero=True)

    def infer(self, t: Types, a: Attrs) -> Sequence[TensorType]:
        first = getattr(t, self.operands[0].name).dtype
        for name in self.parameters:
            a[name] = cast_number(a[name], first)
        return [TensorType(self.output_dtype(t, a), self.output_shape(t, a))]


def _type_of(array: np.ndarray) -> TensorType:
    return TensorType(array.dtype.name, array.shape)
