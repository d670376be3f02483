"""What ``bslc compile -o`` says when it is done."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from basalt.cli.models import Sizes, shape_text
from basalt.cli.output import print_json, print_table, seconds_text, size_text
from basalt.compiler.ahead.weights import NarrowedWeights
from basalt.runtime.stored.code import level_parts
from basalt.runtime.stored.model import MODEL, SHARED_WEIGHTS, SOURCE_CONTENT
from basalt.serialization.program.data import ProgramParts

__all__ = ["LevelReport", "Report", "decides_by_values", "sizes_text"]


@dataclass
class LevelReport:
    """One level: numbers of programs and kernels, bytes of code and of weights that only this level has."""

    level: str
    programs: int = 0
    kernels: int = 0
    compiled: int = 0
    code_bytes: int = 0
    weight_bytes: int = 0
    compile_seconds: float = 0.0
    """Of the kernels that were compiled, on all processes together."""
    seconds: float = 0.0


@dataclass(frozen=True)
class Report:
    """A file that was written.

    ``source_bytes`` is None if it does not hold the model itself, ``weights`` None if all are stored as they were.
    """

    file: str
    nbytes: int
    seconds: float
    signatures: list[dict[str, tuple[int, ...]]]
    decides_by_values: bool
    shared_weight_bytes: int
    source_bytes: int | None
    weights: NarrowedWeights | None
    levels: list[LevelReport]

    @staticmethod
    def of(
        path: Path,
        parts: ProgramParts,
        sizes: Sequence[Sizes],
        levels: list[LevelReport],
        stored: NarrowedWeights,
        seconds: float,
    ) -> Report:
        """What became of these parts."""
        for level in levels:
            record, code, weights = level_parts(level.level)
            level.programs = len(_record(parts, record)["programs"])
            level.code_bytes, level.weight_bytes = _nbytes(parts, code), _nbytes(parts, weights)
        source = _nbytes(parts, SOURCE_CONTENT) if SOURCE_CONTENT in parts.parts else None
        shapes = list({str(each.shapes): each.shapes for each in sizes}.values())
        by_values = decides_by_values(parts)
        shared = _nbytes(parts, SHARED_WEIGHTS)
        narrow = None if stored.dtype == "float32" else stored
        return Report(str(path), os.path.getsize(path), seconds, shapes, by_values, shared, source, narrow, levels)

    def print(self, as_json: bool) -> None:
        """Print it."""
        if as_json:
            print_json(asdict(self))
            return
        rows = [
            [
                level.level,
                str(level.programs),
                str(level.compiled),
                str(level.kernels - level.compiled),
                size_text(level.code_bytes),
                size_text(level.weight_bytes),
                seconds_text(level.seconds),
            ]
            for level in self.levels
        ]
        columns = ["CPU", "programs", "compiled", "cached", "code", "own weights", "time"]
        print_table(columns, rows, right=columns[1:])
        held = [f"with {size_text(self.shared_weight_bytes)} of weights that the CPUs share"] if len(rows) > 1 else []
        held.append(
            "without the model itself"
            if self.source_bytes is None
            else f"with the model in {size_text(self.source_bytes)}"
        )
        print(f"\n{self.file}: {size_text(self.nbytes)}, {', '.join(held)}")
        for shapes in self.signatures:
            print(f"for {sizes_text(shapes) or 'no input'}")
        if self.weights is not None:
            print(_weights_text(self.weights))
        print(f"{seconds_text(self.seconds)} in all")


def _weights_text(weights: NarrowedWeights) -> str:
    text = f"{weights.numbers:,} numbers of {weights.tensors} weights are stored as {weights.dtype}"
    if weights.kept:
        text += f"; as they were, having numbers that {weights.dtype} lacks: {', '.join(weights.kept)}"
    return text


def sizes_text(shapes: dict[str, tuple[int, ...]]) -> str:
    """The shapes of a signature, as ``--shape`` takes them."""
    return " ".join(f"{name}={shape_text(shape)}" for name, shape in shapes.items())


def decides_by_values(parts: ProgramParts) -> bool:
    """Whether runs have steps between programs, at which values may decide what comes next."""
    return any("next" in stage for stage in _record(parts, MODEL)["stages"])


def _record(parts: ProgramParts, name: str) -> Any:
    return parts.parts[name]


def _nbytes(parts: ProgramParts, name: str) -> int:
    """The size of a part of bytes, 0 where there is none."""
    part = parts.parts.get(name)
    return part.nbytes if isinstance(part, np.ndarray) else 0
