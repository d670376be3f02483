"""What a model is compiled for: shapes from options, shapes and values from files."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

import basalt
from basalt.cli import arrays, models
from basalt.cli.arguments import by_name

if TYPE_CHECKING:
    from basalt.compiler.executable import Executable
    from basalt.compiler.onnx.model import OnnxExecutable

__all__ = ["Wanted", "note_assumed", "wanted"]

Pairs = Sequence[tuple[Any, Any]]


@dataclass(frozen=True)
class Wanted:
    """One signature: sizes, and the values that were given for inputs."""

    sizes: models.Sizes
    values: Mapping[str, np.ndarray]

    def feeds(self, model: Executable | OnnxExecutable, seed: int) -> dict[str, np.ndarray]:
        """A value for each input, random where none was given."""
        missing = [spec for spec in model.inputs if spec.name not in self.values]
        return {**self.values, **arrays.random_feeds(missing, self.sizes.shapes, seed)}


def wanted(
    model: Executable | OnnxExecutable, shapes: Pairs, dims: Pairs, inputs: Pairs, archives: Sequence[Path]
) -> list[Wanted]:
    """The signatures that the options ask for, each once.

    What is given several times makes several signatures: the k-th ``--shape``, ``--dim`` and ``--input`` of each name
    belong together, and one that is given once counts for all. Each archive is one more.

    Raises click.UsageError for names that the model lacks and for options that are given unequally often,
    click.ClickException for files that cannot be read.
    """
    resolve: Any = models.resolve if isinstance(model, basalt.Executable) else models.resolve_steps
    names = [spec.name for spec in model.inputs]
    found = []
    if shapes or dims or inputs or not archives:
        for stated, fixed, files in _rounds(shapes, dims, inputs):
            values = {name: arrays.read(path) for name, path in by_name("--input", files, names, "input").items()}
            given = {name: array.shape for name, array in values.items()}
            found.append(Wanted(resolve(model, stated, fixed, given), values))
    for path in archives:
        values = _archive(path, names)
        given = {name: array.shape for name, array in values.items()}
        found.append(Wanted(resolve(model, (), (), given), values))
    return found


def note_assumed(found: Sequence[Wanted]) -> None:
    """Say on stderr which sizes nobody gave."""
    names = sorted({name for each in found for name in each.sizes.assumed})
    models.Sizes({}, {}, tuple(names)).note()


def _rounds(shapes: Pairs, dims: Pairs, inputs: Pairs) -> Iterator[tuple[Pairs, Pairs, Pairs]]:
    """The options of each signature."""
    options = [("--shape", _grouped(shapes)), ("--dim", _grouped(dims)), ("--input", _grouped(inputs))]
    counts = {f"{option} {name or ''}".strip(): len(v) for option, group in options for name, v in group.items()}
    several = {name: count for name, count in counts.items() if count > 1}
    most = max(several.values(), default=1)
    for name, count in several.items():
        if count != most:
            other = next(each for each, times in several.items() if times == most)
            raise click.UsageError(
                f"{name} is given {count} times and {other} {most} times: the first of each belong together, then the "
                f"second and so on; what is given once counts for all"
            )
    for place in range(most):
        yield tuple([[(n, v[place % len(v)]) for n, v in group.items()] for _, group in options])  # type: ignore[misc]


def _grouped(pairs: Pairs) -> dict[Any, list[Any]]:
    groups: dict[Any, list[Any]] = {}
    for name, value in pairs:
        groups.setdefault(name, []).append(value)
    return groups


def _archive(path: Path, names: Sequence[str]) -> dict[str, np.ndarray]:
    """The inputs in an archive: arrays called like them, or ``in:NAME``, beside which others may be."""
    found = arrays.read_archive(path)
    prefixed = {name.removeprefix("in:"): array for name, array in found.items() if name.startswith("in:")}
    values = prefixed or found
    for name in values:
        if name not in names:
            known = ", ".join(names) or "none"
            raise click.UsageError(f"--shapes-from {path}: the model has no input {name!r}; its inputs are {known}")
    missing = [name for name in names if name not in values]
    if missing and not values:
        raise click.UsageError(f"--shapes-from {path}: holds no array, expected {', '.join(names)}")
    if missing:
        print(f"note: {path} has no array for {', '.join(missing)}", file=sys.stderr)
    return values
