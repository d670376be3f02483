"""Models that run through the machine code of their file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import basalt
from basalt.cli import models
from basalt.serialization import TensorSpec

from .report import sizes_text

if TYPE_CHECKING:
    from basalt.runtime.declared import Declared

__all__ = ["native_sizes", "tensor_specs"]

Pairs: TypeAlias = Sequence[tuple[str, Any]]


class _Borders(NamedTuple):
    """Inputs and outputs, as the other kinds of models have them."""

    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]


def tensor_specs(values: Sequence[Declared]) -> tuple[TensorSpec, ...]:
    """Declared values as the other kinds of models have them; a size without a name is "?"."""
    return tuple(
        TensorSpec(
            v.name, v.dtype if v.kind == "tensor" else v.kind, tuple("?" if d is None else d for d in v.shape or ())
        )
        for v in values
    )


def native_sizes(
    runner: basalt.Runner, shapes: Pairs, dims: Pairs, given: Mapping[str, tuple[int, ...]]
) -> models.Sizes:
    """The sizes that the options and the shapes of given arrays determine.

    Those that nothing gives are those of the first program in the file that the others fit; a note says so if there
    are several. Raises click.UsageError for names that the model lacks.
    """
    borders: Any = _Borders(tensor_specs(runner.inputs), tensor_specs(runner.outputs))
    sizes = models.resolve_steps(borders, shapes, dims, given)
    stated = {**dict(shapes), **given}
    fitting = [s for s in _signatures(runner, borders) if _fits(s, borders.inputs, stated, dict(dims))]
    if fitting:
        known = _dims(borders.inputs, fitting[0])
        assumed = tuple(name for name in sizes.assumed if name not in known)
        sizes = models.Sizes({**sizes.shapes, **fitting[0]}, {**sizes.dims, **known}, assumed)
    if len(fitting) > 1:
        models.say(f"{sizes_text(fitting[0])}, the first of {len(fitting)} programs (--dim or --shape says otherwise)")
    return sizes


def _signatures(runner: basalt.Runner, borders: _Borders) -> list[dict[str, tuple[int, ...]]]:
    """The shapes that the file has programs for; of several steps those of the first, if they are the inputs'."""
    names = {spec.name for spec in borders.inputs}
    return [signature for signature in runner.signatures if signature and signature.keys() <= names]


def _fits(
    signature: Mapping[str, tuple[int, ...]],
    inputs: Sequence[TensorSpec],
    stated: Mapping[str, tuple[int, ...]],
    dims: Mapping[str, int],
) -> bool:
    sizes = _dims(inputs, signature)
    return all(stated.get(name, shape) == shape for name, shape in signature.items()) and all(
        dims.get(name, size) == size for name, size in sizes.items()
    )


def _dims(inputs: Sequence[TensorSpec], shapes: Mapping[str, tuple[int, ...]]) -> dict[str, int]:
    """The sizes of named dimensions."""
    pairs = [pair for spec in inputs for pair in zip(spec.shape, shapes.get(spec.name, ()))]
    return {name: size for name, size in pairs if isinstance(name, str) and name != "?"}
