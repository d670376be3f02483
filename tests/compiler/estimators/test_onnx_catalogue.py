"""Every class that is translated, as an ONNX model in ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import basalt
from basalt.compiler.estimators.registry import class_name

from .catalogue import cases, data, fitted

pytest.importorskip("sklearn")
onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

WITH_TREES = ("Tree", "Forest", "Boost", "Bagging")
"""ONNX has trees with float64 weights from opset 21 on, where ONNX Runtime cannot run them."""
LACKING = ("arctan", "output_distribution='normal'")
"""ONNX Runtime has Atan and Erf of float32 alone."""
COARSE = "loss='log_loss'"
"""ONNX Runtime's Sigmoid takes what is below about -18 for -18, which shares of tiny numbers show."""


@pytest.fixture(autouse=True)
def _interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is compiled is compared with the operators' semantics elsewhere."""
    monkeypatch.setenv("BASALT_DEBUG", "interpret")


def first_of_each_class() -> list[str]:
    """The names of the cases that are the first of their class."""
    found = {name.split("(")[0]: name for name in reversed(cases())}
    return list(found.values())


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", first_of_each_class())
def test_onnx_runtime_gives_the_same(name: str) -> None:
    model, rows = fitted(name), data(cases()[name].rows)[:30]
    dtype = "float32" if any(word in name for word in WITH_TREES + LACKING) else "float64"
    written = basalt.OnnxConverter.to_onnx(model, 4, dtype=dtype)
    assert (written.ir_version, written.opset_imports[""]) == (8, 17)
    content = written.to_bytes()
    onnx.checker.check_model(onnx.load_from_string(content), full_check=True)
    estimator = basalt.from_sklearn(model, dtype=dtype)
    assert estimator.class_name == class_name(model)
    require_declared(onnx.load_from_string(content), estimator)
    session = onnxruntime.InferenceSession(content)
    names = [o.name for o in session.get_outputs()]
    with np.errstate(all="ignore"):
        expected = estimator.run({"X": rows.astype(dtype)})
    assert set(names) == expected.keys()
    for output, found in zip(names, session.run(None, {"input": rows.astype(dtype)})):
        assert (found.dtype, found.shape) == (expected[output].dtype, expected[output].shape), output
        # A logarithm shows roundings near 0 that the probability beside it does not.
        if "proba" in output and (COARSE in name or (dtype == "float32" and "log" in output)):
            continue
        size = float(np.max(np.abs(expected[output][np.isfinite(expected[output])]), initial=1.0))
        tolerance = 2e-4 if dtype == "float32" else 1e-9
        np.testing.assert_allclose(found, expected[output], tolerance, tolerance * size, err_msg=output)


def require_declared(model: Any, estimator: basalt.Estimator) -> None:
    """Require a symbolic batch, and outputs of declared shapes."""
    (entry,) = model.graph.input
    assert [d.dim_param or d.dim_value for d in entry.type.tensor_type.shape.dim] == ["rows", 4]
    shapes = {s.name: s.shape for s in estimator.outputs}
    for output in model.graph.output:
        dims = tuple(d.dim_param or d.dim_value for d in output.type.tensor_type.shape.dim)
        assert dims == shapes[output.name]
