"""What the commands share of Basalt's interface: loading, sizes of symbolic dimensions, planning."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

import basalt
from basalt.cli.arguments import by_name

if TYPE_CHECKING:
    from basalt.compiler.backend import Runnable
    from basalt.compiler.executable import Executable
    from basalt.compiler.onnx.model import OnnxExecutable
    from basalt.runtime.spec import ProgramSpec

__all__ = [
    "Sizes",
    "compile_for",
    "load",
    "load_any",
    "load_to_run",
    "plan",
    "resolve",
    "resolve_steps",
    "say",
    "set_threads",
    "shape_text",
]


@dataclass(frozen=True)
class Sizes:
    """What a model is compiled for: a shape for each input, a size for each symbolic dimension.

    ``assumed`` names the dimensions that nobody gave, whose size is 1.
    """

    shapes: dict[str, tuple[int, ...]]
    dims: dict[str, int]
    assumed: tuple[str, ...]

    def note(self) -> None:
        """Say on stderr which sizes were assumed."""
        if self.assumed:
            sizes = ", ".join(f"{name} = 1" for name in self.assumed)
            say(f"{sizes} (--dim or --shape says otherwise)")


def say(message: str) -> None:
    """Say on stderr what was decided for the user."""
    print(f"note: {message}", file=sys.stderr)


def load(path: Path, shapes: Sequence[tuple[str, tuple[int, ...]]] = (), loaded: Any = None) -> Executable:
    """The model in a file, as one graph; ``loaded`` is what ``basalt.load`` gave of it, if that was done before.

    Of a file with machine code it is the model from which that was compiled.

    Raises click.ClickException for a file of something else that Basalt can load, and for an ONNX model that is no
    single graph for the shapes given.
    """
    loaded = load_any(path, shapes, loaded)
    if not isinstance(loaded, basalt.Executable):
        try:
            loaded.to_model(dict(shapes) or None)
        except basalt.UnsupportedError as error:
            raise click.ClickException(f"{path}: {error}") from None
    assert isinstance(loaded, basalt.Executable)
    return loaded


def load_any(
    path: Path, shapes: Sequence[tuple[str, tuple[int, ...]]] = (), loaded: Any = None
) -> Executable | OnnxExecutable:
    """The model in a file as for ``load``, but an ONNX model that is no single graph for these shapes comes as it is.

    An estimator comes as the graph of all its methods that take rows.

    Raises click.ClickException for a file of something else that Basalt can load.
    """
    if loaded is None:
        from basalt.cli.ahead.opening import source_of

        loaded = source_of(path)
    if isinstance(loaded, basalt.OnnxExecutable):
        try:
            return loaded.to_model(dict(shapes) or None)
        except basalt.UnsupportedError:
            return loaded
    if isinstance(loaded, basalt.Estimator):
        return loaded.executable()
    if not isinstance(loaded, basalt.Executable):
        raise click.ClickException(f"{path}: holds a {type(loaded).__name__}, expected a model")
    return loaded


def load_to_run(
    path: Path,
    shapes: Sequence[tuple[str, tuple[int, ...]]],
    trust: bool,
    keys: Path | None,
) -> Executable | OnnxExecutable | basalt.Runner:
    """As ``load_any``; but a Runner where the file has machine code that is trusted."""
    from basalt.cli.ahead.opening import open_model

    loaded = open_model(path, trust, keys)
    return loaded if isinstance(loaded, basalt.Runner) else load_any(path, shapes, loaded)


def resolve_steps(
    model: OnnxExecutable,
    shapes: Sequence[tuple[str, tuple[int, ...]]],
    dims: Sequence[tuple[str, int]],
    arrays: Mapping[str, tuple[int, ...]],
) -> Sizes:
    """As ``resolve``, for a model that is no single graph: what its inputs' declared shapes say."""
    names = sorted({d for spec in model.inputs for d in spec.shape if isinstance(d, str) and d != "?"})
    stated = by_name("--shape", shapes, [spec.name for spec in model.inputs], "input")
    fixed = by_name("--dim", dims, names, "symbolic dimension")
    known = {**stated, **arrays}
    for spec in model.inputs:
        for dim, size in zip(spec.shape, known.get(spec.name, ())):
            if isinstance(dim, str) and dim != "?":
                fixed.setdefault(dim, size)
    assumed = tuple(name for name in names if name not in fixed)
    sizes = {**dict.fromkeys(assumed, 1), **fixed}
    concrete = {
        spec.name: known.get(spec.name) or tuple(sizes.get(d, 1) if isinstance(d, str) else d for d in spec.shape)
        for spec in model.inputs
    }
    return Sizes(concrete, dict(sorted(sizes.items())), assumed)


