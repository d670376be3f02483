"""Our own threads, and layers of Numba's that are not as expected, each in a process of its own."""

from __future__ import annotations

import importlib.machinery
import os
import shutil
import sysconfig
import types
from pathlib import Path

import pytest
from runtime_programs import run_python
from test_threads import HEAD

from basalt.runtime import layers
from basalt.runtime.layers import ORDER

TOGETHER = """
import ctypes, types
from basalt.runtime.program import Program
from basalt.runtime.spec import Row, Slot
from runtime_programs import program

KERNEL = ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_void_p] * 3, *[ctypes.c_int64] * 2)

def meeting(parties, threads):
    '''Runs a program of one row of so many chunks; each waits until all are under way, and must have its own thread.'''
    met, seen = threading.Barrier(parties), set()
    @KERNEL
    def kernel(result, exception, table, start, stop):
        met.wait(60)
        seen.add(threading.get_ident())
        met.wait(60)
        return 0
    spec = program(Row(0, (Slot.input(0), Slot.output(0)), 0, parties, 20_000.0 * parties)).spec
    addresses = np.full(len(spec.kernels), ctypes.cast(kernel, ctypes.c_void_p).value, np.int64)
    code = types.SimpleNamespace(executor=long.code.executor, addresses=addresses, nbytes=0)
    made = Program(spec, code, threads=threads)
    made.run({"x": ramp(16)})
    assert len(seen) == parties, seen
"""

HIDDEN = """
absent = ("numba", "llvmlite", "tbb")
for name in [name for name in sys.modules if name.split(".")[0] in absent] + list(absent):
    sys.modules[name] = None
"""


def run_with(layer: str | None, script: str, **environment: str | None) -> str:
    return run_python(HEAD + TOGETHER + script, BASALT_THREADING_LAYER=layer, **environment).strip()


@pytest.mark.parametrize("threads", [2, 5])
def test_threads_run_at_once_without_numba(threads: int) -> None:
    script = HIDDEN + f"meeting({threads}, {threads})\ncheck()\nhammer(20)\nprint(THREADS.layer_name)"
    assert run_with(None, script) == "basalt"


@pytest.mark.parametrize("layer", ORDER)
def test_threads_of_each_layer_run_at_once(layer: str) -> None:
    if layer != "basalt" and layers._load(layer) is None:
        pytest.skip(f"this system has no threading layer {layer}")
    assert run_with(layer, "meeting(2, 2)\nprint(THREADS.layer_name)") == layer


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system cannot fork")
def test_a_forked_child_has_threads_again() -> None:
    script = "meeting(3, 3)\nin_child(lambda: meeting(3, 3))\nin_child(lambda: in_child(lambda: meeting(2, 2)))"
    assert run_with("basalt", script + "\nmeeting(3, 3)\nprint('fine')") == "fine"


def test_more_teams_at_once_than_there_are_jobs_for() -> None:
    script = """
from basalt.runtime.layout import Pool
together = Pool.JOB_COUNT + 8
met = threading.Barrier(together)
@KERNEL
def kernel(result, exception, table, start, stop):
    if start == 0:
        met.wait(60)
    return 0
spec = program(Row(0, (Slot.input(0), Slot.output(0)), 0, 2, 40_000.0)).spec
addresses = np.full(len(spec.kernels), ctypes.cast(kernel, ctypes.c_void_p).value, np.int64)
made = Program(spec, types.SimpleNamespace(executor=long.code.executor, addresses=addresses, nbytes=0), threads=2)
workers = [threading.Thread(target=made.run, args=({"x": ramp(16)},)) for _ in range(together)]
for worker in workers: worker.start()
for worker in workers: worker.join()
assert made._idle[0].team == 2
check()
print("fine")
"""
    assert run_with("basalt", script) == "fine"


def test_a_system_that_denies_threads_gets_serial_runs() -> None:
    script = """
from basalt.runtime import own_threads
own_threads._Posix.start = lambda self, function, argument: False
check()
hammer(20)
print(THREADS.layer_name, THREADS._layer._workers)
"""
    assert run_with("basalt", script) == "basalt 0"


def test_the_number_of_threads_is_bounded() -> None:
    script = """
long.run(feeds, threads=10**6)
print(THREADS._layer._workers < max(16, 4 * os.cpu_count()))
"""
    assert run_with("basalt", script) == "True"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs signals")
