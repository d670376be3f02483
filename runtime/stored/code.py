"""Machine code in files: the levels that a file has code for, and the code of the one that is used."""

from __future__ import annotations

import numpy as np

from basalt.errors import UnsupportedError
from basalt.serialization.program.fields import Fields
from basalt.serialization.program.file import ProgramFile

from ..code import LoadedKernel
from ..executor import Executor
from ..host import host_platform
from ..layout import ABI
from ..levels import CodeLevel, choose
from ..native.images import load_image
from ..native.linked import Area, Export, LinkedImage

__all__ = ["EXECUTOR", "LevelCode", "ProgramCode", "choose_level", "level_parts", "levels_of"]

EXECUTOR = "executor"
"""The name before those of the executor's functions."""


def level_parts(level: str) -> tuple[str, str, str]:
    """The names of the parts of a level: its record, the content of its image, its constants."""
    return f"level:{level}", f"code:{level}", f"weights:{level}"


def levels_of(model: Fields) -> list[tuple[str, CodeLevel]]:
    """The platforms and levels that the record ``model`` says a file has code for."""
    return [
        (fields.text("platform"), CodeLevel(fields.text("name"), fields.texts("features")))
        for fields in model.records("levels")
    ]


def choose_level(model: Fields) -> CodeLevel:
    """The best level that this machine can run.

    Raises UnsupportedError, saying what each one needs, if there is none.
    """
    found = levels_of(model)
    usable = [level for platform, level in found if platform == host_platform()]
    if not usable:
        platforms = ", ".join(sorted({platform for platform, _ in found})) or "none"
        raise UnsupportedError(f"{model.where}: the machine code is for {platforms}, this machine is {host_platform()}")
    return usable[choose(usable)]


class LevelCode:
    """A level's code in memory."""

    def __init__(self, file: ProgramFile, level: str) -> None:
        record, content, _ = level_parts(level)
        self.fields = file.record(record)
        abi = self.fields.integer("abi")
        if abi != ABI:
            raise UnsupportedError(
                f"its code is for version {abi} of the memory that runtime and code share, not {ABI}"
            )
        if self.fields.has("image"):
            self._place(_image(self.fields.record("image"), file.data(content)))
        else:
            self._load_objects(self.fields.record("objects"), file.data(content))

    def _place(self, image: LinkedImage) -> None:
        self._image = load_image(image)
        self.executor = Executor(self._image, f"{EXECUTOR}:")
        names = [export.name for export in image.exports if not export.name.startswith(f"{EXECUTOR}:")]
        self.addresses = np.array([self._image.address(name) for name in names], np.int64)
        self.nbytes = self._image.nbytes

    def _load_objects(self, fields: Fields, content: np.ndarray) -> None:
        """Object files one after another, the executor's first, for systems that have no loader of ours."""
        ends = np.cumsum(fields.array("sizes", "int64", (None,)))
        if not len(ends) or (np.diff(ends, prepend=0) <= 0).any() or ends[-1] != len(content):
            fields.fail("sizes", f"they are not those of the {len(content)} bytes of code")
        executor, *kernels = [piece.tobytes() for piece in np.split(content, ends[:-1])]
        self.executor = Executor.from_object(executor)
        self._kernels = [LoadedKernel(code) for code in kernels]
        self.addresses = np.array([kernel.address for kernel in self._kernels], np.int64)
        self.nbytes = self.executor.nbytes + sum(kernel.nbytes for kernel in self._kernels)


class ProgramCode:
    """The code of one program of a level; a :class:`..code.Code`."""

    def __init__(self, level: LevelCode, kernels: np.ndarray) -> None:
        self._level = level
        self.executor = level.executor
        self.addresses = level.addresses[kernels]
        self.nbytes = level.nbytes


def _image(fields: Fields, content: np.ndarray) -> LinkedImage:
    names = fields.texts("exports")
    places = fields.array("places", "int64", (len(names), 2)).tolist()
    unwind = fields.integers("unwind")
    if len(unwind) != 2:
        fields.fail("unwind", f"{len(unwind)} numbers given, expected an offset and a size")
    return LinkedImage(
        content,
        tuple([Area(*area) for area in fields.array("areas", "int64", (None, 3)).tolist()]),
        fields.array("relocations", "int64", (None, 2)),
        fields.texts("imports"),
        fields.array("import_relocations", "int64", (None, 3)),
        tuple([Export(name, offset, size) for name, (offset, size) in zip(names, places)]),
        (unwind[0], unwind[1]),
    )
