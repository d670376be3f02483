"""ONNX models from elsewhere: reading, translating, planning, compiling; needs their files (BASALT_TEST_MODELS)."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

from ..measure import in_process
from . import Figure

FOLDER = Path(os.environ.get("BASALT_TEST_MODELS", "~/.cache/basalt-models")).expanduser()

_READ = """
import json, resource, time
{imports}
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
times = []
for _ in range({rounds}):
    start = time.perf_counter()
    model = {call}
    times.append(time.perf_counter() - start)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    del model
print(json.dumps([sorted(times)[len(times) // 2], (peak - before) / 1024]))
"""

_FIRST_RUN = """
import json, sys, time
import numpy as np
sys.path.insert(0, ".")
from tests.conformance.real_models import all_models, wrong_outputs
import basalt
from basalt.compiler.progress import set_hook
basalt.OnnxExecutable, basalt.load
(model,) = [m for m in all_models() if m.id == "{id}"]
compiled = []
set_hook(lambda done, total, seconds: compiled.append(seconds))
start = time.perf_counter()
loaded = basalt.load(model.path, eager_first_run=False)
read = time.perf_counter()
results = loaded.run(model.feeds)
ran = time.perf_counter()
runs = []
for _ in range(5):
    begun = time.perf_counter()
    loaded.run(model.feeds)
    runs.append(time.perf_counter() - begun)
again = None
if {second!r}:
    count = len(compiled)
    begun = time.perf_counter()
    loaded.run({{k: np.ascontiguousarray(v[..., : v.shape[-1] // 2]) for k, v in model.feeds.items()}})
    again = [time.perf_counter() - begun, len(compiled) - count]
right = wrong_outputs(model, results) == []
nodes = len(loaded.onnx.graph.nodes)
cold = ran - read - min(runs)
print(json.dumps([read - start, cold, len(compiled), sum(compiled), min(runs), right, nodes, again]))
"""
_SECOND = "ppocr4_rec"
"""The model that is run for a second width."""


def measure() -> list[Figure]:
    """A table of all models that are there; none if no file is."""
    paths = sorted(FOLDER.glob("*.onnx"))
    if not paths:
        return [Figure("ONNX models", f"no files in {FOLDER}")]
    figures = []
    for path in sorted(paths, key=lambda p: -p.stat().st_size)[:2]:
        figures.append(_reading(path))
    for path in paths:
        figures += _first_runs(path)
    return figures


def _reading(path: Path) -> Figure:
    calls = {
        "ours": ("from basalt.serialization.onnx import OnnxModel", f"OnnxModel.load({str(path)!r})"),
        "onnx": ("import onnx", f"onnx.load({str(path)!r})"),
    }
    found = {
        name: in_process(_READ.format(imports=imports, call=call, rounds=5)) for name, (imports, call) in calls.items()
    }
    ours, theirs = found["ours"], found["onnx"]
    text = f"{ours[0] * 1e3:.2f} ms, {ours[1]:.0f} MB (onnx.load {theirs[0] * 1e3:.1f} ms, {theirs[1]:.0f} MB)"
    return Figure(f"reading {path.stem} ({path.stat().st_size / 1e6:.0f} MB), memory added", text)


def _first_runs(path: Path) -> list[Figure]:
    """A model in a process of its own with no kernels cached, then in one with all of them."""
    second = path.stem == _SECOND
    code = _FIRST_RUN.format(id=path.stem, second=second)
    with tempfile.TemporaryDirectory() as cache:
        cold, warm = [in_process(code, environment={"BASALT_CACHE_DIR": cache}) for _ in range(2)]
    right = "right" if cold[5] and warm[5] else "WRONG"
    text = (
        f"{cold[6]} nodes, {cold[2]} kernels, compiled in {cold[3]:.1f} s; load {warm[0] * 1e3:.0f} ms, "
        f"plan {warm[1] * 1e3:.0f} ms (cold {cold[1]:.1f} s), run {warm[4] * 1e3:.2f} ms, {right}"
    )
    figures = [Figure(path.stem, text)]
    if second:
        figures.append(_second_signature(cold[7]))
    return figures


def _second_signature(again: Any) -> Figure:
    text = f"{again[1]} kernels compiled, {again[0] * 1e3:.0f} ms"
    return Figure(f"{_SECOND}: another width", text, "0 kernels", again[1] == 0)
