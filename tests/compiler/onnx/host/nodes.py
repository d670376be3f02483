"""Run host operators as the importer does, and compare what they give."""

from __future__ import annotations

from typing import Any

import numpy as np

from basalt.compiler.onnx.host.registry import HostNode, find, registered

MODULES = [
    "cast", "dropout", "fills", "gathering", "images", "joining", "matrices", "ml_features", "ml_labels", "ml_linear",
    "ml_maps", "ml_svm", "ml_tree_ensembles", "non_max_suppression", "number_range", "optionals", "quantization",
    "random", "regex", "selection", "sequences", "shapes", "strings", "tfidf", "top_k", "training", "unique",
]  # fmt: skip
"""The modules whose operators take every type and value that ONNX's schemas allow, and check all others."""


def operators() -> dict[tuple[str, str], list[int]]:
    """The since-versions of the operators in ``MODULES``, by domain and name."""
    found: dict[tuple[str, str], list[int]] = {}
    for domain, op_type, version in registered():
        if getattr(find(op_type, version, domain), "__module__", "").rpartition(".")[2] in MODULES:
            found.setdefault((domain, op_type), []).append(version)
    return found


def run(op_type: str, version: int, *inputs: Any, domain: str = "", **attributes: Any) -> Any:
    """What a host operator gives; its inputs must be left alone."""
    return run_node(HostNode(op_type, version, domain, "the node", attributes), *inputs)


def run_node(node: HostNode, *inputs: Any) -> Any:
    function = find(node.op_type, node.version, node.domain)
    assert function is not None, node.describe()
    before = [np.copy(x) if isinstance(x, np.ndarray) else x for x in inputs]
    result = function(node, *inputs)
    for old, new in zip(before, inputs, strict=True):
        if isinstance(old, np.ndarray):
            same(old, new)
    return result


def strings(*values: str, shape: tuple[int, ...] | None = None) -> np.ndarray:
    """A string tensor."""
    result = np.empty(len(values), dtype=object)
    result[:] = values
    return result if shape is None else result.reshape(shape)


def same(actual: Any, expected: Any) -> None:
    """Equal in kind, type, shape and every bit (of NaNs: that they are NaN)."""
    close(actual, expected, rtol=0, atol=0)
    if isinstance(expected, np.ndarray) and expected.dtype.kind == "f":
        assert (np.signbit(actual) == np.signbit(expected))[~np.isnan(expected)].all()


def close(actual: Any, expected: Any, rtol: float = 1e-5, atol: float = 1e-7) -> None:
    """Equal in kind, type and shape; floats within the bounds."""
    if isinstance(expected, list | tuple):
        assert isinstance(actual, list | tuple)
        assert len(actual) == len(expected)
        for a, e in zip(actual, expected, strict=True):
            close(a, e, rtol, atol)
    elif isinstance(expected, dict):
        assert set(actual) == set(expected)
        np.testing.assert_allclose([actual[k] for k in expected], list(expected.values()), rtol=rtol, atol=atol)
    elif isinstance(expected, np.ndarray):
        _close_arrays(actual, expected, rtol, atol)
    else:
        assert actual is None
        assert expected is None


def _close_arrays(actual: Any, expected: np.ndarray, rtol: float, atol: float) -> None:
    assert isinstance(actual, np.ndarray)
    assert actual.shape == expected.shape
    if expected.dtype.kind in "OU":
        assert actual.dtype == object
        assert actual.tolist() == expected.tolist()
        return
    assert actual.dtype == expected.dtype
    if expected.dtype.kind in "biu":
        np.testing.assert_array_equal(actual, expected)
    elif expected.dtype.kind in "fc":
        np.testing.assert_allclose(actual, expected, rtol=rtol, atol=atol)
    else:
        # bfloat16 and the smaller types, all within float32.
        np.testing.assert_allclose(actual.astype(np.float32), expected.astype(np.float32), rtol=rtol, atol=atol)
