"""The cost of one call: a graph of one operator, and what it is made of."""

from __future__ import annotations

import numpy as np

import basalt

from ..measure import interleaved
from . import Figure


def measure() -> list[Figure]:
    """A call from Python of a graph of one operator on 16 elements."""
    builder = basalt.MLGraphBuilder(basalt.MLContext(eager_first_run=False))
    graph = builder.build({"y": builder.relu(builder.input("x", "float32", (16,)))})
    symbolic = basalt.MLGraphBuilder(basalt.MLContext(eager_first_run=False))
    any_size = symbolic.build({"y": symbolic.relu(symbolic.input("x", "float32", ("n",)))})
    x = np.linspace(-1, 1, 16, dtype=np.float32)
    out = {"y": np.empty_like(x)}
    feeds = {"x": x}
    for g in (graph, any_size):
        g.run(feeds)
    times = interleaved(
        {
            "run": lambda: graph.run(feeds),
            "into": lambda: graph.run(feeds, out),
            "symbolic": lambda: any_size.run(feeds),
            "numpy": lambda: np.maximum(x, 0),
        }
    )
    us = {name: t * 1e6 for name, t in times.items()}
    return [
        Figure("one-operator graph, whole call", f"{us['run']:.2f} us", "5 us", us["run"] < 5),
        Figure("the same into a given array", f"{us['into']:.2f} us"),
        Figure(
            "the same through a shape signature",
            f"{us['symbolic']:.2f} us (+{us['symbolic'] - us['run']:.2f})",
            "+2 us",
            us["symbolic"] - us["run"] < 2,
        ),
        Figure("NumPy's maximum, for comparison", f"{us['numpy']:.2f} us"),
    ]
