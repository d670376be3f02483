"""Which constants a narrower data type holds, and kernels that read them narrow: the same results to the bit."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import basalt
from basalt.compiler.codegen.lowering import Lowering
from basalt.compiler.executable import Executable
from basalt.compiler.ir import Value
from basalt.compiler.kernels.target import compiling_for
from basalt.compiler.lower import compile_spec
from basalt.compiler.narrow import FEWEST, FORMS, narrow_type
from basalt.ops import numpy_dtype

from .making import Maker

Build = Callable[[Maker, "Weights"], Value]


class Weights:
    """Makes weights whose numbers a data type holds."""

    def __init__(self, maker: Maker, dtype: str) -> None:
        self.maker, self.dtype, self.random = maker, dtype, np.random.default_rng(3)

    def __call__(self, *shape: int) -> Value:
        numbers = rounded(self.random.normal(size=shape), self.dtype)
        if self.dtype == "bfloat16":
            numbers.reshape(-1)[0] = 2.0**-60  # float16, which is preferred, has no such number
        return self.maker.constant(numbers)


def rounded(array: np.ndarray, dtype: str) -> np.ndarray:
    return array.astype(np.float32).astype(numpy_dtype(dtype)).astype(np.float32)


@pytest.mark.parametrize("form", FORMS)
def test_a_type_that_holds_every_number(form: str) -> None:
    numbers = rounded(np.random.default_rng(0).normal(size=(40, 50)), form)
    numbers[0, :6] = [0.0, -0.0, np.inf, -np.inf, numbers.max(), 2.0**-24 if form == "float16" else 2.0**-60]
    assert narrow_type(numbers, FORMS) == form
    assert narrow_type(numbers, [other for other in FORMS if other != form]) is None
    assert narrow_type(numbers.T, FORMS) == form
    numbers[-1, -1] = 1 + 2.0**-20
    assert narrow_type(numbers, FORMS) is None


def test_no_other_arrays_are_narrow() -> None:
    assert narrow_type(np.zeros(FEWEST, np.float32)) == FORMS[0]
    assert narrow_type(np.zeros(FEWEST - 1, np.float32)) is None
    assert narrow_type(np.zeros(FEWEST, np.float64)) is None
    assert narrow_type(np.zeros(FEWEST, np.int32)) is None
    assert narrow_type(np.zeros((0, 5), np.float32)) is None
    odd = np.zeros(FEWEST, np.float32)
    odd.view(np.uint32)[5] = 0x7FC00001  # a NaN whose last bits neither data type holds
    assert narrow_type(odd) is None


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.sampled_from(FORMS), st.integers(0, 2 * FEWEST - 1), st.integers(1, 15))
def test_one_number_of_more_digits_is_enough(form: str, place: int, bit: int) -> None:
    numbers = rounded(np.random.default_rng(1).uniform(1, 2, 2 * FEWEST), form)
    numbers.view(np.uint32)[place] |= 1 << (bit if form == "bfloat16" else min(bit, 12))
    assert narrow_type(numbers, [form]) is None


def _input(m: Maker, *shape: int) -> Value:
    return m.input("x", "float32", shape)


def _conv(m: Maker, w: Weights, *filters: int, size: int = 9, layout: str = "nhwc", groups: int = 1) -> Value:
    outputs, inputs, height, _ = filters
    sizes = {"n": 2, "c": inputs * groups, "h": size, "w": size + 3}
    x = _input(m, *(sizes[letter] for letter in layout))
    padding = [height // 2] * 4
    return m.conv2d(x, w(*filters), padding=padding, input_layout=layout, groups=groups, bias=w(outputs))


CASES: dict[str, Build] = {
    "one row": lambda m, w: m.matmul(_input(m, 1, 70), w(70, 45)),
    "some rows": lambda m, w: m.relu(m.matmul(_input(m, 5, 300), w(300, 45))),
    "many rows": lambda m, w: m.matmul(_input(m, 3, 40, 70), w(70, 33)),
    "a stack of weights": lambda m, w: m.matmul(_input(m, 3, 7, 20), w(3, 20, 24)),
    "weights on the left": lambda m, w: m.matmul(w(24, 50), _input(m, 50, 8)),
    "transposed weights": lambda m, w: m.gemm(_input(m, 4, 70), w(45, 70), c=w(45), b_transpose=True, alpha=0.5),
    "windows": lambda m, w: m.relu(_conv(m, w, 24, 12, 5, 5)),
    "windows of 3": lambda m, w: _conv(m, w, 40, 8, 3, 3),
    "points": lambda m, w: m.sigmoid(_conv(m, w, 48, 40, 1, 1)),
    "points of channels first": lambda m, w: _conv(m, w, 48, 40, 1, 1, layout="nchw"),
    "windows of channels first": lambda m, w: _conv(m, w, 24, 12, 5, 5, layout="nchw"),
    "groups": lambda m, w: _conv(m, w, 32, 16, 3, 3, groups=2),
    "depthwise": lambda m, w: _conv(m, w, 160, 1, 3, 3, groups=160),
    "transposed convolution": lambda m, w: m.conv_transpose2d(_input(m, 1, 12, 6, 7), w(12, 20, 4, 4), strides=[2, 2]),
    "lstm": lambda m, w: m.lstm(_input(m, 4, 2, 20), w(1, 96, 20), w(1, 96, 24), steps=4, hidden_size=24)[0],
    "gru": lambda m, w: m.gru(_input(m, 3, 1, 30), w(1, 72, 30), w(1, 72, 24), steps=3, hidden_size=24),
    "gather": lambda m, w: m.gather(w(60, 33), m.input("i", "int64", (2, 2))),
    "gather along columns": lambda m, w: m.gather(w(33, 60), m.input("i", "int64", (3,)), axis=1),
    "a table that is added": lambda m, w: m.tanh(m.add(_input(m, 2, 40, 30), w(40, 30))),
    "a table that lies across": lambda m, w: m.add(_input(m, 64, 48), m.transpose(w(48, 64))),
}


def _results(case: str, dtype: str) -> tuple[np.ndarray, set[str]]:
    """The output, and the data types of the program's large constants."""
    m = Maker()
    graph = m.graph(y=CASES[case](m, Weights(m, dtype)))
    spec = compile_spec(graph, m.constants.copy())
    found = {array.dtype.name for array in spec.constants if array.size >= FEWEST}
    feeds = {v.name: np.random.default_rng(4).normal(size=v.shape) * 20 for v in graph.inputs}
    feeds = {v.name: feeds[v.name].astype(v.dtype) for v in graph.inputs}
    return Executable(graph, m.constants, eager=False).run(feeds)["y"], found


@pytest.mark.parametrize("dtype", FORMS)
@pytest.mark.parametrize("case", CASES)
def test_results_are_those_of_wide_weights(case: str, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    got, stored = _results(case, dtype)
    with monkeypatch.context() as patch:
        patch.setattr(Lowering, "stored_type", lambda self, value: value.dtype)
        wanted, wide = _results(case, dtype)
    np.testing.assert_array_equal(got, wanted)
    assert wide <= {"float32"}
    if case not in (
        "depthwise",
        "weights on the left",
        "points of channels first",
        "windows of channels first",
        "windows of 3",
    ):
        assert dtype in stored and "float32" not in stored


def test_cpus_that_widen_by_many_instructions_keep_float32() -> None:
    m = Maker()
    graph = m.graph(y=CASES["some rows"](m, Weights(m, "float16")))
    try:
        with compiling_for("x86-64-v2"):
            found = {array.dtype.name for array in compile_spec(graph, m.constants.copy()).constants}
    except basalt.errors.UnsupportedError as error:
        pytest.skip(str(error))
    assert found == {"float32"}
