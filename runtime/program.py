"""Programs: plain data plus loaded code, ready to run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from operator import itemgetter
from typing import Any

import numpy as np

from basalt.errors import BasaltError

from .code import Code
from .cpus import usable_cores
from .dtypes import numpy_dtype
from .environment import environment
from .feeds import prepare_inputs, prepare_outputs
from .frame import Frame, FramePlan
from .layout import Status
from .schedule import Schedule, schedule, timings
from .spec import Described, KernelCode, ProgramSpec, Row, Slot, SlotKind, TensorSpec
from .spec_check import check_spec
from .threads import THREADS

__all__ = ["KernelCode", "Program", "ProgramSpec", "Row", "Slot", "SlotKind", "TensorSpec"]

_DONE = Status.DONE
_IDLE_BYTES = 256 << 20
"""Most bytes of arenas that a program keeps between runs, beyond one arena."""


class Program:
    """A program that can be run, by several Python threads at once too; the GIL is free while it computes."""

    def __init__(self, spec: Described, kernels: Code, *, threads: int | None = None) -> None:
        """``kernels`` are those of ``spec.kernels``, in their order.

        ``threads`` is the most threads to use, None for the process's number (``set_num_threads``), looked at in each
        run. Raises ValidationError if ``spec`` contradicts itself.
        """
        check_spec(spec)
        if len(kernels.addresses) != len(spec.kernels):
            raise BasaltError(f"{len(kernels.addresses)} kernels loaded, the program has {len(spec.kernels)}")
        self.spec = spec
        self.code = kernels
        self.threads = threads
        self._plan = FramePlan(spec, kernels)
        self._reads_arrays = environment()[1]
        self._schedules: dict[int, Schedule] = {}
        self._idle: list[Frame] = []
        self._most_idle = max(1, min(usable_cores(), _IDLE_BYTES // max(spec.arena_bytes, 1)))
        self._pick_inputs = _picker([tensor.name for tensor in spec.inputs])
        self._output_names = tuple(tensor.name for tensor in spec.outputs)
        self._pick_outputs = _picker(self._output_names)
        self._blank = [(tensor.shape, numpy_dtype(tensor.dtype)) for tensor in spec.outputs]

    def run(self, feeds: Mapping[str, Any], out: Mapping[str, np.ndarray] | None = None) -> dict[str, np.ndarray]:
        """Computes the outputs from ``feeds`` (input name to array).

        Returns fresh arrays, or those of ``out`` (output name to array, for all or some outputs), which must be
        writeable, C-contiguous, aligned and of the exact type and shape. Inputs of another layout are copied; Python
        numbers and lists are converted where that loses nothing.

        Raises ValidationError for a wrong name, data type or shape, and BasaltError if an operator fails.
        """
        if self._reads_arrays:
            inputs = self._pick_inputs(feeds)
            if out is None:
                outputs: tuple[Any, ...] | None = tuple([np.empty(shape, dtype) for shape, dtype in self._blank])
            else:
                outputs = self._pick_outputs(out)
            if inputs is not None and outputs is not None:
                status = self._run_bound(inputs, outputs, out is not None)
                if status == _DONE:
                    return dict(zip(self._output_names, outputs))
                if status >= 0:
                    raise self.failure(status)
        return self._run_carefully(feeds, out)

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
        status = self._run_bound(inputs, outputs, False)
        if status >= 0:
            raise self.failure(status)
        return outputs if status == _DONE else None

    def memory(self) -> dict[str, int]:
        """Bytes of the program's ``weights``, of the ``arena`` that each simultaneous run takes, and of ``code``."""
        return {"weights": self._plan.constant_bytes, "arena": self.spec.arena_bytes, "code": self.code.nbytes}

    @contextmanager
    def frame(self) -> Iterator[Frame]:
        """A frame for the caller alone, ready for the threads that the program may use now."""
        try:
            frame = self._idle.pop()
        except IndexError:
            frame = Frame(self._plan)
        if frame.epoch != THREADS.epoch:
            self._adapt(frame)
        yield frame
        if len(self._idle) < self._most_idle:
            self._idle.append(frame)

    def failure(self, status: int) -> BasaltError:
        """The error for a status of the executor that is not negative."""
        index, code = status >> 32, ((status & 0xFFFFFFFF) ^ 0x80000000) - 0x80000000
        row = self.spec.rows[index]
        kernel = self.spec.kernels[row.kernel].label
        detail = f" (kernel {kernel!r})" if kernel and row.label else ""
        return BasaltError(f"operator {row.label or kernel or f'row {index}'!r}{detail} failed with status {code}")

    def _run_bound(self, inputs: tuple[Any, ...], outputs: tuple[Any, ...], given: bool) -> int:
        """Runs on a frame of the pool and returns the executor's status."""
        try:
            frame = self._idle.pop()
        except IndexError:
            frame = Frame(self._plan)
        if frame.epoch != THREADS.epoch:
            self._adapt(frame)
        if frame.call is None or (THREADS.guard is not None and frame.team > 1):
            status = self._call_with_care(frame, inputs, outputs, given)
        else:
            status = frame.call(inputs, outputs, given)
        if len(self._idle) < self._most_idle:
            self._idle.append(frame)
        return status

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

    def _adapt(self, frame: Frame) -> None:
        """Has the frame use as many threads as the program may now."""
        epoch = THREADS.epoch
        wanted = THREADS.count if self.threads is None else self.threads
        plan = self._schedule(wanted)
        if plan.is_parallel:
            team = THREADS.team(wanted)
            if team != wanted:
                wanted, plan = team, self._schedule(team)
        frame.use(plan, wanted)
        frame.epoch = epoch

    def _schedule(self, threads: int) -> Schedule:
        if threads not in self._schedules:
            self._schedules[threads] = schedule(timings(self.spec.tables), threads)
        return self._schedules[threads]

    def _run_carefully(self, feeds: Mapping[str, Any], out: Mapping[str, np.ndarray] | None) -> dict[str, np.ndarray]:
        inputs = prepare_inputs(self.spec.inputs, feeds)
        written, results = prepare_outputs(self.spec.outputs, out, inputs)
        status = self._run_bound(inputs, written, False)
        if status >= 0:
            raise self.failure(status)
        if status != _DONE:
            specs = (*self.spec.inputs, *self.spec.outputs)
            raise BasaltError(f"no use could be made of the array for {specs[Status.UNBOUND - status]}")
        for source, target in zip(written, results):
            if source is not target:
                target[...] = source
        given = {} if out is None else out
        return {name: given.get(name, result) for name, result in zip(self._output_names, results)}


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
