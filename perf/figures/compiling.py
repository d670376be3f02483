"""The CPU time that one kernel takes to compile, by kind."""

from __future__ import annotations

from ..measure import in_process
from . import Figure

_COMPILE = """
import json, os, tempfile, time
os.environ["BASALT_CACHE_DIR"] = tempfile.mkdtemp()
import numpy as np, basalt
from basalt.compiler.codegen.compile import compile_kernel

def graph(make):
    b = basalt.MLGraphBuilder(basalt.MLContext(eager_first_run=False))
    return b.build({"y": make(b, b.input("x", "float32", (1, 8, 16, 16)))})._spec(None).kernels

w = np.ones((8, 8, 3, 3), np.float32)
kinds = {
    "relu": lambda b, x: b.relu(x),
    "8 element-wise": lambda b, x: b.neg(b.max(b.mul(b.abs(b.sub(b.relu(b.add(b.mul(x, x), x)), x)), x), x)),
    "sigmoid": lambda b, x: b.sigmoid(x),
    "softmax": lambda b, x: b.softmax(x, 3),
    "layer normalisation": lambda b, x: b.layer_normalization(x, axes=(3,)),
    "matmul": lambda b, x: b.matmul(x, x),
    "conv2d + relu": lambda b, x: b.relu(b.conv2d(x, b.constant(w), padding=(1, 1, 1, 1))),
}
compile_kernel(graph(kinds["relu"])[0])
result = {}
for name, make in kinds.items():
    start = time.process_time()
    codes = graph(make)
    passes = time.process_time() - start
    times = []
    for _ in range(3):
        start = time.process_time()
        for code in codes:
            compile_kernel(code)
        times.append((time.process_time() - start) / len(codes))
    result[name] = [sorted(times)[1], len(codes), passes]
print(json.dumps(result))
"""


def measure() -> list[Figure]:
    """Median CPU milliseconds a kernel, Numba and the first compile's set-up not counted."""
    found = in_process(_COMPILE)
    return [
        Figure(
            f"compile: {name}", f"{seconds * 1e3:.0f} ms CPU a kernel ({count} kernel(s); passes {passes * 1e3:.1f} ms)"
        )
        for name, (seconds, count, passes) in found.items()
    ]
