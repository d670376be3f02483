"""How a model's programs follow each other: mostly one alone; else with host operators and decisions between them.

Each program is for inputs of known shapes. Where a run meets shapes, or values that decide what comes next, that the
file has no program for, UnseenError is raised.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from time import monotonic
from typing import Any, Protocol

import numpy as np

from basalt.errors import DeadlineExceeded
from basalt.serialization.program.fields import Fields

from ..carriers import carrier_array, logical_array
from .items import getters
from .signatures import Shapes, UnseenError, signatures

__all__ = ["Flow", "HostMaker", "HostOperator", "Programs"]

HostOperator = Callable[[Sequence[Any]], Sequence[Any]]
"""The outputs of a host operator for its inputs."""


class Runnable(Protocol):
    """A program."""

    def run(
        self,
        feeds: Mapping[str, Any],
        out: Mapping[str, np.ndarray] | None = None,
        *,
        timeout: float | None = None,
        threads: int | None = None,
    ) -> dict[str, np.ndarray]: ...


Programs = Callable[[int], Runnable]
"""Gives a program by its number."""
HostMaker = Callable[[Fields, Programs], HostOperator]
"""Gives the host operator that a record describes, of whose body programs may be; refuses one that is not known."""


class Call:
    """What a run is given besides its inputs: where to write, until when (of ``monotonic``), on how many threads."""

    __slots__ = ("deadline", "out", "threads")

    def __init__(self, out: Mapping[str, np.ndarray] | None, timeout: float | None, threads: int | None) -> None:
        self.out = out
        self.deadline = None if timeout is None else monotonic() + timeout
        self.threads = threads

    def remaining(self) -> float | None:
        """Seconds that are left. Raises DeadlineExceeded if there are none."""
        if self.deadline is None:
            return None
        left = self.deadline - monotonic()
        if left <= 0:
            raise DeadlineExceeded("the run's time was up between two of its steps")
        return left


class Flow:
    """A model's stages.

    Args:
        model: the record of the model.
        programs: gives a program by its number.
        host: gives host operators.
    """

    def __init__(self, model: Fields, programs: Programs, host: HostMaker) -> None:
        self._stages = [_Stage(fields, programs, host) for fields in model.records("stages")]
        self._entry = _Point(model.record("entry"), len(self._stages))
        for stage in self._stages:
            if stage.point is not None:
                stage.point.check(len(self._stages))

    def run(
        self,
        values: Mapping[str, Any],
        out: Mapping[str, np.ndarray] | None = None,
        *,
        timeout: float | None = None,
        threads: int | None = None,
    ) -> dict[str, Any]:
        """The outputs by name for the inputs by name.

        Raises UnseenError for shapes and values that there is nothing for, DeadlineExceeded when ``timeout`` seconds
        have passed, and what host operators raise.
        """
        call = Call(out, timeout, threads)
        env = dict(values)
        results: Sequence[Any] = ()
        point: _Point | None = self._entry
        while point is not None:
            stage = self._stages[point.enter(env, results)]
            stage.compute(env, call)
            results = stage.step(env)
            if stage.point is None:
                fed = [value for value in values.values() if isinstance(value, np.ndarray)]
                return {name: _own(value, fed) for name, value in zip(stage.names, results)}
            point = stage.point
            env = {slot: env[slot] for slot in point.kept}
        raise AssertionError


class _Stage:
    """A program, or none, then a step: the end, a host operator, or reading values that decide what comes next."""

    def __init__(self, fields: Fields, programs: Programs, host: HostMaker) -> None:
        self._programs = programs
        self._feeds = _pairs(fields, "feeds")
        self._converted = _pairs(fields, "converted")
        self._by_shapes: dict[Shapes, int] = dict(signatures(fields))
        self._items = getters(fields, "items")
        self.names = fields.texts("names")
        self._host = host(fields.record("host"), programs) if fields.has("host") else None
        self.point = _Point(fields.record("next")) if fields.has("next") else None

    def compute(self, env: dict[str, Any], call: Call) -> None:
        """Run the program, and put its results beside what is there."""
        if not self._by_shapes:
            return
        feeds = {slot: _held(env[slot], dtype) for slot, dtype in self._feeds}
        number = self._by_shapes.get(tuple([array.shape for array in feeds.values()]))
        if number is None:
            raise UnseenError
        out = call.out if self.point is None else None
        results: dict[str, Any] = self._programs(number).run(feeds, out, timeout=call.remaining(), threads=call.threads)
        for slot, dtype in self._converted:
            results[slot] = logical_array(results[slot], dtype)
        env.update(results)

    def step(self, env: Mapping[str, Any]) -> Sequence[Any]:
        """The results of the step."""
        values = [get(env) for get in self._items]
        return values if self._host is None else self._host(values)


class _Point:
    """Where a run goes on once values are there: a stage for their kinds, their sizes too, or their elements."""

    def __init__(self, fields: Fields, stages: int | None = None) -> None:
        self._fields = fields
        self._prefix = fields.text("prefix")
        self._watched = fields.texts("watched")
        self.kept = fields.texts("kept")
        self._content = bool(fields.integer("content", 0, 1))
        self._any_size = _keyed(fields, "any_size")
        self._sized = _keyed(fields, "sized")
        if stages is not None:
            self.check(stages)

    def check(self, stages: int) -> None:
        """Refuse numbers of stages that do not exist."""
        if any(not 0 <= number < stages for number in (*self._any_size.values(), *self._sized.values())):
            self._fields.fail("sized", f"names a stage that is none of the {stages}")

    def enter(self, env: dict[str, Any], results: Sequence[Any]) -> int:
        """The number of the next stage; adds ``results`` to the environment."""
        for index, value in enumerate(results):
            env[f"{self._prefix}{index}"] = value
        given = results if self._prefix else [env[name] for name in self._watched]
        kinds = tuple([_content(v) if self._content else _kind(v) for v in given])
        found = self._any_size.get(kinds)
        if found is None:
            shapes = tuple([_shape(env[name]) for name in self._watched])
            found = self._sized.get((kinds, shapes, tuple([_shape(v) for v in results])))
        if found is None:
            raise UnseenError
        return found


def _pairs(fields: Fields, name: str) -> list[tuple[str, str]]:
    found = fields.plain(name)
    for entry in found if isinstance(found, tuple) else (None,):
        match entry:
            case (str(), str()):
                continue
        fields.fail(name, f"{entry!r} given, expected two texts")
    return list(found)


def _keyed(fields: Fields, name: str) -> dict[Any, int]:
    found = fields.plain(name)
    for entry in found if isinstance(found, tuple) else (None,):
        match entry:
            case (tuple(), int()):
                continue
        fields.fail(name, f"{entry!r} given, expected a key and a stage's number")
    return dict(found)


def _own(value: Any, fed: Sequence[np.ndarray]) -> Any:
    """A result that is not the caller's own input."""
    shared = isinstance(value, np.ndarray) and any(np.may_share_memory(value, array) for array in fed)
    return value.copy() if shared else value


def _held(value: np.ndarray, dtype: str) -> np.ndarray:
    """A value as a program takes it."""
    array = np.ascontiguousarray(value).reshape(value.shape)
    return array if dtype == "bool" else carrier_array(array, dtype)


def _kind(value: Any) -> Any:
    return (value.dtype.name, value.ndim) if isinstance(value, np.ndarray) else type(value).__name__


def _content(value: Any) -> Any:
    array = np.asarray(value)
    elements = array.tobytes() if array.dtype != object else tuple(map(str, array.reshape(-1)))
    return array.dtype.name, array.shape, elements


def _shape(value: Any) -> Any:
    return value.shape if isinstance(value, np.ndarray) else None
