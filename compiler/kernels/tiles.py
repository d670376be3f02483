"""Register-tiled micro-kernels: a block of sums of products, held in vector registers over the whole reduction.

``tile_{form}_{rows}x{vectors}x{lanes}_{s}_{v}_{register}`` computes, for ``rows`` rows and ``vectors * lanes`` columns::

    acc[r, j] (+)= sum over k3 < n3, k2 < n2, k1 < n1 of S(r, j, k) * V(j, k)

``S`` is the operand with rows, of memory type ``s``; ``V`` is shared by the rows, of memory type ``v``. The form says which of
them are vectors along the columns and which one element broadcast over them: ``bv`` (matrix products, convolutions over output
channels), ``vv`` (depthwise over channels), ``vb`` (depthwise over width). ``mtile_...`` masks the loads of vectors: only
columns ``low <= j + shift * k2 < high`` are read, the others count as 0.

Its operands, all counted in elements: ``acc, index, pitch, spare, rows, S, index, row stride, V, index``, then ``n, S stride, V
stride`` for the inner, middle and outer loop, ``fresh`` (whether acc is overwritten or added to), and for masked ones ``low,
high, shift``. ``rows`` may be fewer than the tile has: row ``rows - 1`` is then computed again, into the row of acc at index
``spare``, which must exist for that reason. Source: Goto and van de Geijn, "Anatomy of High-Performance Matrix
Multiplication", 2008.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from basalt.compiler.kernels import half
from basalt.compiler.kernels.emit import I1, I16, I32, I64, REGISTERS, Emitter, Recipe, like, mangled
from basalt.compiler.kernels.target import target
from llvmlite import ir
from numba.core import types

__all__ = ["recipe"]

_NAME = re.compile(r"(m?)tile_(bv|vv|vb)_(\d+)x(\d+)x(\d+)_(f32|f64|f16|bf16)_(f32|f64|f16|bf16)_(f32|f64)")
_POINTER = ir.PointerType()
_LOOPS = 3


@dataclass(frozen=True)
class Tile:
    """The parameters in a micro-kernel's name."""

    name: str
    masked: bool
    form: str
    rows: int
    vectors: int
    lanes: int
    row_type: str
    shared_type: str
    register: str

    @property
    def vector(self) -> ir.VectorType:
        return ir.VectorType(REGISTERS[self.register].llvm, self.lanes)


def recipe(name: str) -> Recipe:
    """The primitive called ``name``.

    Raises:
        KeyError: for a name that is no micro-kernel's.
    """
    match = _NAME.fullmatch(name)
    if match is None:
        raise KeyError(name)
    masked, form, rows, vectors, lanes, row_type, shared_type, register = match.groups()
    tile = Tile(name, bool(masked), form, int(rows), int(vectors), int(lanes), row_type, shared_type, register)
    index, pointer = types.intp, types.voidptr
    operands = (pointer, *[index] * 4, pointer, *[index] * 2, pointer, index, *[index] * (3 * _LOOPS), index)
    return Recipe(types.void, operands + (index,) * (3 * tile.masked), partial(_call, tile))


def _call(tile: Tile, e: Emitter, *operands: ir.Value) -> None:
    module = e.b.module
    function = module.globals.get(tile.name)
    if function is None:
        kinds = [a.type if isinstance(a.type, ir.IntType) else _POINTER for a in operands]
        function = ir.Function(module, ir.FunctionType(ir.VoidType(), kinds), tile.name)
        function.linkage = "internal"
        for attribute in ("noinline", "nounwind"):
            function.attributes.add(attribute)
        builder = ir.IRBuilder(function.append_basic_block("entry"))
        _Writer(tile, Emitter(builder, e.features), function.args).write()
        builder.ret_void()
    e.b.call(function, [a if isinstance(a.type, ir.IntType) else e.b.bitcast(a, _POINTER) for a in operands])


