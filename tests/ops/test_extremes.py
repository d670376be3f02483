"""Infinities, NaN, subnormal and huge numbers in every operand: no warning, no crash, and NaN where it must spread."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from .harness import run

SHAPES: list[tuple[str, dict[str, tuple[int, ...]], dict[str, Any]]] = [
    ("conv2d", {"input": (2, 2, 4, 4), "filter": (2, 2, 3, 3), "bias": (2,)}, {"padding": (1, 1, 1, 1)}),
    ("conv_transpose2d", {"input": (2, 2, 4, 4), "filter": (2, 2, 3, 3), "bias": (2,)}, {"strides": (2, 2)}),
    ("average_pool2d", {"input": (1, 1, 4, 4)}, {"window_dimensions": (1, 1), "padding": (1, 0, 0, 0)}),
    ("l2_pool2d", {"input": (1, 1, 4, 4)}, {"window_dimensions": (2, 2)}),
    ("max_pool2d", {"input": (1, 1, 4, 4)}, {"window_dimensions": (2, 2)}),
    ("resample2d", {"input": (1, 1, 4, 4)}, {"mode": "linear", "scales": (2, 2)}),
    ("gemm", {"a": (4, 4), "b": (4, 4), "c": (4,)}, {"alpha": 1e30, "beta": 1e30}),
    ("matmul", {"a": (2, 4, 4), "b": (4, 4)}, {}),
    ("batch_normalization", {"input": (4, 4), "mean": (4,), "variance": (4,), "scale": (4,), "bias": (4,)}, {}),
    ("instance_normalization", {"input": (2, 2, 2, 2), "scale": (2,), "bias": (2,)}, {}),
    ("layer_normalization", {"input": (4, 4), "scale": (4,), "bias": (4,)}, {}),
    ("softmax", {"input": (4, 4)}, {"axis": 1}),
    *(
        (name, {"input": (4, 4)}, {"axes": [1]})
        for name in (
            "reduce_l1", "reduce_l2", "reduce_log_sum", "reduce_log_sum_exp", "reduce_max", "reduce_mean", "reduce_min",
            "reduce_product", "reduce_sum", "reduce_sum_square",
        )
    ),
    ("arg_max", {"input": (4, 4)}, {"axis": 1}),
    ("arg_min", {"input": (4, 4)}, {"axis": 1}),
    (
        "gru",
        {"input": (4, 2, 2), "weight": (1, 6, 2), "recurrent_weight": (1, 6, 2), "bias": (1, 6)},
        {"steps": 4, "hidden_size": 2, "activations": ["relu", "sigmoid"]},
    ),
    (
        "lstm",
        {"input": (4, 2, 2), "weight": (1, 8, 2), "recurrent_weight": (1, 8, 2), "peephole_weight": (1, 6)},
        {"steps": 4, "hidden_size": 2, "activations": ["relu", "sigmoid", "tanh"]},
    ),
]  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize(("name", "shapes", "options"), SHAPES)
def test_extremes(name: str, shapes: dict[str, tuple[int, ...]], options: dict[str, Any], dtype: str) -> None:
    info = np.finfo(dtype)
    values = [math.nan, math.inf, -math.inf, info.max, info.min, info.smallest_subnormal, -0.0, 1, -1, 0]
    random = np.random.default_rng(7)
    for _ in range(20):
        given = {k: random.choice(np.array(values, dtype), shape) for k, shape in shapes.items()}
        results = run(name, **given, **options)
        first = next(iter(given.values()))
        if name not in ("arg_max", "arg_min") and np.isnan(first).any():
            assert np.isnan(results[0]).any()
