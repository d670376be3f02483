"""Wrong inputs and attributes of every kind end in errors of Basalt's own, never in another exception."""

from __future__ import annotations

import random
import warnings
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from basalt.compiler.onnx.host.registry import HostNode, find
from basalt.errors import BasaltError

from .nodes import operators

onnx = pytest.importorskip("onnx")

EXOTIC = ["bfloat16", "float8_e4m3fn", "int4", "float4_e2m1fn", "float8_e8m0fnu"]
DTYPES = ["f4", "f8", "f2", "i8", "i4", "i1", "u1", "u8", "?", "c8", *(getattr(ml_dtypes, name) for name in EXOTIC)]
SHAPES = [(), (1,), (2,), (3,), (0,), (2, 3), (3, 2), (1, 1), (0, 2), (2, 0), (2, 3, 4), (1, 2, 3, 1)]
WORDS = ["", "a", "b", "NONE", "SUM", "DENSE", "LEAF", "BRANCH_LEQ", "RBF", "1.5", "nan", "(", "a+", "TF", "LOWER"]


def tensor(rng: random.Random) -> np.ndarray:
    shape = rng.choice(SHAPES)
    size = int(np.prod(shape))
    if rng.random() < 0.15:
        values = np.empty(size, dtype=object)
        values[:] = [rng.choice(WORDS) for _ in range(size)]
        return values.reshape(shape)
    numbers = [rng.choice([0, 1, -1, 2, 3, -2, 5, 1e9, -1e9, float("nan"), float("inf"), 0.5]) for _ in range(size)]
    whole = [int(v) if np.isfinite(v) else 7 for v in numbers]
    dtype = np.dtype(rng.choice(DTYPES))
    given = np.array(numbers if dtype.kind in "fc" else [w % 100 for w in whole]).reshape(shape)
    return given.astype(np.int8).astype(dtype) if dtype.kind == "V" else given.astype(dtype)


def value(rng: random.Random) -> Any:
    kind = rng.random()
    if kind < 0.75:
        return tensor(rng)
    if kind < 0.85:
        return [tensor(rng) for _ in range(rng.randrange(3))]
    if kind < 0.95:
        return None
    return {rng.choice([0, 1, "a"]): rng.choice([1.0, 2, "x"]) for _ in range(rng.randrange(3))}


def attribute(rng: random.Random, kind: str) -> Any:
    number = rng.choice([0, 1, -1, 2, 3, -3, 7, 10, 2**40])
    if kind == "INT":
        return number
    if kind == "FLOAT":
        return rng.choice([0.0, 1.0, -1.0, 0.5, float("nan"), float("inf")])
    if kind == "STRING":
        return rng.choice(WORDS)
    if kind == "TENSOR":
        return tensor(rng)
    length = rng.choice([0, 1, 2, 3, 3, 3])
    if kind == "INTS":
        return tuple(rng.choice([0, 0, 1, 1, 2, -1, 5]) for _ in range(length))
    if kind == "FLOATS":
        return tuple(rng.choice([0.0, 1.0, -0.5, float("nan")]) for _ in range(length))
    return tuple(rng.choice(WORDS) for _ in range(length)) if kind == "STRINGS" else None


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("domain", "op_type"), operators())
def test_nothing_but_errors_of_basalt(domain: str, op_type: str, rounds: int = 60) -> None:
    rng = random.Random(f"{domain}.{op_type}")
    versions = operators()[domain, op_type]
    for _ in range(rounds):
        version = rng.choice(versions)
        schema = onnx.defs.get_schema(op_type, version, domain)
        attributes = {
            name: attribute(rng, a.type.name)
            for name, a in schema.attributes.items()
            if a.required or rng.random() < 0.5
        }
        count = rng.randint(schema.min_input, min(schema.max_input, schema.min_input + 3))
        inputs = [value(rng) for _ in range(count)]
        node = HostNode(op_type, version, domain, "the node", attributes, rng.randint(1, 3))
        function = find(op_type, version, domain)
        assert function is not None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                function(node, *inputs)
            except BasaltError as error:
                assert "the node" in str(error)
            except Exception as error:
                error.add_note(f"{node} of {inputs}")
                raise
