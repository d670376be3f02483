"""Runs one operator of ONNX Runtime in ONNX Runtime and in Basalt, and compares."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import helper

from basalt.onnx_backend import Backend

__all__ = ["agree", "basalt_results", "interpreted", "node_model", "ort_results"]

Given = Sequence["np.ndarray | None"]


def node_model(
    op: str,
    inputs: Given,
    outputs: int | Sequence[str],
    attributes: dict[str, Any],
    *,
    domain: str = "com.microsoft",
    constant: Sequence[int] = (),
    opset: int = 17,
    symbolic: bool = False,
    shapes: Sequence[Sequence[Any] | None] = (),
) -> Any:
    """A model of one node; inputs at the places in ``constant`` are initialisers, None stands for one left out.

    ``outputs`` is their number, or names of which "" is left out; ``symbolic`` leaves the sizes of inputs open;
    ``shapes`` declares those of the first inputs.
    """
    names = [f"x{i}" if x is not None else "" for i, x in enumerate(inputs)]
    results = [f"y{i}" for i in range(outputs)] if isinstance(outputs, int) else list(outputs)
    made = helper.make_node(op, names, results, domain=domain, **attributes)
    declared, initializers = [], []
    for i, (name, x) in enumerate(zip(names, inputs)):
        if x is None:
            continue
        if i in constant:
            initializers.append(onnx.numpy_helper.from_array(x, name))
            continue
        shape = [f"{name}_{axis}" for axis in range(x.ndim)] if symbolic else x.shape
        shape = shapes[i] if i < len(shapes) else shape
        declared.append(helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(x.dtype), shape))
    ends = [onnx.ValueInfoProto(name=r) for r in results if r]
    graph = helper.make_graph([made], op, declared, ends, initializers)
    imports = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=imports, ir_version=9)


def _feeds(model: Any, inputs: Given) -> dict[str, np.ndarray]:
    named = {f"x{i}": x for i, x in enumerate(inputs) if x is not None}
    return {v.name: named[v.name] for v in model.graph.input}


def ort_results(model: Any, inputs: Given) -> list[np.ndarray]:
    """ONNX Runtime's outputs, without its graph rewriting."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    found: list[np.ndarray] = session.run(None, _feeds(model, inputs))
    return found


def basalt_results(model: Any, inputs: Given) -> list[np.ndarray]:
    """Basalt's outputs."""
    return list(Backend.prepare(model).run(_feeds(model, inputs)))


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


def agree(
    op: str,
    inputs: Given,
    outputs: int | Sequence[str] = 1,
    *,
    compiled: bool = False,
    rtol: float = 1e-4,
    atol: float = 1e-5,
    **options: Any,
) -> list[np.ndarray]:
    """Basalt's outputs, which must be ONNX Runtime's.

    Args:
        op: the operator.
        inputs: its inputs, None for one left out.
        outputs: how many, or their names.
        compiled: whether code is compiled, and not only interpreted.
        rtol, atol: how far floats may be apart; integers must be equal up to ``atol`` if it is 1 or more.
        options: ``attributes``, and what :func:`node_model` takes.
    """
    attributes = options.pop("attributes", {})
    model = node_model(op, inputs, outputs, attributes, **options)
    expected = ort_results(model, inputs)
    with interpreted(not compiled):
        results = basalt_results(model, inputs)
    assert len(results) == len(expected)
    for result, wanted in zip(results, expected):
        assert result.dtype == wanted.dtype
        assert result.shape == wanted.shape
        if wanted.dtype.kind == "f":
            np.testing.assert_allclose(result.astype(np.float64), wanted.astype(np.float64), rtol=rtol, atol=atol)
        else:
            apart = np.abs(result.astype(np.int64) - wanted.astype(np.int64))
            assert apart.max(initial=0) <= (atol if atol >= 1 else 0)
    return results