def resolve(
    model: Executable,
    shapes: Sequence[tuple[str, tuple[int, ...]]],
    dims: Sequence[tuple[str, int]],
    arrays: Mapping[str, tuple[int, ...]] | None = None,
) -> Sizes:
    """The sizes that ``--shape``, ``--dim`` and the shapes of given arrays determine; 1 for what they leave open.

    Raises click.UsageError for names that the model does not have, ValidationError for sizes that it does not allow.
    """
    from basalt.compiler.shape_binding import bind_sizes
    from basalt.ops import bind_shape

    graph = model.graph
    stated = by_name("--shape", shapes, [v.name for v in graph.inputs], "input")
    fixed = by_name("--dim", dims, sorted(graph.symbols()), "symbolic dimension")
    known = {**stated, **(arrays or {})}
    inputs = [replace(v, type=replace(v.type, shape=bind_shape(v.type.shape, fixed))) for v in graph.inputs]
    bound = bind_sizes([v for v in inputs if v.name in known], known)
    assumed = tuple(sorted(graph.symbols() - fixed.keys() - bound.keys()))
    sizes = {**dict.fromkeys(assumed, 1), **bound, **fixed}
    concrete = {v.name: cast("tuple[int, ...]", bind_shape(v.shape, sizes)) for v in graph.inputs}
    for name, shape in concrete.items():
        if min(shape, default=0) < 0:
            given = ", ".join(f"{dim} = {size}" for dim, size in sizes.items())
            raise click.UsageError(f"input {name!r} would have shape {shape_text(shape)} with {given}; give --dim")
    return Sizes(concrete, dict(sorted(sizes.items())), assumed)


def plan(model: Executable, sizes: Sizes) -> ProgramSpec:
    """The program for known sizes, its kernels written but not compiled."""
    from basalt.compiler.backend import program_spec
    from basalt.compiler.passes.specialise import specialise

    return program_spec(specialise(model.graph, sizes.dims), model.constants)


def compile_for(
    model: Executable | OnnxExecutable | basalt.Runner,
    shapes: Mapping[str, tuple[int, ...]],
    show: Callable[[int, int, float], None],
    feeds: Mapping[str, Any] | None = None,
) -> tuple[Runnable, int]:
    """The program for these shapes, and how many kernels had to be compiled, of each of which ``show`` is told.

    A model that is no single graph is compiled by running it on ``feeds``; so is what a file with machine code lacks.
    """
    if isinstance(model, basalt.Runner) and model.native is not None and model.native.program_for(shapes) is not None:
        return model, 0
    from basalt.compiler.progress import set_hook

    compiled = 0

    def hook(done: int, total: int, seconds: float) -> None:
        nonlocal compiled
        compiled += 1
        show(done, total, seconds)

    previous = set_hook(hook)
    try:
        if isinstance(model, basalt.Executable):
            return model.compile(shapes), compiled
        model.run(feeds or {})
        return model, compiled
    finally:
        set_hook(previous)


def set_threads(count: int) -> None:
    """Run on ``count`` threads from now on."""
    basalt.set_num_threads(count)


def shape_text(shape: Sequence[Any]) -> str:
    """A shape for people, as ``--shape`` takes it."""
    return "x".join(map(str, shape)) or "scalar"
