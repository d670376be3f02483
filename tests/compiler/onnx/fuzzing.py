"""A mutation loop over models that are then run: each gives results or an error of the project's, and nothing else.

The suite runs it shortly; for longer, in a process whose memory it bounds:

    python -m tests.compiler.onnx.fuzzing --seconds 600 MODEL.onnx ...
"""

from __future__ import annotations

import argparse
import copy
import os
import random
import resource
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from basalt.compiler.onnx.model import OnnxExecutable
from basalt.compiler.onnx.tensor import onnx_dtype
from basalt.errors import BasaltError
from basalt.serialization.onnx import OnnxAttribute, OnnxModel, OnnxTensor, OnnxType, OnnxValueInfo

NUMBERS = (0, 1, -1, 2, 3, 7, -2, 16, 100, 2**31 - 1, -(2**31), 2**62, -(2**63))
LARGEST_INPUT = 1 << 16


@dataclass
class Outcome:
    """What a run of the fuzzer came to; ``slowest`` in seconds a mutant, with the mutant's number."""

    ran: int = 0
    refused: int = 0
    slowest: float = 0.0
    slowest_index: int = -1
    errors: Counter[str] = field(default_factory=Counter)


def mutate(source: OnnxModel, rng: random.Random) -> OnnxModel:
    """A copy with a few changes: attributes, constants, shapes, operators, names of inputs, versions."""
    model = copy.copy(source)
    model.opset_imports = dict(source.opset_imports)
    graph = model.graph = copy.copy(source.graph)
    for _ in range(rng.choice((1, 1, 2, 4))):
        match rng.randrange(7):
            case 0 if graph.nodes:
                _change_attribute(graph, rng)
            case 1 if graph.initializers:
                _change_constant(graph, rng)
            case 2 if graph.inputs:
                _change_input(graph, rng)
            case 3 if graph.nodes:
                _swap_names(graph, rng)
            case 4 if graph.nodes:
                _rename_operator(graph, rng)
            case 5:
                domain = rng.choice(list(model.opset_imports) or [""])
                model.opset_imports[domain] = rng.choice((1, 7, 9, 11, 13, 17, 18, 21, 24, 28, 99))
            case _ if graph.nodes:
                nodes = list(graph.nodes)
                del nodes[rng.randrange(len(nodes))]
                graph.nodes = tuple(nodes)
    return model


def _changed_node(graph: Any, rng: random.Random) -> Any:
    nodes = list(graph.nodes)
    place = rng.randrange(len(nodes))
    nodes[place] = copy.copy(nodes[place])
    graph.nodes = tuple(nodes)
    return nodes[place]


def _change_attribute(graph: Any, rng: random.Random) -> None:
    node = _changed_node(graph, rng)
    node.attributes = dict(node.attributes)
    if not node.attributes or rng.random() < 0.2:
        node.attributes[rng.choice(("axis", "axes", "to", "pads", "perm"))] = OnnxAttribute(
            "x", "INT", rng.choice(NUMBERS)
        )
        return
    name = rng.choice(list(node.attributes))
    old = node.attributes[name]
    value: Any = old.value
    if old.kind == "INT":
        value = rng.choice(NUMBERS)
    elif old.kind == "FLOAT":
        value = rng.choice((0.0, -1.0, float("nan"), float("inf"), 1e-45, 1e38))
    elif old.kind == "INTS":
        entries = list(value)
        if entries and rng.random() < 0.7:
            entries[rng.randrange(len(entries))] = rng.choice(NUMBERS)
        else:
            entries = entries[:-1] if rng.random() < 0.5 else [*entries, rng.choice(NUMBERS)]
        value = tuple(entries)
    elif old.kind == "STRING":
        value = rng.choice((b"", b"SAME_UPPER", b"nearest", b"\xff", b"reflect"))
    if value is old.value and rng.random() < 0.5:
        del node.attributes[name]
    else:
        node.attributes[name] = OnnxAttribute(name, old.kind, value)


def _change_constant(graph: Any, rng: random.Random) -> None:
    tensors = list(graph.initializers)
    place = rng.randrange(len(tensors))
    array = np.array(tensors[place].array())
    if array.size and array.dtype.kind in "iu" and array.size < 64 and rng.random() < 0.7:
        array.reshape(-1)[rng.randrange(array.size)] = np.array(rng.choice(NUMBERS)).astype(array.dtype)
    elif array.ndim and rng.random() < 0.5:
        array = array[:-1]
    else:
        array = array.reshape(-1)
    tensors[place] = OnnxTensor.from_array(tensors[place].name, array)
    graph.initializers = tuple(tensors)


