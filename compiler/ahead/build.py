"""A model's programs for several shapes and CPUs, compiled, as the parts of one file."""

from __future__ import annotations

import functools
import platform
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from basalt.errors import UnsupportedError, ValidationError
from basalt.runtime.declared import Declared, check_feeds
from basalt.runtime.levels import CodeLevel
from basalt.runtime.spec import ProgramSpec
from basalt.runtime.stored.saving import native_level
from basalt.runtime.stored.signatures import Shapes
from basalt.runtime.stored.writing import LevelPrograms, direct_model, program_parts
from basalt.runtime.versions import package_version
from basalt.serialization.program.data import Part, ProgramParts
from basalt.serialization.program.records import RecordValue

from ..backend import program_spec
from ..codegen.choices import Choices, remembering
from ..codegen.compile import compile_objects, executor_object, missing
from ..executable import Executable
from ..kernels.target import LEVELS, NATIVE, compiling_for
from ..onnx.model import OnnxExecutable
from ..passes.specialise import specialise
from ..shape_binding import bind_sizes
from .recording import Recording

__all__ = ["LevelProgress", "compile_ahead", "level_names"]

LevelProgress = Callable[[str, int, int, float], None]
"""``progress(level, done, total, seconds)``: kernels ready of a level, and what the last one took to compile.

It is called when a level begins, with 0 of 0 kernels, when its kernels are known, and after each that was compiled.
"""
ShapesByName = Mapping[str, Iterable[int]]


def level_names(levels: Sequence[str]) -> list[str]:
    """The targets that ``native``, ``v3`` or ``x86-64-v3`` name, each once, in the order given.

    Raises:
        ValidationError: for other names, or none.
    """
    found = []
    for level in levels:
        name = f"x86-64-{level}" if f"x86-64-{level}" in LEVELS else level
        if name != NATIVE and name not in LEVELS:
            known = ", ".join([NATIVE, *(level.removeprefix("x86-64-") for level in LEVELS)])
            raise ValidationError(f"there is no CPU level {level!r}, expected some of {known}")
        found.append(name)
    if not found:
        raise ValidationError("no CPU level is given to compile for")
    return list(dict.fromkeys(found))


def compile_ahead(
    model: Executable | OnnxExecutable,
    shapes: Sequence[ShapesByName] = (),
    *,
    feeds: Sequence[Mapping[str, Any]] = (),
    levels: Sequence[str] = (NATIVE,),
    source: Mapping[str, Part] | None = None,
    metadata: Mapping[str, str] | None = None,
    progress: LevelProgress | None = None,
) -> ProgramParts:
    """Compile a model for some shapes of its inputs.

    Args:
        model: the model.
        shapes: for each signature a shape for each input; those that the model states may be left out.
        feeds: inputs of whose shapes there are to be programs too. A model that decides by values what it computes is
            run on them, and the file holds what these runs came to.
        levels: the CPUs, as :func:`level_names` takes them.
        source: parts with the model itself, of which other programs can be compiled later.
        metadata: free text by name.
        progress: told of each level and of each kernel that was compiled.

    Raises:
        ValidationError: for shapes that the model does not allow.
        UnsupportedError: for an operator that cannot be compiled, and for a model whose steps cannot be stored.
    """
    names = level_names(levels)
    record, programs = _described(model, shapes, feeds)
    compiled = [_level(name, programs, progress) for name in names]
    return program_parts(record, compiled, {**_versions(), **(metadata or {})}, source)


@dataclass(frozen=True)
class _Program:
    """One program: of what, and for which shapes of its inputs."""

    executable: Executable
    shapes: Shapes


def _described(
    model: Executable | OnnxExecutable, shapes: Sequence[ShapesByName], feeds: Sequence[Mapping[str, Any]]
) -> tuple[dict[str, RecordValue], list[_Program]]:
    """The model's record, and its programs in the order of their numbers."""
    direct = model if isinstance(model, Executable) else model.direct_executable()
    if direct is None:
        assert isinstance(model, OnnxExecutable)
        return _recorded(model, shapes, feeds)
    found: dict[Shapes, None] = {}
    for entry in feeds:
        check_feeds(entry, [spec.name for spec in direct.inputs])
    given = [*shapes, *({name: np.shape(value) for name, value in entry.items()} for entry in feeds)]
    for entry in given or [{}]:
        sizes = direct.sizes_for(entry)
        found[tuple([_concrete(v.shape) for v in specialise(direct.graph, sizes).inputs])] = None
    inputs = [(spec.name, spec.dtype, spec.shape) for spec in direct.inputs]
    outputs = [(spec.name, spec.dtype, spec.shape) for spec in direct.outputs]
    return direct_model(inputs, outputs, list(found)), [_Program(direct, signature) for signature in found]


def _recorded(
    model: OnnxExecutable, shapes: Sequence[ShapesByName], feeds: Sequence[Mapping[str, Any]]
) -> tuple[dict[str, RecordValue], list[_Program]]:
    """The record of a model of several steps, of which runs decide what they are."""
    if not feeds:
        given = f" for {list(map(dict, shapes))}" if shapes else ""
        raise UnsupportedError(f"the model has several steps, which runs decide: give inputs, not shapes alone{given}")
    recording = Recording(model.recorded(feeds))
    record: dict[str, RecordValue] = {
        "inputs": tuple([_plain(declared) for declared in model.declared_inputs()]),
        "outputs": tuple([_plain(declared) for declared in model.declared_outputs()]),
        "direct": 0,
        "signatures": tuple([_shapes(entry) for entry in feeds]),
        "stages": recording.stages,
        "entry": recording.entry,
    }
    return record, [_Program(executable, signature) for executable, signature in recording.programs]


def _plain(declared: Declared) -> tuple[Any, ...]:
    shape = None if declared.shape is None else tuple(declared.shape)
    return declared.name, declared.kind, declared.dtype, shape


def _concrete(shape: Iterable[Any]) -> tuple[int, ...]:
    return tuple([int(size) for size in shape])


def _shapes(feeds: Mapping[str, Any]) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """The shape of each input that is an array."""
    return tuple([(name, value.shape) for name, value in feeds.items() if isinstance(value, np.ndarray)])


def _level(name: str, programs: Sequence[_Program], progress: LevelProgress | None) -> LevelPrograms:
    """All programs for one CPU."""
    tell = functools.partial(progress or _say_nothing, name)
    tell(0, 0, 0.0)
    with compiling_for(name):
        choices: dict[int, Choices] = {}
        specs = []
        for program in programs:
            with remembering(choices.setdefault(id(program.executable), Choices())):
                specs.append(_spec(program))
        codes = list({code.key: code for spec in specs for code in spec.kernels}.values())
        tell(len(codes) - missing(codes), len(codes), 0.0)
        objects = compile_objects(codes, name, tell)
    level = native_level() if name == NATIVE else CodeLevel(name)
    return LevelPrograms(level, specs, {c.key: o for c, o in zip(codes, objects)}, executor_object())


def _say_nothing(level: str, done: int, total: int, seconds: float) -> None:
    pass


def _spec(program: _Program) -> ProgramSpec:
    graph = program.executable.graph
    sizes = bind_sizes(graph.inputs, {v.name: shape for v, shape in zip(graph.inputs, program.shapes)})
    return program_spec(specialise(graph, sizes), program.executable.constants)


def _versions() -> dict[str, str]:
    """What compiles, this version of Basalt first."""
    import basalt

    packages = {name: package_version(name) for name in ("numba", "llvmlite", "numpy")}
    return {"basalt": basalt.__version__, **packages, "python": platform.python_version()}
