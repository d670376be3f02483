"""Compiling kernels: what comes out, how failures read, interrupts, progress."""

from __future__ import annotations

import ctypes
import linecache
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from runtime_programs import ADD, COPY, NAMES, KernelCode, chain, kernel, ramp, run_python

from basalt.compiler.codegen import compile as module
from basalt.compiler.codegen.compile import compile_kernel, load_kernels, missing
from basalt.compiler.codegen.executor import compile_executor
from basalt.compiler.codegen.fingerprint import executor_key, kernel_key
from basalt.compiler.codegen.interrupts import deferred_interrupt
from basalt.errors import BasaltError
from basalt.runtime.cache_folder import CacheFolder
from basalt.runtime.code import LoadedCode, LoadedKernel
from basalt.runtime.kernel_cache import KernelCache
from basalt.runtime.native.elf import imports_of
from basalt.runtime.program import Program


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[KernelCache]:
    """An empty cache in the place of the process's own."""
    empty = KernelCache(CacheFolder(tmp_path))
    monkeypatch.setattr(module, "CACHE", empty)
    yield empty


def test_a_kernel_follows_the_native_signature() -> None:
    loaded = LoadedKernel(compile_kernel(ADD))
    signature = ctypes.CFUNCTYPE(
        ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64
    )
    x, y = ramp(), np.zeros(16, np.float32)
    table = np.array([x.ctypes.data, y.ctypes.data, np.float64(3.0).view(np.int64)], np.int64)
    spare = np.zeros(2, np.int64)
    call = signature(loaded.address)
    assert call(spare.ctypes.data, spare.ctypes.data + 8, table.ctypes.data, 2, 5) == 0
    np.testing.assert_array_equal(y, np.where((ramp() >= 2) & (ramp() < 5), ramp() + 3, 0))


def test_object_code_imports_nothing_and_is_the_same_every_time() -> None:
    first, second = compile_kernel(ADD), compile_kernel(ADD)
    assert first == second
    assert imports_of(first) == []


def test_the_function_may_have_any_name_and_local_branches() -> None:
    code = KernelCode.of(
        "def clip_negative(table, start, stop):\n"
        "    x, y = ptr(table, 0), ptr(table, 1)\n"
        "    for i in range(start, stop):\n"
        "        v = load_f32(x, i)\n"
        "        if lt_f32(v, const_f32(0.0)):\n"
        "            v = const_f32(0.0)\n"
        "        store_f32(y, i, v)\n",
        NAMES,
    )
    assert load_kernels([code]).kernels[0].address


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (kernel("store_f32(y, i, undefined)", "conv 3x3"), "kernel 'conv 3x3' does not compile"),
        (kernel("store_f32(y, i, undefined)"), "undefined is read"),
        (kernel("store_f32(y, i, load_f32(x, 'i'))", "bad types"), "kernel 'bad types' does not compile"),
        (kernel("this is no python", "broken"), "kernel 'broken' does not compile: invalid syntax"),
        (KernelCode.of("", NAMES, "empty"), "defines 0 names, expected one function"),
        (KernelCode.of("a = 1\ndef k(t, s, e): pass", NAMES, "two"), "defines 2 names, expected one function"),
        (KernelCode.of("def k(t, s, e): pass", ("no_such_primitive",), "names"), "no_such_primitive"),
        (kernel("print(i)", "talkative"), "kernel 'talkative' does not compile"),
    ],
)
def test_failures_name_the_kernel_and_show_its_source(code: KernelCode, message: str) -> None:
    with pytest.raises(BasaltError, match=message) as caught:
        compile_kernel(code)
    assert caught.value.__cause__ is not None
    for number, line in enumerate(code.source.splitlines(), 1):
        assert f"{number:4}  {line}" in str(caught.value)


def test_the_source_stays_readable_for_tracebacks_only_if_it_failed() -> None:
    failed, fine = kernel("store_f32(y, i, undefined)", "kept"), kernel("store_f32(y, i, load_f32(x, i))", "dropped")
    with pytest.raises(BasaltError):
        compile_kernel(failed)
    compile_kernel(fine)
    named = [name for name in linecache.cache if "basalt kernel kept" in name or "basalt kernel dropped" in name]
    assert len(named) == 1
    assert linecache.getline(named[0], 1) == "def kernel(table, start, stop):\n"


def test_the_next_kernel_compiles_after_a_failure(cache: KernelCache) -> None:
    with pytest.raises(BasaltError):
        load_kernels([COPY, kernel("store_f32(y, i, undefined)"), ADD])
    assert missing([COPY, ADD]) == 1
    assert len(load_kernels([COPY, ADD]).kernels) == 2