class _Writer:
    """Emits the body of one micro-kernel."""

    def __init__(self, tile: Tile, e: Emitter, arguments: Sequence[ir.Value]) -> None:
        self.tile, self.e, self.b = tile, e, e.b
        self.acc, self.acc_index, self.pitch, self.spare, self.rows = arguments[:5]
        self.s_pointer, self.s_index, self.s_row, self.v_pointer, self.v_index = arguments[5:10]
        loops = arguments[10 : 10 + 3 * _LOOPS]
        self.loops = [tuple(loops[i : i + 3]) for i in range(0, len(loops), 3)]
        self.fresh, *mask = arguments[10 + 3 * _LOOPS :]
        self.low, self.high, self.shift = mask or (None, None, None)

    def write(self) -> None:
        b, tile = self.b, self.tile
        last = b.sub(self.rows, I64(1))
        self.row_offsets = [
            I64(0) if r == 0 else b.mul(self.e.call("llvm.smin", [I64(r), last]), self.s_row) for r in range(tile.rows)
        ]
        zero = ir.Constant(tile.vector, [0.0] * tile.lanes)
        s = self._at(self.s_pointer, self.s_index, tile.row_type)
        v = self._at(self.v_pointer, self.v_index, tile.shared_type)
        sums = self._nest(_LOOPS - 1, [zero] * (tile.rows * tile.vectors), s, v, [])
        self._store(sums)

    def _nest(
        self, level: int, sums: list[ir.Value], s: ir.Value, v: ir.Value, masks: list[ir.Value]
    ) -> list[ir.Value]:
        """The loop of one level with those inside it; returns the sums after it."""
        count, s_step, v_step = self.loops[level]

        def body(k: ir.Value, carried: list[ir.Value]) -> list[ir.Value]:
            *inner, s_now, v_now = carried
            found = self._masks(k) if self.tile.masked and level == 1 else masks
            if level == 0:
                inner = self._products(inner, s_now, v_now, found)
            else:
                inner = self._nest(level - 1, inner, s_now, v_now, found)
            ahead = self._at(s_now, s_step, self.tile.row_type), self._at(v_now, v_step, self.tile.shared_type)
            return [*inner, *ahead]

        return counted(self.b, count, [*sums, s, v], body)[:-2]

    def _products(self, sums: list[ir.Value], s: ir.Value, v: ir.Value, masks: list[ir.Value]) -> list[ir.Value]:
        tile, columns = self.tile, range(self.tile.vectors)
        if tile.form[1] == "v":
            shared = [self._vector(v, tile.shared_type, j, masks) for j in columns]
        else:
            shared = [self._broadcast(v, tile.shared_type)] * tile.vectors
        result = []
        for r in range(tile.rows):
            row = self._at(s, self.row_offsets[r], tile.row_type)
            if tile.form[0] == "v":
                own = [self._vector(row, tile.row_type, j, masks) for j in columns]
            else:
                own = [self._broadcast(row, tile.row_type)] * tile.vectors
            result += [self._fma(own[j], shared[j], sums[r * tile.vectors + j]) for j in columns]
        return result

    def _fma(self, x: ir.Value, y: ir.Value, z: ir.Value) -> ir.Value:
        if self.e.features.fma:
            return self.e.call("llvm.fma", [x, y, z])
        return self.b.fadd(self.b.fmul(x, y), z)

    def _broadcast(self, pointer: ir.Value, kind: str) -> ir.Value:
        scalar = self._converted(self.b.load(pointer, typ=_memory(kind), align=_bytes(kind)), kind)
        return splat(self.b, scalar, self.tile.lanes)

    def _vector(self, pointer: ir.Value, kind: str, column: int, masks: list[ir.Value]) -> ir.Value:
        place = self._at(pointer, I64(column * self.tile.lanes), kind)
        type_ = ir.VectorType(_memory(kind), self.tile.lanes)
        if not self.tile.masked:
            return self._converted(self.b.load(place, typ=type_, align=_bytes(kind)), kind)
        return self._converted(masked_load(self.e, place, type_, masks[column], _bytes(kind)), kind)

    def _converted(self, value: ir.Value, kind: str) -> ir.Value:
        wide = half.widen(self.e, kind, value) if kind in ("f16", "bf16") else value
        register = like(wide.type, REGISTERS[self.tile.register].llvm)
        return wide if wide.type == register else self.b.fpext(wide, register)

    def _masks(self, k: ir.Value) -> list[ir.Value]:
        """Which columns are read in step ``k`` of the middle loop."""
        b, lanes = self.b, self.tile.lanes
        moved = b.mul(k, self.shift)
        low, high = (self._clamped(b.sub(bound, moved)) for bound in (self.low, self.high))
        masks = []
        for j in range(self.tile.vectors):
            columns = ir.Constant(ir.VectorType(I32, lanes), [j * lanes + i for i in range(lanes)])
            above = b.icmp_signed(">=", columns, splat(b, low, lanes))
            masks.append(b.and_(above, b.icmp_signed("<", columns, splat(b, high, lanes))))
        return masks

    def _clamped(self, bound: ir.Value) -> ir.Value:
        width = self.tile.vectors * self.tile.lanes
        inside = self.e.call("llvm.smin", [self.e.call("llvm.smax", [bound, I64(0)]), I64(width)])
        return self.b.trunc(inside, I32)

    def _store(self, sums: list[ir.Value]) -> None:
        b, tile = self.b, self.tile
        places = []
        for r in range(tile.rows):
            start = b.add(self.acc_index, b.mul(I64(r), self.pitch))
            if r > 0:
                start = b.select(b.icmp_signed("<", I64(r), self.rows), start, self.spare)
            for j in range(tile.vectors):
                places.append(self._at(self.acc, b.add(start, I64(j * tile.lanes)), tile.register))
        align = _bytes(tile.register)
        with b.if_else(b.icmp_signed("!=", self.fresh, I64(0))) as (fresh, added):
            with fresh:
                for place, value in zip(places, sums):
                    b.store(value, place, align=align)
            with added:
                for place, value in zip(places, sums):
                    b.store(b.fadd(b.load(place, typ=tile.vector, align=align), value), place, align=align)

    def _at(self, pointer: ir.Value, index: ir.Value, kind: str) -> ir.Value:
        return self.b.gep(pointer, [index], inbounds=True, source_etype=_memory(kind))


