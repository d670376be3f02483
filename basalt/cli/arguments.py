"""The values that options take: ``name=file.npy`` and ``name=1x3x224x224``, and the model's path."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

__all__ = ["MODEL", "NAMED_FILE", "NAMED_SHAPE", "by_name", "model_argument"]

MODEL = click.Path(exists=True, dir_okay=False, readable=True, path_type=Path)


class NamedFile(click.ParamType):
    """``name=file.npy``, or ``file.npy`` alone for a model's only input: a (name or None, path) pair."""

    name = "NAME=FILE.npy"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str | None, Path]:
        name, separator, file = value.partition("=")
        if not separator or Path(value).is_file():
            name, file = "", value
        path = Path(file)
        if path.suffix != ".npy":
            self.fail(f"{value!r}: expected NAME=FILE.npy", param, ctx)
        if not path.is_file():
            self.fail(f"file {file!r} does not exist", param, ctx)
        return name or None, path


class NamedShape(click.ParamType):
    """``name=1x3x224x224`` (``name=scalar`` for rank 0): a (name, sizes) pair."""

    name = "NAME=1x3x224x224"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, tuple[int, ...]]:
        name, _, sizes = value.rpartition("=")
        if not name or not re.fullmatch(r"\d+(x\d+)*|scalar", sizes):
            self.fail(f"{value!r}: expected NAME=1x3x224x224, or NAME=scalar", param, ctx)
        return name, () if sizes == "scalar" else tuple(int(size) for size in sizes.split("x"))


NAMED_FILE = NamedFile()
NAMED_SHAPE = NamedShape()
model_argument = click.argument("model", type=MODEL)


def by_name(option: str, pairs: Sequence[tuple[str | None, Any]], inputs: Sequence[str]) -> dict[str, Any]:
    """The option's values by input name.

    A value without a name goes to the only input. Raises click.UsageError where a name is not one
    of ``inputs``, is given twice, or is missing though there are several inputs.
    """
    known = ", ".join(inputs) or "none"
    values: dict[str, Any] = {}
    for name, value in pairs:
        if name is None and len(inputs) != 1:
            raise click.UsageError(f"{option} needs a name here: the model's inputs are {known}")
        key = inputs[0] if name is None else name
        if key not in inputs:
            raise click.UsageError(f"{option}: the model has no input {key!r}; its inputs are {known}")
        if key in values:
            raise click.UsageError(f"{option}: input {key!r} is given twice")
        values[key] = value
    return values
