"""The ONNX graph being written: calls in order, constants held once, casts around types that an operator lacks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from basalt.errors import UnsupportedError
from basalt.ops import Shape
from basalt.ops.casts import cast as cast_array
from basalt.serialization.onnx import ELEMENT_TYPES

from ..schemas import Schema
from .signatures import output_types, signature, working_types
from .tensor import Body, Call, Tensor

__all__ = ["GraphWriter"]

_SMALL = 1024
"""Elements up to which a constant is converted while writing, and equal constants are merged."""


class GraphWriter:
    """Calls of ONNX operators, at one opset.

    ``prologue`` holds the calls that depend on the graph's inputs alone and come first. ``base`` is what the names of
    the calls being made start from.
    """

    def __init__(self, opset: int) -> None:
        self.opset = opset
        self.prologue: list[Call] = []
        self.calls: list[Call] = []
        self.base = ""
        self._domains = {"": opset}
        self._casts: dict[tuple[Tensor, str], Tensor] = {}
        self._depth = 0
        self._small: dict[tuple[str, tuple[int, ...], bytes], Tensor] = {}

    def opset_of(self, domain: str) -> int:
        """The version of a domain's operators."""
        return self._domains[domain]

    def use_domain(self, domain: str, version: int) -> None:
        """Call operators of another domain.

        Raises:
            UnsupportedError: if another version of it is in use.
        """
        used = self._domains.setdefault(domain, version)
        if used != version:
            raise UnsupportedError(f"it needs version {version} of {domain}, another operator version {used}")

    def carrier(self, dtype: str) -> str:
        """The data type that values of a type have: int4 does not exist before opset 21, int8 holds it there."""
        if self.opset < 21 and dtype in ("int4", "uint4"):
            return "int8" if dtype == "int4" else "uint8"
        return dtype

    def constant(self, array: np.ndarray, name: str = "") -> Tensor:
        """A constant, which must not be written to afterwards; equal small ones are one tensor."""
        array = np.asarray(array)
        dtype = self.carrier(array.dtype.name)
        if dtype != array.dtype.name:
            array = cast_array(array, dtype)
        if array.size > _SMALL:
            return Tensor(dtype, name, array)
        key = (dtype, array.shape, array.tobytes())
        if key not in self._small:
            self._small[key] = Tensor(dtype, name, array)
        return self._small[key]

    def call(
        self,
        op_type: str,
        *inputs: Tensor | None,
        dtype: str | None = None,
        outputs: int = 1,
        wraps: bool = False,
        domain: str = "",
        **attributes: Any,
    ) -> tuple[Tensor, ...]:
        """Call an operator; attributes that are None are left out.

        Args:
            op_type: the operator.
            inputs: its operands, None for absent ones.
            dtype: the data type of the outputs, where an attribute or nothing decides it.
            outputs: how many there are.
            wraps: whether uint64 may be computed as int64 of the same bits.
            domain: that of the operator.
            attributes: numbers, strings, tuples of them, OnnxTensor or Body.

        Operands of a type that the operator lacks are cast to a wider one, results of that type back.
        """
        schema = signature(op_type, self.opset_of(domain), domain)
        working = working_types(schema, inputs, wraps)
        results = output_types(schema, inputs, outputs, dtype)
        cast_inputs = tuple(
            None if t is None else self.cast(t, _working(schema, place, working)) for place, t in enumerate(inputs)
        )
        direct = []
        for place, (wanted, follows) in enumerate(results):
            formal = schema.outputs[min(place, len(schema.outputs) - 1)]
            direct.append(Tensor(working[formal.type_variable] if follows else wanted))
        given = {name: value for name, value in attributes.items() if value is not None}
        self.calls.append(Call(op_type, cast_inputs, tuple(direct), given, self.base, domain))
        return tuple(self.cast(made, wanted) for made, (wanted, _) in zip(direct, results))

    def cast(self, x: Tensor, dtype: str) -> Tensor:
        """ONNX's Cast, which leaves open what floats beyond an integer type's range become."""
        dtype = self.carrier(dtype)
        if x.dtype == dtype:
            return x
        if dtype == "bool" and x.truth is not None:
            return x.truth
        if x.array is not None and x.array.size <= _SMALL:
            return self.constant(cast_array(x.array, dtype), x.name)
        if (x, dtype) in self._casts:
            return self._casts[x, dtype]
        result = Tensor(dtype, truth=x if x.dtype == "bool" and dtype == "uint8" else None)
        self.calls.append(Call("Cast", (x,), (result,), {"to": ELEMENT_TYPES[dtype].code}, self.base))
        if not self._depth:
            # What a body casts, nothing outside of it can read.
            self._casts[x, dtype] = result
        return result

    @contextmanager
    def first(self, base: str) -> Iterator[None]:
        """Make the calls of the block part of the prologue."""
        calls, name = self.calls, self.base
        self.calls, self.base = self.prologue, base
        try:
            yield
        finally:
            self.calls, self.base = calls, name

    @contextmanager
    def body(self, inputs: Sequence[tuple[str, Shape]]) -> Iterator[tuple[Body, list[Tensor]]]:
        """Make the calls of the block those of a body, whose inputs have these data types and shapes."""
        tensors = [Tensor(dtype) for dtype, _ in inputs]
        body = Body([(t, shape) for t, (_, shape) in zip(tensors, inputs)])
        calls, self.calls = self.calls, body.calls
        self._depth += 1
        try:
            yield body, tensors
        finally:
            self.calls = calls
            self._depth -= 1


def scalar_array(value: Any, dtype: str) -> np.ndarray:
    """A number as an array of rank 0."""
    return cast_array(np.asarray(value), dtype) if not isinstance(value, float) else _float_array(value, dtype)


def _float_array(value: float, dtype: str) -> np.ndarray:
    return cast_array(np.asarray(value, np.float64), dtype)


def _working(schema: Schema, place: int, working: dict[str, str]) -> str:
    formal = schema.input(place)
    assert formal is not None
    return working[formal.type_variable]
