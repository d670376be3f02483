"""First runs through NumPy while code is compiled; interrupts; the end of the interpreter."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import basalt
from basalt.compiler import backend, background, progress
from basalt.compiler.interpret import interpret
from basalt.errors import BasaltError
from basalt.runtime.program import Program

X = np.array([[-1, 2, -3], [4, -5, 6]], np.float32)
WAIT = 60


def doubling(shape: tuple[Any, ...] = (2, 3), **options: Any) -> basalt.MLGraph:
    """y = relu(x + x)"""
    builder = basalt.MLGraphBuilder(basalt.MLContext(**options))
    x = builder.input("x", "float32", shape)
    return builder.build({"y": builder.relu(builder.add(x, x))})


def expected(x: np.ndarray) -> Any:
    return np.maximum(x + x, 0).tolist()


class Slow:
    """Makes every compilation seem long, and holds it until the test lets it go on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.gate = threading.Event()
        self.failure: Exception | None = None
        self.finished: list[int] = []
        original = backend._CompiledPlan.finish

        def finish(plan: Any, progress: Any) -> Any:
            assert self.gate.wait(WAIT)
            if self.failure is not None:
                raise self.failure
            self.finished.append(1)
            return original(plan, progress)

        monkeypatch.setattr(backend._CompiledPlan, "finish", finish)
        monkeypatch.setattr(backend, "SECONDS_PER_KERNEL", 100.0)
        monkeypatch.setattr(backend, "SECONDS_OF_EXECUTOR", 100.0)
        monkeypatch.setattr("basalt.compiler.codegen.compile.missing", lambda codes: 1)


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Iterator[Slow]:
    monkeypatch.delenv("BASALT_EAGER", raising=False)
    slow = Slow(monkeypatch)
    yield slow
    # A compilation still going on would call what the next test puts in place of the compiler.
    slow.gate.set()
    thread = background._thread
    if thread is not None:
        thread.join(WAIT)


@pytest.mark.parametrize("shape", [(2, 3), ("n", 3)])
def test_first_runs_go_through_numpy(slow: Slow, shape: tuple[Any, ...]) -> None:
    graph = doubling(shape)
    for _ in range(3):
        assert graph.run({"x": X})["y"].tolist() == expected(X)
    assert not slow.finished
    slow.gate.set()
    program = graph.compile({"x": (2, 3)})
    assert isinstance(program, Program) and len(slow.finished) == 1
    assert graph.run({"x": X})["y"].tolist() == expected(X)


def test_a_run_through_numpy_writes_to_out(slow: Slow) -> None:
    out = np.empty((2, 3), np.float32)
    assert doubling().run({"x": X}, {"y": out})["y"] is out
    assert out.tolist() == expected(X)
    slow.gate.set()


def test_a_program_that_is_ready_ends_the_run_through_numpy(slow: Slow, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = doubling()
    add, relu = (type(basalt.ops.get(name)) for name in ("add", "relu"))
    original = add.evaluate

    def evaluate(self: Any, x: Any, a: Any, out: Any) -> Any:
        slow.gate.set()
        assert isinstance(graph.compile(), Program)
        return original(self, x, a, out)

    monkeypatch.setattr(add, "evaluate", evaluate)
    monkeypatch.setattr(relu, "evaluate", lambda *arguments: pytest.fail("the run went on through NumPy"))
    assert graph.run({"x": X})["y"].tolist() == expected(X)


def test_many_threads_run_at_once_while_one_compilation_goes_on(slow: Slow) -> None:
    graph = doubling(("n", 3))
    results: list[Any] = []

    def work() -> None:
        for n in (1, 2):
            x = np.full((n, 3), n, np.float32)
            results.append(graph.run({"x": x})["y"].tolist() == expected(x))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT)
    assert results == [True] * 16
    slow.gate.set()
    for n in (1, 2):
        graph.compile({"x": (n, 3)})
    assert len(slow.finished) == 2


