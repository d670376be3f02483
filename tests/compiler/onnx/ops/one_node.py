"""Runs models of one ONNX node, by NumPy semantics or compiled, and compares what they give."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from basalt.compiler.onnx.model import OnnxExecutable
from basalt.compiler.onnx.schemas import schemas
from basalt.compiler.onnx.tensor import onnx_dtype, onnx_dtype_name
from basalt.serialization.onnx import OnnxType, OnnxValueInfo

from ..making import model, node

__all__ = ["COMPILED", "allowed", "close", "executable", "is_float", "run", "sample", "tolerance", "versions"]

EPSILONS = {"float64": 2**-50, "float32": 2**-21, "float16": 2**-10, "bfloat16": 2**-7}
COMPILED = ("float32", "bfloat16", "int32", "uint8", "bool")
"""Data types that tests of all of them also compile for; kernels of the others have tests of their own."""


def versions(op: str) -> list[int]:
    """Every since-version of an operator."""
    return [schema.since for schema in schemas("", op)]


def allowed(op: str, version: int, place: int = 0) -> list[str]:
    """The data types of tensors that an input may have, without strings and complex numbers."""
    (schema,) = [s for s in schemas("", op) if s.since == version]
    formal = schema.input(place)
    assert formal is not None
    return sorted(t for t in formal.types if "(" not in t and t not in ("string", "complex64", "complex128"))


def is_float(dtype: str) -> bool:
    """Whether a data type is a float of 16 bits or more."""
    return dtype in EPSILONS


def executable(
    op: str,
    version: int,
    inputs: Sequence[Any],
    outputs: int = 1,
    known: Sequence[int] = (),
    symbolic: bool = False,
    **attributes: Any,
) -> OnnxExecutable:
    """A model of one node.

    Args:
        op: the operator.
        version: the opset of the model.
        inputs: an array, a list of arrays, or None for each input; they say the declared types.
        outputs: how many outputs the node names.
        known: the places of inputs that are initialisers.
        symbolic: whether shapes are declared with names for sizes.
        attributes: the node's attributes.
    """
    names = [f"x{i}" if given is not None else "_" for i, given in enumerate(inputs)]
    results = [f"y{i}" for i in range(outputs)]
    declared = [
        OnnxValueInfo(name, _type(given, name if symbolic else ""))
        for i, (name, given) in enumerate(zip(names, inputs))
        if given is not None and i not in known
    ]
    undefined = [OnnxValueInfo(name, OnnxType()) for name in results]
    constants = {names[i]: inputs[i] for i in known}
    made = node(op, " ".join(names), " ".join(results), name="the node", **attributes)
    return OnnxExecutable(model([made], declared, undefined, constants, opset=version), eager=False)


def run(
    op: str,
    version: int,
    *inputs: Any,
    outputs: int = 1,
    known: Sequence[int] = (),
    compiled: bool = True,
    symbolic: bool = False,
    **attributes: Any,
) -> Any:
    """The node's output, a list where it has several; arguments as those of :func:`executable`."""
    with interpreted(not compiled):
        loaded = executable(op, version, inputs, outputs, known, symbolic, **attributes)
        feeds = {f"x{i}": given for i, given in enumerate(inputs) if given is not None and i not in known}
        results = loaded.run(feeds)
    found = [results[f"y{i}"] for i in range(outputs)]
    return found[0] if outputs == 1 else found


@contextmanager
def interpreted(wanted: bool = True) -> Iterator[None]:
    """Graphs run through NumPy semantics inside."""
    before = os.environ.get("BASALT_DEBUG")
    if wanted:
        os.environ["BASALT_DEBUG"] = "interpret"
    try:
        yield
    finally:
        if wanted:
            os.environ.pop("BASALT_DEBUG")
            if before is not None:
                os.environ["BASALT_DEBUG"] = before


def _type(given: Any, symbols: str) -> OnnxType:
    if isinstance(given, list):
        return OnnxType("sequence", element=_type(given[0], symbols) if given else OnnxType("tensor", "float32"))
    shape = tuple(f"{symbols}_{i}" if symbols else d for i, d in enumerate(given.shape))
    return OnnxType("tensor", onnx_dtype_name(given.dtype), shape)


def sample(dtype: str, shape: tuple[int, ...] = (3, 5), low: float = -3, high: float = 3, seed: int = 0) -> np.ndarray:
    """Numbers of a data type between two bounds (from 0 on where it is unsigned); truth values where it is bool."""
    random = np.random.default_rng(seed)
    if dtype == "bool":
        return np.asarray(random.integers(0, 2, shape), np.bool_)
    if is_float(dtype) or dtype.startswith("float"):
        return np.asarray(random.uniform(low, high, shape)).astype(np.float32).astype(onnx_dtype(dtype))
    first = max(int(low), 0) if dtype.startswith("u") else int(low)
    return np.asarray(random.integers(first, int(high) + 1, shape)).astype(onnx_dtype(dtype))


def tolerance(dtype: str) -> float:
    """The relative error that a result of a few operations may have."""
    return EPSILONS.get(dtype, 0)


def close(actual: Any, expected: Any, dtype: str, scale: float = 1) -> None:
    """Equal in data type and shape; floats within ``scale`` times the tolerance of their data type, others equal."""
    expected = np.asarray(expected)
    assert isinstance(actual, np.ndarray)
    assert onnx_dtype_name(actual.dtype) == dtype
    assert actual.shape == expected.shape
    if not is_float(dtype):
        same = actual.astype(np.int64) if actual.dtype.kind == "V" and "int" in dtype else actual
        np.testing.assert_array_equal(same, expected.astype(same.dtype))
        return
    bound = scale * tolerance(dtype)
    with np.errstate(all="ignore"):
        rounded = expected.astype(np.float64).astype(onnx_dtype(dtype)).astype(np.float64)
    np.testing.assert_allclose(actual.astype(np.float64), rounded, rtol=bound, atol=bound)
