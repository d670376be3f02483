"""What the machine can do at most: FLOP/s of fused multiply-adds in registers, bytes/s of a triad and of reading.

Kernels are LLVM instructions on vectors of the register's width, so that no vectoriser decides what is measured.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from llvmlite import binding, ir
from numba import njit, prange, types
from numba.extending import intrinsic

__all__ = ["measured_peaks"]

_I64, _I8, _I32 = ir.IntType(64), ir.IntType(8), ir.IntType(32)
_ACCUMULATORS = 12
_UNROLL = 4
_TRIAD_ELEMENTS = 1 << 24
_PIECES = 32
_STEPS = 100_000
_REPEATS = 9


def _vector_bytes() -> int:
    features = binding.get_host_cpu_features()
    return 64 if features.get("avx512f") else 32 if features.get("avx2") else 16


_BYTES = _vector_bytes()
_LANES = _BYTES // 4
_V = ir.VectorType(ir.FloatType(), _LANES)


def _pointer(b: ir.IRBuilder, address: ir.Value, offset: ir.Value | None = None) -> ir.Value:
    place = b.add(address, offset) if offset is not None else address
    return b.inttoptr(place, ir.PointerType())


def _constant(value: float) -> ir.Constant:
    return ir.Constant(_V, [value] * _LANES)


def _fma(b: ir.IRBuilder, x: ir.Value, y: ir.Value, z: ir.Value) -> ir.Value:
    name = f"llvm.fma.v{_LANES}f32"
    function = b.module.globals.get(name) or ir.Function(b.module, ir.FunctionType(_V, [_V] * 3), name)
    return b.call(function, [x, y, z])


def _loop(b: ir.IRBuilder, count: ir.Value, carried: list[ir.Value], body: Callable[..., list[ir.Value]]) -> list:
    """``body(index, values)`` for each index below ``count``, at least once."""
    entry, block, after = b.block, b.append_basic_block("loop"), b.append_basic_block("after")
    b.branch(block)
    b.position_at_end(block)
    index = b.phi(_I64)
    phis = [b.phi(value.type) for value in carried]
    index.add_incoming(ir.Constant(_I64, 0), entry)
    results = body(index, phis)
    following = b.add(index, ir.Constant(_I64, 1))
    index.add_incoming(following, block)
    for phi, first, last in zip(phis, carried, results, strict=True):
        phi.add_incoming(first, entry)
        phi.add_incoming(last, block)
    b.cbranch(b.icmp_signed("<", following, count), block, after)
    b.position_at_end(after)
    return results


@intrinsic
def _multiply_adds(typingctx: Any, out: Any, count: Any) -> Any:
    """Independent chains of multiply-adds whose sum is stored, so that none is dead."""

    def code(context: Any, b: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        address, steps = arguments
        x = b.load(_pointer(b, address), typ=_V, align=4)
        y = b.load(_pointer(b, address, ir.Constant(_I64, _BYTES)), typ=_V, align=4)
        chains = [b.fadd(x, _constant(i)) for i in range(_ACCUMULATORS)]

        def body(index: ir.Value, values: list[ir.Value]) -> list[ir.Value]:
            for _ in range(_UNROLL):
                values = [_fma(b, value, x, y) for value in values]
            return values

        chains = _loop(b, steps, chains, body)
        total = chains[0]
        for chain in chains[1:]:
            total = b.fadd(total, chain)
        b.store(total, _pointer(b, address), align=4)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), code


@intrinsic
def _triad_vectors(typingctx: Any, a: Any, b_: Any, c: Any, count: Any) -> Any:
    """a = b + 3 c over ``count`` groups of vectors; stores go past the caches."""

    def code(context: Any, b: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        target, left, right, groups = arguments

        def body(index: ir.Value, values: list[ir.Value]) -> list[ir.Value]:
            for u in range(_UNROLL):
                step = b.mul(index, ir.Constant(_I64, _BYTES * _UNROLL))
                at = b.add(step, ir.Constant(_I64, u * _BYTES))
                value = _fma(
                    b,
                    b.load(_pointer(b, right, at), typ=_V, align=4),
                    _constant(3.0),
                    b.load(_pointer(b, left, at), typ=_V, align=4),
                )
                store = b.store(value, _pointer(b, target, at), align=_BYTES)
                store.set_metadata("nontemporal", b.module.add_metadata([ir.Constant(_I32, 1)]))
            return []

        _loop(b, groups, [], body)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64, types.int64), code


@njit(parallel=True)
def _run_multiply_adds(addresses: np.ndarray, count: int) -> None:
    for t in prange(addresses.size):
        _multiply_adds(addresses[t], count)


@njit(parallel=True)
def _run_triad(a: np.ndarray, b: np.ndarray, c: np.ndarray, groups: int) -> None:
    for t in prange(a.size):
        _triad_vectors(a[t], b[t], c[t], groups)


def measured_peaks(threads: int) -> dict[str, float]:
    """``fma_f32`` in FLOP/s and ``triad`` in bytes/s, on a number of threads.

    Both are measured in pieces of about a millisecond, which mostly fit between two interruptions: multiply-adds by the
    best piece, the triad by the lower quartile of the pieces, each of which lies elsewhere in three arrays of 64 MiB.
    What a triad moves is counted without the reads that a cached store makes.
    """
    numba.set_num_threads(threads)
    buffers = [_aligned(64) for _ in range(threads)]
    for buffer in buffers:
        buffer[:] = 0.5
    places = np.array([buffer.ctypes.data for buffer in buffers])
    seconds = min(_times(lambda piece: _run_multiply_adds(places, _STEPS), _PIECES))
    flops = 2.0 * _LANES * _ACCUMULATORS * _UNROLL * _STEPS * threads
    return {"fma_f32": flops / seconds, "triad": _triad(threads)}


def _triad(threads: int) -> float:
    arrays = [_aligned(_TRIAD_ELEMENTS) for _ in range(3)]
    for array in arrays:
        array[:] = 1
    piece_bytes = arrays[0].nbytes // _PIECES
    share = piece_bytes // threads // (_BYTES * _UNROLL) * (_BYTES * _UNROLL)

    def run(piece: int) -> None:
        starts = piece * piece_bytes + np.arange(threads) * share
        a, b, c = (array.ctypes.data + starts for array in arrays)
        _run_triad(a, b, c, share // (_BYTES * _UNROLL))

    return 3.0 * share * threads / float(np.quantile(_times(run, _PIECES), 0.25))


def _times(run: Callable[[int], None], pieces: int) -> list[float]:
    """Seconds of each piece, all of them several times over, after a first time that does not count."""
    times = []
    for repeat in range(_REPEATS + 1):
        for piece in range(pieces):
            start = time.perf_counter()
            run(piece)
            if repeat:
                times.append(time.perf_counter() - start)
    return times


def _aligned(elements: int) -> np.ndarray:
    """An array whose address is a multiple of a cache line."""
    raw = np.empty(elements + 16, np.float32)
    start = -raw.ctypes.data % 64 // 4
    return raw[start : start + elements]
