"""Running graphs: feeds, shape signatures, programs, first runs through NumPy, looking inside, destroying."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import threading
from typing import Any

import numpy as np
import pytest
from basalt.compiler import backend
from basalt.compiler.executable import MAX_PROGRAMS
from basalt.runtime.program import Program

import basalt
from basalt.errors import BasaltError, InvalidStateError, ValidationError

X = np.array([[-1, 2, -3], [4, -5, 6]], np.float32)
WAIT = 60


def doubling(shape: tuple[Any, ...] = (2, 3), **options: Any) -> basalt.MLGraph:
    """y = relu(x + x), labelled."""
    builder = basalt.MLGraphBuilder(basalt.MLContext(**options))
    x = builder.input("x", "float32", shape)
    return builder.build({"y": builder.relu(builder.add(x, x, label="twice"), label="clip")})


def expected(x: np.ndarray) -> Any:
    return np.maximum(x + x, 0).tolist()


@pytest.fixture
def interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BASALT_DEBUG", "interpret")


@pytest.mark.parametrize("shape", [(2, 3), ("n", 3)])
def test_running(shape: tuple[Any, ...]) -> None:
    graph = doubling(shape)
    for _ in range(3):
        assert graph.run({"x": X})["y"].tolist() == expected(X)
    out = np.empty((2, 3), np.float32)
    assert graph.run({"x": X}, out={"y": out})["y"] is out
    assert out.tolist() == expected(X)


def test_descriptions() -> None:
    graph = doubling(("n", 3))
    (x,), (y,) = graph.inputs, graph.outputs
    assert (x.name, x.dtype, x.shape) == ("x", "float32", ("n", 3))
    assert (y.name, y.dtype, y.shape) == ("y", "float32", ("n", 3))
    assert repr(graph) == "<MLGraph (x: float32[n, 3]) -> (y: float32[n, 3])>"
    assert graph.name == ""


@pytest.mark.usefixtures("interpreted")
def test_the_interpreter_takes_and_refuses_what_programs_do() -> None:
    graph = doubling()
    assert graph.run({"x": X.tolist()})["y"].tolist() == expected(X)
    assert graph.run({"x": np.asfortranarray(X)})["y"].tolist() == expected(X)
    x = X.copy()
    assert graph.run({"x": x}, out={"y": x})["y"] is x and x.tolist() == expected(X)
    with pytest.raises(ValidationError, match="output 'y'"):
        graph.run({"x": X}, out={"y": np.empty((2, 3))})


BAD_FEEDS: list[tuple[Any, str]] = [
    ({}, "input 'x' is missing"),
    ({"z": X}, "no input is named 'z'; the inputs are 'x'"),
    ({"x": X, "z": X}, "no input is named 'z'"),
    (None, "NoneType"),
    ([X], "list"),
    ({"x": X.astype(np.float64)}, "input 'x': data type float64 given, expected float32"),
    ({"x": X[:, :2]}, r"input 'x'.* shape \[2, 2\].*expected"),
    ({"x": X[0]}, r"input 'x'.* shape \[3\].*expected"),
    ({"x": [[1, 2], [3]]}, "input 'x'"),
    ({"x": "text"}, "input 'x'"),
]


@pytest.mark.parametrize("mode", ["compiled", "interpreted"])
@pytest.mark.parametrize("shape", [(2, 3), ("n", 3)])
@pytest.mark.parametrize(("feeds", "message"), BAD_FEEDS)
def test_feeds_that_are_refused(
    feeds: Any, message: str, shape: tuple[Any, ...], mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if mode == "interpreted":
        monkeypatch.setenv("BASALT_DEBUG", "interpret")
    graph = doubling(shape)
    for _ in range(2):
        with pytest.raises(ValidationError, match=message):
            graph.run(feeds)
        graph.run({"x": X})


@pytest.mark.usefixtures("interpreted")
def test_each_combination_of_shapes_has_its_program() -> None:
    graph = doubling(("n", 3))
    for n in (1, 2, 3, 2, 1):
        x = np.ones((n, 3), np.float32)
        assert graph.run({"x": x})["y"].tolist() == expected(x)
    assert set(graph._ready) == {((n, 3),) for n in (1, 2, 3)}


@pytest.mark.usefixtures("interpreted")
def test_a_bounded_number_of_programs_is_kept() -> None:
    graph = doubling(("n", 3))
    for n in range(1, MAX_PROGRAMS + 10):
        graph.run({"x": np.ones((n, 3), np.float32)})
    assert len(graph._ready) == MAX_PROGRAMS
    assert ((9, 3),) not in graph._ready and ((10, 3),) in graph._ready


@pytest.mark.usefixtures("interpreted")
def test_sizes_that_an_operator_refuses_are_named() -> None:
    builder = basalt.MLGraphBuilder(basalt.MLContext())
    x = builder.input("x", "float32", ("n", 4))
    graph = builder.build({"y": builder.reshape(x, (2, 6), label="fold")})
    assert graph.run({"x": np.ones((3, 4), np.float32)})["y"].shape == (2, 6)
    with pytest.raises(ValidationError, match=r'reshape "fold" \(input: float32\[2, 4\]\): .*with n = 2'):
        graph.run({"x": np.ones((2, 4), np.float32)})


def test_two_inputs_of_one_symbol_must_agree() -> None:
    builder = basalt.MLGraphBuilder(basalt.MLContext())
    a, b = builder.input("a", "float32", ("n",)), builder.input("b", "float32", ("n",))
    graph = builder.build({"y": builder.add(a, b)})
    with pytest.raises(ValidationError, match="input 'b': axis 0 is 3, expected n = 2: n is 2 by axis 0 of input 'a'"):
        graph.run({"a": np.ones(2, np.float32), "b": np.ones(3, np.float32)})


def test_compiling_ahead_of_a_run() -> None:
    graph = doubling(("n", 3), threads=1)
    program = graph.compile({"x": (2, 3)})
    assert isinstance(program, Program) and program.threads == 1
    assert program.run({"x": X})["y"].tolist() == expected(X)
    assert graph.compile({"x": [np.int64(2), 3]}) is program
    assert doubling().compile() is not None


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        (None, "input 'x': no shape is given that determines n"),
        ({"z": (1,)}, "no input is named 'z'"),
        ({"x": (2, 4)}, r"input 'x' has shape \[2, 4\], expected float32\[n, 3\]: axis 1 is 4, not 3"),
        ({"x": 3}, "shape of input 'x': got 3, expected a sequence of sizes"),
        ({"x": "2x3"}, "shape of input 'x': got '2x3', expected a sequence of sizes"),
        ({"x": ("n", 3)}, r"shape of input 'x': \['n', 3\] has 'n', expected sizes of 0 or more"),
        ({"x": (-1, 3)}, "has -1, expected sizes of 0 or more"),
        ([2, 3], r"shapes is \[2, 3\], expected a dictionary"),
    ],
)
def test_shapes_that_are_refused(shapes: Any, message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        doubling(("n", 3)).compile(shapes)


def test_looking_inside() -> None:
    graph = doubling(("n", 3))
    assert 'add(%x, %x): float32[n, 3] "twice"' in graph.text()
    fused = graph.text("all", {"x": (4, 3)})
    assert "float32[4, 3]" in fused and "n" not in fused.split("{")[0].split("graph")[1]
    with pytest.raises(ValidationError, match="there is no pass 'no_such_pass'"):
        graph.text("no_such_pass", {"x": (4, 3)})
    table = graph.explain({"x": (4, 3)})
    assert "twice" in str(table) and "clip" in str(table) and len(table) == len(list(table)) >= 1
    source = graph.source({"x": (4, 3)})
    compile(source, "generated", "exec")
    assert "twice" in source
    with pytest.raises(ValidationError, match="determines n"):
        graph.source()


def test_passes_leave_the_graph_and_its_constants_alone() -> None:
    builder = basalt.MLGraphBuilder(basalt.MLContext())
    x = builder.input("x", "float32", ("n", 3))
    y = builder.add(x, builder.add(builder.constant("float32", 1), builder.constant("float32", 2)))
    graph = builder.build({"y": y})
    text, count = graph.text(), len(graph.constants)
    for n in (1, 2):
        assert graph.run({"x": np.zeros((n, 3), np.float32)})["y"].tolist() == [[3] * 3] * n
    assert graph.text() == text and len(graph.constants) == count


@pytest.mark.parametrize("shape", [(2, 3), ("n", 3)])
@pytest.mark.usefixtures("interpreted")
def test_a_destroyed_graph(shape: tuple[Any, ...]) -> None:
    graph = doubling(shape)
    graph.run({"x": X})
    graph.destroy()
    graph.destroy()
    assert graph.destroyed and "destroyed" in repr(graph)
    for call in (
        lambda: graph.run({"x": X}),
        lambda: graph.compile({"x": (2, 3)}),
        lambda: graph.source({"x": (2, 3)}),
    ):
        with pytest.raises(InvalidStateError, match="<MLGraph destroyed"):
            call()


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
def slow(monkeypatch: pytest.MonkeyPatch) -> Slow:
    monkeypatch.delenv("BASALT_EAGER", raising=False)
    return Slow(monkeypatch)


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


def python(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    import os

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
        from basalt.compiler import backend
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
