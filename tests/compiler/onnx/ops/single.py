"""Models of one node, run through Basalt: interpreted, or compiled too."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from basalt.onnx_backend import Backend

__all__ = ["BOTH", "check", "interpreted", "model_of", "ort", "reference", "run", "same"]

Given = Sequence["np.ndarray | None"]


def model_of(
    op: str,
    version: int,
    inputs: Given,
    *,
    outputs: int = 1,
    constant: Sequence[int] = (),
    symbolic: bool = False,
    **attributes: Any,
) -> onnx.ModelProto:
    """A model of one node at an opset; inputs at the places in ``constant`` are initialisers."""
    names = ["" if x is None else f"x{i}" for i, x in enumerate(inputs)]
    node = helper.make_node(op, names, [f"y{i}" for i in range(outputs)], name="node", **attributes)
    values, initializers = [], []
    for i, x in enumerate(inputs):
        if x is None:
            continue
        if i in constant:
            initializers.append(numpy_helper.from_array(x, names[i]))
            continue
        shape = [f"d{i}_{axis}" for axis in range(x.ndim)] if symbolic else x.shape
        values.append(helper.make_tensor_value_info(names[i], helper.np_dtype_to_tensor_dtype(x.dtype), shape))
    ends = [onnx.ValueInfoProto(name=f"y{i}") for i in range(outputs)]
    graph = helper.make_graph([node], op, values, ends, initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", version)], ir_version=10)


def run(op: str, version: int, inputs: Given, *, compiled: bool = False, **options: Any) -> list[np.ndarray]:
    """The outputs; ``options`` as those of :func:`model_of`."""
    model = model_of(op, version, inputs, **options)
    constant = options.get("constant", ())
    feeds = {f"x{i}": x for i, x in enumerate(inputs) if x is not None and i not in constant}
    with interpreted(not compiled):
        return list(Backend.prepare(model).run(feeds))


@contextmanager
def interpreted(wanted: bool = True) -> Iterator[None]:
    """Whether graphs run through NumPy instead of being compiled."""
    before = os.environ.get("BASALT_DEBUG")
    if wanted:
        os.environ["BASALT_DEBUG"] = "interpret"
    try:
        yield
    finally:
        if before is None:
            os.environ.pop("BASALT_DEBUG", None)
        else:
            os.environ["BASALT_DEBUG"] = before


def reference(op: str, version: int, inputs: Given, **options: Any) -> list[np.ndarray]:
    """The outputs of the onnx package's own evaluator."""
    from onnx.reference import ReferenceEvaluator

    model = model_of(op, version, inputs, **options)
    found = ReferenceEvaluator(model).run(None, {f"x{i}": x for i, x in enumerate(inputs) if x is not None})
    return [np.asarray(f) for f in found]


def ort(op: str, version: int, inputs: Given, **options: Any) -> np.ndarray:
    """ONNX Runtime's only output; the test is skipped where it is not installed."""
    onnxruntime = pytest.importorskip("onnxruntime")
    settings = onnxruntime.SessionOptions()
    settings.log_severity_level = 4
    model = model_of(op, version, inputs, **options).SerializeToString()
    session = onnxruntime.InferenceSession(model, settings, providers=["CPUExecutionProvider"])
    (found,) = session.run(None, {f"x{i}": x for i, x in enumerate(inputs) if x is not None})
    result: np.ndarray = found
    return result


def same(result: np.ndarray, expected: np.ndarray, rtol: float = 1e-5, atol: float = 1e-6) -> None:
    """Assert equal data types, shapes and elements; floats up to rounding."""
    expected = np.asarray(expected)
    assert result.dtype == expected.dtype
    assert result.shape == expected.shape
    if expected.dtype.kind in "fcV" and expected.dtype.kind != "O":
        wide = np.complex128 if expected.dtype.kind == "c" else np.float64
        np.testing.assert_allclose(result.astype(wide), expected.astype(wide), rtol=rtol, atol=atol)
    else:
        np.testing.assert_array_equal(result, expected)


def check(
    op: str,
    versions: Sequence[int],
    inputs: Given,
    *expected: Any,
    compiled: Sequence[bool] = (False,),
    rtol: float = 1e-5,
    atol: float = 1e-6,
    **options: Any,
) -> None:
    """Assert that a node gives the expected outputs at all versions."""
    for version in versions:
        for way in compiled:
            results = run(op, version, inputs, compiled=way, outputs=len(expected), **options)
            for result, wanted in zip(results, expected):
                same(result, wanted, rtol, atol)


BOTH = (False, True)
"""Interpreted and compiled."""
