"""Runs graphs through fusion, lowering and compiled kernels, and compares them with the operators' NumPy semantics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from basalt.compiler.codegen.compile import load_kernels
from basalt.compiler.interpret import Interpreter
from basalt.compiler.ir import Constants, Graph
from basalt.compiler.lower import lower_graph
from basalt.compiler.passes.fuse import fuse
from basalt.compiler.verify import verify
from basalt.runtime.program import Program

from ..making import Maker

__all__ = ["Maker", "check", "compiled", "numbers"]

TOLERANCE = {"float64": (1e-12, 1e-12), "float32": (2e-5, 2e-5), "float16": (2e-3, 2e-3), "bfloat16": (1.6e-2, 1.6e-2)}


def numbers(seed: int, shape: tuple[int, ...], dtype: str = "float32") -> np.ndarray:
    """Reproducible values about 0, or over the whole range of a small integer type."""
    from basalt.ops import numpy_dtype

    random = np.random.default_rng(seed)
    kind = numpy_dtype(dtype)
    if kind.kind in "iu":
        bounds = np.iinfo(kind)
        return random.integers(max(bounds.min, -100), min(bounds.max, 100), shape, endpoint=True).astype(kind)
    return random.uniform(-1, 1, shape).astype(kind)


def compiled(graph: Graph, constants: Constants, feeds: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The outputs of a graph that is fused, lowered and compiled; two threads share the work."""
    verify(graph, constants)
    fused = fuse(graph)
    verify(fused, constants)
    spec = lower_graph(fused, constants)
    return Program(spec, load_kernels(spec.kernels), threads=2).run(dict(feeds))


def check(maker: Maker, feeds: Mapping[str, np.ndarray], **outputs: Any) -> dict[str, np.ndarray]:
    """Compare the compiled outputs of a graph with its NumPy semantics; returns them.

    Sums of products are compared relative to the largest element: single ones may cancel.
    """
    graph = maker.graph(**outputs)
    expected = Interpreter(graph, maker.constants).run(feeds)
    actual = compiled(graph, maker.constants, feeds)
    for name, want in expected.items():
        got = actual[name]
        assert got.dtype == want.dtype and got.shape == want.shape, name
        if want.dtype.kind in "iub":
            np.testing.assert_array_equal(got, want, name)
            continue
        relative, absolute = TOLERANCE[want.dtype.name]
        wide = want.astype(np.float64)
        finite = np.abs(wide[np.isfinite(wide)])
        scale = float(finite.max()) if finite.size else 1.0
        np.testing.assert_allclose(got.astype(np.float64), wide, relative, absolute * max(scale, 1e-30), err_msg=name)
    return actual
