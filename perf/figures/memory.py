"""Peak memory of a chain of 100 layers that no fusion can merge, against the sum of its tensors."""

from __future__ import annotations

from ..measure import in_process
from . import Figure

_CHAIN = """
import json, resource
import numpy as np, basalt
b = basalt.MLGraphBuilder(basalt.MLContext(threads=1, eager_first_run=False))
rows, width = 32768, 64
x = v = b.input("x", "float32", (rows, width))
rng = np.random.default_rng(0)
for i in range(100):
    weight = b.constant((rng.standard_normal((width, width)) / 6).astype(np.float32))
    v = b.relu(b.matmul(v, weight), label=f"layer {i}")
graph = b.build({"y": v})
program = graph.compile()
feed = np.ones((rows, width), np.float32)
out = np.zeros((rows, width), np.float32)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
graph.run({"x": feed}, {"y": out})
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps([program.memory()["arena"], (after - before) * 1024, feed.nbytes]))
"""


def measure() -> list[Figure]:
    """The arena's size and the growth of the resident set, in tensors; input and output count as one each."""
    arena, grown, tensor = in_process(_CHAIN)
    live = arena / tensor + 2
    return [
        Figure("100 layers: tensors in memory at once", f"{live:.2f} (of 101)", "3", live <= 3.01),
        Figure("100 layers: growth of the resident set in a run", f"{grown / tensor:.2f} tensors"),
    ]
