"""Models compiled ahead of time: how soon their files are ready, and the memory of the processes that run them.

Needs the real models (``BASALT_TEST_MODELS``); their inputs are found as the suite ``models`` finds them.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from ..measure import ROOT, clean_environment, in_process
from ..suites import Options, models
from ..suites.startup import STARTED
from . import Figure

_SAVE = """
import json, sys, time, numpy as np, basalt
start = time.perf_counter()
model = basalt.load({model!r}, eager_first_run=False)
basalt.save_program(model, {path!r}, feeds=dict(np.load({feeds!r})), source={source})
print(json.dumps(time.perf_counter() - start))
"""
_LOAD = """
import json, time, numpy as np, basalt
feeds = dict(np.load({feeds!r}))
Runner = basalt.Runner
basalt.Runner({small!r}, trust_native=True)
start = time.perf_counter()
runner = Runner({path!r}, trust_native=True, threads=1)
ready = time.perf_counter()
runner.run(feeds)
first = time.perf_counter()
runner.run(feeds)
print(json.dumps([ready - start, first - ready, time.perf_counter() - first]))
"""
_MEMORY = """
import json, sys, numpy as np
feeds = dict(np.load({feeds!r}))
{load}
{run}
def kilobytes():
    found = {{}}
    for line in open("/proc/self/smaps_rollup"):
        name, _, rest = line.partition(":")
        if rest.split()[1:] == ["kB"]:
            found[name] = int(rest.split()[0])
    return found
if len(sys.argv) > 1:
    print("ready", flush=True)
    sys.stdin.readline()
print(json.dumps(kilobytes()), flush=True)
if len(sys.argv) > 1:
    sys.stdin.readline()
"""
_CONTENDERS = {
    "basalt": (
        "import basalt; runner = basalt.Runner({path!r}, trust_native=True, threads=1)",
        "runner.run(feeds)",
    ),
    "ort": (
        "import onnxruntime as o; s = o.SessionOptions(); s.intra_op_num_threads = 1; "
        "session = o.InferenceSession({model!r}, s, providers=['CPUExecutionProvider'])",
        "session.run(None, feeds)",
    ),
}


def measure() -> list[Figure]:
    """Loading of five models; memory of one, in one process and in four."""
    with tempfile.TemporaryDirectory() as folder:
        return _measure(Path(folder))


def _measure(folder: Path) -> list[Figure]:
    figures = []
    small = ""
    for case in models.cases(Options()):
        name = Path(case.params["path"]).stem
        if name not in STARTED:
            continue
        place = folder / name
        place.mkdir()
        models.build(case, place)
        files = {"model": case.params["path"], "feeds": str(place / "feeds.npz"), "path": str(place / "m.bsl")}
        seconds = in_process(_SAVE.format(**files, source=False))
        small = small or files["path"]
        times = np.median([in_process(_LOAD.format(**files, small=small)) for _ in range(9)], axis=0) * 1e3
        size = f"{Path(files['path']).stat().st_size / 1e6:.1f} MB, written in {seconds:.1f} s"
        figures.append(
            Figure(
                f"{name}: load, first run, next run",
                f"{times[0]:.1f} ms, {times[1]:.1f} ms, {times[2]:.1f} ms ({size})",
                "5 ms to load",
                bool(times[0] <= 5),
            )
        )
        if name == "minilm_l3":
            figures += _memory(files)
    return figures


def _memory(files: dict[str, str]) -> list[Figure]:
    found = {}
    for contender, parts in _CONTENDERS.items():
        load, run = (part.format(**files) for part in parts)
        code = _MEMORY.format(feeds=files["feeds"], load=load, run=run)
        found[contender] = np.median([in_process(code)["Rss"] for _ in range(5)]) / 1024
        if contender == "basalt":
            shared = _shared(code)
    ratio = found["basalt"] / found["ort"]
    one, four = shared
    return [
        Figure(
            "minilm_l3: resident memory of a process",
            f"{found['basalt']:.0f} MB (ONNX Runtime {found['ort']:.0f}, {ratio:.2f} of it)",
            "0.8",
            bool(ratio <= 0.8),
        ),
        Figure("minilm_l3: resident memory of four processes, shared pages once", f"{four:.0f} MB (one: {one:.0f})"),
    ]


def _shared(code: str) -> tuple[float, float]:
    """Megabytes of one process, and of four that run at once: the sum of their proportional set sizes."""
    command = [sys.executable, "-c", code, "wait"]
    processes = [
        subprocess.Popen(
            command, cwd=ROOT, env=clean_environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(4)
    ]
    sizes = []
    for process in processes:
        assert process.stdin is not None and process.stdout is not None
        process.stdout.readline()
    for process in processes:
        process.stdin.write("\n")  # type: ignore[union-attr]
        process.stdin.flush()  # type: ignore[union-attr]
        sizes.append(json.loads(process.stdout.readline()))  # type: ignore[union-attr]
    for process in processes:
        process.communicate("\n")
    return sizes[0]["Rss"] / 1024, sum(size["Pss"] for size in sizes) / 1024
