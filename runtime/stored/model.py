"""A model from a file with machine code: its programs, made when they are first needed, and their order."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from basalt.errors import ValidationError
from basalt.serialization.program.fields import Fields
from basalt.serialization.program.file import ProgramFile

from ..declared import Declared, check_feeds, declared_value
from ..program import Program
from .code import LevelCode, ProgramCode, choose_level, level_parts
from .signatures import Shapes, UnseenError, signatures
from .spec import StoredSpec

if TYPE_CHECKING:
    from .flow import Flow, HostMaker

__all__ = ["MODEL", "SHARED_WEIGHTS", "SOURCE", "SOURCE_CONTENT", "StoredModel", "declared_values", "stored_signatures"]

MODEL, SHARED_WEIGHTS = "model", "weights"
"""Names of parts: the model's record, and the constants that all levels share."""
SOURCE, SOURCE_CONTENT = "source", "source content"
"""Names of parts: what the model was before it was compiled, a record of its format and the bytes."""


class StoredModel:
    """A model whose machine code is in a file. Several threads may use it at once.

    ``inputs`` and ``outputs`` are as the model declares them; ``level`` is the level of x86-64 whose code is used,
    ``direct`` whether each run is of one program alone.

    Args:
        file: the file, of which the caller knows that its code may be run.
        host: gives host operators.
        threads: threads to run on, None for the process's number.

    Raises:
        ModelFormatError: for a damaged file.
        UnsupportedError: where the file has no code that this machine, or this version of the runtime, can run.
    """

    def __init__(self, file: ProgramFile, host: HostMaker, *, threads: int | None = None) -> None:
        self._file = file
        self._threads = threads
        self._model = model = file.record(MODEL)
        self.inputs = declared_values(model, "inputs")
        self.outputs = declared_values(model, "outputs")
        self.level = choose_level(model).name
        self._code = LevelCode(file, self.level)
        self._records = list(self._code.fields.records("programs"))
        self._programs: list[Program | None] = [None] * len(self._records)
        self._lock = threading.RLock()
        self._names = tuple([declared.name for declared in self.inputs])
        self._stages = list(model.records("stages"))
        if not self._stages:
            model.fail("stages", "there is none")
        self._flow = None if model.integer("direct", 0, 1) else self._made_flow(host)
        self.direct = self._flow is None
        self._by_shapes: dict[Shapes, int] = dict(signatures(self._stages[0])) if self._flow is None else {}
        for _, number in (pair for stage in self._stages for pair in signatures(stage)):
            if not 0 <= number < len(self._records):
                model.fail("stages", f"one has program {number}, of which there are {len(self._records)}")

    def _made_flow(self, host: HostMaker) -> Flow:
        from .flow import Flow

        return Flow(self._model, self._program, host)

    @property
    def signatures(self) -> list[dict[str, tuple[int, ...]]]:
        """The shapes by input's name that the file has programs for; of several steps, those of the inputs whose runs
        it holds.
        """
        return stored_signatures(self._model)

    def run(
        self,
        feeds: Mapping[str, Any],
        out: Mapping[str, np.ndarray] | None = None,
        *,
        timeout: float | None = None,
        threads: int | None = None,
    ) -> dict[str, Any]:
        """The outputs by name for the inputs by name; see :meth:`basalt.Runner.run`.

        Raises UnseenError for shapes and values that the file has no program for.
        """
        if self._flow is not None:
            return self._run_steps(self._flow, feeds, out, timeout, threads)
        try:
            number = self._by_shapes.get(tuple([feeds[name].shape for name in self._names]))
        except (KeyError, TypeError, AttributeError):
            number = None
        if number is None:
            number = self._number_for(feeds)
        program = self._programs[number] or self._program(number)
        return program.run(feeds, out, timeout=timeout, threads=threads)

    def memory(self) -> dict[str, int]:
        """Bytes of ``weights`` (of the programs used so far, in the mapped file), of ``arena`` (the largest that a run
        takes) and of ``code``.
        """
        used = [program for program in self._programs if program is not None]
        places = {(a, s) for p in used for a, s in zip(p.spec.memory.addresses.tolist(), p.spec.memory.sizes.tolist())}
        arena = max((program.spec.arena_bytes for program in used), default=0)
        return {"weights": sum(size for _, size in places), "arena": arena, "code": self._code.nbytes}

    def limit_memory(self, nbytes: int | None) -> None:
        """Bound the arenas of simultaneous runs of each program; see :meth:`..program.Program.limit_memory`."""
        with self._lock:
            for program in self.programs():
                program.limit_memory(nbytes)

    def programs(self) -> list[Program]:
        """All programs, for tools that look at them."""
        return [self._program(number) for number in range(len(self._records))]

    def program_for(self, shapes: Mapping[str, tuple[int, ...]]) -> Program | None:
        """The program for these shapes by input's name; None where there is none, and for a model of several steps."""
        number = self._by_shapes.get(tuple([tuple(shapes[name]) for name in self._names]))
        return None if number is None else self._program(number)

    def _run_steps(
        self, flow: Flow, feeds: Any, out: Any, timeout: float | None, threads: int | None
    ) -> dict[str, Any]:
        check_feeds(feeds, self._names)
        values = {declared.name: declared_value(declared, feeds[declared.name]) for declared in self.inputs}
        results = flow.run(values, out, timeout=timeout, threads=threads)
        return {declared.name: results[declared.name] for declared in self.outputs}

    def _number_for(self, feeds: Any) -> int:
        """The program for inputs that are no arrays yet."""
        check_feeds(feeds, self._names)
        shapes = []
        for name in self._names:
            try:
                shapes.append(np.shape(feeds[name]))
            except ValueError as error:
                raise ValidationError(f"input {name!r}: {error}") from None
        number = self._by_shapes.get(tuple(shapes))
        if number is None:
            raise UnseenError
        return number

    def _program(self, number: int) -> Program:
        with self._lock:
            program = self._programs[number]
            if program is None:
                program = self._programs[number] = self._make(number)
            return program

    def _make(self, number: int) -> Program:
        fields = self._records[number]
        # Only now: checking them reads all of them from the disk.
        parts = (SHARED_WEIGHTS, level_parts(self.level)[2])
        weights = [self._file.data(part) if part in self._file else np.empty(0, np.uint8) for part in parts]
        spec = StoredSpec(fields, weights, len(self._code.addresses), lambda: self._notes(number))
        return Program(spec, ProgramCode(self._code, spec.kernel_numbers), threads=self._threads)

    def _notes(self, number: int) -> Fields:
        notes = self._file.record(f"notes:{self.level}")
        found = list(notes.records("programs"))
        if len(found) != len(self._records):
            notes.fail("programs", f"{len(found)} given, expected {len(self._records)}")
        return found[number]


