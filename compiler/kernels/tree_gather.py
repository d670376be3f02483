"""Loads of a vector's elements from places all over a table, for the micro-kernels of trees."""

from __future__ import annotations

import re

from llvmlite import ir

from basalt.compiler.kernels.emit import F32, F64, I1, I8, I32, I64, Emitter

__all__ = ["FORMS", "byte_at", "gather", "splat", "vector_type"]

FORMS = "(avx512|plain)"
"""What a micro-kernel's name says of its target: instructions for it, or whatever LLVM makes of single loads."""

_INSTRUCTIONS = {("i32", 16): "dpi", ("double", 8): "dpd", ("float", 16): "dps"}


def vector_type(element: ir.Type, lanes: int) -> ir.VectorType:
    return ir.VectorType(element, lanes)


def byte_at(b: ir.IRBuilder, pointer: ir.Value, index: ir.Value, size: int) -> ir.Value:
    """The place ``index`` elements of ``size`` bytes on."""
    return b.gep(pointer, [b.mul(index, I64(size)) if size > 1 else index], source_etype=I8)


def splat(b: ir.IRBuilder, scalar: ir.Value, lanes: int) -> ir.Value:
    """A vector of one value."""
    undefined = ir.Constant(ir.VectorType(scalar.type, lanes), ir.Undefined)
    first = b.insert_element(undefined, scalar, I32(0))
    return b.shuffle_vector(first, undefined, ir.Constant(ir.VectorType(I32, lanes), [0] * lanes))


def gather(
    e: Emitter,
    form: str,
    base: ir.Value,
    index: ir.Value,
    element: ir.Type,
    scale: int,
    kept: tuple[ir.Value, ir.Value] | None = None,
) -> ir.Value:
    """The elements ``index`` (int32) times ``scale`` bytes behind ``base``.

    ``kept`` is a mask and a vector: where the mask does not hold, the vector's elements stay and nothing is loaded by
    the instruction; single loads are made all the same, so every place must lie in the table.
    """
    lanes = index.type.count
    type_ = ir.VectorType(element, lanes)
    mask = ir.Constant(ir.VectorType(I1, lanes), [True] * lanes) if kept is None else kept[0]
    before = ir.Constant(type_, ir.Undefined) if kept is None else kept[1]
    code = _INSTRUCTIONS.get((re.sub(r"\W", "", str(element)), lanes))
    if form == "avx512" and code is not None:
        operands = [type_, base.type, index.type, mask.type, I32]
        function = e.declare(f"llvm.x86.avx512.mask.gather.{code}.512", ir.FunctionType(type_, operands))
        start = e.constant(type_, 0) if kept is None else before
        return e.b.call(function, [start, base, index, mask, I32(scale)])
    return _single_loads(e, base, index, element, scale, mask if kept else None, before)


def _single_loads(
    e: Emitter, base: ir.Value, index: ir.Value, element: ir.Type, scale: int, mask: ir.Value | None, before: ir.Value
) -> ir.Value:
    b, lanes = e.b, index.type.count
    found = ir.Constant(ir.VectorType(element, lanes), ir.Undefined)
    for lane in range(lanes):
        distance = b.sext(b.extract_element(index, I32(lane)), I64)
        place = b.gep(base, [b.mul(distance, I64(scale))], source_etype=I8)
        found = b.insert_element(found, b.load(place, typ=element, align=1), I32(lane))
    return found if mask is None else b.select(mask, found, before)


ELEMENTS = {"f32": F32, "f64": F64, "u8": I8, "u16": ir.IntType(16), "u32": I32}
"""LLVM types by their suffix in the names of micro-kernels."""
SIZES = {"f32": 4, "f64": 8, "u8": 1, "u16": 2, "u32": 4}
"""Bytes of an element."""
