"""Vectors of a register type, from memory of any floating-point type: whole, masked, or one element broadcast."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from llvmlite import ir

from basalt.compiler.kernels import half
from basalt.compiler.kernels.emit import I1, I16, I32, I64, REGISTERS, Emitter, like, mangled
from basalt.compiler.kernels.loops import POINTER
from basalt.compiler.kernels.target import target

__all__ = ["KINDS", "VectorMemory"]

KINDS = "f32|f64|f16|bf16"
"""The memory types of floating-point numbers, for patterns of names."""


class VectorMemory:
    """Loads and arithmetic on vectors of ``lanes`` elements of the register type ``register``.

    ``fill`` stands where a mask leaves elements out.
    """

    def __init__(self, emitter: Emitter, lanes: int, register: str, fill: float = 0) -> None:
        self.e, self.b, self.lanes, self.fill = emitter, emitter.b, lanes, fill
        self.element = REGISTERS[register].llvm
        self.vector = ir.VectorType(self.element, lanes)

    def at(self, pointer: ir.Value, index: ir.Value, kind: str) -> ir.Value:
        """The place ``index`` elements of memory type ``kind`` on; what masks leave out may lie outside a buffer."""
        return self.b.gep(pointer, [index], source_etype=_memory(kind))

    def load(self, place: ir.Value, kind: str, mask: ir.Value | None = None) -> ir.Value:
        """A vector; where ``mask`` is given and does not hold, the fill, and memory is not touched."""
        type_ = ir.VectorType(_memory(kind), self.lanes)
        if mask is None:
            return self._converted(self.b.load(place, typ=type_, align=bytes_of(kind)), kind)
        fill = self.e.constant(type_, _stored(self.fill, kind))
        return self._converted(self._masked(place, type_, mask, bytes_of(kind), fill), kind)

    def store_masked(self, value: ir.Value, place: ir.Value, kind: str, mask: ir.Value) -> None:
        """Store those lanes of a vector of the register type where ``mask`` holds."""
        kinds: Sequence[ir.Type] = [self.vector, POINTER, I32, mask.type]
        name = f"llvm.masked.store.{mangled(self.vector)}.p0"
        function = self.e.declare(name, ir.FunctionType(ir.VoidType(), kinds))
        self.b.call(function, [value, place, I32(bytes_of(kind)), mask])

    def load_even(self, place: ir.Value, kind: str, masks: Sequence[ir.Value]) -> ir.Value:
        """Every second element of two neighbouring vectors, each with its mask."""
        second = self.at(place, I64(self.lanes), kind)
        first, last = (self.load(p, kind, mask) for p, mask in zip((place, second), masks))
        even = ir.Constant(ir.VectorType(I32, self.lanes), [2 * i for i in range(self.lanes)])
        return self.b.shuffle_vector(first, last, even)

    def broadcast(self, place: ir.Value, kind: str) -> ir.Value:
        """One element in every lane."""
        return self.splat(self._converted(self.b.load(place, typ=_memory(kind), align=bytes_of(kind)), kind))

    def splat(self, scalar: ir.Value) -> ir.Value:
        """A vector of one value."""
        undefined = ir.Constant(ir.VectorType(scalar.type, self.lanes), ir.Undefined)
        first = self.b.insert_element(undefined, scalar, I32(0))
        return self.b.shuffle_vector(first, undefined, ir.Constant(ir.VectorType(I32, self.lanes), [0] * self.lanes))

    def multiply_add(self, x: ir.Value, y: ir.Value, z: ir.Value) -> ir.Value:
        """``x * y + z``, rounded once where the target can."""
        if self.e.features.fma:
            return self.e.call("llvm.fma", [x, y, z])
        return self.b.fadd(self.b.fmul(x, y), z)

    def total(self, vector: ir.Value) -> ir.Value:
        """The sum of the lanes, in any order."""
        name = f"llvm.vector.reduce.fadd.{mangled(self.vector)}"
        function = self.e.declare(name, ir.FunctionType(self.element, [self.element, self.vector]))
        return self.b.call(function, [self.e.constant(self.element, -0.0), vector], fastmath=["reassoc"])

    def below(self, count: ir.Value, first: int = 0) -> ir.Value:
        """Whether ``first + lane < count`` (an int32), lane by lane."""
        return self.b.icmp_signed("<", self._columns(first), self.splat(count))

    def between(self, low: ir.Value, high: ir.Value, first: int) -> ir.Value:
        """Whether ``low <= first + lane < high`` (int32), lane by lane."""
        above = self.b.icmp_signed(">=", self._columns(first), self.splat(low))
        return self.b.and_(above, self.below(high, first))

    def _columns(self, first: int) -> ir.Constant:
        return ir.Constant(ir.VectorType(I32, self.lanes), [first + i for i in range(self.lanes)])

    def _converted(self, value: ir.Value, kind: str) -> ir.Value:
        wide = half.widen(self.e, kind, value) if kind in ("f16", "bf16") else value
        register = like(wide.type, self.element)
        return wide if wide.type == register else self.b.fpext(wide, register)

    def _masked(self, place: ir.Value, type_: ir.VectorType, mask: ir.Value, align: int, fill: ir.Value) -> ir.Value:
        if 8 * align >= target().masked:
            return self._masked_load(place, type_, mask, align, fill)
        # LLVM would test every lane of every vector, most of which are read as a whole.
        b, bits = self.b, ir.IntType(self.lanes)
        whole = b.icmp_unsigned("==", b.bitcast(mask, bits), ir.Constant(bits, -1))
        ends: list[tuple[ir.Value, ir.Block]] = []
        with b.if_else(whole) as (fast, slow):
            with fast:
                ends.append((b.load(place, typ=type_, align=align), b.block))
            with slow:
                ends.append((self._masked_load(place, type_, mask, align, fill), b.block))
        result = b.phi(type_)
        for value, block in ends:
            result.add_incoming(value, block)
        return result

    def _masked_load(
        self, place: ir.Value, type_: ir.VectorType, mask: ir.Value, align: int, fill: ir.Value
    ) -> ir.Value:
        kinds: Sequence[ir.Type] = [POINTER, I32, ir.VectorType(I1, self.lanes), type_]
        function = self.e.declare(f"llvm.masked.load.{mangled(type_)}.p0", ir.FunctionType(type_, kinds))
        return self.b.call(function, [place, I32(align), mask, fill])


def bytes_of(kind: str) -> int:
    """The size of an element in memory."""
    return 2 if kind in ("f16", "bf16") else REGISTERS[kind].bits // 8


def _stored(value: float, kind: str) -> float:
    """A number as memory of type ``kind`` holds it."""
    if kind == "f16":
        return int.from_bytes(struct.pack("<e", value), "little")
    if kind == "bf16":
        return int.from_bytes(struct.pack("<f", value)[2:], "little")
    return value


def _memory(kind: str) -> ir.Type:
    return I16 if kind in ("f16", "bf16") else REGISTERS[kind].llvm
