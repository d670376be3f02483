"""What a user waits for before anything runs: imports, the command, a compile with a cold and a warm cache."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from ..measure import in_process, whole_process
from . import Figure

_COMPILE = """
import json, time
start = time.perf_counter()
import basalt
imported = time.perf_counter()
model = basalt.load("examples/digits/digits.bsl")
program = model.compile({"image": (1, 1, 8, 8)})
ready = time.perf_counter()
import numpy as np
program.run({"image": np.zeros((1, 1, 8, 8), np.float32)})
ran = time.perf_counter()
import sys
print(json.dumps([imported - start, ready - imported, ran - ready, len(program.spec.kernels), "numba" in sys.modules]))
"""


def measure() -> list[Figure]:
    """Imports and first programs, in whole processes."""
    python = sys.executable
    times = whole_process(
        {
            "python": [python, "-c", "pass"],
            "numpy": [python, "-c", "import numpy"],
            "basalt": [python, "-c", "import basalt"],
            "api": [python, "-c", "import basalt; basalt.MLGraphBuilder, basalt.MLContext, basalt.load"],
            "help": [str(Path(python).with_name("bslc")), "--help"],
        }
    )
    own = times["python"]
    figures = [
        Figure(
            "import basalt (beside the interpreter's start)", f"{(times['basalt'] - own) * 1e3:.0f} ms", "150 ms", None
        ),
        Figure(
            "import basalt and touch its API",
            f"{(times['api'] - own) * 1e3:.0f} ms (NumPy {(times['numpy'] - own) * 1e3:.0f})",
        ),
        Figure("bslc --help, whole process", f"{times['help'] * 1e3:.0f} ms", "150 ms", times["help"] < 0.15),
    ]
    with tempfile.TemporaryDirectory() as cache:
        cold = in_process(_COMPILE, environment={"BASALT_CACHE_DIR": cache})
        warm = sorted(in_process(_COMPILE, environment={"BASALT_CACHE_DIR": cache}) for _ in range(5))[2]
    kernels = f"{cold[3]} kernels"
    figures.append(
        Figure("digits: load and compile, cold cache", f"{cold[1] * 1e3:.0f} ms ({kernels} and the executor)")
    )
    loaded = "with" if warm[4] else "without"
    figures.append(Figure("digits: load and compile, warm cache", f"{warm[1] * 1e3:.0f} ms ({loaded} importing Numba)"))
    return figures