def _change_input(graph: Any, rng: random.Random) -> None:
    inputs = list(graph.inputs)
    place = rng.randrange(len(inputs))
    old = inputs[place]
    if old.type is None or old.type.kind != "tensor":
        return
    shape = list(old.type.shape or ())
    if shape and rng.random() < 0.6:
        shape[rng.randrange(len(shape))] = rng.choice((0, 1, 2, 3, 7, "n", None))
    else:
        shape = shape[:-1] if rng.random() < 0.5 else [*shape, 2]
    dtype = old.type.dtype if rng.random() < 0.8 else rng.choice(("float64", "int64", "uint8", "bool", "float16"))
    inputs[place] = OnnxValueInfo(old.name, OnnxType("tensor", dtype, tuple(shape)))
    graph.inputs = tuple(inputs)


def _swap_names(graph: Any, rng: random.Random) -> None:
    node = _changed_node(graph, rng)
    names = [v.name for v in graph.inputs] + [t.name for t in graph.initializers]
    names += [o for n in graph.nodes for o in n.outputs] + ["", "nowhere"]
    inputs = list(node.inputs)
    if inputs and rng.random() < 0.7:
        inputs[rng.randrange(len(inputs))] = rng.choice(names)
    else:
        inputs = inputs[:-1] if rng.random() < 0.5 else [*inputs, rng.choice(names)]
    node.inputs = tuple(inputs)


def _rename_operator(graph: Any, rng: random.Random) -> None:
    node = _changed_node(graph, rng)
    node.op_type = rng.choice(
        [n.op_type for n in graph.nodes] + ["Relu", "Reshape", "Loop", "NonZero", "Concat", "Expand"]
    )


def feeds_for(model: OnnxModel, rng: random.Random) -> dict[str, Any]:
    """Random values for the declared inputs; symbolic sizes are small."""
    numbers = np.random.default_rng(rng.randrange(1 << 30))
    feeds: dict[str, Any] = {}
    for value in model.inputs:
        if value.type is None or value.type.kind != "tensor" or value.dtype == "undefined":
            feeds[value.name] = np.zeros(2, np.float32)
            continue
        shape = [d if isinstance(d, int) else rng.choice((1, 2, 3)) for d in value.shape or ()]
        while np.prod(shape, dtype=np.float64) > LARGEST_INPUT:
            shape[int(np.argmax(shape))] = 2
        raw = numbers.integers(-4, 9, shape) if rng.random() < 0.5 else numbers.normal(size=shape)
        dtype = onnx_dtype(value.dtype)
        feeds[value.name] = (
            np.asarray(raw).astype(str).astype(object) if dtype.kind == "O" else np.asarray(raw).astype(dtype)
        )
    return feeds


def check(model: OnnxModel, rng: random.Random) -> str:
    """Make a model ready and run it; the name of the error that refuses it, "" if none does."""
    try:
        OnnxExecutable(model, threads=1, eager=False).run(feeds_for(model, rng))
    except (BasaltError, MemoryError) as error:
        return type(error).__name__
    return ""


def fuzz(
    models: Sequence[OnnxModel], *, count: int | None = None, seconds: float | None = None, seed: int = 0
) -> Outcome:
    """Check ``count`` mutants of ``models``, or as many as ``seconds`` allow.

    Raises AssertionError, with the seed of the mutant, for an error that is none of the project's.
    """
    outcome = Outcome()
    start = time.monotonic()
    index = 0
    while (count is None or index < count) and (seconds is None or time.monotonic() - start < seconds):
        rng = random.Random(f"{seed}/{index}")
        mutant = mutate(rng.choice(models), rng)
        before = time.perf_counter()
        try:
            reason = check(mutant, rng)
        except Exception as error:
            raise AssertionError(f"seed {seed}, mutant {index}: {type(error).__name__}: {error}") from error
        if time.perf_counter() - before > outcome.slowest:
            outcome.slowest, outcome.slowest_index = time.perf_counter() - before, index
        outcome.ran += not reason
        outcome.refused += bool(reason)
        outcome.errors[reason] += 1
        index += 1
    return outcome


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--gigabytes", type=float, default=6)
    parser.add_argument("models", nargs="+", type=Path)
    given = parser.parse_args()
    os.environ["BASALT_DEBUG"] = "interpret"
    limit = int(given.gigabytes * 2**30)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    print(fuzz([OnnxModel.load(p) for p in given.models], seconds=given.seconds, seed=given.seed))


if __name__ == "__main__":
    main()
