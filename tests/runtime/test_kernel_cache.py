"""The cache as a whole: found in memory, found on disk, made once, made again when damaged, pruned."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path
from typing import Any

import pytest
from runtime_programs import ADD, run_python

from basalt.compiler.codegen.compile import compile_kernel
from basalt.errors import ValidationError
from basalt.runtime import kernel_cache as module
from basalt.runtime.cache_files import KernelKey
from basalt.runtime.cache_folder import CacheFolder
from basalt.runtime.kernel_cache import KernelCache, cache_clear, cache_info, cache_prune


@pytest.fixture(scope="module")
def code() -> bytes:
    return compile_kernel(ADD)


def key(name: str) -> KernelKey:
    return KernelKey({"kernel": name})


def never() -> bytes:
    raise AssertionError("compiled although it was cached")


def fresh(path: Path) -> KernelCache:
    """A cache as a new process has it."""
    return KernelCache(CacheFolder(path))


def test_a_kernel_is_compiled_once_and_then_found(tmp_path: Path, code: bytes) -> None:
    cache = fresh(tmp_path)
    assert not cache.has(key("a"))
    kernel = cache.kernel(key("a"), lambda: code)
    assert cache.kernel(key("a"), never) is kernel and cache.has(key("a"))
    assert fresh(tmp_path).kernel(key("a"), never).code == code
    info = cache.info()
    assert (info.files, info.hits, info.compiled) == (1, 1, 1) and info.nbytes > len(code)
    assert info.folder == str(tmp_path)


def test_code_leaves_memory_with_its_last_user_but_is_found_again(tmp_path: Path, code: bytes) -> None:
    cache = fresh(tmp_path)
    kernel = cache.kernel(key("a"), lambda: code)
    assert len(cache._loaded) == 1
    del kernel
    gc.collect()
    assert len(cache._loaded) == 0
    assert cache.kernel(key("a"), never).code == code


def test_a_failed_compilation_is_tried_again(tmp_path: Path, code: bytes) -> None:
    cache = fresh(tmp_path)

    def fail() -> bytes:
        raise KeyboardInterrupt

    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            cache.kernel(key("a"), fail)
    assert not cache.has(key("a"))
    assert cache.kernel(key("a"), lambda: code).code == code


def damage(path: Path, how: str) -> None:
    content = bytearray(path.read_bytes())
    if how == "empty":
        content.clear()
    elif how == "truncated":
        del content[len(content) // 2 :]
    elif how == "extended":
        content += b"\0"
    else:
        content[{"magic": 0, "version": 8, "header": 30, "code": -100, "digest": -1}[how]] ^= 4
    path.write_bytes(bytes(content))


@pytest.mark.parametrize("how", ["empty", "truncated", "extended", "magic", "version", "header", "code", "digest"])
def test_a_damaged_file_is_a_miss_and_is_replaced(tmp_path: Path, code: bytes, how: str) -> None:
    fresh(tmp_path).kernel(key("a"), lambda: code)
    (path,) = tmp_path.glob("*.kernel")
    good = path.read_bytes()
    damage(path, how)
    cache = fresh(tmp_path)
    assert not cache.has(key("a"))
    assert cache.kernel(key("a"), lambda: code).code == code and cache.compiled == 1
    assert path.read_bytes() == good


def test_a_file_under_another_name_is_a_miss(tmp_path: Path, code: bytes) -> None:
    fresh(tmp_path).kernel(key("a"), lambda: code)
    (path,) = tmp_path.glob("*.kernel")
    path.rename(tmp_path / (key("b").name + ".kernel"))
    assert not fresh(tmp_path).has(key("b"))


def test_threads_that_miss_together_compile_once(tmp_path: Path, code: bytes) -> None:
    cache, barrier, made, got = fresh(tmp_path), threading.Barrier(6), [], []

    def make() -> bytes:
        made.append(None)
        time.sleep(0.05)
        return code

    def work() -> None:
        barrier.wait()
        got.append(cache.kernel(key("a"), make))

    workers = [threading.Thread(target=work) for _ in range(6)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(made) == 1 and len(set(map(id, got))) == 1 and len(got) == 6


def test_without_a_folder_memory_serves(code: bytes) -> None:
    cache = KernelCache(CacheFolder(None))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for name in "abc":
            cache.kernel(key(name), lambda: code)
            gc.collect()
            assert cache.kernel(key(name), never).code == code
    assert len(caught) == 1
    assert cache.info().folder is None and cache.info().files == 0


def test_memory_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MEMORY_BYTES", 250)
    cache = fresh(tmp_path)
    for name in "abc":
        cache.code(key(name), lambda: bytes(100))
    assert set(cache._codes) == {key("b").name, key("c").name} and cache._codes_bytes == 200
    cache.code(key("b"), never)
    cache.code(key("d"), lambda: bytes(100))
    assert set(cache._codes) == {key("b").name, key("d").name}
    assert cache.code(key("a"), never) == bytes(100)


def test_pruning_removes_what_was_unused_for_longest(tmp_path: Path) -> None:
    cache = fresh(tmp_path)
    for age, name in enumerate("abcd"):
        cache.code(key(name), lambda: bytes(1000))
        moment = time.time() - 1000 * (4 - age)
        os.utime(tmp_path / (key(name).name + ".kernel"), (moment, moment))
    size = cache.info().nbytes // 4
    assert cache.prune(10 * size) == 0
    assert cache.prune(2 * size) == 2 * size
    assert {path.stem for path in tmp_path.glob("*.kernel")} == {key("c").name, key("d").name}
    assert cache.clear() == 2 * size and cache.info().files == 0
    cache.code(key("a"), lambda: b"again")
    assert cache.compiled == 5


def test_the_first_write_of_a_process_prunes_if_nobody_did_for_an_hour(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = fresh(tmp_path)
    for name in "abcd":
        cache.code(key(name), lambda: bytes(1000))
    monkeypatch.setenv("BASALT_CACHE_MAX_BYTES", "2500")
    fresh(tmp_path).code(key("e"), lambda: bytes(1000))
    assert len(list(tmp_path.glob("*.kernel"))) == 5
    os.utime(tmp_path / ".last-pruned", (0, time.time() - 7200))
    fresh(tmp_path).code(key("f"), lambda: bytes(1000))
    assert len(list(tmp_path.glob("*.kernel"))) == 2
    monkeypatch.setenv("BASALT_CACHE_MAX_BYTES", "lots")
    os.utime(tmp_path / ".last-pruned", (0, 0))
    with pytest.warns(RuntimeWarning, match="BASALT_CACHE_MAX_BYTES is 'lots'"):
        fresh(tmp_path).code(key("g"), lambda: bytes(1000))


def test_the_process_has_one_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("BASALT_CACHE_DIR", str(tmp_path))
    assert cache_info().folder == str(tmp_path) and cache_info().files == 0
    module.CACHE.code(key("only for this test"), lambda: bytes(50))
    assert cache_info().files == 1
    assert cache_prune(1 << 40) == 0 and cache_clear() > 50
    assert cache_info().files == 0
    with pytest.raises(ValidationError, match="-1 bytes given"):
        cache_prune(-1)


RACE = """
import sys
from runtime_programs import chain, ramp
from basalt.runtime.kernel_cache import cache_info
for _ in range(3):
    y = chain(3, 64, 10.0).run({"x": ramp(64)})["y"]