def test_equal_kernels_share_code_and_progress_counts_hits(cache: KernelCache) -> None:
    calls: list[tuple[int, int, float]] = []
    relabelled = KernelCode.of(ADD.source, ADD.names, "another label")
    assert missing([COPY, ADD, relabelled, ADD]) == 2
    loaded = load_kernels([COPY, ADD, relabelled, ADD], lambda *call: calls.append(call))
    assert [call[:2] for call in calls] == [(1, 2), (2, 2)] and all(call[2] > 0 for call in calls)
    assert len(loaded.kernels) == 4 and len({k.address for k in loaded.kernels}) == 2
    assert missing([COPY, ADD]) == 0
    calls.clear()
    third = kernel("store_f32(y, i, mul_f32(load_f32(x, i), load_f32(x, i)))")
    kept = load_kernels([COPY, third], lambda *call: calls.append(call))
    assert [call[:2] for call in calls] == [(2, 2)]
    assert kept.kernels[0] is loaded.kernels[0]


def test_a_program_runs_from_its_object_code_alone() -> None:
    original = chain(4, 100, 1e6, threads=2)
    objects = [kernel.code for kernel in original.code.kernels]
    again = Program(original.spec, LoadedCode.from_objects(compile_executor(), objects))
    np.testing.assert_array_equal(again.run({"x": ramp(100)})["y"], ramp(100) + 4)


def test_keys_depend_on_source_and_names_but_not_on_labels(monkeypatch: pytest.MonkeyPatch) -> None:
    key = kernel_key(ADD)
    assert kernel_key(KernelCode.of(ADD.source, ADD.names, "other")).name == key.name
    assert kernel_key(KernelCode.of(ADD.source + "\n", ADD.names)).name != key.name
    assert kernel_key(KernelCode.of(ADD.source, ADD.names[1:])).name != key.name
    assert executor_key().name != key.name
    for word in (b'"numba"', b'"llvmlite"', b'"cpu"', b'"features"', b'"python"', b'"platform"', b'"library"'):
        assert word in key.header


@pytest.mark.parametrize("name", ["NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES", "NUMBA_ENABLE_AVX"])
def test_settings_of_numba_are_part_of_the_key(name: str) -> None:
    script = """
from runtime_programs import ADD
from basalt.compiler.codegen.executor import compile_executor
from basalt.compiler.codegen.fingerprint import kernel_key
print(kernel_key(ADD).name)
"""
    assert run_python(script, **{name: "1"}) != run_python(script, **{name: None})


def test_an_interrupt_waits_for_the_block() -> None:
    steps: list[str] = []
    with pytest.raises(KeyboardInterrupt), deferred_interrupt():
        signal.raise_signal(signal.SIGINT)
        time.sleep(0.01)
        steps.append("finished")
    assert steps == ["finished"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_error_in_the_block_wins_if_nothing_was_interrupted() -> None:
    with pytest.raises(ZeroDivisionError), deferred_interrupt():
        raise ZeroDivisionError
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_other_threads_have_no_interrupts_to_defer() -> None:
    before = signal.getsignal(signal.SIGINT)
    inside: list[object] = []

    def work() -> None:
        with deferred_interrupt():
            inside.append(signal.getsignal(signal.SIGINT))

    worker = threading.Thread(target=work)
    worker.start()
    worker.join()
    assert inside == [before]


INTERRUPTED = """
import os, signal, sys, threading, time
from runtime_programs import ADD, kernel, chain, ramp
from basalt.compiler.codegen.compile import load_kernels, missing
codes = [kernel(f"store_f32(y, i, mul_f32(load_f32(x, i), load_f32(x, i + {n})))") for n in range(200)]
def interrupt():
    time.sleep(DELAY)
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=interrupt).start()
done = []
try:
    load_kernels(codes, lambda *progress: done.append(progress))
except KeyboardInterrupt:
    left = missing(codes)
    assert 0 < left <= len(codes) - len(done), (left, len(done))
    load_kernels(codes[: len(done) + 3])
    assert (chain(3, 16, 10.0).run({"x": ramp()})["y"] == ramp() + 3).all()
    print("consistent")
"""


@pytest.mark.parametrize("delay", [0.05, 0.4, 1.5])
def test_ctrl_c_leaves_everything_consistent(delay: float, tmp_path: Path) -> None:
    script = INTERRUPTED.replace("DELAY", str(delay))
    assert run_python(script, BASALT_CACHE_DIR=str(tmp_path)).strip() == "consistent"
