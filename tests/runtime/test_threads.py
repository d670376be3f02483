"""Threading layers, each in a process of its own: launching, forking, meeting Numba's own threads."""

from __future__ import annotations

import importlib.util
import os

import pytest
from runtime_programs import run_python

from basalt.errors import ValidationError
from basalt.runtime.layers import ORDER
from basalt.runtime.threads import Threads, get_num_threads, set_num_threads

fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="the system cannot fork")

HEAD = """
import os, signal, sys, threading, time, warnings
import numpy as np
from runtime_programs import chain, ramp
from basalt.runtime.threads import THREADS
long = chain(30, 5000, 1e6, threads=2)
feeds = {"x": ramp(5000)}

def check():
    assert (long.run(feeds)["y"] == ramp(5000) + 30).all()

def hammer(times=100):
    wrong = []
    def work():
        try:
            for _ in range(times):
                check()
        except BaseException as error:
            wrong.append(error)
    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers: worker.start()
    for worker in workers: worker.join()
    assert not wrong, wrong

def in_child(action):
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        signal.alarm(60)
        code = 1
        try:
            action()
            code = 0
        finally:
            sys.stdout.flush()
            os._exit(code)
    status = os.waitpid(pid, 0)[1]
    assert status == 0, status
"""


@pytest.fixture(scope="module")
def layers() -> set[str]:
    """Layers that this system has."""
    script = "from basalt.runtime.layers import ORDER, _load\nprint(*[name for name in ORDER if _load(name)])"
    return {"basalt", *run_python(script).split()}


@pytest.fixture(params=ORDER)
def layer(request: pytest.FixtureRequest, layers: set[str]) -> str:
    if request.param not in layers:
        pytest.skip(f"this system has no threading layer {request.param}")
    return str(request.param)


@pytest.fixture
def numba_layer(layer: str) -> str:
    if layer == "basalt":
        pytest.skip("Numba has no such layer")
    return layer


def run_with(layer: str | None, script: str, **environment: str | None) -> str:
    return run_python(HEAD + script, BASALT_THREADING_LAYER=layer, **environment).strip()


def test_the_layer_asked_for_runs(layer: str) -> None:
    assert run_with(layer, "check(); check(); print(THREADS.layer_name, long._idle[0].team)") == f"{layer} 2"


def test_four_python_threads_at_once(layer: str) -> None:
    assert run_with(layer, "hammer(); check(); print('fine')") == "fine"


def test_our_own_threads_are_the_default() -> None:
    environment = {"NUMBA_THREADING_LAYER": None, "NUMBA_THREADING_LAYER_PRIORITY": None}
    script = "check(); print(THREADS.layer_name)"
    assert run_with(None, script, **environment) == "basalt"
    assert run_with(None, NUMBA + "total(np.ones(10))\n" + script, **environment) == "basalt"


def test_the_best_layer_of_numba_where_our_own_threads_cannot_be_had(layers: set[str]) -> None:
    best = next(name for name in ORDER[1:] if name in layers)
    environment = {"NUMBA_THREADING_LAYER": None, "NUMBA_THREADING_LAYER_PRIORITY": None}
    script = """
from basalt.runtime import layers
layers._own_threads = lambda executor: None
check()
print(THREADS.layer_name)
"""
    assert run_with(None, script, **environment) == best


def test_a_choice_made_for_numba_is_followed(numba_layer: str) -> None:
    layer = numba_layer
    script = "check(); print(THREADS.layer_name)"
    assert run_with(None, script, NUMBA_THREADING_LAYER=layer) == layer
    order = " ".join((layer, *(name for name in ORDER if name not in (layer, "basalt"))))
    followed = "basalt" if order == "tbb omp workqueue" else layer  # Numba's default says nothing
    assert run_with(None, script, NUMBA_THREADING_LAYER=None, NUMBA_THREADING_LAYER_PRIORITY=order) == followed
    configured = f"import numba\nnumba.config.THREADING_LAYER = {layer!r}\n" + script
    assert run_with(None, configured, NUMBA_THREADING_LAYER=None) == layer


def test_an_unknown_layer_is_refused() -> None:
    script = """
from basalt.errors import ValidationError
try:
    check()
except ValidationError as error:
    print(error)
"""
    assert run_with("best", script) == "BASALT_THREADING_LAYER is 'best', expected one of basalt, tbb, omp, workqueue"