assert (y == ramp(64) + 3).all()
print(cache_info().files)
"""


def test_processes_share_a_folder_without_harm(tmp_path: Path) -> None:
    printed: list[str] = []
    folder = {"BASALT_CACHE_DIR": str(tmp_path)}
    workers = [threading.Thread(target=lambda: printed.append(run_python(RACE, **folder))) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(printed) == 3
    # All wrote the same files: five kernels and the executor, whole.
    assert len([path for path in tmp_path.iterdir() if path.suffix == ".kernel"]) == 6
    again = run_python(RACE + "print(cache_info().compiled, 'numba' in sys.modules)", **folder)
    assert again.split() == ["6", "0", "False"]


COMPILE = """
import sys, numpy as np, basalt
b = basalt.MLGraphBuilder(basalt.MLContext(eager_first_run=False))
x = b.input("x", "float32", (8, 8))
y = b.softmax(b.matmul(b.tanh(x), b.sin(x)), 1)
graph = b.build({"y": y})
print("ready", flush=True)
sys.stdin.readline()
print(float(graph.run({"x": np.ones((8, 8), np.float32)})["y"].sum()))
"""


def test_two_processes_that_compile_the_same_write_each_kernel_once(tmp_path: Path) -> None:
    """A file that another process has written meanwhile stays: its inode and time do not change."""
    environment = {**os.environ, "BASALT_CACHE_DIR": str(tmp_path / "cache")}
    options: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "env": environment}
    both = [subprocess.Popen([sys.executable, "-c", COMPILE], **options) for _ in range(2)]
    for process in both:
        assert process.stdout.readline() == "ready\n"
    for process in both:
        process.stdin.write("\n")
        process.stdin.flush()
    links: dict[str, set[int]] = {}
    while any(process.poll() is None for process in both):
        for entry in os.scandir(tmp_path / "cache") if (tmp_path / "cache").exists() else ():
            if entry.name.endswith(".kernel"):
                links.setdefault(entry.name, set()).add(entry.inode())
    assert [process.stdout.read().strip() for process in both] == ["8.0", "8.0"]
    assert len(links) >= 3 and all(len(inodes) == 1 for inodes in links.values())
    assert not [name for name in os.listdir(tmp_path / "cache") if name.startswith(".tmp-")]
