"""The executor's rows and team: running rows on the calling thread, or on threads that share each row's chunks.

How a team works. Numba's ``parallel_for`` calls ``member`` once a thread. The first to arrive leads: it walks the rows
of the region, opens each parallel row to the others, and runs serial ones itself. Everybody takes chunks of the open
row from one counter until none is left. The leader waits for the chunks that others took, never for those nobody
took, so the work is done even if no helper ever comes. Rows that do not depend on each other are opened as a group:
who finds no chunk left in one goes on to the next, and only the group's end is waited for.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from basalt.runtime.layout import EXECUTE_SYMBOL, Env, Frame, Region, Row, Status

from .emitter import I32, I64, POINTER, Emitter, pause_instruction
from .executor_pool import build_pool
from .executor_units import build_units, row_address

__all__ = ["build_execute"]

_NOT_OPEN, _CLOSED = -1, -2  # Frame.CURRENT before the first and after the last row
_SPINS = 256  # tries before a waiting thread offers its core to others
_DONE = Status.DONE


def build_execute(module: ir.Module) -> Emitter:
    """``basalt_execute(frame) -> status``: runs the rows of a frame whose arrays are bound.

    With a team of one, everything runs on the calling thread; otherwise the team runs the parallel regions.
    """
    units = build_units(module)
    work, wait = _work(module, units), _wait(module)
    build_pool(module, wait)
    member = _member(module, _lead(module, units, work, wait), _help(module, work, wait))
    serial, launch = _serial(module, units), _launch(module, member)
    e = Emitter(module, EXECUTE_SYMBOL, 1, internal=False)
    (frame,) = e.args
    team = e.load(frame, Frame.TEAM)
    e.store(_DONE, frame, Frame.ERROR)
    with e.when(e.compare("<=", team, 1)):
        e.ret(e.call(serial, frame, 0, e.load(frame, Frame.ROW_COUNT)))
    regions = e.load(frame, Frame.REGIONS)
    with e.count(0, e.load(frame, Frame.REGION_COUNT)) as index:
        region = e.builder.add(regions, e.builder.mul(index, I64(8 * Region.WORDS)))
        parallel = e.compare("!=", e.load(region, Region.PARALLEL), 0)
        with e.builder.if_else(parallel) as (then, otherwise):
            with then:
                e.call(launch, frame, region, team)
            with otherwise:
                e.call(serial, frame, e.load(region, Region.FIRST), e.load(region, Region.LAST))
        with e.when(e.compare("!=", e.load(frame, Frame.ERROR), _DONE)):
            e.ret(e.load(frame, Frame.ERROR))
    e.ret(_DONE)
    return e


def _group_end(e: Emitter, frame: Any, index: Any) -> Any:
    """The end of the rows that are opened together with one."""
    return e.load(e.load(frame, Frame.GROUPS), index)


def _serial(module: ir.Module, units: Emitter) -> Emitter:
    """``(frame, first, last) -> error word``: runs rows one after the other, each whole, up to the first error."""
    e = Emitter(module, "serial", 3)
    frame, first, last = e.args
    with e.count(first, last) as index:
        row = row_address(e, frame, index)
        status = e.call(units, frame, index, e.load(row, Row.START), e.load(row, Row.STOP))
        with e.when(e.compare("!=", status, 0)):
            e.ret(e.load(frame, Frame.ERROR))
    e.ret(_DONE)
    return e


def _work(module: ir.Module, units: Emitter) -> Emitter:
    """``(frame, row index)``: takes chunks of the group that begins with the row until none is left."""
    e = Emitter(module, "work", 2)
    frame, opened = e.args
    with e.count(opened, _group_end(e, frame, opened)) as index:
        row = row_address(e, frame, index)
        start, stop, step, chunks = (e.load(row, word) for word in (Row.START, Row.STOP, Row.STEP, Row.CHUNKS))
        with e.forever() as after:
            chunk = e.builder.atomic_rmw("add", e.address(row, Row.CLAIMED), I64(1), "acq_rel")
            e.leave(e.compare(">=", chunk, chunks), after)
            first = e.builder.add(start, e.builder.mul(chunk, step))
            last = e.builder.add(first, step)
            e.call(units, frame, index, first, e.builder.select(e.compare("<", last, stop), last, stop))
            e.builder.atomic_rmw("add", e.address(row, Row.DONE), I64(1), "acq_rel")
    e.ret(0)
    return e


def _wait(module: ir.Module) -> Emitter:
    """``(frame, tries) -> tries + 1``: pauses; after many tries offers the core to another thread."""
    e = Emitter(module, "wait", 2)
    frame, tries = e.args
    pause = pause_instruction(module)
    if pause is not None:
        e.builder.call(pause, [])
    with e.when(e.compare(">", tries, _SPINS)):
        e.call_address(e.load(e.load(frame, Frame.ENV), Env.YIELD), I32)
    e.ret(e.builder.add(tries, I64(1)))
    return e


def _lead(module: ir.Module, units: Emitter, work: Emitter, wait: Emitter) -> Emitter:
    """``(frame)``: runs the region's rows in order with whatever help comes, then dismisses the helpers."""
    e = Emitter(module, "lead", 1)
    (frame,) = e.args
    region = e.load(frame, Frame.REGION)
    first, entry = e.load(region, Region.FIRST), e.builder.block
    with e.forever() as after:
        index = e.builder.phi(I64)
        index.add_incoming(first, entry)
        e.leave(e.compare(">=", index, e.load(region, Region.LAST)), after)
        row, end = row_address(e, frame, index), _group_end(e, frame, index)
        single = e.compare("==", end, e.builder.add(index, I64(1)))
        whole = e.compare("<=", e.load(row, Row.CHUNKS), 1)
        with e.builder.if_else(e.builder.and_(single, whole)) as (alone, together):
            with alone:
                e.call(units, frame, index, e.load(row, Row.START), e.load(row, Row.STOP))
            with together:
                with e.count(index, end) as member:
                    e.store(0, row_address(e, frame, member), Row.CLAIMED)
                    e.store(0, row_address(e, frame, member), Row.DONE)
                e.store_release(index, frame, Frame.CURRENT)
                e.call(work, frame, index)
                with e.count(index, end) as member:
                    _wait_for(e, row_address(e, frame, member), wait, frame)
        with e.when(e.compare("!=", e.load_acquire(frame, Frame.ERROR), _DONE)):
            e.store_release(_CLOSED, frame, Frame.CURRENT)
            e.ret(0)
        index.add_incoming(end, e.builder.block)
    e.store_release(_CLOSED, frame, Frame.CURRENT)
    e.ret(0)
    return e