def test_a_layer_that_cannot_be_loaded_is_refused() -> None:
    script = """
from basalt.errors import ValidationError
from basalt.runtime import layers
layers._load = lambda name: None
try:
    check()
except ValidationError as error:
    print(error)
"""
    assert "cannot be loaded on this system" in run_with("tbb", script)


def test_without_any_layer_everything_is_serial() -> None:
    script = """
from basalt.runtime import layers
layers._load = layers._own_threads = lambda name: None
check()
print(THREADS.layer_name, long._idle[0].team)
"""
    assert run_with(None, script) == "None 1"


@fork
def test_a_fork_before_use(layer: str) -> None:
    script = "in_child(check); check(); in_child(lambda: (check(), hammer(20))); print('fine')"
    assert run_with(layer, script) == "fine"


@fork
def test_a_fork_after_use(layer: str) -> None:
    script = """
check()
in_child(lambda: (check(), check(), print(long._idle[-1].team)))
check()
in_child(lambda: in_child(check))
in_child(lambda: hammer(20))
hammer(20)
print("fine")
"""
    lines = run_with(layer, script).split("\n")
    assert lines == ["1" if layer == "omp" else "2", "fine"]


@fork
@pytest.mark.filterwarnings("ignore")
def test_a_fork_while_other_threads_compute(layer: str) -> None:
    script = """
warnings.simplefilter("ignore")
check()
stop = False
def work():
    while not stop:
        check()
workers = [threading.Thread(target=work) for _ in range(2)]
for worker in workers: worker.start()
for _ in range(15):
    in_child(check)
    check()
stop = True
for worker in workers: worker.join()
check()
print("fine")
"""
    assert run_with(layer, script).split("\n")[-1] == "fine"


@fork
def test_a_fork_off_the_main_thread(layer: str) -> None:
    script = """
warnings.simplefilter("ignore")
check()
worker = threading.Thread(target=lambda: in_child(lambda: (check(), check())))
worker.start()
worker.join()
check()
print("fine")
"""
    assert run_with(layer, script) == "fine"


NUMBA = """
import numba
@numba.njit(parallel=True)
def total(x):
    s = 0.0
    for i in numba.prange(x.size):
        s += x[i]
    return s
"""


PIP_TBB = "from basalt.runtime.tbb import load_tbb\nload_tbb()\n"


@pytest.mark.parametrize("first", ["numba runs", "numba imported", "basalt runs"])
def test_numba_and_basalt_share_one_layer(numba_layer: str, first: str) -> None:
    """Whoever comes first. Numba would choose tbb, so it is told the layer; nor does it find pip's tbb by itself."""
    layer = numba_layer
    script = {
        "numba runs": "from basalt.runtime.tbb import load_tbb\nload_tbb()\n"
        + NUMBA
        + "assert total(np.ones(1000)) == 1000\ncheck()",
        "numba imported": NUMBA + "check()\nassert total(np.ones(1000)) == 1000",
        "basalt runs": "check()\n" + NUMBA + "assert total(np.ones(1000)) == 1000\ncheck()",
    }[first]
    setting = {"NUMBA_THREADING_LAYER": layer if first != "numba imported" else None}
    tail = "\nfor _ in range(20):\n    check()\n    assert total(np.ones(1000)) == 1000\nhammer(20)"
    tail += "\nprint(THREADS.layer_name, numba.threading_layer())"
    assert run_with(layer, script + tail, **setting) == f"{layer} {layer}"


def test_a_layer_that_numba_runs_is_taken_over_with_a_warning(layers: set[str]) -> None:
    if not {"tbb", "workqueue"} <= layers:
        pytest.skip("needs two layers")
    script = (
        NUMBA
        + """
total(np.ones(10))
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    check()
print(THREADS.layer_name, [str(w.message) for w in caught if "BASALT" in str(w.message)])
"""
    )
    printed = run_with("tbb", script, NUMBA_THREADING_LAYER="workqueue")
    assert printed.startswith("workqueue [") and "Numba runs 'workqueue' in this process already" in printed


def test_own_threads_beside_those_of_numba(layers: set[str]) -> None:
    other = next(name for name in ORDER if name in layers and name != "basalt")
    script = (
        "check()\n"
        + PIP_TBB
        + NUMBA
        + """
x = np.ones(100_000)
stop = False
def work():
    while not stop:
        check()
workers = [threading.Thread(target=work) for _ in range(2)]
for worker in workers: worker.start()
for _ in range(100):
    assert total(x) == 100_000
stop = True
for worker in workers: worker.join()
print(THREADS.layer_name, numba.threading_layer())
"""
    )
    assert run_with("basalt", script, NUMBA_THREADING_LAYER=other) == f"basalt {other}"