def test_an_error_in_the_background_is_raised_by_the_next_run(slow: Slow) -> None:
    graph = doubling()
    slow.failure = BasaltError("no code for this")
    assert graph.run({"x": X})["y"].tolist() == expected(X)
    pending = graph._programs._pending[((2, 3),)]
    slow.gate.set()
    assert pending.done.wait(WAIT)
    with pytest.raises(BasaltError, match="no code for this"):
        graph.run({"x": X})
    slow.failure = None
    assert graph.compile() is not None
    assert graph.run({"x": X})["y"].tolist() == expected(X)


@pytest.mark.parametrize(
    ("variable", "option", "eager"),
    [
        ("0", None, False),
        ("1", None, True),
        ("", None, True),
        ("off", None, False),
        ("0", True, True),
        ("1", False, False),
    ],
)
def test_who_decides_about_first_runs(
    slow: Slow, monkeypatch: pytest.MonkeyPatch, variable: str, option: bool | None, eager: bool
) -> None:
    monkeypatch.setenv("BASALT_EAGER", variable)
    graph = doubling(eager_first_run=option)
    if not eager:
        slow.gate.set()
    graph.run({"x": X})
    assert len(slow.finished) == (0 if eager else 1)
    slow.gate.set()


def test_an_interrupted_compilation_leaves_everything_usable(slow: Slow, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = doubling(eager_first_run=False)
    slow.gate.set()
    slow.failure = KeyboardInterrupt()  # type: ignore[assignment]
    with pytest.raises(KeyboardInterrupt):
        graph.run({"x": X})
    slow.failure = None
    assert graph.run({"x": X})["y"].tolist() == expected(X)


@pytest.mark.skipif(sys.platform == "win32", reason="os.kill ends the process there")
def test_ctrl_c_between_kernels(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BASALT_CACHE_DIR", str(tmp_path))
    builder = basalt.MLGraphBuilder(basalt.MLContext(eager_first_run=False))
    feeds = {f"x{i}": np.linspace(-2, 2, 3 + i).astype(np.float32) for i in range(3)}
    outputs = {f"y{n}": _unusual(builder, builder.input(n, "float32", x.shape)) for n, x in feeds.items()}
    graph = builder.build(outputs)
    seen: list[Any] = []

    def interrupt(done: int, total: int, seconds: float) -> None:
        seen.append(done)
        if len(seen) == 1:
            os.kill(os.getpid(), signal.SIGINT)

    previous = progress.set_hook(interrupt)
    try:
        with pytest.raises(KeyboardInterrupt):
            graph.run(feeds)
        results = graph.run(feeds)
    finally:
        progress.set_hook(previous)
    expected_results = interpret(graph.graph, graph.constants, feeds)
    for name, array in expected_results.items():
        np.testing.assert_allclose(results[name], array, rtol=1e-5)
    assert seen[0] == 1 and len(seen) >= 2


def _unusual(builder: basalt.MLGraphBuilder, x: basalt.MLOperand) -> basalt.MLOperand:
    """A chain of operators that no other test has compiled, in all likelihood."""
    value = builder.neg(x)
    for name in np.random.default_rng().choice(["add", "sub", "max", "min", "prelu"], 12):
        value = getattr(builder, name)(value, builder.abs(x) if name == "prelu" else x)
    return value


def python(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, **environment},
    )


def test_the_interpreter_exits_while_the_background_compiles(tmp_path: Any) -> None:
    code = """
        import numpy as np, time
        import basalt
        from basalt.compiler import backend, background, progress
        backend.SECONDS_PER_KERNEL = 100.0
        builder = basalt.MLGraphBuilder(basalt.MLContext())
        x = builder.input("x", "float32", (64,))
        outputs = {}
        for i in range(40):
            y = x
            for k in range(i + 1):
                y = builder.mul(builder.add(y, x), builder.constant("float32", i + k + 2.5))
            outputs[f"y{i}"] = y
        graph = builder.build(outputs)
        results = graph.run({"x": np.ones(64, np.float32)})
        print(len(results), graph._program is None, flush=True)
    """
    done = python(code, BASALT_CACHE_DIR=str(tmp_path), BASALT_EAGER="1")
    assert (done.returncode, done.stdout, done.stderr) == (0, "40 True\n", "")
