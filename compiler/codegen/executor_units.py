"""The executor's innermost step: calling a kernel for some of a row's units, up to the run's deadline."""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from basalt.runtime.layout import Env, Frame, Row, Status

from .emitter import I32, I64, POINTER, Emitter

__all__ = ["build_units", "row_address"]


def build_units(module: ir.Module) -> Emitter:
    """``(frame, row index, start, stop) -> status``: runs units of a row; 0, or the run has an error.

    The first error of the run is kept in the frame. A run without a deadline pays one comparison for there being
    deadlines.
    """
    call_kernel = _call_kernel(module)
    timed = _timed(module, call_kernel, _clock(module))
    e = Emitter(module, "units", 4)
    frame, index, start, stop = e.args
    with e.when(e.compare("!=", e.load(frame, Frame.DEADLINE), 0)):
        e.ret(e.call(timed, frame, index, start, stop))
    e.ret(e.call(call_kernel, frame, index, start, stop))
    return e


def row_address(e: Emitter, frame: Any, index: Any) -> Any:
    """Address of a row."""
    return e.builder.add(e.load(frame, Frame.ROWS), e.builder.mul(index, I64(8 * Row.WORDS)))


def _call_kernel(module: ir.Module) -> Emitter:
    """``(frame, row index, start, stop) -> status``: calls the row's kernel and keeps the first error of the run."""
    e = Emitter(module, "call_kernel", 4)
    frame, index, start, stop = e.args
    row = row_address(e, frame, index)
    result, exception = e.builder.alloca(POINTER), e.builder.alloca(POINTER)
    table = e.builder.inttoptr(e.load(row, Row.TABLE), POINTER)
    status = e.call_address(e.load(row, Row.KERNEL), I32, result, exception, table, start, stop)
    with e.when(e.builder.icmp_signed("!=", status, I32(0))):
        error = e.builder.or_(e.builder.shl(index, I64(32)), e.builder.zext(status, I64))
        _keep(e, frame, error)
    e.ret(e.builder.sext(status, I64))
    return e


def _keep(e: Emitter, frame: Any, error: Any) -> None:
    """Makes ``error`` that of the run, unless it has one."""
    e.builder.cmpxchg(e.address(frame, Frame.ERROR), I64(Status.DONE), error, "acq_rel", "acquire")


def _clock(module: ir.Module) -> Emitter:
    """``(env) -> nanoseconds`` of the process's monotonic clock.

    It is called as ``clock(id, time)``, which POSIX's clock_gettime is, or as ``clock(time, time)`` if the id is 0, for
    Windows' QueryPerformanceCounter, which takes one argument and fills one word.
    """
    e = Emitter(module, "clock", 1)
    e.function.attributes.add("noinline")
    (env,) = e.args
    time = e.builder.ptrtoint(e.builder.alloca(I64, 2), I64)
    e.store(0, time, 0)
    e.store(0, time, 1)
    identity = e.load(env, Env.CLOCK_ID)
    first = e.builder.select(e.compare("==", identity, 0), time, identity)
    e.call_address(e.load(env, Env.CLOCK), I32, first, time)
    e.ret(e.builder.add(e.builder.mul(e.load(time, 0), e.load(env, Env.CLOCK_TICK)), e.load(time, 1)))
    return e


def _timed(module: ir.Module, call_kernel: Emitter, clock: Emitter) -> Emitter:
    """``(frame, row index, start, stop) -> status``: as ``units``, in grains, with a look at the clock before each.

    Stops, too, once another thread has met the deadline or an error.
    """
    e = Emitter(module, "timed", 4)
    e.function.attributes.add("noinline")
    frame, index, start, stop = e.args
    env, deadline = e.load(frame, Frame.ENV), e.load(frame, Frame.DEADLINE)
    grain = e.load(e.load(frame, Frame.GRAINS), index)
    entry = e.builder.block
    with e.forever() as after:
        first = e.builder.phi(I64)
        first.add_incoming(start, entry)
        with e.when(e.compare("!=", e.load_acquire(frame, Frame.ERROR), Status.DONE)):
            e.ret(1)
        with e.when(e.compare(">=", e.call(clock, env), deadline)):
            _keep(e, frame, I64(Status.LATE))
            e.ret(1)
        ends = e.compare("<=", e.builder.sub(stop, first), grain)
        last = e.builder.select(ends, stop, e.builder.add(first, grain))
        status = e.call(call_kernel, frame, index, first, last)
        with e.when(e.compare("!=", status, 0)):
            e.ret(status)
        e.leave(ends, after)
        first.add_incoming(last, e.builder.block)
    e.ret(0)
    return e
