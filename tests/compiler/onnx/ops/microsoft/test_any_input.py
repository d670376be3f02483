"""Operators of ONNX Runtime given inputs and attributes at random: a result, or an error that names the node."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from basalt.compiler.onnx.model import OnnxExecutable
from basalt.compiler.onnx.schemas import Attribute, Schema, operators, schemas
from basalt.compiler.onnx.tensor import onnx_dtype
from basalt.errors import BasaltError
from basalt.serialization.onnx import OnnxType, OnnxValueInfo

from ...making import model, node

DOMAIN = "com.microsoft"
EXAMPLES = 12
SIZES = (1, 2, 3, 4, 8, 16, 32)


def attribute(random: np.random.Generator, declared: Attribute) -> Any:
    if declared.default is not None and random.random() < 0.6:
        return declared.default if not isinstance(declared.default, list) else tuple(declared.default)
    if declared.kind == "INT":
        return int(random.choice([0, 1, 2, 3, 4, 8, 16, 32, -1]))
    if declared.kind == "FLOAT":
        return float(random.choice([0.0, 1.0, 0.5, -1.0]))
    if declared.kind == "STRING":
        return str(random.choice(["Relu", "linear", "NOTSET"]))
    if declared.kind == "INTS":
        return tuple(int(v) for v in random.integers(0, 4, random.integers(1, 5)))
    return tuple(float(v) for v in random.random(random.integers(1, 4)))


def tensors(random: np.random.Generator, schema: Schema) -> list[np.ndarray | None]:
    """Inputs of allowed types; those of optional inputs may be None."""
    chosen: dict[str, str] = {}
    sizes = random.choice(SIZES, 3)
    count = len(schema.inputs) + (int(random.integers(0, 4)) if schema.inputs[-1].variadic else 0)
    found: list[np.ndarray | None] = []
    for place in range(count):
        formal = schema.input(place)
        assert formal is not None
        types = sorted(t for t in formal.types if "(" not in t and t not in ("string", "complex64", "complex128"))
        if formal.optional and random.random() < 0.5:
            found.append(None)
            continue
        dtype = chosen.setdefault(formal.type_variable, str(random.choice(types)))
        dtype = dtype if formal.homogeneous else str(random.choice(types))
        rank = int(random.choice([0, 1, 1, 2, 2, 3, 3, 4, 5]))
        shape = tuple(int(random.choice([*sizes, random.choice([0, 1, 32])])) for _ in range(rank))
        if math.prod(shape) > 5000:
            shape = tuple(min(d, 3) for d in shape)
        numbers = random.integers(0, 2 if dtype == "bool" else 4, shape)
        found.append(np.asarray(numbers.astype(np.float32).astype(onnx_dtype(dtype))))
    return found


def executable(
    random: np.random.Generator, op: str, schema: Schema, inputs: list[np.ndarray | None]
) -> tuple[OnnxExecutable, dict[str, np.ndarray]]:
    """A model of the node with some inputs as constants, and what it is fed."""
    attributes = {
        name: attribute(random, declared)
        for name, declared in schema.attributes.items()
        if declared.required or random.random() < 0.4
    }
    names = [f"x{i}" if x is not None else "_" for i, x in enumerate(inputs)]
    fed = {n: x for n, x in zip(names, inputs) if x is not None and random.random() < 0.6}
    constants = {n: x for n, x in zip(names, inputs) if x is not None and n not in fed}
    declared = []
    for place, (name, x) in enumerate(zip(names, inputs)):
        if name in fed and x is not None:
            symbols = tuple(f"{name}_{i}" for i in range(x.ndim))
            dtype = _dtype(schema, place, x)
            declared.append(
                OnnxValueInfo(name, OnnxType("tensor", dtype, symbols if random.random() < 0.5 else x.shape))
            )
    results = [f"y{i}" for i in range(random.integers(1, len(schema.outputs) + 1))]
    made = node(op, " ".join(names), " ".join(results), domain=DOMAIN, name="the node", **attributes)
    ends = [OnnxValueInfo(name, OnnxType()) for name in results]
    source = model([made], declared, ends, constants, opset=17)
    source.opset_imports[DOMAIN] = 1
    return OnnxExecutable(source, eager=False), fed


def _dtype(schema: Schema, place: int, x: np.ndarray) -> str:
    formal = schema.input(place)
    assert formal is not None
    return next(t for t in formal.types if "(" not in t and t != "string" and onnx_dtype(t) == x.dtype)


@pytest.mark.parametrize("op", operators(DOMAIN))
def test_any_input(op: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BASALT_DEBUG", "interpret")
    (schema,) = schemas(DOMAIN, op)
    for seed in range(EXAMPLES):
        random = np.random.default_rng(seed)
        inputs = tensors(random, schema)
        try:
            ready, fed = executable(random, op, schema, inputs)
            ready.run(fed)
        except BasaltError as error:
            assert op in str(error) or "the node" in str(error)
