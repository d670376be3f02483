"""Writing one program that was compiled for this machine to a file."""

from __future__ import annotations

import os

from basalt.errors import UnsupportedError
from basalt.serialization.program.writing import save_program

from ..code import LoadedCode
from ..host import cpu_flags
from ..levels import NATIVE, CodeLevel, code_features
from ..program import Program
from ..spec import ProgramSpec
from ..tile_registers import may_use_tiles
from .writing import LevelPrograms, direct_model, program_parts

__all__ = ["native_level", "save_compiled"]


def save_compiled(program: Program, path: str | os.PathLike[str]) -> None:
    """Write ``program`` for CPUs like this one; see :meth:`.program.Program.save`."""
    spec, code = program.spec, program.code
    if not isinstance(spec, ProgramSpec) or not isinstance(code, LoadedCode) or not code.executor.code:
        raise UnsupportedError("the program comes from a file with machine code already; copy that file")
    kernels = {kernel.key: loaded.code for kernel, loaded in zip(spec.kernels, code.kernels)}
    inputs, outputs = ([(t.name, t.dtype, tuple(t.shape)) for t in tensors] for tensors in (spec.inputs, spec.outputs))
    model = direct_model(inputs, outputs, [tuple([shape for _, _, shape in inputs])])
    save_program(path, program_parts(model, [LevelPrograms(native_level(), [spec], kernels, code.executor.code)], {}))


def native_level() -> CodeLevel:
    """What code needs that was compiled for this machine's CPU."""
    features = code_features(cpu_flags()[1])
    if not may_use_tiles():
        features = tuple([feature for feature in features if not feature.startswith("amx")])
    return CodeLevel(NATIVE, features)
