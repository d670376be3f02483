"""Programs that are saved and run again from their file."""

from __future__ import annotations

import copy
import os
import pickle
import random
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from runtime_programs import chain, program

import basalt
from basalt.errors import BasaltError, ModelFormatError, UnsupportedError, ValidationError
from basalt.runtime.code import LoadedCode
from basalt.runtime.spec import ProgramSpec, Row, Slot
from basalt.runtime.stored.model import StoredModel
from basalt.runtime.stored.saving import native_level
from basalt.runtime.stored.writing import LevelPrograms, direct_model, program_parts
from basalt.serialization.program.data import ProgramParts
from basalt.serialization.program.file import open_program
from basalt.serialization.program.writing import save_program


def no_host(fields: Any, programs: Any) -> Any:
    raise AssertionError


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """y = x + 2 + weights, in a file."""
    weights = np.arange(16, dtype=np.float32)
    rows = (
        Row(1, (Slot.input(0), Slot.arena(0), Slot.real(2.0)), 0, 16, 10.0, label="first"),
        Row(0, (Slot.const(0), Slot.output(0)), 0, 16, 10.0, label="copy"),
        Row(2, (Slot.arena(0), Slot.output(0)), 0, 16, 10.0, label="sum", operations=16, nbytes=192, dtype="float32"),
    )
    path = tmp_path_factory.mktemp("stored") / "p.bsl"
    program(*rows, constants=(weights,)).save(path)
    return path


X = np.linspace(-1, 1, 16, dtype=np.float32)
Y = X + np.float32(2) + np.arange(16, dtype=np.float32)


def test_a_saved_program_gives_the_same(path: Path) -> None:
    runner = basalt.Runner(path, trust_native=True)
    np.testing.assert_array_equal(runner.run({"x": X})["y"], Y)
    np.testing.assert_array_equal(runner.run({"x": X.tolist()})["y"], Y)
    out = np.empty(16, np.float32)
    assert runner.run({"x": X}, {"y": out})["y"] is out and np.array_equal(out, Y)
    assert runner.level == "native" and runner.signatures == [{"x": (16,)}]
    assert [(d.name, d.dtype, d.shape) for d in runner.inputs] == [("x", "float32", (16,))]
    memory = runner.memory()
    assert (memory["weights"], memory["arena"]) == (64, 128) and memory["code"] > 0


def test_constants_are_the_file_itself(path: Path) -> None:
    file = open_program(path)
    stored = StoredModel(file, no_host).programs()[0]
    weights = file.data("weights:native")
    address = int(stored.spec.memory.addresses[0])
    assert 0 <= address - weights.ctypes.data < len(weights)


def test_people_see_the_rows_as_they_were(path: Path) -> None:
    (stored,) = StoredModel(open_program(path), no_host).programs()
    assert [row.label for row in stored.spec.rows] == ["first", "copy", "sum"]
    assert stored.spec.rows[0].slots == (Slot.input(0), Slot.arena(0), Slot.real(2.0))
    last = stored.spec.rows[2]
    assert (last.operations, last.nbytes, last.dtype) == (16, 192, "float32")
    assert [kernel.label for kernel in stored.spec.kernels][:2] == ["copy", "add"]


def test_a_failing_row_is_named(tmp_path: Path) -> None:
    program(Row(3, (Slot.input(0), Slot.output(0)), 0, 16, 1.0, label="root")).save(tmp_path / "p.bsl")
    runner = basalt.Runner(tmp_path / "p.bsl", trust_native=True)
    with pytest.raises(BasaltError, match=r"operator 'root' \(kernel 'checked'\) failed"):
        runner.run({"x": X})
    assert np.array_equal(runner.run({"x": abs(X)})["y"], abs(X))


def test_object_files_are_loaded_where_there_is_no_loader_of_ours(tmp_path: Path) -> None:
    made = chain(3, 16, 10.0)
    assert isinstance(made.spec, ProgramSpec) and isinstance(made.code, LoadedCode)
    kernels = {kernel.key: loaded.code for kernel, loaded in zip(made.spec.kernels, made.code.kernels)}
    level = LevelPrograms(native_level(), [made.spec], kernels, made.code.executor.code)
    model = direct_model([("x", "float32", (16,))], [("y", "float32", (16,))], [((16,),)])
    save_program(tmp_path / "o.bsl", program_parts(model, [level], {}, linked=False))
    np.testing.assert_array_equal(
        basalt.Runner(tmp_path / "o.bsl", trust_native=True).run({"x": X})["y"], X + 1 + 1 + 1
    )
    broken = changed(tmp_path / "o.bsl", tmp_path, "level:native", lambda r: r["objects"].update(sizes=np.array([5])))
    with pytest.raises(ModelFormatError, match="sizes: they are not those"):
        basalt.Runner(broken, trust_native=True)


def test_several_threads_compute_as_one(tmp_path: Path) -> None:
    chain(5, 1 << 16, 1e6).save(tmp_path / "p.bsl")
    runner = basalt.Runner(tmp_path / "p.bsl", trust_native=True)
    x = np.arange(1 << 16, dtype=np.float32)
    for threads in (1, 2, 3):
        np.testing.assert_array_equal(runner.run({"x": x}, threads=threads)["y"], x + 5)