def stored_signatures(model: Fields) -> list[dict[str, tuple[int, ...]]]:
    """See :attr:`StoredModel.signatures`; ``model`` is the model's record."""
    if model.has("signatures"):
        return [dict(entry) for entry in _recorded(model)]
    stage = next(model.records("stages"), None)
    if stage is None:
        model.fail("stages", "there is none")
    names = [slot for slot, _ in stage.plain("feeds")]
    return [dict(zip(names, shapes)) for shapes, _ in signatures(stage)]


def _recorded(model: Fields) -> list[tuple[tuple[str, tuple[int, ...]], ...]]:
    """Of each run that the file holds, the inputs' names and shapes."""
    found = model.plain("signatures")
    for entry in found if isinstance(found, tuple) else (None,):
        match entry:
            case tuple() if all(_is_shape(pair) for pair in entry):
                continue
        model.fail("signatures", f"{entry!r} given, expected names and shapes")
    return list(found)


def _is_shape(pair: Any) -> bool:
    match pair:
        case (str(), tuple() as shape):
            return all(type(size) is int and size >= 0 for size in shape)
    return False


def declared_values(model: Fields, name: str) -> tuple[Declared, ...]:
    """Inputs or outputs as a file declares them."""
    found = model.plain(name)
    return tuple([_declared(model, name, entry) for entry in (found if isinstance(found, tuple) else (None,))])


def _declared(model: Fields, name: str, entry: Any) -> Declared:
    match entry:
        case (str() as value, str() as kind, str() as dtype, None):
            return Declared(value, kind, dtype, None)
        case (str() as value, str() as kind, str() as dtype, tuple() as shape) if all(
            d is None or isinstance(d, str) or (type(d) is int and d >= 0) for d in shape
        ):
            return Declared(value, kind, dtype, shape)
    model.fail(name, f"{entry!r} given, expected name, kind, data type and shape")
