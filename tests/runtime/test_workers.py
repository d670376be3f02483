"""Worker processes that compile kernels beside this one."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from runtime_programs import NAMES, KernelCode, kernel, ramp, run_python, tensors

from basalt.compiler.codegen import compile as compile_module
from basalt.compiler.codegen import workers as module
from basalt.compiler.codegen.compile import compile_kernel, load_kernels
from basalt.compiler.codegen.fingerprint import kernel_key
from basalt.compiler.codegen.workers import FEWEST, Workers, worker_count
from basalt.errors import BasaltError
from basalt.runtime.cache_folder import CacheFolder
from basalt.runtime.kernel_cache import KernelCache
from basalt.runtime.program import Program
from basalt.runtime.spec import ProgramSpec, Row, Slot


def _adding(count: int) -> list[KernelCode]:
    return [kernel(f"store_f32(y, i, add_f32(load_f32(x, i), const_f32({n}.0)))", f"add {n}") for n in range(count)]


BROKEN = KernelCode.of("def kernel(table, start, stop):\n    store_f32(nowhere)\n", NAMES, "broken")


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[KernelCache]:
    empty = KernelCache(CacheFolder(tmp_path))
    monkeypatch.setattr(compile_module, "CACHE", empty)
    yield empty


@pytest.fixture
def one_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BASALT_COMPILE_WORKERS", "1")


@pytest.mark.parametrize(
    ("missing", "variable", "cores", "expected"),
    [
        (FEWEST - 1, "", 8, 0), (FEWEST, "", 8, 2), (100, "", 2, 1), (100, "", 1, 0), (100, "", 64, 8),
        (100, "0", 8, 0), (100, "3", 2, 3), (FEWEST, "100", 2, 2), (100, "many", 2, 1),
    ],
)  # fmt: skip
def test_how_many(monkeypatch: pytest.MonkeyPatch, missing: int, variable: str, cores: int, expected: int) -> None:
    monkeypatch.setenv("BASALT_COMPILE_WORKERS", variable)
    monkeypatch.setattr(module, "usable_cores", lambda: cores)
    assert worker_count(missing) == expected


def test_a_worker_compiles_what_the_caller_leaves(cache: KernelCache) -> None:
    codes = _adding(3)
    workers = Workers(codes, 1, cache.keep)
    try:
        while len(workers.seconds) < len(codes):
            threading.Event().wait(0.01)
        assert list(workers.remaining()) == []
    finally:
        workers.close()
    for code in codes:
        assert cache.find(kernel_key(code)) == compile_kernel(code)


def test_a_program_of_many_kernels(cache: KernelCache, one_worker: None) -> None:
    codes = _adding(FEWEST + 4)
    told: list[tuple[int, int]] = []
    loaded = load_kernels(codes, lambda done, total, seconds: told.append((done, total)))
    assert told == [(n, len(codes)) for n in range(1, len(codes) + 1)]
    rows = tuple(Row(n, (Slot.input(0), Slot.output(n)), 0, 16, 1.0) for n in range(len(codes)))
    names = [f"y{n}" for n in range(len(codes))]
    spec = ProgramSpec(tensors("x"), tensors(*names), rows, tuple(codes), (), 0)
    results = Program(spec, loaded).run({"x": ramp()})
    for n, name in enumerate(names):
        np.testing.assert_array_equal(results[name], ramp() + n)


def test_what_does_not_compile_is_told_by_the_caller(cache: KernelCache, one_worker: None) -> None:
    with pytest.raises(BasaltError, match="kernel 'broken' does not compile"):
        load_kernels([*_adding(FEWEST), BROKEN])


@pytest.mark.parametrize(
    "program",
    [
        "raise SystemExit(1)",
        "import time; time.sleep(600)",
        "import sys; sys.stdout.buffer.write(b'hello, this is no greeting' * 9)",
        "import sys; sys.stdout.buffer.write(b'c' + (3).to_bytes(4, 'little') + b'avx'); sys.stdin.read()",
    ],
)
def test_workers_that_are_of_no_use(
    cache: KernelCache, one_worker: None, monkeypatch: pytest.MonkeyPatch, program: str
) -> None:
    monkeypatch.setattr(module, "_COMMAND", program)
    load_kernels(_adding(FEWEST))
    assert all(cache.has(kernel_key(code)) for code in _adding(FEWEST))


def test_a_worker_that_dies_gives_its_kernel_back(cache: KernelCache, monkeypatch: pytest.MonkeyPatch) -> None:
    dies = (
        "import os, sys, json; sys.path[:] = json.loads(sys.argv[1])\n"
        "from basalt.compiler.codegen import object_code, workers\n"
        "object_code.compile_source = lambda code: os._exit(3)\n"
        "workers.serve()"
    )
    monkeypatch.setattr(module, "_COMMAND", dies)
    codes = _adding(2)
    workers = Workers(codes, 1, cache.keep)
    try:
        # The worker takes the last one, dies of it, and it comes back to the front.
        while workers._queue[0] is not codes[1]:
            threading.Event().wait(0.01)
        assert list(workers.remaining()) == [codes[1], codes[0]]
    finally:
        workers.close()
    assert cache.compiled == 0


def test_no_python_to_start(cache: KernelCache, one_worker: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    load_kernels(_adding(FEWEST))
    assert all(cache.has(kernel_key(code)) for code in _adding(FEWEST))


def test_closing_ends_the_processes(cache: KernelCache) -> None:
    workers = Workers(_adding(50), 2, cache.keep)
    while len(workers._processes) < 2:
        threading.Event().wait(0.01)
    workers.close()
    assert all(process.returncode is not None for process in workers._processes)
    assert list(workers.remaining()) == []


def test_a_script_without_a_main_guard_starts_workers_too(tmp_path: Path) -> None:
    script = (
        "from basalt.compiler.codegen.compile import load_kernels\n"
        "from test_workers import _adding\n"
        "load_kernels(_adding(9))\n"
        "print('done')"
    )
    told = run_python(script, BASALT_COMPILE_WORKERS="1", BASALT_CACHE_DIR=str(tmp_path))
    assert told == "done\n"
