"""What a model is run on: arrays from files, random numbers for the other inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import basalt
from basalt.cli import arrays, models
from basalt.cli.arguments import by_name

if TYPE_CHECKING:
    import numpy as np

    from basalt.compiler.executable import Executable
    from basalt.compiler.onnx.model import OnnxExecutable

__all__ = ["feeds_and_sizes", "input_files"]


def input_files(
    model: Executable | OnnxExecutable | basalt.Runner, inputs: Sequence[tuple[str | None, Path]]
) -> dict[str, Path]:
    """The files of ``--input`` by name of an input; raises click.UsageError for names that the model lacks."""
    return by_name("--input", inputs, [spec.name for spec in model.inputs], "input")


def feeds_and_sizes(
    model: Executable | OnnxExecutable | basalt.Runner,
    files: Mapping[str, Path],
    shapes: Sequence[tuple[str, tuple[int, ...]]],
    dims: Sequence[tuple[str, int]],
    seed: int = 0,
) -> tuple[dict[str, np.ndarray], models.Sizes]:
    """An array for each input, from its file or random, and the sizes that they and the options give.

    Says on stderr which sizes were assumed. Raises click.UsageError and click.ClickException for names that the model
    lacks, sizes that it does not allow and files that cannot be read.
    """
    feeds = {name: arrays.read(path) for name, path in files.items()}
    given = {name: array.shape for name, array in feeds.items()}
    resolve: Any = models.resolve if isinstance(model, basalt.Executable) else models.resolve_steps
    specs: Sequence[Any] = model.inputs
    if isinstance(model, basalt.Runner):
        from basalt.cli.ahead.native import native_sizes, tensor_specs

        resolve, specs = native_sizes, tensor_specs(model.inputs)
    sizes: models.Sizes = resolve(model, shapes, dims, given)
    sizes.note()
    missing = [spec for spec in specs if spec.name not in feeds]
    return feeds | arrays.random_feeds(missing, sizes.shapes, seed), sizes
