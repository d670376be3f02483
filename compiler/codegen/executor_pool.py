"""The executor's own threads: for where no threading layer of Numba's can be had.

Workers sleep on a condition or, for a while after work, watch a counter. Who launches a team posts a job with as many
places as it wants helpers, wakes that many sleepers and goes to work; workers enter jobs that have places left. At the
end the job is closed, and only those who are inside are waited for. A job therefore needs no worker to be done.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from basalt.runtime.layout import PARALLEL_SYMBOL, WORKER_SYMBOL, Env, Frame, Job, Pool

from .emitter import I32, I64, POINTER, Emitter, pause_instruction

__all__ = ["build_pool"]

_INSIDE = 1 << 32
"""One worker inside, in a job's state; the places left are its lower half."""
_PLACES = _INSIDE - 1
_FOREVER = 0xFFFFFFFF  # SleepConditionVariableSRW's INFINITE


def build_pool(module: ir.Module, wait: Emitter) -> None:
    """``basalt_parallel_for`` and ``basalt_worker``; ``wait`` is ``(frame, tries) -> tries + 1``.

    The former is called as Numba's ``parallel_for``, with a frame as its data:
    ``(member, args, sizes, steps, frame, ignored, ignored, threads)``. The latter is what a thread runs, for ever:
    ``(pool)``.
    """
    _parallel_for(module, _find_job(module), _wake(module), wait)
    _worker(module, _serve(module))


def _job(e: Emitter, pool: Any, index: Any) -> Any:
    offset = e.builder.add(e.builder.mul(index, I64(8 * Job.WORDS)), I64(8 * Pool.JOBS))
    return e.builder.add(pool, offset)


def _call_member(e: Emitter, job: Any) -> None:
    args = [e.builder.inttoptr(e.load(job, word), POINTER) for word in (Job.ARGS, Job.SIZES, Job.STEPS, Job.FRAME)]
    e.call_address(e.load(job, Job.MEMBER), ir.VoidType(), *args)


def _find_job(module: ir.Module) -> Emitter:
    """``(pool) -> job``: a job that nobody uses, taken for the caller; 0 if there is none."""
    e = Emitter(module, "find_job", 1)
    (pool,) = e.args
    with e.count(0, Pool.JOB_COUNT) as index:
        job = _job(e, pool, index)
        with e.when(e.compare("==", e.load_acquire(job, Job.USED), 0)):
            found = e.builder.cmpxchg(e.address(job, Job.USED), I64(0), I64(1), "acq_rel", "acquire")
            with e.when(e.builder.extract_value(found, 1)):
                e.ret(job)
    e.ret(0)
    return e


def _wake(module: ir.Module) -> Emitter:
    """``(pool, helpers)``: tells workers of a new job, and wakes as many as are wanted if they sleep."""
    e = Emitter(module, "wake", 2)
    pool, helpers = e.args
    e.builder.atomic_rmw("add", e.address(pool, Pool.LAUNCHES), I64(1), "seq_cst")
    # A worker counts itself among the sleepers before it looks at the launches for the last time.
    sleeping = e.builder.atomic_rmw("add", e.address(pool, Pool.SLEEPING), I64(0), "seq_cst")
    with e.when(e.compare(">", sleeping, 0)):
        mutex, condition = e.load(pool, Pool.MUTEX), e.load(pool, Pool.CONDITION)
        wanted = e.builder.select(e.compare("<", sleeping, helpers), sleeping, helpers)
        e.call_address(e.load(pool, Pool.LOCK), I32, mutex)
        with e.count(0, wanted):
            e.call_address(e.load(pool, Pool.WAKE), I32, condition)
        e.call_address(e.load(pool, Pool.UNLOCK), I32, mutex)
    e.ret(0)
    return e


