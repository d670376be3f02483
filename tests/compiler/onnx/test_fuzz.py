"""Mutants of small models give results or errors of the project's, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest

from basalt.serialization.onnx import OnnxModel

from .fuzzing import fuzz
from .making import graph, model, node, value


def seeds() -> list[OnnxModel]:
    """Models with what a mutation can go wrong in: shapes as data, windows, bodies, steps of the host."""
    shape = [
        node("Shape", "x", "s"),
        node("Gather", "s zero", "rows"),
        node("Unsqueeze", "rows zeros", "rows1"),
        node("Concat", "rows1 minus", "target", axis=0),
        node("Reshape", "x target", "flat"),
        node("MatMul", "flat w", "m"),
        node("Softmax", "m", "y", axis=1),
    ]
    constants = {
        "zero": np.array(0),
        "zeros": np.array([0]),
        "minus": np.array([-1]),
        "w": np.ones((12, 3), np.float32),
    }
    windows = [
        node("Conv", "x k", "c", kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[2, 2], group=1),
        node("MaxPool", "c", "p", kernel_shape=[2, 2], ceil_mode=1),
        node("Pad", "p pads", "q", mode="reflect"),
        node("Resize", "q _ scales", "r", mode="linear"),
        node("ReduceMean", "r axes", "y", keepdims=0),
    ]
    sizes = {"k": np.ones((2, 3, 3, 3), np.float32), "pads": np.array([0, 0, 1, 1, 0, 0, 1, 1])}
    sizes |= {"scales": np.array([1, 1, 2, 1.5], np.float32), "axes": np.array([2, 3])}
    body = graph(
        [node("Add", "v x", "w"), node("Identity", "c", "d"), node("Transpose", "w", "s")],
        [value("i", "int64", ()), value("c", "bool", ()), value("v")],
        [value("d", "bool", ()), value("w"), value("s")],
    )
    steps = [
        node("NonZero", "x", "places"),
        node("GatherND", "x turned", "chosen", batch_dims=0),
        node("TopK", "chosen one", "y z", axis=0),
        node("Loop", "n _ x", "last all", body=body),
    ]
    steps.insert(1, node("Transpose", "places", "turned", perm=[1, 0]))
    return [
        model(shape, [value("x", shape=("n", 3, 4))], [value("y")], constants),
        model(windows, [value("x", shape=(1, 3, 9, 7))], [value("y")], sizes),
        model(
            steps,
            [value("x", shape=("n", 3)), value("n", "int64", ())],
            [value("y"), value("all")],
            {"one": np.array([1])},
        ),
    ]


@pytest.mark.parametrize("seed", [1, 2])
def test_mutants(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BASALT_DEBUG", "interpret")
    outcome = fuzz(seeds(), count=300, seed=seed)
    assert outcome.ran > 30 and outcome.refused > 30