def test_workqueue_runs_one_team_at_a_time() -> None:
    script = """
check()
assert THREADS.guard.acquire(blocking=False)
check()                        # would wait for ever, or end the process, if it launched a team
assert long._idle[0].team == 2
THREADS.guard.release()
check()
assert not THREADS.guard.locked()
print("fine")
"""
    assert run_with("workqueue", script) == "fine"


def test_workqueue_leaves_its_threads_to_numba_when_it_comes() -> None:
    """Numba's function and a program at once would end the process, as would more threads than were launched."""
    script = (
        "check()\n"
        + NUMBA
        + """
x = np.ones(100_000)
total(x)
stop = False
def work():
    while not stop:
        check()
worker = threading.Thread(target=work)
worker.start()
for _ in range(300):
    assert total(x) == 100_000
stop = True
worker.join()
check()
print(numba.threading_layer(), numba.get_num_threads())
"""
    )
    assert run_with("workqueue", script, NUMBA_THREADING_LAYER="workqueue", NUMBA_NUM_THREADS="5") == "workqueue 5"


def test_a_launch_never_waits_for_the_gil(layer: str) -> None:
    script = """
import ctypes
from runtime_programs import program
from basalt.runtime.spec import Row, Slot
from basalt.runtime.schedule import GAP
rows = []
for index in range(40):     # a launch for each row with an even number
    source = Slot.input(0) if index == 0 else Slot.arena(20000 * (index % 2))
    target = Slot.output(0) if index == 39 else Slot.arena(20000 * ((index + 1) % 2))
    rows.append(Row(1, (source, target, Slot.real(1.0)), 0, 5000, 2 * GAP, serial=index % 2 == 1))
launches = program(*rows, size=5000, threads=2)
y = np.zeros(5000, np.float32)
launches.run(feeds, out={"y": y})
assert sum(parallel for _, _, parallel in launches._idle[0].regions) == 20
y[...] = 0
sys.setswitchinterval(60)   # from here on a thread keeps the GIL until it gives it up by itself
started = threading.Event()
def work():
    started.set()
    launches.run(feeds, out={"y": y})
worker = threading.Thread(target=work)
worker.start()
started.wait()              # goes on when the worker has let go of the GIL, inside the run
ctypes.PyDLL(None).usleep(700_000)
print((y == ramp(5000) + 40).all())
"""
    assert run_with(layer, script) == "True"


def test_the_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    before = get_num_threads()
    try:
        set_num_threads(3)
        assert get_num_threads() == 3
        for wrong in (0, -1, 1.5, "2", None, True):
            with pytest.raises(ValidationError, match="expected a whole number of at least 1"):
                set_num_threads(wrong)  # type: ignore[arg-type]
        assert get_num_threads() == 3
    finally:
        set_num_threads(before)


@pytest.mark.parametrize("text", ["0", "-1", "two", "1.5"])
def test_a_wrong_number_in_the_environment(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("BASALT_NUM_THREADS", text)
    with pytest.raises(ValidationError, match=f"BASALT_NUM_THREADS is '{text}'"):
        _ = Threads().count


def test_the_environment_gives_the_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BASALT_NUM_THREADS", "5")
    assert Threads().count == 5


def test_a_new_number_takes_effect_at_the_next_run() -> None:
    script = """
from basalt.runtime.threads import set_num_threads
free = chain(3, 5000, 1e6)
teams = []
for count in (1, 2, 3, 1):
    set_num_threads(count)
    assert (free.run(feeds)["y"] == ramp(5000) + 3).all()
    teams.append(free._idle[0].team)
print(teams)
"""
    assert run_with(None, script) == "[1, 2, 3, 1]"


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="the system has no affinity masks")
def test_the_affinity_mask_is_respected() -> None:
    script = """
import os
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
from basalt.runtime.threads import get_num_threads
print(get_num_threads())
"""
    assert run_python(script, BASALT_NUM_THREADS=None).strip() == "1"


def test_numba_is_there_for_these_tests() -> None:
    assert importlib.util.find_spec("numba") is not None
