"""Programs: plain data plus loaded code, ready to run."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from operator import itemgetter
from typing import Any

import numpy as np

from basalt.errors import BasaltError, DeadlineExceeded, UnsupportedError, ValidationError

from .code import Code
from .deadlines import deadline_after, grains
from .described import Described
from .dtypes import numpy_dtype
from .environment import environment
from .frame import Frame, FramePlan, FrameSchedule
from .frame_pool import FramePool
from .layout import Env, Status
from .spec_check import check_spec
from .tables import ProgramTables
from .threads import THREADS, thread_count

__all__ = ["Program"]

_DONE, _LATE = Status.DONE, Status.LATE


class Program:
    """A program that can be run, by several Python threads at once too; the GIL is free while it computes."""

    def __init__(self, spec: Described, kernels: Code, *, threads: int | None = None) -> None:
        """``kernels`` are those of ``spec.kernels``, in their order.

        ``threads`` is the most threads to use, None for the process's number (``set_num_threads``), looked at in each
        run. Raises ValidationError if ``spec`` contradicts itself.
        """
        check_spec(spec)
        if len(kernels.addresses) != spec.kernel_count:
            raise BasaltError(f"{len(kernels.addresses)} kernels loaded, the program has {spec.kernel_count}")
        self.spec = spec
        self.code = kernels
        self.threads = threads
        self._plan = plan = FramePlan(spec, kernels)
        words, self._reads_arrays = environment()
        self._has_clock = bool(words[Env.CLOCK])
        self._schedules: dict[int, FrameSchedule] = {}
        self._pool = FramePool(lambda: Frame(plan), spec.arena_bytes)
        self._idle = self._pool.idle
        self._pick_inputs = _picker([tensor.name for tensor in spec.inputs])
        self._output_names = tuple(tensor.name for tensor in spec.outputs)
        self._pick_outputs = _picker(self._output_names)
        self._blank = [(tensor.shape, numpy_dtype(tensor.dtype)) for tensor in spec.outputs]

    def run(
        self,
        feeds: Mapping[str, Any],
        out: Mapping[str, np.ndarray] | None = None,
        *,
        timeout: float | None = None,
        threads: int | None = None,
    ) -> dict[str, np.ndarray]:
        """Computes the outputs from ``feeds`` (input name to array).

        Returns fresh arrays, or those of ``out`` (output name to array, for all or some outputs), which must be
        writeable, C-contiguous, aligned and of the exact type and shape. Inputs of another layout are copied; Python
        numbers and lists are converted where that loses nothing. An array of ``out`` may be that of an input: where the
        output is the input with some elements replaced (a cache), nothing else is written then.

        ``timeout`` is the most seconds (> 0) from the call on, which include a wait for memory (:meth:`limit_memory`).
        The clock is looked at between rows and within long ones. What a run that is stopped has written to ``out`` is
        undefined. ``threads`` is the most threads (>= 1) for this run, in place of the program's number.

        Raises ValidationError for a wrong name, data type, shape, timeout or number of threads, DeadlineExceeded if the
        timeout passes, BasaltError if an operator fails.
        """
        deadline = 0 if timeout is None else self._deadline(timeout)
        if threads is not None:
            threads = thread_count(threads)
        if self._reads_arrays:
            inputs = self._pick_inputs(feeds)
            if out is None:
                outputs: tuple[Any, ...] | None = tuple([np.empty(shape, dtype) for shape, dtype in self._blank])
            else:
                outputs = self._pick_outputs(out)
            if inputs is not None and outputs is not None:
                status = self._run_bound(inputs, outputs, out is not None, deadline, threads)
                if status == _DONE:
                    return dict(zip(self._output_names, outputs))
                if status >= 0 or status == _LATE:
                    raise self.failure(status)
        return self._run_carefully(feeds, out, deadline, threads)

    def compute(
        self, inputs: tuple[np.ndarray, ...], outputs: tuple[np.ndarray, ...] | None = None
    ) -> tuple[np.ndarray, ...] | None:
        """Computes the outputs, in the program's order, from the inputs in theirs, without looking names up.

        ``outputs`` are to be written to; they must not overlap each other or the inputs. None if an array is not
        exactly as the program takes it (``run`` copies or says what is wrong).

        Raises BasaltError if an operator fails.
        """
        if not self._reads_arrays:
            return None
        if outputs is None:
            outputs = tuple([np.empty(shape, dtype) for shape, dtype in self._blank])
        status = self._run_bound(inputs, outputs, False, 0, None)
        if status >= 0:
            raise self.failure(status)
        return outputs if status == _DONE else None

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the program to a ``.bsl`` file, for :class:`basalt.Runner` on CPUs like this one.

        ``basalt.save_program`` does it for several shapes and CPUs, and keeps the model beside the code. Raises
        UnsupportedError for a program that comes from a file itself, OSError if the file cannot be written.
        """
        from .stored.saving import save_compiled

        save_compiled(self, path)

    def memory(self) -> dict[str, int]:
        """Bytes of the program's ``weights``, of the ``arena`` that each simultaneous run takes, and of ``code``.

        ``arenas`` are those held now, of which ``idle`` wait for further runs.
        """
        arena = self.spec.arena_bytes
        return {
            "weights": self._plan.constant_bytes,
            "arena": arena,
            "arenas": self._pool.held * arena,
            "idle": len(self._idle) * arena,
            "code": self.code.nbytes,
        }

    def limit_memory(self, nbytes: int | None) -> None:
        """Bounds the bytes of all arenas together, and with them how many runs can be under way; None for no bound.

        Further runs wait until one ends, in the order in which they came. Without a bound there are as many arenas as
        there were runs at once, of which some are kept. Raises ValidationError if ``nbytes`` does not hold one arena.
        """
        arena = self.spec.arena_bytes
        if nbytes is not None and (isinstance(nbytes, bool) or not hasattr(nbytes, "__index__") or nbytes < arena):
            raise ValidationError(
                f"memory: {nbytes!r} bytes given, expected at least the {arena} of one arena, or None"
            )
        self._pool.limit(None if nbytes is None or arena == 0 else int(nbytes) // arena)

    @contextmanager
    def frame(self) -> Iterator[Frame]:
        """A frame for the caller alone, ready for the threads that the program may use now."""
        frame = self._pool.take(0)
        try:
            self._adapt(frame, None)
            yield frame
        finally:
            self._give_back(frame)

    def failure(self, status: int) -> BasaltError:
        """The error for a status of the executor that is not negative, or ``Status.LATE``."""
        if status == _LATE:
            return DeadlineExceeded("the run was stopped, as its timeout passed")
        index, code = status >> 32, ((status & 0xFFFFFFFF) ^ 0x80000000) - 0x80000000
        row = self.spec.rows[index]
        kernel = self.spec.kernels[row.kernel].label
        detail = f" (kernel {kernel!r})" if kernel and row.label else ""
        return BasaltError(f"operator {row.label or kernel or f'row {index}'!r}{detail} failed with status {code}")

    def _run_bound(
        self, inputs: tuple[Any, ...], outputs: tuple[Any, ...], given: bool, deadline: int, threads: int | None
    ) -> int:
        """Runs on a frame of the pool and returns the executor's status."""
        pool = self._pool
        try:
            frame = self._idle.pop() if not pool.waiting else pool.take(deadline)
        except IndexError:
            frame = pool.take(deadline)
        try:
            if frame.epoch != THREADS.epoch or frame.budget != threads:
                self._adapt(frame, threads)
            if deadline:
                if frame.grains is None:
                    frame.grains = self._grains
                frame.deadline = deadline
            if frame.call is None or (THREADS.guard is not None and frame.team > 1):
                return self._call_with_care(frame, inputs, outputs, given)
            return frame.call(inputs, outputs, given)
        finally:
            if deadline:
                frame.deadline = 0
            self._give_back(frame)

    def _give_back(self, frame: Frame) -> None:
        pool = self._pool
        if len(self._idle) < pool.most_idle or pool.waiting:
            self._idle.append(frame)
        if pool.waiting:
            pool.hand_over()

    def _call_with_care(self, frame: Frame, inputs: tuple[Any, ...], outputs: tuple[Any, ...], given: bool) -> int:
        """For a layer that bears one team only (who comes second runs on its own thread), and for unknown arrays."""
        team, guard = frame.team, THREADS.guard if frame.team > 1 else None
        locked = guard is not None and not THREADS.may_clash() and guard.acquire(blocking=False)
        if guard is not None and not locked:
            frame.team = 1
        try:
            if frame.call is not None:
                return frame.call(inputs, outputs, given)
            frame.bind((*inputs, *outputs))
            return self.code.executor.execute(frame.address)
        finally:
            frame.team = team
            if locked and guard is not None:
                guard.release()

    def _adapt(self, frame: Frame, budget: int | None) -> None:
        """Has the frame use as many threads as the program, or this run, may now."""
        epoch = THREADS.epoch
        wanted = budget or self.threads or THREADS.count
        plan = self._schedule(wanted)
        if plan.team > 1:
            team = THREADS.team(wanted, self.code.executor)
            if team != wanted:
                plan = self._schedule(team)
        frame.use(plan)
        frame.epoch, frame.budget = epoch, budget

    def _schedule(self, threads: int) -> FrameSchedule:
        found = self._schedules.get(threads)
        if found is None:
            found = self._schedules[threads] = _schedule(self.spec.tables, threads)
        return found

    def _deadline(self, timeout: float) -> int:
        """When the timeout of a run that begins now passes."""
        deadline = deadline_after(timeout)
        if not self._has_clock:
            raise UnsupportedError("timeout: this system has no clock that compiled programs can read")
        return deadline

    @functools.cached_property
    def _grains(self) -> np.ndarray:
        from .schedule import timings

        return grains(timings(self.spec.tables))

    def _run_carefully(
        self, feeds: Mapping[str, Any], out: Mapping[str, np.ndarray] | None, deadline: int, threads: int | None
    ) -> dict[str, np.ndarray]:
        from .feeds import prepare_inputs, prepare_outputs

        inputs = prepare_inputs(self.spec.inputs, feeds)
        written, results = prepare_outputs(self.spec.outputs, out, inputs, frozenset(self.spec.carried))
        status = self._run_bound(inputs, written, False, deadline, threads)
        if status >= 0 or status == _LATE:
            raise self.failure(status)
        if status != _DONE:
            specs = (*self.spec.inputs, *self.spec.outputs)
            raise BasaltError(f"no use could be made of the array for {specs[Status.UNBOUND - status]}")
        for source, target in zip(written, results):
            if source is not target:
                target[...] = source
        given = {} if out is None else out
        return {name: given.get(name, result) for name, result in zip(self._output_names, results)}


def _schedule(tables: ProgramTables, threads: int) -> FrameSchedule:
    if threads <= 1:
        return FrameSchedule.serial(tables)
    from .schedule import schedule, timings

    return FrameSchedule.of(schedule(timings(tables), threads), threads)


def _picker(names: Sequence[str]) -> Callable[[Any], tuple[Any, ...] | None]:
    """A function from a mapping to the tuple of its values for ``names``, or None unless it has exactly these."""
    count = len(names)
    pick: Callable[[Any], Any] = itemgetter(*names) if names else lambda mapping: ()

    def picked(mapping: Any) -> tuple[Any, ...] | None:
        try:
            if len(mapping) != count:
                return None
            values = pick(mapping)
        except (KeyError, TypeError, IndexError):
            return None
        return (values,) if count == 1 else values

    return picked
