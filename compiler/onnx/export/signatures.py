"""Which data types an ONNX operator computes in: what the standard allows at an opset, and wider types around it."""

from __future__ import annotations

from collections.abc import Sequence

from basalt.errors import UnsupportedError

from ..schemas import Formal, Schema, schema_for, schemas
from .provider import lacks
from .tensor import Tensor

__all__ = ["output_types", "runs", "signature", "working_types"]

WIDER: dict[str, tuple[str, ...]] = {
    "bfloat16": ("float32",),
    "float16": ("float32",),
    "bool": ("uint8", "int32", "int64"),
    "int4": ("int8", "int32", "int64"),
    "uint4": ("uint8", "int32", "int64"),
    "int8": ("int16", "int32", "int64"),
    "uint8": ("int32", "int64"),
    "int16": ("int32", "int64"),
    "uint16": ("int32", "int64"),
    "int32": ("int64",),
    "uint32": ("int64",),
}
"""Data types that hold every value of a narrower one, the nearest first."""


def signature(operator: str, opset: int, domain: str = "") -> Schema:
    """An operator's signature at an opset of its domain.

    Raises:
        UnsupportedError: if it came later; says from which opset on it exists.
    """
    found = schema_for(domain, operator, opset)
    if found is None:
        versions = schemas(domain, operator)
        since = f"it is there from opset {versions[0].since} on" if versions else "no opset has it"
        raise UnsupportedError(f"ONNX has no {operator} at opset {opset}; {since}")
    return found


def runs(operator: str, opset: int, dtype: str) -> bool:
    """Whether an operator takes a data type as its first operand, by the standard and in ONNX Runtime."""
    found = schema_for("", operator, opset)
    if found is None:
        return False
    return dtype in found.inputs[0].types and dtype not in lacks(operator)


def working_types(schema: Schema, inputs: Sequence[Tensor | None], wraps: bool) -> dict[str, str]:
    """The data type to compute in, for each type variable of the inputs.

    Args:
        schema: the operator's signature.
        inputs: what it is given.
        wraps: whether uint64 may be taken for int64 of the same bits.

    Raises:
        UnsupportedError: for a data type that the operator does not take, nor any wider one.
    """
    working: dict[str, str] = {}
    for place, given in enumerate(inputs):
        formal = schema.input(place)
        assert formal is not None, f"{schema.name} has no input {place}"
        if given is not None and formal.type_variable not in working:
            working[formal.type_variable] = _working_type(schema, formal, given.dtype, wraps)
    return working


def _working_type(schema: Schema, formal: Formal, dtype: str, wraps: bool) -> str:
    lacking = lacks(schema.name) if len(formal.types) > 1 else frozenset()
    wider = WIDER.get(dtype, ("int64",) if dtype == "uint64" and wraps else ())
    for candidate in (dtype, *wider):
        if candidate in formal.types and candidate not in lacking:
            return candidate
    if dtype in formal.types:
        return dtype
    raise UnsupportedError(
        f"ONNX's {schema.name} takes no {dtype} for {formal.name} at this opset, only {', '.join(sorted(formal.types))}"
    )


def output_types(
    schema: Schema, inputs: Sequence[Tensor | None], count: int, dtype: str | None
) -> list[tuple[str, bool]]:
    """The data type of each output, and whether it follows an input's; ``dtype`` where an attribute decides."""
    bound: dict[str, str] = {}
    for place, given in enumerate(inputs):
        formal = schema.input(place)
        if given is not None and formal is not None:
            bound.setdefault(formal.type_variable, given.dtype)
    result = []
    for place in range(count):
        formal = schema.outputs[min(place, len(schema.outputs) - 1)]
        if dtype is not None:
            result.append((dtype, False))
        elif formal.type_variable in bound:
            result.append((bound[formal.type_variable], True))
        else:
            (only,) = formal.types
            result.append((only, False))
    return result
