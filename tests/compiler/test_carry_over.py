"""Outputs that are inputs with some elements replaced: one array for both is written where it changes only."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import basalt
from basalt import MLGraphBuilder
from basalt.compiler.codegen.elementwise import CARRY_OVER
from basalt.runtime import feeds as careful
from basalt.runtime.program import Program

SHAPE = (2, 9, 16)
ROWS = np.array([[7], [1]], np.int32)


def _builder() -> MLGraphBuilder:
    return basalt.MLGraphBuilder(basalt.MLContext(eager_first_run=False))


def _program(**options: Any) -> Program:
    """Replaces a row of each of two caches; ``options`` choose what else is done with them."""
    b = _builder()
    past = b.input("past", options.get("dtype", "float32"), SHAPE)
    new = b.input("new", options.get("dtype", "float32"), (2, 1, 16))
    row = b.input("row", "int32", (2, 1))
    places = b.expand(b.reshape(row, (2, 1, 1)), (2, 1, 16))
    present = b.scatter_elements(past, places, new, axis=1)
    outputs = {"present": present}
    if options.get("reads_present", True):
        outputs["sum"] = b.reduce_sum(present, axes=(1,))
    if options.get("reads_past"):
        outputs["old"] = b.relu(past)
    if options.get("returns_past"):
        outputs["same"] = b.identity(past)
    if options.get("turns"):
        outputs["present"] = b.transpose(present, permutation=(0, 2, 1))
    return b.build(outputs).compile({})


def _feeds(dtype: str = "float32") -> dict[str, np.ndarray]:
    rng = np.random.default_rng(3)
    return {
        "past": rng.normal(size=SHAPE).astype(dtype),
        "new": rng.normal(size=(2, 1, 16)).astype(dtype),
        "row": ROWS,
    }


def _expected(feeds: dict[str, np.ndarray]) -> np.ndarray:
    present = feeds["past"].copy()
    for batch, (row,) in enumerate(feeds["row"]):
        present[batch, row] = feeds["new"][batch, 0]
    return present


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_one_array_for_input_and_output(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program, feeds = _program(dtype=dtype, reads_present=dtype == "float32"), _feeds(dtype)
    expected = _expected(feeds)
    # Nothing may be computed elsewhere and copied.
    monkeypatch.setattr(careful.np, "empty_like", None)
    for _ in range(2):
        found = program.run(feeds, out={"present": feeds["past"]})
        assert found["present"] is feeds["past"]
        np.testing.assert_array_equal(found["present"], expected)
    if "sum" in found:
        np.testing.assert_allclose(found["sum"], expected.sum(1), rtol=1e-5, atol=1e-5)


def test_what_does_not_change_is_not_written() -> None:
    program, feeds = _program(), _feeds()
    code = next(code for code in program.spec.kernels if code.label == CARRY_OVER)
    assert "if address(x) != address(y):" in code.source
    base = np.zeros(np.prod(SHAPE) + 16, np.float32)
    for array in (base[: np.prod(SHAPE)].reshape(SHAPE), base[16:].reshape(SHAPE)):
        array[:] = feeds["past"]
        expected = _expected({**feeds, "past": array})
        found = program.run({**feeds, "past": array}, out={"present": array})
        np.testing.assert_array_equal(found["present"], expected)


def test_different_arrays() -> None:
    program, feeds = _program(), _feeds()
    before = feeds["past"].copy()
    np.testing.assert_array_equal(program.run(feeds)["present"], _expected(feeds))
    out = {"present": np.full(SHAPE, np.nan, np.float32)}
    np.testing.assert_array_equal(program.run(feeds, out=out)["present"], _expected(feeds))
    np.testing.assert_array_equal(feeds["past"], before)


@pytest.mark.parametrize("shift", [1, 16, 9 * 16])
def test_arrays_that_overlap_in_part(shift: int) -> None:
    program, feeds = _program(), _feeds()
    size = int(np.prod(SHAPE))
    memory = np.zeros(size + shift, np.float32)
    memory[:size] = feeds["past"].ravel()
    feeds["past"] = memory[:size].reshape(SHAPE)
    expected = _expected(feeds)
    found = program.run(feeds, out={"present": memory[shift:].reshape(SHAPE)})
    np.testing.assert_array_equal(found["present"], expected)


@pytest.mark.parametrize("option", ["reads_past", "returns_past", "turns"])
def test_inputs_that_are_read_elsewhere(option: str) -> None:
    program, feeds = _program(**{option: True}), _feeds()
    assert not any(code.label == CARRY_OVER for code in program.spec.kernels)
    past, expected = feeds["past"].copy(), _expected(feeds)
    if option == "turns":
        memory = feeds["past"].reshape(2, 16, 9)
        found = program.run(feeds, out={"present": memory})
        np.testing.assert_array_equal(found["present"], expected.transpose(0, 2, 1))
        return
    found = program.run(feeds, out={"present": feeds["past"]})
    np.testing.assert_array_equal(found["present"], expected)
    np.testing.assert_array_equal(
        found["old" if option == "reads_past" else "same"], np.maximum(past, 0) if option == "reads_past" else past
    )


def test_an_input_that_another_one_shares() -> None:
    b = _builder()
    x, z = b.input("x", "float32", (64,)), b.input("z", "float32", (64,))
    place, new = b.input("place", "int32", (1,)), b.input("new", "float32", (1,))
    program = b.build({"y": b.scatter_elements(x, place, new, axis=0), "w": b.add(z, z)}).compile({})
    memory = np.arange(64, dtype=np.float32)
    feeds = {"x": memory, "z": memory, "place": np.array([3], np.int32), "new": np.array([-1], np.float32)}
    doubled = memory * 2
    found = program.run(feeds, out={"y": memory})
    np.testing.assert_array_equal(found["w"], doubled)
    assert memory[3] == -1 and memory[4] == 4


def test_temporaries_stay_out_of_memory_that_may_be_an_inputs() -> None:
    b = _builder()
    past, q = b.input("past", "float32", (64, 64)), b.input("q", "float32", (64, 64))
    row = b.input("row", "int32", (1, 64))
    w = b.constant(np.eye(64, dtype=np.float32))
    steps = [q]
    for _ in range(4):
        steps.append(b.relu(b.matmul(steps[-1], w)))
    new = b.reduce_sum(steps[-1], axes=(0,), keep_dimensions=True)
    program = b.build({"present": b.scatter_elements(past, row, new, axis=0)}).compile({})
    rng = np.random.default_rng(0)
    feeds = {"past": rng.normal(size=(64, 64)).astype(np.float32), "q": np.ones((64, 64), np.float32)}
    feeds["row"] = np.full((1, 64), 5, np.int32)
    expected = feeds["past"].copy()
    expected[5] = 64
    np.testing.assert_array_equal(program.run(feeds, out={"present": feeds["past"]})["present"], expected)