def _parallel_for(module: ir.Module, find_job: Emitter, wake: Emitter, wait: Emitter) -> None:
    e = Emitter(module, PARALLEL_SYMBOL, 8, internal=False)
    member, args, sizes, steps, frame, _, _, threads = e.args
    pool = e.load(e.load(frame, Frame.ENV), Env.POOL)
    job = e.call(find_job, pool)
    with e.when(e.compare("==", job, 0)):
        pointers = [e.builder.inttoptr(value, POINTER) for value in (args, sizes, steps, frame)]
        e.call_address(member, ir.VoidType(), *pointers)
        e.ret(0)
    words = (Job.MEMBER, Job.ARGS, Job.SIZES, Job.STEPS, Job.FRAME)
    for word, value in zip(words, (member, args, sizes, steps, frame)):
        e.store(value, job, word)
    helpers = e.builder.sub(e.builder.and_(threads, I64(_PLACES)), I64(1))
    e.store_release(helpers, job, Job.STATE)
    e.call(wake, pool, helpers)
    _call_member(e, job)
    e.builder.atomic_rmw("and", e.address(job, Job.STATE), I64(~_PLACES), "acq_rel")
    entry = e.builder.block
    with e.forever() as after:
        tries = e.builder.phi(I64)
        tries.add_incoming(I64(0), entry)
        e.leave(e.compare("==", e.load_acquire(job, Job.STATE), 0), after)
        tries.add_incoming(e.call(wait, frame, tries), e.builder.block)
    e.store_release(0, job, Job.USED)
    e.ret(0)


def _serve(module: ir.Module) -> Emitter:
    """``(pool) -> jobs``: enters each job that has a place left, one after the other; how many there were."""
    e = Emitter(module, "serve", 1)
    (pool,) = e.args
    served = e.builder.alloca(I64)
    e.builder.store(I64(0), served)
    with e.count(0, Pool.JOB_COUNT) as index:
        job = _job(e, pool, index)
        with e.forever() as after:
            state = e.load_acquire(job, Job.STATE)
            e.leave(e.compare("==", e.builder.and_(state, I64(_PLACES)), 0), after)
            entered = e.builder.add(state, I64(_INSIDE - 1))
            found = e.builder.cmpxchg(e.address(job, Job.STATE), state, entered, "acq_rel", "acquire")
            with e.when(e.builder.extract_value(found, 1)):
                _call_member(e, job)
                e.builder.atomic_rmw("sub", e.address(job, Job.STATE), I64(_INSIDE), "acq_rel")
                e.builder.store(e.builder.add(e.builder.load(served, typ=I64), I64(1)), served)
                e.builder.branch(after)
                e.builder.position_at_end(e.builder.append_basic_block("unreachable"))
                e.builder.unreachable()
    e.ret(e.builder.load(served, typ=I64))
    return e


def _worker(module: ir.Module, serve: Emitter) -> None:
    sleep, watch = _sleep(module), _watch(module)
    e = Emitter(module, WORKER_SYMBOL, 1, internal=False)
    (pool,) = e.args
    with e.forever():
        launches = e.load_acquire(pool, Pool.LAUNCHES)
        with e.when(e.compare("==", e.call(serve, pool), 0)), e.when(e.compare("==", e.call(watch, pool, launches), 0)):
            e.call(sleep, pool, launches)
    e.builder.unreachable()


def _watch(module: ir.Module) -> Emitter:
    """``(pool, launches) -> 1``: watches the number of launches for a while; 0 if it stayed the same."""
    e = Emitter(module, "watch", 2)
    pool, launches = e.args
    pause = pause_instruction(module)
    with e.count(0, e.load(pool, Pool.SPINS)):
        with e.when(e.compare("!=", e.load_acquire(pool, Pool.LAUNCHES), launches)):
            e.ret(1)
        if pause is not None:
            e.builder.call(pause, [])
    e.ret(0)
    return e


def _sleep(module: ir.Module) -> Emitter:
    """``(pool, launches)``: sleeps until the number of launches is another one."""
    e = Emitter(module, "sleep", 2)
    pool, launches = e.args
    mutex, condition = e.load(pool, Pool.MUTEX), e.load(pool, Pool.CONDITION)
    e.call_address(e.load(pool, Pool.LOCK), I32, mutex)
    e.builder.atomic_rmw("add", e.address(pool, Pool.SLEEPING), I64(1), "seq_cst")
    with e.forever() as after:
        now = e.builder.atomic_rmw("add", e.address(pool, Pool.LAUNCHES), I64(0), "seq_cst")
        e.leave(e.compare("!=", now, launches), after)
        e.call_address(e.load(pool, Pool.WAIT), I32, condition, mutex, I64(_FOREVER), I64(0))
    e.builder.atomic_rmw("sub", e.address(pool, Pool.SLEEPING), I64(1), "seq_cst")
    e.call_address(e.load(pool, Pool.UNLOCK), I32, mutex)
    e.ret(0)
    return e
