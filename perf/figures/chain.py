"""Eight element-wise operators on 16 MB inputs: one pass over memory, against a copy and against NumPy."""

from __future__ import annotations

import numpy as np

import basalt

from ..measure import interleaved
from . import Figure

_ELEMENTS = 4 << 20


def measure() -> list[Figure]:
    """The chain at 1 and 2 threads; a copy of as many bytes; NumPy's own chain."""
    rng = np.random.default_rng(0)
    x, y = (rng.standard_normal(_ELEMENTS).astype(np.float32) for _ in range(2))
    graph = _graph()
    feeds = {"x": x, "y": y}
    out = {"v": np.empty_like(x)}
    # Two arrays are read and one written: a copy that moves as many bytes reads and writes one and a half.
    source, target = np.ones(_ELEMENTS * 3 // 2, np.float32), np.empty(_ELEMENTS * 3 // 2, np.float32)
    figures = []
    for threads in (1, 2):
        basalt.set_num_threads(threads)
        graph.run(feeds, out)
        times = interleaved(
            {
                "basalt": lambda: graph.run(feeds, out),
                "fresh": lambda: graph.run(feeds),
                "copy": lambda: np.copyto(target, source),
                "numpy": lambda: _numpy(x, y),
            }
        )
        to_copy, to_numpy = times["basalt"] / times["copy"], times["numpy"] / times["basalt"]
        figures += [
            Figure(
                f"chain of 8, {threads} thread(s): time of a copy of its bytes",
                f"{to_copy:.2f} x",
                "1.3 x",
                to_copy < 1.3,
            ),
            Figure(f"chain of 8, {threads} thread(s): faster than NumPy", f"{to_numpy:.1f} x", "5 x", to_numpy > 5),
            Figure(
                f"chain of 8, {threads} thread(s)",
                f"{times['basalt'] * 1e3:.2f} ms (fresh output {times['fresh'] * 1e3:.2f})",
            ),
        ]
    np.testing.assert_allclose(graph.run(feeds)["v"], _numpy(x, y), rtol=1e-6)
    return figures


def _graph() -> basalt.MLGraph:
    b = basalt.MLGraphBuilder(basalt.MLContext(eager_first_run=False))
    x, y = (b.input(name, "float32", (_ELEMENTS,)) for name in "xy")
    v = b.relu(b.add(b.mul(x, y), x))
    v = b.mul(b.abs(b.sub(v, y)), x)
    return b.build({"v": b.neg(b.max(v, y))})


def _numpy(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    v = np.maximum(x * y + x, 0)
    v = np.abs(v - y) * x
    return -np.maximum(v, y)
