"""The parts of a file with machine code, from programs as plain data and the object code of their kernels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from basalt.errors import BasaltError
from basalt.serialization.program.data import Part, ProgramParts
from basalt.serialization.program.records import Record, RecordValue

from ..host import host_platform
from ..layout import ABI
from ..levels import CodeLevel
from ..native.elf import NotHandled
from ..native.images import HANDLED
from ..native.linked import LinkedImage
from ..native.linking import link
from ..spec import ProgramSpec, TensorSpec
from .code import EXECUTOR, level_parts
from .model import MODEL, SHARED_WEIGHTS
from .packing import Packing

__all__ = ["LevelPrograms", "direct_model", "program_parts"]


@dataclass(frozen=True)
class LevelPrograms:
    """The programs of one level, in the order that the model's record numbers them.

    ``kernels`` holds object code by the key of the kernel, ``executor`` that of the executor.
    """

    level: CodeLevel
    specs: Sequence[ProgramSpec]
    kernels: Mapping[str, bytes]
    executor: bytes


def program_parts(
    model: Record,
    levels: Sequence[LevelPrograms],
    metadata: Mapping[str, str],
    source: Mapping[str, Part] | None = None,
    *,
    linked: bool = HANDLED,
) -> ProgramParts:
    """What a file holds.

    Args:
        model: inputs, outputs and stages (:class:`.model.StoredModel`).
        levels: programs for each level of x86-64 or other CPU, at least one.
        metadata: free text by name.
        source: parts that hold the model as it was before it was compiled.
        linked: whether the code is linked ahead of time, for our own loader; else it stays object files, for LLVM's.

    Raises:
        NotHandled: for object code that cannot be linked ahead of time.
    """
    packing = Packing([level.specs for level in levels])
    described: list[RecordValue] = [
        {"name": x.level.name, "platform": host_platform(), "features": tuple(x.level.features)} for x in levels
    ]
    parts: dict[str, Part] = {MODEL: {**model, "levels": described}}
    for number, level in enumerate(levels):
        record, code, weights = level_parts(level.level.name)
        code_record, content, kernels = _linked(level) if linked else _objects(level)
        programs: list[RecordValue] = [_program(spec, packing.places(number, spec), kernels) for spec in level.specs]
        parts[record] = {"abi": ABI, **code_record, "programs": programs}
        parts[code] = content
        parts[weights] = packing.own(number)
        parts[f"notes:{level.level.name}"] = {"programs": [_notes(spec) for spec in level.specs]}
    shared = packing.shared()
    if len(shared):
        parts[SHARED_WEIGHTS] = shared
    return ProgramParts(dict(metadata), {**parts, **(source or {})})


def direct_model(
    inputs: Sequence[tuple[str, str, tuple[Any, ...]]],
    outputs: Sequence[tuple[str, str, tuple[Any, ...]]],
    signatures: Sequence[tuple[tuple[int, ...], ...]],
) -> dict[str, RecordValue]:
    """The record of a model that is one program for each combination of its inputs' shapes, in this order.

    Inputs and outputs are given by name, data type and shape, whose sizes may be names.
    """
    stage: dict[str, RecordValue] = {
        "feeds": tuple((name, dtype) for name, dtype, _ in inputs),
        "converted": (),
        "programs": tuple((shapes, number) for number, shapes in enumerate(signatures)),
        "items": [],
        "names": (),
    }
    return {
        "inputs": tuple((name, "tensor", dtype, shape) for name, dtype, shape in inputs),
        "outputs": tuple((name, "tensor", dtype, shape) for name, dtype, shape in outputs),
        "direct": 1,
        "stages": [stage],
    }


_Code = tuple[dict[str, RecordValue], np.ndarray, dict[str, int]]
"""What the level's record says of the code, the code, and the number of each kernel by its key."""


def _objects(level: LevelPrograms) -> _Code:
    """Object files one after another."""
    keys = list(dict.fromkeys(code.key for spec in level.specs for code in spec.kernels))
    pieces = [level.executor, *(level.kernels[key] for key in keys)]
    sizes = np.array([len(piece) for piece in pieces], np.int64)
    content = np.frombuffer(b"".join(pieces), np.uint8)
    return {"objects": {"sizes": sizes}}, content, {key: number for number, key in enumerate(keys)}


def _linked(level: LevelPrograms) -> _Code:
    """All machine code of a level as one image."""
    labels = {code.key: code.label for spec in level.specs for code in spec.kernels}
    objects = {EXECUTOR: level.executor}
    for number, (key, label) in enumerate(labels.items()):
        objects[f"kernel:{number}:{label[:80]}"] = level.kernels[key]
    try:
        image = link(objects)
    except NotHandled as error:
        raise BasaltError(f"machine code for {level.level.name} cannot be linked: {error}") from error
    exported = [export.name for export in image.exports if not export.name.startswith(f"{EXECUTOR}:")]
    if len(exported) != len(labels):
        raise BasaltError(f"linking gave {len(exported)} kernels of {len(labels)}")
    return {"image": _image(image)}, np.asarray(image.content), {key: n for n, key in enumerate(labels)}


def _image(image: LinkedImage) -> dict[str, RecordValue]:
    return {
        "areas": np.array(image.areas, np.int64).reshape(-1, 3),
        "relocations": image.relocations,
        "imports": image.imports,
        "import_relocations": image.import_relocations,
        "exports": tuple([export.name for export in image.exports]),
        "places": np.array([(e.offset, e.size) for e in image.exports], np.int64).reshape(-1, 2),
        "unwind": tuple(image.unwind),
    }


def _program(spec: ProgramSpec, places: np.ndarray, kernels: Mapping[str, int]) -> dict[str, RecordValue]:
    tables = spec.tables
    return {
        "inputs": _tensors(spec.inputs),
        "outputs": _tensors(spec.outputs),
        "arena": spec.arena_bytes,
        "kernels": np.array([kernels[code.key] for code in spec.kernels], np.int64),
        "rows": tables.rows,
        "costs": tables.costs,
        "slot_kinds": tables.slot_kinds,
        "slot_indices": tables.slot_indices,
        "slot_values": tables.slot_values,
        "constants": places,
        "carried": np.array(spec.carried, np.int64).reshape(-1, 2),
    }


def _tensors(tensors: Sequence[TensorSpec]) -> tuple[tuple[str, str, tuple[int, ...]], ...]:
    return tuple([(tensor.name, tensor.dtype, tuple(map(int, tensor.shape))) for tensor in tensors])


def _notes(spec: ProgramSpec) -> dict[str, RecordValue]:
    return {
        "labels": tuple([row.label for row in spec.rows]),
        "dtypes": tuple([row.dtype for row in spec.rows]),
        "operations": np.array([row.operations for row in spec.rows], np.int64),
        "nbytes": np.array([row.nbytes for row in spec.rows], np.int64),
        "kernels": tuple([code.label for code in spec.kernels]),
    }
