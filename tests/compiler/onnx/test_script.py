"""Models that run in several steps: what is kept between them, and which translations are used again."""

from __future__ import annotations

import os
import threading
from typing import Any

import numpy as np
import pytest

from basalt.compiler.onnx.model import OnnxExecutable
from basalt.compiler.onnx.stage import MAX_STAGES, Point
from basalt.errors import BasaltError

from .making import graph, model, node, value

RNG = np.random.default_rng(0)


@pytest.fixture(params=["interpret", "verify"], autouse=True)
def debug(request: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test runs through NumPy and compiled."""
    monkeypatch.setenv("BASALT_DEBUG", request.param)


def random(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape).astype(np.float32)


def ready(nodes: Any, inputs: Any, outputs: Any, **constants: Any) -> OnnxExecutable:
    return OnnxExecutable(model(nodes, inputs, outputs, constants, opset=17), eager=False)


def selecting() -> OnnxExecutable:
    """The positive elements, doubled, less their mean; with the places where they stood."""
    nodes = [
        node("Greater", "x zero", "m"),
        node("NonZero", "m", "i"),
        node("Compress", "x m", "p"),
        node("Add", "p p", "d"),
        node("ReduceMean", "p", "mean", keepdims=0),
        node("Sub", "d mean", "y"),
    ]
    return ready(nodes, [value("x", shape=("n",))], [value("y"), value("i", "int64")], zero=np.float32(0))


def selected(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    p = x[x > 0]
    return 2 * p - p.mean() if p.size else p, np.stack(np.nonzero(x > 0))


def points(script: Any) -> list[Point]:
    """All points of a script at which translation has gone on."""
    stack = list(script.entry._stages.values())
    found = []
    while stack:
        point = stack.pop().point
        if point is not None:
            found.append(point)
            stack.extend(point._stages.values())
    return found


def test_sizes_that_depend_on_data() -> None:
    made = selecting()
    for size in (5, 8, 1, 3, 20, 5, 7):
        x = np.abs(random(size)) * np.where(np.arange(size) % 3, 1, -1).astype(np.float32)
        if size == 1:
            x = np.ones(1, np.float32)
        results = made.run({"x": x})
        expected = selected(x)
        np.testing.assert_allclose(results["y"], expected[0], rtol=1e-5, atol=1e-6)
        assert np.array_equal(results["i"], expected[1])


def test_nothing_is_selected() -> None:
    results = selecting().run({"x": -np.ones(4, np.float32)})
    assert results["y"].shape == (0,) and results["i"].shape == (1, 0)


def test_translations_stay_few() -> None:
    """After a few sizes a step is translated for all of them."""
    made = selecting()
    for size in range(2, 40):
        made.run({"x": np.arange(1, size + 1, dtype=np.float32)})
    assert max(len(point._stages) for point in points(made._script)) <= 4


def test_threads_share_a_script() -> None:
    made = selecting()
    failures: list[BaseException] = []

    def work(seed: int) -> None:
        random_ = np.random.default_rng(seed)
        try:
            for _ in range(8):
                x = np.abs(random_.normal(size=random_.integers(1, 9))).astype(np.float32) + 1
                y, places = selected(x)
                results = made.run({"x": x})
                np.testing.assert_allclose(results["y"], y, rtol=1e-5, atol=1e-6)
                assert np.array_equal(results["i"], places)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_elements_that_decide() -> None:
    """A shape that a run computes: each is another translation, the oldest of which are dropped."""
    nodes = [node("Add", "s s", "t"), node("Reshape", "x t", "y"), node("Neg", "y", "z")]
    made = ready(nodes, [value("x", shape=("n",)), value("s", "int64", (2,))], [value("z")])
    count = MAX_STAGES + 6 if os.environ["BASALT_DEBUG"] == "interpret" else 4
    for rows in [*range(1, count), 1, 2]:
        x = random(4 * rows)
        z = made.run({"x": x, "s": np.array([rows, 1])})["z"]
        assert np.array_equal(z, -x.reshape(2 * rows, 2))
    assert max(len(point._stages) for point in points(made._script)) <= MAX_STAGES


def test_what_steps_before_computed_is_kept() -> None:
    """A value from before two steps is read after them, and one that is an output already."""
    nodes = [
        node("Exp", "x", "e"),
        node("NonZero", "x", "i"),
        node("Shape", "i", "k"),
        node("Unique", "x", "u"),
        node("ReduceSum", "u", "s", keepdims=0),
        node("Mul", "e s", "y"),
    ]
    made = ready(nodes, [value("x", shape=("n",))], [value("y"), value("k", "int64"), value("e")])
    for x in (np.array([1, 0, 1, 2], np.float32), np.array([3, 3], np.float32), np.zeros(5, np.float32)):
        results = made.run({"x": x})
        np.testing.assert_allclose(results["y"], np.exp(x) * np.unique(x).sum(), rtol=1e-5)
        assert results["k"].tolist() == [1, np.count_nonzero(x)]
        np.testing.assert_allclose(results["e"], np.exp(x), rtol=1e-6)


def test_errors_of_a_step_leave_the_model_usable() -> None:
    nodes = [node("NonZero", "x", "i"), node("Transpose", "i", "t"), node("GatherND", "w t", "y")]
    made = ready(nodes, [value("x", shape=("n",)), value("w", shape=("k",))], [value("y")])
    x, w = np.array([0, 1, 1], np.float32), random(3)
    with pytest.raises(BasaltError):
        made.run({"x": x.reshape(3, 1), "w": w})
    for _ in range(3):
        np.testing.assert_allclose(made.run({"x": x, "w": w})["y"], w[1:], rtol=1e-6)


def test_loops_in_functions_of_sizes() -> None:
    """A trip count that follows from an input's shape, in a body that reads what is around it."""
    inner = graph(
        [node("Add", "v w", "v2"), node("Identity", "c", "c2")],
        [value("i", "int64", ()), value("c", "bool", ()), value("v")],
        [value("c2", "bool", ()), value("v2")],
    )
    nodes = [
        node("Size", "x", "n"),
        node("ReduceSum", "x", "w", keepdims=0),
        node("Loop", "n _ x", "y", body=inner),
    ]
    made = ready(nodes, [value("x", shape=("n",))], [value("y")])
    for size in (2, 3, 1, 5, 0, 4):
        x = random(size)
        np.testing.assert_allclose(made.run({"x": x})["y"], x + size * x.sum(), rtol=1e-4, atol=1e-5)