def counted(
    b: ir.IRBuilder,
    count: ir.Value,
    carried: Sequence[ir.Value],
    body: Callable[[ir.Value, list[ir.Value]], list[ir.Value]],
) -> list[ir.Value]:
    """``for k in range(count)`` around ``body(k, values) -> new values``; returns the values after the loop."""
    before = b.block
    head, inside, after = (b.append_basic_block(name) for name in ("head", "inside", "after"))
    b.branch(head)
    b.position_at_end(head)
    k = b.phi(I64)
    phis = [b.phi(value.type) for value in carried]
    k.add_incoming(I64(0), before)
    for phi, value in zip(phis, carried):
        phi.add_incoming(value, before)
    b.cbranch(b.icmp_signed("<", k, count), inside, after)
    b.position_at_end(inside)
    values = body(k, list(phis))
    k.add_incoming(b.add(k, I64(1)), b.block)
    for phi, value in zip(phis, values):
        phi.add_incoming(value, b.block)
    b.branch(head)
    b.position_at_end(after)
    return list(phis)


def splat(b: ir.IRBuilder, scalar: ir.Value, lanes: int) -> ir.Value:
    """A vector of one value."""
    undefined = ir.Constant(ir.VectorType(scalar.type, lanes), ir.Undefined)
    first = b.insert_element(undefined, scalar, I32(0))
    return b.shuffle_vector(first, undefined, ir.Constant(ir.VectorType(I32, lanes), [0] * lanes))


def masked_load(e: Emitter, pointer: ir.Value, type_: ir.VectorType, mask: ir.Value, align: int) -> ir.Value:
    """The elements of a vector in memory where ``mask`` holds; 0 elsewhere, where memory is not touched."""
    b = e.b
    zero = e.constant(type_, 0)
    bits = type_.element.width if isinstance(type_.element, ir.IntType) else 8 * align
    kinds = [_POINTER, I32, ir.VectorType(I1, type_.count), type_]
    function = e.declare(f"llvm.masked.load.{mangled(type_)}.p0", ir.FunctionType(type_, kinds))
    operands = [pointer, I32(align), mask, zero]
    if bits >= target().masked:
        return b.call(function, operands)
    # LLVM would test every lane: most vectors are read as a whole.
    lanes = ir.IntType(type_.count)
    whole = b.icmp_unsigned("==", b.bitcast(mask, lanes), ir.Constant(lanes, -1))
    with b.if_else(whole) as (fast, slow):
        with fast:
            plain = b.load(pointer, typ=type_, align=align)
            fast_end = b.block
        with slow:
            partial_ = b.call(function, operands)
            slow_end = b.block
    result = b.phi(type_)
    result.add_incoming(plain, fast_end)
    result.add_incoming(partial_, slow_end)
    return result


def _memory(kind: str) -> ir.Type:
    return I16 if kind in ("f16", "bf16") else REGISTERS[kind].llvm


def _bytes(kind: str) -> int:
    return 2 if kind in ("f16", "bf16") else REGISTERS[kind].bits // 8
