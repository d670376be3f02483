"""Running graphs: feeds, shape signatures, programs, first runs through NumPy, looking inside, destroying."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import basalt
from basalt.compiler.executable import MAX_PROGRAMS
from basalt.errors import InvalidStateError, ValidationError
from basalt.runtime.program import Program

X = np.array([[-1, 2, -3], [4, -5, 6]], np.float32)


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
