"""Files with machine code where little else is: no home, no compiler, no threading layer, one CPU, no disk."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from runtime_programs import chain

SCRIPT = """
import os, sys
for name in {hidden!r}:
    sys.modules[name] = None
if {single}:
    os.sched_setaffinity(0, {{next(iter(os.sched_getaffinity(0)))}})
os.umask(0o777)
import numpy as np, basalt
x = np.arange(65536, dtype=np.float32)
runner = basalt.Runner({path!r}, trust_native=True)
for _ in range(3):
    assert np.array_equal(runner.run({{"x": x}})["y"], x + 5)
assert np.array_equal(runner.run({{"x": x}}, threads=3)["y"], x + 5)
print(basalt.get_num_threads())
"""
SETPRIV = shutil.which("setpriv") if os.geteuid() == 0 else None
WITHOUT_RIGHTS = [SETPRIV, "--inh-caps=-all", "--bounding-set=-all"] if SETPRIV else []
"""What takes from root the rights that other users lack."""
NO_COMPILER = ("numba", "llvmlite", "ml_dtypes", "click", "rich", "tbb")


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """x + 5 on 65536 numbers, whose rows are split over threads."""
    path = tmp_path_factory.mktemp("bare") / "p.bsl"
    chain(5, 1 << 16, 1e6).save(path)
    path.chmod(0o444)
    return path


def run(path: Path, hidden: tuple[str, ...], single: bool) -> subprocess.CompletedProcess[str]:
    """The script in an environment of its own, without the rights that root has beyond those of others."""
    script = SCRIPT.format(hidden=hidden, single=single, path=str(path))
    command = [*WITHOUT_RIGHTS, sys.executable, "-B", "-c", script]
    environment = {"PATH": "/nowhere", "BASALT_CACHE_DIR": str(path.parent / "not" / "there")}
    return subprocess.run(command, env=environment, cwd="/", capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="needs Linux's affinity masks")
@pytest.mark.parametrize("hidden", [(), NO_COMPILER], ids=["all", "bare"])
@pytest.mark.parametrize("single", [True, False], ids=["one-cpu", "all-cpus"])
def test_it_runs_and_is_quiet(path: Path, hidden: tuple[str, ...], single: bool) -> None:
    done = run(path, hidden, single)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) == 1 if single else int(done.stdout) >= 1
    assert not (path.parent / "not").exists(), "nothing is compiled, so nothing is written"
    assert len(done.stderr.splitlines()) <= 2, "what is lacking is said once"


def test_a_model_without_a_place_for_kernels_says_so_once(tmp_path: Path) -> None:
    script = (
        "import numpy as np, basalt\n"
        "for op in ('tanh', 'sin', 'cos'):\n"
        "    b = basalt.MLGraphBuilder(basalt.MLContext(eager_first_run=False))\n"
        "    graph = b.build({'y': getattr(b, op)(b.input('x', 'float32', (8,)))})\n"
        "    y = graph.run({'x': np.ones(8, np.float32)})['y']\n"
        "    assert np.allclose(y, getattr(np, op)(1)), op\n"
    )
    folder = tmp_path / "read-only"
    folder.mkdir(mode=0o555)
    if os.geteuid() == 0 and not WITHOUT_RIGHTS:
        pytest.skip("root may write to read-only folders, and setpriv is not there")
    environment = {"PATH": "/nowhere", "BASALT_CACHE_DIR": str(folder / "cache")}
    done = subprocess.run(
        [*WITHOUT_RIGHTS, sys.executable, "-c", script],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("compiled kernels cannot be kept in") == 1, done.stderr
