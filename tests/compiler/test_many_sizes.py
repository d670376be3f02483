"""Graphs run for many sizes in turn, whose programs share kernels that the first size chose."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import basalt
from basalt.compiler.interpret import interpret

RNG = np.random.default_rng(0)
SIZES = (10, 40, 3, 1, 2, 100, 13, 64)
WEIGHT = RNG.normal(size=(24, 40)).astype(np.float32)
WINDOWS = RNG.normal(size=(8, 3, 3, 3)).astype(np.float32)
POINTS = RNG.normal(size=(8, 3, 1, 1)).astype(np.float32)
CHANNELS = RNG.normal(size=(6, 1, 3, 3)).astype(np.float32)
BACK = RNG.normal(size=(3, 8, 3, 3)).astype(np.float32)
F32 = "float32"
Shapes = list[tuple[str, tuple[Any, ...]]]

GRAPHS: dict[str, tuple[Shapes, Callable[..., Any]]] = {
    "product": ([(F32, ("n", 24))], lambda b, x: b.matmul(x, b.constant(WEIGHT))),
    "two sides": ([(F32, (2, "n", 24)), (F32, (2, 24, "n"))], lambda b, x, y: b.matmul(x, y)),
    "height": ([(F32, (1, 3, "n", 17))], lambda b, x: b.conv2d(x, b.constant(WINDOWS), padding=[1, 1, 1, 1])),
    "width": ([(F32, (1, 3, 9, "n"))], lambda b, x: b.conv2d(x, b.constant(WINDOWS), padding=[1, 1, 1, 1])),
    "points": ([(F32, (1, 3, 9, "n"))], lambda b, x: b.conv2d(x, b.constant(POINTS))),
    "channels": ([(F32, (2, 6, 9, "n"))], lambda b, x: b.conv2d(x, b.constant(CHANNELS), groups=6, padding=[1] * 4)),
    "back": ([(F32, (1, 3, 9, "n"))], lambda b, x: b.conv_transpose2d(x, b.constant(BACK), strides=[2, 2])),
    "pool": ([(F32, (2, 6, 9, "n"))], lambda b, x: b.max_pool2d(x, window_dimensions=[2, 1], padding=[1, 0, 0, 1])),
    "rows": ([(F32, (3, "n"))], lambda b, x: b.softmax(x, 1)),
    "bytes": ([("uint8", ("n", 24)), ("int8", (24, "n"))], lambda b, x, y: b.matmul_integer(x, y)),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_every_size_gives_what_numpy_gives(name: str) -> None:
    shapes, build = GRAPHS[name]
    builder = basalt.MLGraphBuilder(basalt.MLContext(eager_first_run=False), extended=True)
    inputs = [builder.input(f"x{i}", dtype, shape) for i, (dtype, shape) in enumerate(shapes)]
    graph = builder.build({"y": build(builder, *inputs)})
    for size in SIZES:
        feeds = {
            f"x{i}": _values(dtype, [size if d == "n" else d for d in shape]) for i, (dtype, shape) in enumerate(shapes)
        }
        expected = interpret(graph.graph, graph.constants, feeds)["y"]
        np.testing.assert_allclose(graph.run(feeds)["y"], expected, rtol=1e-4, atol=1e-4, err_msg=f"n = {size}")


def _values(dtype: str, shape: list[int]) -> np.ndarray:
    return (RNG.normal(size=shape) if dtype == F32 else RNG.integers(0, 100, shape)).astype(dtype)
