"""A process that finds its kernels on disk needs no compiler, threads included."""

from __future__ import annotations

from pathlib import Path

import pytest
from runtime_programs import run_python

SCRIPT = """
import sys
from runtime_programs import chain, ramp
from basalt.runtime.kernel_cache import cache_info
from basalt.runtime.threads import THREADS
long = chain(5, 5000, 1e6, threads=2)
for _ in range(3):
    assert (long.run({"x": ramp(5000)})["y"] == ramp(5000) + 5).all()
heavy = [name for name in sys.modules if name.split(".")[0] in ("numba", "llvmlite", "onnx")]
print(cache_info().compiled, THREADS.layer_name, len(heavy))
"""


def test_nothing_of_a_compiler_is_imported(tmp_path: Path) -> None:
    compiled, layer, heavy = run_python(SCRIPT, BASALT_CACHE_DIR=str(tmp_path)).split()
    assert int(compiled) == 6 and int(heavy) > 0
    assert run_python(SCRIPT, BASALT_CACHE_DIR=str(tmp_path)).split() == ["0", layer, "0"]


@pytest.mark.parametrize("module", ["program", "threads", "kernel_cache"])
def test_importing_the_runtime_is_light(module: str) -> None:
    script = f"""
import sys
import basalt.runtime.{module}
print([name for name in sys.modules if name.split(".")[0] in ("numba", "llvmlite", "ml_dtypes", "email")])
"""
    assert run_python(script).strip() == "[]"