def _wait_for(e: Emitter, row: Any, wait: Emitter, frame: Any) -> None:
    """Wait until all of a row's chunks are done."""
    chunks = e.load(row, Row.CHUNKS)
    entry = e.builder.block
    with e.forever() as after:
        tries = e.builder.phi(I64)
        tries.add_incoming(I64(0), entry)
        e.leave(e.compare("==", e.load_acquire(row, Row.DONE), chunks), after)
        tries.add_incoming(e.call(wait, frame, tries), e.builder.block)


def _help(module: ir.Module, work: Emitter, wait: Emitter) -> Emitter:
    """``(frame)``: works on each row that the leader opens, until it closes the region."""
    e = Emitter(module, "help", 1)
    (frame,) = e.args
    entry = e.builder.block
    with e.forever() as after:
        previous, tries = e.builder.phi(I64), e.builder.phi(I64)
        previous.add_incoming(I64(_NOT_OPEN), entry)
        tries.add_incoming(I64(0), entry)
        current = e.load_acquire(frame, Frame.CURRENT)
        e.leave(e.compare("==", current, _CLOSED), after)
        with e.builder.if_else(e.compare("==", current, previous)) as (same, opened):
            with same:
                waited, same_block = e.call(wait, frame, tries), e.builder.block
            with opened:
                e.call(work, frame, current)
                opened_block = e.builder.block
        next_tries = e.builder.phi(I64)
        next_tries.add_incoming(waited, same_block)
        next_tries.add_incoming(I64(0), opened_block)
        previous.add_incoming(current, e.builder.block)
        tries.add_incoming(next_tries, e.builder.block)
    e.ret(0)
    return e


def _member(module: ir.Module, lead: Emitter, helper: Emitter) -> ir.Function:
    """What ``parallel_for`` calls, as ``void (char **args, size_t *sizes, size_t *steps, void *frame)``.

    ``sizes[0]`` says how many members this call stands for; the first of all of them leads.
    """
    kind = ir.FunctionType(ir.VoidType(), [POINTER, I64.as_pointer(), POINTER, POINTER])
    member = ir.Function(module, kind, name="member")
    member.linkage = "internal"
    builder = ir.IRBuilder(member.append_basic_block("entry"))
    frame = builder.ptrtoint(member.args[3], I64)
    led = builder.inttoptr(builder.add(frame, I64(8 * Frame.LED)), I64.as_pointer())
    first = builder.icmp_signed("==", builder.atomic_rmw("xchg", led, I64(1), "acq_rel"), I64(0))
    with builder.if_else(first) as (leads, helps):
        with leads:
            builder.call(lead.function, [frame])
        with helps:
            builder.call(helper.function, [frame])
    builder.ret_void()
    return member


def _launch(module: ir.Module, member: ir.Function) -> Emitter:
    """``(frame, region, team)``: runs a region by ``team`` threads and returns when all have left it."""
    e = Emitter(module, "launch", 3)
    frame, region, team = e.args
    e.store(region, frame, Frame.REGION)
    e.store(0, frame, Frame.LED)
    e.store(_NOT_OPEN, frame, Frame.CURRENT)
    args, sizes, steps = e.builder.alloca(I64), e.builder.alloca(I64), e.builder.alloca(I64)
    for place, value in ((args, frame), (sizes, team), (steps, I64(0))):
        e.builder.store(value, place)
    pointers = [e.builder.bitcast(x, POINTER) for x in (member, args, sizes, steps)]
    pointers.append(e.builder.inttoptr(frame, POINTER))
    env = e.load(frame, Frame.ENV)
    active = e.address(env, Env.ACTIVE)
    e.builder.atomic_rmw("add", active, I64(1), "acq_rel")
    e.call_address(e.load(env, Env.PARALLEL_FOR), ir.VoidType(), *pointers, I64(0), I64(1), team)
    e.builder.atomic_rmw("sub", active, I64(1), "acq_rel")
    e.ret(0)
    return e
