"""The two that are compared: loading them, and refusing those that do not take and give the same."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

import basalt
from basalt.cli.ahead.opening import open_model, source_of
from basalt.errors import BasaltError
from basalt.serialization import TensorSpec

from .engines import PEERS, Engine, compiled
from .sources import GraphSource, OnnxSource, Source

__all__ = ["Side", "check_borders", "fixed_shapes", "graph_of", "load", "stated", "with_model", "with_peer"]


@dataclass
class Side:
    """One of the two: ``name`` for people, what runs, on which engine, and what can be seen of it (None: nothing)."""

    name: str
    runs: Any
    engine: Engine
    source: Source | None
    outputs: dict[str, Any] = field(default_factory=dict)


def load(path: Path, trust: bool = False, keys: Path | None = None) -> Any:
    """What a file holds, running compiled code from the first run on; an estimator as the graph of its methods.

    Machine code in the file is used if it is trusted. Raises click.ClickException for what is no model.
    """
    loaded = open_model(path, trust, keys, eager=False)
    if isinstance(loaded, basalt.Estimator):
        return loaded.executable()
    if not all(hasattr(loaded, name) for name in ("run", "inputs", "outputs")):
        raise click.ClickException(f"{path}: holds a {type(loaded).__name__}, expected a model")
    return loaded


def with_peer(path: Path, model: Any, peer: str) -> tuple[Side, Side]:
    """A model on Basalt and on a peer. ONNX Runtime is given the file's own graph, not what Basalt makes of it."""
    if isinstance(model, basalt.Runner):
        return _native(path, model), with_peer(path, source_of(path, eager=False), peer)[1]
    if not isinstance(model, (basalt.Executable, basalt.OnnxExecutable)):
        raise click.ClickException(f"{path}: holds a {type(model).__name__}, which {peer} cannot run")
    name, engine = PEERS[peer]
    side = _side(str(path), model, as_onnx=peer == "ort" or graph_of(model) is None)
    return side, Side(name, side.runs, engine, side.source)


def with_model(path: Path, model: Any, other: Path, second: Any) -> tuple[Side, Side]:
    """Two models. Both are looked at as ONNX if one of them is no single graph."""
    as_onnx = any(isinstance(m, basalt.OnnxExecutable) and graph_of(m) is None for m in (model, second))
    left, right = _side(str(path), model, as_onnx), _side(str(other), second, as_onnx)
    check_borders(left, model, right, second)
    return left, right


def graph_of(model: Any) -> basalt.Executable | None:
    """The model as one graph, if it is one whatever the sizes are."""
    if not isinstance(model, basalt.OnnxExecutable):
        return model if isinstance(model, basalt.Executable) else None
    try:
        return model.to_model()
    except BasaltError:
        return None


def _native(path: Path, runner: basalt.Runner) -> Side:
    """Machine code from a file, in which there is nothing to look at."""
    return Side(f"the machine code in {path}", runner, compiled, None)


def _side(name: str, model: Any, as_onnx: bool) -> Side:
    if isinstance(model, basalt.Runner):
        return _native(Path(name), model)
    if isinstance(model, basalt.OnnxExecutable) and as_onnx:
        return Side(name, model.onnx, compiled, OnnxSource(model.onnx))
    graph = graph_of(model)
    return Side(name, graph or model, compiled, None if graph is None else GraphSource(graph))


@dataclass(frozen=True)
class Stated:
    """The inputs and outputs that a model states, "?" where any size will do."""

    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]


def stated(model: Any) -> Any:
    """What is to be fed: the model's graph if it is one, else the model with all that it says of its inputs."""
    graph = graph_of(model)
    if graph is not None or isinstance(model, basalt.OnnxExecutable):
        return graph or model
    return Stated(_specs(model.inputs), _specs(model.outputs))


def _specs(values: Iterable[Any]) -> tuple[TensorSpec, ...]:
    return tuple(
        TensorSpec(v.name, v.dtype, tuple("?" if size is None else size for size in v.shape or ())) for v in values
    )


def check_borders(left: Side, first: Any, right: Side, second: Any) -> None:
    """Raise click.ClickException for models with other inputs, or outputs of other names."""
    for what in ("inputs", "outputs"):
        mine, other = ({spec.name: spec for spec in _specs(getattr(m, what))} for m in (first, second))
        if mine.keys() != other.keys():
            raise click.ClickException(
                f"the {what} differ: {left.name} has {_listed(mine)}; {right.name} has {_listed(other)}"
            )
        for name, spec in mine.items() if what == "inputs" else ():
            if not _fits(spec, other[name]):
                raise click.ClickException(
                    f"input {name!r} is {_text(spec)} in {left.name}, but {_text(other[name])} in {right.name}"
                )


def _fits(spec: TensorSpec, other: TensorSpec) -> bool:
    sizes = [(a, b) for a, b in zip(spec.shape, other.shape) if isinstance(a, int) and isinstance(b, int)]
    return spec.dtype == other.dtype and len(spec.shape) == len(other.shape) and all(a == b for a, b in sizes)


def fixed_shapes(model: Any) -> dict[str, tuple[int, ...]]:
    """The shapes that a model has a program for if it was compiled ahead, else those of inputs of known sizes."""
    if isinstance(model, basalt.Runner) and model.signatures:
        return dict(model.signatures[0])
    return {
        spec.name: tuple(d for d in spec.shape if isinstance(d, int))
        for spec in _specs(model.inputs)
        if all(isinstance(d, int) for d in spec.shape)
    }


def _listed(specs: Mapping[str, Any]) -> str:
    return ", ".join(specs) or "none"


def _text(spec: TensorSpec) -> str:
    return f"{spec.dtype}[{', '.join(map(str, spec.shape))}]"
