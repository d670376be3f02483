"""Loops that do nothing but multiply and add, or move data, as fast as the CPU can: what peaks are measured with."""

from __future__ import annotations

import llvmlite.binding as llvm
from llvmlite import ir

from ..kernels.target import native_target

__all__ = ["TRIAD", "compile_loops", "operations_a_turn"]

TRIAD = "triad"
_I32, _I64 = ir.IntType(32), ir.IntType(64)
_UNROLLED = 4
_DOT = "llvm.x86.avx512.vpdpbusd.512"


def operations_a_turn() -> dict[str, int]:
    """The loops of arithmetic by the data type that they compute in, with the operations of one turn of each."""
    bits, chains = native_target().bits, _chains()
    counts = {name: 2 * chains * _UNROLLED * (bits // width) for name, width in (("float32", 32), ("float64", 64))}
    if _has_dots():
        counts["int8"] = 2 * chains * _UNROLLED * 64
    return counts


def compile_loops() -> bytes:
    """Object code for this CPU: ``NAME(buffer, turns)`` for each data type, and ``triad(a, b, c, count)``."""
    processor = native_target().processor
    module = ir.Module("basalt.peaks")
    module.triple = processor.triple
    lanes = native_target().bits // 32
    _arithmetic(module, "float32", ir.VectorType(ir.FloatType(), lanes))
    _arithmetic(module, "float64", ir.VectorType(ir.DoubleType(), lanes // 2))
    if _has_dots():
        _dots(module)
    _triad(module, ir.VectorType(ir.FloatType(), lanes))
    parsed = llvm.parse_assembly(str(module))
    parsed.verify()
    code: bytes = processor.machine().emit_object(parsed)
    return code


def _chains() -> int:
    """Sums that grow side by side: enough to hide the latency of an addition, and all in registers."""
    return 24 if native_target().registers >= 32 else 12


def _has_dots() -> bool:
    return native_target().byte_products == "vnni" and native_target().bits == 512


def _arithmetic(module: ir.Module, name: str, vector: ir.VectorType) -> None:
    kind = ir.FunctionType(vector, [vector] * 3)
    scalar = "f32" if isinstance(vector.element, ir.FloatType) else "f64"
    fma = _declared(module, f"llvm.fma.v{vector.count}{scalar}", kind)
    _chained(module, name, vector, lambda b, total, x, y: b.call(fma, [x, y, total]))


def _dots(module: ir.Module) -> None:
    sums, data = ir.VectorType(_I32, 16), ir.VectorType(ir.IntType(8), 64)
    dot = _declared(module, _DOT, ir.FunctionType(sums, [sums, data, data]))
    _chained(
        module,
        "int8",
        sums,
        lambda b, total, x, y: b.call(dot, [total, b.bitcast(x, data), b.bitcast(y, data)]),
    )


def _declared(module: ir.Module, name: str, kind: ir.FunctionType) -> ir.Function:
    return ir.Function(module, kind, name)


def _chained(module: ir.Module, name: str, vector: ir.VectorType, step: object) -> None:
    """``name(buffer, turns)``: sums in registers; what the buffer holds (zeros) keeps them from being known."""
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), [_I64, _I64]), name)
    address, turns = function.args
    entry, loop, leave = (function.append_basic_block(part) for part in ("entry", "loop", "leave"))
    b = ir.IRBuilder(entry)
    place = b.inttoptr(address, vector.as_pointer())
    x, y = (b.load(b.gep(place, [ir.Constant(_I64, i)]), align=4) for i in (0, 1))
    starts = [b.load(b.gep(place, [ir.Constant(_I64, 2 + i)]), align=4) for i in range(_chains())]
    b.branch(loop)
    b.position_at_end(loop)
    turn = b.phi(_I64)
    totals = [b.phi(vector) for _ in starts]
    values: list[ir.Value] = list(totals)
    for _ in range(_UNROLLED):
        values = [step(b, value, x, y) for value in values]  # type: ignore[operator]
    following = b.add(turn, ir.Constant(_I64, 1))
    b.cbranch(b.icmp_signed("<", following, turns), loop, leave)
    turn.add_incoming(ir.Constant(_I64, 0), entry)
    turn.add_incoming(following, loop)
    for total, start, value in zip(totals, starts, values):
        total.add_incoming(start, entry)
        total.add_incoming(value, loop)
    b.position_at_end(leave)
    for i, value in enumerate(values):
        b.store(value, b.gep(place, [ir.Constant(_I64, 2 + i)]), align=4)
    b.ret_void()


def _triad(module: ir.Module, vector: ir.VectorType) -> None:
    """``a[i] = b[i] + 3 * c[i]`` for ``count`` floats, a multiple of 64."""
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), [_I64] * 4), TRIAD)
    entry, loop, leave = (function.append_basic_block(part) for part in ("entry", "loop", "leave"))
    b = ir.IRBuilder(entry)
    places = [b.inttoptr(argument, vector.as_pointer()) for argument in function.args[:3]]
    vectors = b.sdiv(function.args[3], ir.Constant(_I64, vector.count))
    b.branch(loop)
    b.position_at_end(loop)
    index = b.phi(_I64)
    factor = ir.Constant(vector, [3.0] * vector.count)
    for i in range(_UNROLLED):
        target_place, left, right = (b.gep(p, [b.add(index, ir.Constant(_I64, i))]) for p in places)
        product = b.fmul(b.load(right, align=4), factor)
        b.store(b.fadd(b.load(left, align=4), product), target_place, align=4)
    following = b.add(index, ir.Constant(_I64, _UNROLLED))
    index.add_incoming(ir.Constant(_I64, 0), entry)
    index.add_incoming(following, loop)
    b.cbranch(b.icmp_signed("<", following, vectors), loop, leave)
    b.position_at_end(leave)
    b.ret_void()