def test_a_program_from_a_file_is_not_saved_again(path: Path, tmp_path: Path) -> None:
    (stored,) = StoredModel(open_program(path), no_host).programs()
    with pytest.raises(UnsupportedError, match="copy that file"):
        stored.save(tmp_path / "again.bsl")


def test_without_trust_there_is_nothing_to_run(path: Path) -> None:
    with pytest.raises(UnsupportedError, match=r"not trusted \(trust_native.*\) and not signed, and the file does not"):
        basalt.Runner(path)


@pytest.mark.parametrize(
    ("feeds", "message"),
    [
        ({}, "input 'x' is missing; the inputs are 'x'"),
        ({"x": X, "z": X}, "no input is named 'z'; the inputs are 'x'"),
        (None, "feeds is NoneType, expected a dictionary"),
        ({"x": X.astype(np.float64)}, "data type float64 given, expected float32"),
        ({"x": X[:3]}, r"there is no program for the inputs x \[3\] .*, only for x \[16\]"),
        ({"x": [[1.0], [1.0, 2.0]]}, "input 'x'"),
    ],
)
def test_wrong_inputs_are_named(path: Path, feeds: Any, message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        basalt.Runner(path, trust_native=True).run(feeds)


def test_a_runner_is_pickled_by_path(path: Path) -> None:
    runner = pickle.loads(pickle.dumps(basalt.Runner(path, trust_native=True, threads=1)))
    np.testing.assert_array_equal(runner.run({"x": X})["y"], Y)
    np.testing.assert_array_equal(copy.copy(runner).run({"x": X})["y"], Y)
    with pytest.raises(ValidationError, match="only if it was opened by path"):
        pickle.dumps(basalt.Runner(path.read_bytes(), trust_native=True))


def test_memory_of_simultaneous_runs_is_bounded(tmp_path: Path) -> None:
    chain(3, 1 << 14, 10.0).save(tmp_path / "p.bsl")
    runner = basalt.Runner(tmp_path / "p.bsl", trust_native=True)
    x = np.zeros(1 << 14, np.float32)
    runner.run({"x": x})
    arena = runner.memory()["arena"]
    with pytest.raises(ValidationError, match=f"expected at least the {arena} of one arena"):
        runner.limit_memory(arena - 1)
    runner.limit_memory(arena)
    threads = [threading.Thread(target=lambda: runner.run({"x": x}, timeout=60)) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert runner.native is not None
    assert all(program.memory()["arenas"] <= arena for program in runner.native.programs())


def test_a_pool_of_processes_is_given_a_runner(path: Path) -> None:
    script = (
        "import sys, pickle, basalt, numpy as np\n"
        "from concurrent.futures import ProcessPoolExecutor\n"
        "from multiprocessing import get_context\n"
        f"runner = basalt.Runner({str(path)!r}, trust_native=True)\n"
        "from operator import methodcaller\n"
        "if __name__ == '__main__':\n"
        "    with ProcessPoolExecutor(2, get_context('spawn')) as pool:\n"
        "        feeds = [methodcaller('run', {'x': np.full(16, n, np.float32)}) for n in range(6)]\n"
        "        found = [f.result()['y'][0] for f in [pool.submit(call, runner) for call in feeds]]\n"
        "    assert found == [n + 2.0 for n in range(6)], found\n"
    )
    file = path.parent / "pool.py"
    file.write_text(script)
    subprocess.run([sys.executable, str(file)], check=True, timeout=300)


def test_processes_share_the_pages_of_weights(tmp_path: Path) -> None:
    """Two processes that have read all of a large constant hold its pages once."""
    if not Path("/proc/self/smaps").exists():
        pytest.skip("needs Linux's account of memory")
    size = 4 << 20
    weights = np.arange(size, dtype=np.float32)
    row = Row(2, (Slot.const(0), Slot.output(0)), 0, size, 1e6)
    program(row, size=size, constants=(weights,), arena_bytes=0).save(tmp_path / "w.bsl")
    script = (
        "import sys, numpy as np, basalt\n"
        f"runner = basalt.Runner({str(tmp_path / 'w.bsl')!r}, trust_native=True)\n"
        f"runner.run({{'x': np.zeros({size}, np.float32)}}, {{'y': np.zeros({size}, np.float32)}})\n"
        "print('ready', flush=True); sys.stdin.readline()\n"
        "text = open('/proc/self/smaps').read().split('w.bsl', 1)[1]\n"
        "found = {l.split(':')[0]: int(l.split()[1]) for l in text.splitlines()[1:20] if l.endswith(' kB')}\n"
        "print(found['Rss'], found['Pss'], found['Private_Dirty'], flush=True); sys.stdin.readline()\n"
    )
    options: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    both = [subprocess.Popen([sys.executable, "-c", script], **options) for _ in range(2)]
    for process in both:
        assert process.stdout.readline() == "ready\n"
    found = []
    for process in both:
        process.stdin.write("\n")
        process.stdin.flush()
        found.append(tuple(map(int, process.stdout.readline().split())))
    for process in both:
        process.communicate("\n")
    for resident, share, dirty in found:
        assert resident >= size * 4 / 1024 and share <= 0.6 * resident and dirty == 0


def test_many_threads_share_a_runner(path: Path) -> None:
    runner = basalt.Runner(path, trust_native=True)
    wrong: list[Any] = []

    def work(number: int) -> None:
        for _ in range(200):
            got = runner.run({"x": X + np.float32(number)})["y"]
            if not np.array_equal(got, X + np.float32(number) + np.float32(2) + np.arange(16, dtype=np.float32)):
                wrong.append(got)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_run_loads_no_compiler(path: Path) -> None:
    script = (
        "import sys, numpy as np, basalt\n"
        f"y = basalt.Runner({str(path)!r}, trust_native=True).run({{'x': np.zeros(16, np.float32)}})['y']\n"
        "assert y[3] == 5, y\n"
        "heavy = [m for m in sys.modules if m.split('.')[0] in ('numba', 'llvmlite', 'onnx', 'ml_dtypes', 'hashlib')\n"
        "         or m.startswith(('basalt.compiler', 'basalt.ops'))]\n"
        "assert not [m for m in heavy if m != 'hashlib'], heavy\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=120)


def test_a_forked_child_runs_it(path: Path) -> None:
    runner = basalt.Runner(path, trust_native=True)
    runner.run({"x": X})
    child = os.fork()
    if child == 0:
        os._exit(0 if np.array_equal(runner.run({"x": X})["y"], Y) else 1)
    assert os.waitpid(child, 0)[1] == 0


def changed(path: Path, tmp_path: Path, part: str, change: Callable[[dict], None]) -> Path:
    """The file with a record changed and all checksums made anew."""
    from basalt import serialization

    program = serialization.load(path)
    parts = dict(program.parts)
    record = copy.deepcopy(dict(parts[part]))
    change(record)
    save_program(tmp_path / "changed.bsl", ProgramParts(program.metadata, {**parts, part: record}))
    return tmp_path / "changed.bsl"


def first(record: dict, name: str, value: Any) -> None:
    record["programs"][0][name] = value


@pytest.mark.parametrize(
    ("part", "change", "message"),
    [
        (
            "level:native",
            lambda r: r.update(abi=99),
            "its code is for version 99 .*, and the file does not",
        ),
        ("level:native", lambda r: first(r, "arena", -1), "arena: -1 given"),
        ("level:native", lambda r: first(r, "rows", np.zeros((3, 2), np.int64)), r"rows: int64\[3, 2\] given"),
        ("level:native", lambda r: first(r, "kernels", np.array([77] * 5, np.int64)), "number 77 is used"),
        ("level:native", lambda r: first(r, "slot_kinds", np.full(7, 9, np.uint8)), "unknown kind"),
        ("level:native", lambda r: first(r, "slot_values", np.full(7, 1 << 40, np.int64)), "outside a buffer"),
        ("level:native", lambda r: first(r, "constants", np.array([[1, 0, 1 << 40]], np.int64)), "outside of its part"),
        ("level:native", lambda r: first(r, "constants", np.array([[1, 3, 4]], np.int64)), "not aligned"),
        ("level:native", lambda r: first(r, "constants", np.array([[2, 0, 4]], np.int64)), "lies in part 2"),
        ("level:native", lambda r: first(r, "inputs", (("x", "float32", (-1,)),)), "expected a name, a data type"),
        ("level:native", lambda r: first(r, "inputs", (("x", "float99", (16,)),)), "'float99' is unknown"),
        ("model", lambda r: r.update(inputs=(1, 2)), "inputs: 1 given, expected name, kind"),
        ("model", lambda r: r.update(stages=[]), "stages"),
        ("model", lambda r: r["stages"][0].update(programs=((((16,),), 5),)), "program 5, of which there are 1"),
        ("model", lambda r: r["levels"][0].update(features=("avx9000",)), "no machine code fits"),
        ("model", lambda r: r["levels"][0].update(platform="vax-vms"), "the machine code is for vax-vms"),
    ],
)
def test_contradictions_are_refused(path: Path, tmp_path: Path, part: str, change: Any, message: str) -> None:
    broken = changed(path, tmp_path, part, change)
    with pytest.raises((ModelFormatError, ValidationError, UnsupportedError), match=message):
        basalt.Runner(broken, trust_native=True).run({"x": X})


def test_flipped_bits_are_refused_or_harmless(path: Path) -> None:
    """Checksums as they were: whatever is damaged is refused before it runs."""
    content = path.read_bytes()
    chooser = random.Random(5)
    for place in chooser.sample(range(len(content)), 300):
        broken = bytearray(content)
        broken[place] ^= 1 << chooser.randrange(8)
        try:
            got = basalt.Runner(bytes(broken), trust_native=True).run({"x": X})["y"]
        except (ModelFormatError, UnsupportedError):
            continue
        np.testing.assert_array_equal(got, Y)