def test_signals_are_left_to_the_threads_of_python() -> None:
    script = """
before = set(os.listdir("/proc/self/task"))
check()
def masks():
    found = []
    for task in set(os.listdir("/proc/self/task")) - before:
        with open(f"/proc/self/task/{task}/status") as file:
            found += [int(line.split()[1], 16) for line in file if line.startswith("SigBlk")]
    return found
# The C library blocks everything for a moment while a thread starts.
deadline = time.monotonic() + 30
while any(mask >> (signal.SIGSEGV - 1) & 1 for mask in masks()) and time.monotonic() < deadline:
    time.sleep(0.01)
assert masks() and all(m >> (signal.SIGINT - 1) & 1 and not m >> (signal.SIGSEGV - 1) & 1 for m in masks()), masks()
assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == set()
print("fine")
"""
    if not Path("/proc/self/task").exists():
        pytest.skip("needs Linux's /proc")
    assert run_with("basalt", script) == "fine"


def test_a_process_ends_while_threads_compute() -> None:
    script = """
def work():
    while True:
        check()
for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
time.sleep(0.3)
print("fine")
"""
    assert run_with("basalt", script) == "fine"


SUFFIX = importlib.machinery.EXTENSION_SUFFIXES[0]
FAKE = """
for name in [name for name in sys.modules if name.split(".")[0] == "numba"]:
    del sys.modules[name]
sys.path.insert(0, {folder!r})
from basalt.runtime import layers
assert layers._ufunc_folder() is None or layers._ufunc_folder().startswith({folder!r}), layers._ufunc_folder()
{hide}
check()
check()
print(THREADS.layer_name)
"""


def damaged(content: str, folder: Path) -> None:
    """An installation of Numba's in ``folder`` whose layers are as ``content`` says."""
    package = folder / "numba"
    if content == "a module":
        (folder / "numba.py").write_text("raise RuntimeError")
        return
    inner = package / "np" / "ufunc"
    inner.mkdir(parents=True)
    (package / "__init__.py").write_text("raise RuntimeError('Numba must not be imported')")
    other = next(Path(sysconfig.get_path("platstdlib"), "lib-dynload").glob(f"*{SUFFIX}"), None)
    for name in ("tbbpool", "omppool", "workqueue"):
        file = inner / (name + SUFFIX)
        if content == "text":
            file.write_text("no machine code")
        elif content == "empty":
            file.touch()
        elif content == "folder":
            file.mkdir()
        elif content == "another module" and other is not None:
            shutil.copy(other, file)
        elif content == "another Python" and other is not None:
            shutil.copy(other, inner / (name + SUFFIX.replace("cpython-3", "cpython-9")))


@pytest.mark.parametrize("own", [True, False])
@pytest.mark.parametrize(
    "content", ["a module", "nothing", "text", "empty", "folder", "another module", "another Python"]
)
def test_a_numba_whose_layers_do_not_load(content: str, own: bool, tmp_path: Path) -> None:
    damaged(content, tmp_path)
    hide = "" if own else "layers._own_threads = lambda executor: None"
    found = run_with(None, FAKE.format(folder=str(tmp_path), hide=hide), NUMBA_THREADING_LAYER=None)
    assert found == ("basalt" if own else "None")


@pytest.mark.parametrize("wrong", [{"launch_threads": None}, {"parallel_for": 0}, {"set_num_threads": "f"}])
def test_a_layer_that_lacks_a_function_is_none(wrong: dict[str, object]) -> None:
    right = types.SimpleNamespace(launch_threads=1, parallel_for=2, set_num_threads=3)
    assert layers._is_layer(right)  # type: ignore[arg-type]
    assert not layers._is_layer(types.SimpleNamespace(**(vars(right) | wrong)))  # type: ignore[arg-type]
    assert not layers._is_layer(types.SimpleNamespace())  # type: ignore[arg-type]
    assert not layers._is_layer(None)


def test_a_layer_that_is_asked_for_and_lacks_a_function_is_refused() -> None:
    script = """
from basalt.errors import ValidationError
from basalt.runtime import layers
layers._load_extension = lambda name: types.ModuleType(name)
for name in [name for name in sys.modules if name.startswith("numba")]:
    del sys.modules[name]
try:
    check()
except ValidationError as error:
    print(error)
"""
    assert "cannot be loaded on this system" in run_with("omp", script)
