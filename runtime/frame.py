"""Frames: the memory of one run (arena, tables, executor state), made from a plan that all runs of a program share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from . import layout
from .code import Code
from .described import Described, TensorSpec
from .dtypes import numpy_dtype
from .environment import ALIGNED, C_CONTIGUOUS, WRITEABLE, environment
from .layout import WORD, Patch, Region, Tensor
from .memory import aligned_empty, aligned_words
from .tables import ProgramTables, RowColumn, SlotKind

if TYPE_CHECKING:
    from .schedule import Schedule

__all__ = ["Frame", "FramePlan", "FrameSchedule"]


class FramePlan:
    """What the frames of a program have in common: table contents, expected tensors, places to patch."""

    def __init__(self, spec: Described, code: Code) -> None:
        self.code = code
        self.rows = spec.tables.rows
        self.arena_bytes = spec.arena_bytes
        self.constants = spec.memory
        self.input_count = len(spec.inputs)
        self.tensor_count = len(spec.inputs) + len(spec.outputs)
        self.kernels = code.addresses[self.rows[:, RowColumn.KERNEL]]
        self.table_starts = np.cumsum(self.rows[:, RowColumn.SLOTS]) - self.rows[:, RowColumn.SLOTS]
        self._describe_tensors((*spec.inputs, *spec.outputs))
        self._fill_tables(spec.tables)

    @property
    def constant_bytes(self) -> int:
        """Bytes of the constants, each counted once."""
        sizes = dict(zip(self.constants.addresses.tolist(), self.constants.sizes.tolist()))
        return sum(sizes.values())

    def _describe_tensors(self, specs: Sequence[TensorSpec]) -> None:
        self._sizes = [np.array(tensor.shape, np.int64) for tensor in specs]
        self.dtypes = [numpy_dtype(tensor.dtype) for tensor in specs]
        self.tensors = np.zeros((len(specs), Tensor.WORDS), np.int64)
        for index, tensor in enumerate(specs):
            self.tensors[index] = self._describe(index, tensor)

    def _describe(self, index: int, tensor: TensorSpec) -> tuple[int, ...]:
        flags = C_CONTIGUOUS | ALIGNED | (WRITEABLE if index >= self.input_count else 0)
        return id(self.dtypes[index]), len(tensor.shape), self._sizes[index].ctypes.data, flags, tensor.nbytes

    def _fill_tables(self, tables: ProgramTables) -> None:
        kinds, indices = tables.slot_kinds, tables.slot_indices
        self.tables = tables.slot_values.copy()
        constants = np.flatnonzero(kinds == SlotKind.CONST)
        self.tables[constants] += self.constants.addresses[indices[constants]]
        self.arena_entries = np.flatnonzero(kinds == SlotKind.ARENA)
        bound = np.flatnonzero(kinds <= SlotKind.OUTPUT)
        tensors = indices[bound] + np.where(kinds[bound] == SlotKind.OUTPUT, self.input_count, 0)
        self.patches = np.ascontiguousarray(np.stack([bound, tensors, self.tables[bound]], axis=1), np.int64)


class FrameSchedule(NamedTuple):
    """A schedule as frames take it over, for ``team`` threads: words of :class:`layout.Row`, groups and regions."""

    cuts: np.ndarray
    groups: np.ndarray
    regions: np.ndarray
    team: int

    @classmethod
    def serial(cls, tables: ProgramTables) -> FrameSchedule:
        """The schedule for one thread: every row as a whole."""
        units = tables.rows[:, RowColumn.STOP] - tables.rows[:, RowColumn.START]
        count = len(units)
        cuts = np.stack([np.maximum(units, 1), np.ones(count, np.int64)], axis=1)
        regions = np.array([(0, count, 0)] if count else [], np.int64).reshape(-1, Region.WORDS)
        return cls(cuts, np.arange(1, count + 1), regions, 1)

    @classmethod
    def of(cls, schedule: Schedule, threads: int) -> FrameSchedule:
        """The schedule made for ``threads`` threads."""
        return cls(
            np.array(schedule.rows, np.int64).reshape(-1, 2),
            np.array(schedule.groups, np.int64),
            np.array(schedule.regions, np.int64).reshape(-1, Region.WORDS),
            threads if schedule.is_parallel else 1,
        )


class Frame:
    """The memory of one run at a time.

    ``call(inputs, outputs, given)`` is the executor's entry for this frame, ``team`` how many threads it runs on.
    That is right for runs of this ``budget`` (most threads; None: those of the program) at this ``epoch`` of THREADS.
    """

    def __init__(self, plan: FramePlan) -> None:
        self.plan = plan
        self.epoch = -1
        self.budget: int | None = None
        self._grains: np.ndarray | None = None
        self.arena = aligned_empty(plan.arena_bytes)
        self.tables = plan.tables.copy()
        self.tables[plan.arena_entries] += self.arena.ctypes.data
        self.pointers = np.zeros(plan.tensor_count, np.int64)
        self.rows = aligned_words(len(plan.rows) * layout.Row.WORDS).reshape(-1, layout.Row.WORDS)
        self.rows[:, layout.Row.KERNEL] = plan.kernels
        self.rows[:, layout.Row.TABLE] = self.tables.ctypes.data + WORD * plan.table_starts
        self.rows[:, layout.Row.START] = plan.rows[:, RowColumn.START]
        self.rows[:, layout.Row.STOP] = plan.rows[:, RowColumn.STOP]
        self.regions = np.zeros((0, Region.WORDS), np.int64)
        self.groups = np.arange(1, len(plan.rows) + 1)
        self._words = aligned_words(layout.Frame.WORDS)
        self._fill_words(plan)
        self.address = self._words.ctypes.data
        self.call = plan.code.executor.entry(self._words)
        self.team = 1

    def _fill_words(self, plan: FramePlan) -> None:
        words, word = self._words, layout.Frame
        words[word.ENV] = environment()[0].ctypes.data
        words[word.ROWS] = self.rows.ctypes.data
        words[word.ROW_COUNT] = len(plan.rows)
        words[word.GROUPS] = self.groups.ctypes.data
        words[word.TENSORS] = plan.tensors.ctypes.data
        words[word.INPUT_COUNT] = plan.input_count
        words[word.TENSOR_COUNT] = plan.tensor_count
        words[word.POINTERS] = self.pointers.ctypes.data
        words[word.PATCHES] = plan.patches.ctypes.data
        words[word.PATCH_COUNT] = len(plan.patches)
        words[word.TABLES] = self.tables.ctypes.data

    @property
    def team(self) -> int:
        return self._team

    @team.setter
    def team(self, size: int) -> None:
        self._team = size
        self._words[layout.Frame.TEAM] = size

    @property
    def deadline(self) -> int:
        """When the run stops, in nanoseconds of the clock; 0 for never. Needs :attr:`grains`."""
        return int(self._words[layout.Frame.DEADLINE])

    @deadline.setter
    def deadline(self, moment: int) -> None:
        self._words[layout.Frame.DEADLINE] = moment

    @property
    def grains(self) -> np.ndarray | None:
        """For each row the units to run between two looks at the clock (int64), as all frames of a program have it."""
        return self._grains

    @grains.setter
    def grains(self, units: np.ndarray) -> None:
        self._grains = units
        self._words[layout.Frame.GRAINS] = units.ctypes.data

    def use(self, schedule: FrameSchedule) -> None:
        """Takes over a schedule."""
        self.rows[:, layout.Row.STEP : layout.Row.CHUNKS + 1] = schedule.cuts
        self.groups[:] = schedule.groups
        self._use_regions(schedule.regions)
        self.team = schedule.team

    def set_regions(self, regions: Sequence[tuple[int, int, bool]]) -> None:
        """Has the next runs walk these regions only."""
        self._use_regions(np.array(regions, np.int64).reshape(-1, Region.WORDS))

    def _use_regions(self, regions: np.ndarray) -> None:
        self.regions = regions
        self._words[layout.Frame.REGIONS] = self.regions.ctypes.data
        self._words[layout.Frame.REGION_COUNT] = len(self.regions)

    def bind(self, arrays: Sequence[np.ndarray]) -> None:
        """Does in Python what the executor does itself where it can read arrays: takes inputs, then outputs."""
        self.pointers[:] = [array.__array_interface__["data"][0] for array in arrays]
        patches = self.plan.patches
        self.tables[patches[:, Patch.ENTRY]] = self.pointers[patches[:, Patch.TENSOR]] + patches[:, Patch.OFFSET]
