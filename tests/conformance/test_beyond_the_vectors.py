"""What the vectors lack: the operators added since, numbers of any size, truth values, quantised chains; both ways."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

import basalt
from basalt.compiler.interpret import interpret

Outputs = basalt.MLOperand | dict[str, basalt.MLOperand]
Make = Callable[..., Outputs]

FLOATS = (np.float32, np.float16)


def check(make: Make, feeds: Mapping[str, np.ndarray], expected: Any, atol: float = 0) -> None:
    """The graph that ``make`` builds gives ``expected``, through NumPy and compiled."""
    builder = basalt.MLGraphBuilder(basalt.MLContext(eager_first_run=False))
    outputs = make(builder, **{name: builder.input(name, x.dtype, x.shape) for name, x in feeds.items()})
    named = outputs if isinstance(outputs, dict) else {"y": outputs}
    wanted = expected if isinstance(expected, dict) else {"y": expected}
    graph = builder.build(named)
    for results in (interpret(graph.graph, graph.constants, feeds), graph.run(feeds)):
        assert results.keys() == wanted.keys()
        for name, array in wanted.items():
            assert (results[name].dtype, results[name].shape) == (array.dtype, array.shape)
            np.testing.assert_allclose(results[name], array, rtol=0, atol=atol)


def filled(shape: tuple[int, ...], values: list[float], dtype: Any) -> np.ndarray:
    """The values over and over, in a shape."""
    return np.resize(np.array(values, dtype), shape)


SHAPES = [(), (5,), (3, 7), (2, 3, 5), (1, 2, 9, 4), (2, 1, 3, 1, 40)]
MIXED = [0.25, math.nan, -math.inf, -0.0, math.inf, 6e4, -1e-5, -math.nan, 3.5, -0.5, 2.5]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", SHAPES)
def test_is_nan_is_infinite_and_round_even(dtype: Any, shape: tuple[int, ...]) -> None:
    x = filled(shape, MIXED, dtype)
    check(
        lambda b, x: {"nan": b.is_nan(x), "infinite": b.is_infinite(x), "even": b.round_even(x)},
        {"x": x},
        {"nan": np.isnan(x).astype(np.uint8), "infinite": np.isinf(x).astype(np.uint8), "even": np.rint(x)},
    )


@pytest.mark.parametrize(
    ("values", "dtype", "bounds", "expected"),
    [
        ([-(10**15), 10**15, -7, 3], "int64", {"min_value": -7}, [-7, 10**15, -7, 3]),
        ([-(10**15), 0], "int64", {"min_value": 2**63 + 5}, [2**63 - 1] * 2),
        ([-(10**15), 0], "int64", {"max_value": -(2**90)}, [-(2**63)] * 2),
        ([2**64 - 1, 9, 0], "uint64", {"min_value": 9}, [2**64 - 1, 9, 9]),
        ([2**64 - 1, 0], "uint64", {"min_value": 2**70}, [2**64 - 1] * 2),
        ([2**64 - 1, 0], "uint64", {"max_value": -3}, [0, 0]),
        ([2**64 - 1, 77, 1], "uint64", {"max_value": 64.0}, [64, 64, 1]),
        ([200, 3], "uint8", {"min_value": 500.0}, [255, 255]),
        ([-100, 3], "int8", {"min_value": -1e9, "max_value": math.inf}, [-100, 3]),
        ([-9, 2, 5], "int32", {"min_value": 2.5}, [2, 2, 5]),
        ([-9, 4, 5], "int32", {"min_value": 3.5}, [4, 4, 5]),
        ([-math.inf, 1.5, math.inf], "float32", {"min_value": math.nan, "max_value": 8}, [-math.inf, 1.5, 8]),
        ([-math.inf, 1.5, math.inf], "float16", {"min_value": -8, "max_value": math.nan}, [-8, 1.5, math.inf]),
        ([-1e38, 1e38], "float32", {"min_value": -(10**60), "max_value": 10**60}, [-1e38, 1e38]),
    ],
)
def test_clamp_with_numbers_of_any_size(
    values: list[float], dtype: str, bounds: dict[str, float], expected: list[float]
) -> None:
    check(lambda b, x: b.clamp(x, **bounds), {"x": np.array(values, dtype)}, np.array(expected, dtype))


def test_a_comparison_that_is_an_output_a_condition_and_a_number() -> None:
    a, c = filled((3, 5), [1.0, 4.0, -2.0], np.float32), filled((3, 5), [1.5, 2.0], np.float32)
    count = np.arange(15, dtype=np.uint8).reshape(3, 5)

    def make(b: basalt.MLGraphBuilder, a: Any, c: Any, count: Any) -> Outputs:
        less = b.lesser(a, c)
        return {"less": less, "picked": b.where(less, a, c), "sum": b.add(less, count), "not": b.logical_not(less)}

    less = (a < c).astype(np.uint8)
    wanted = {"less": less, "picked": np.where(less, a, c), "sum": less + count, "not": 1 - less}
    check(make, {"a": a, "c": c, "count": count}, wanted)


def test_every_number_but_0_is_a_true_condition() -> None:
    a, b_ = np.array([0, 2, 128, 255], np.uint8), np.array([0, 5, 128, 2], np.uint8)
    t, f = np.full(4, 2.5, np.float32), np.full(4, -2.5, np.float32)
    truth = (a + b_) != 0
    assert truth.tolist() == [False, True, False, True]
    check(
        lambda b, p, q, t, f: {"w": b.where(b.add(p, q), t, f), "n": b.logical_not(b.add(p, q))},
        {"p": a, "q": b_, "t": t, "f": f},
        {"w": np.where(truth, t, f), "n": (~truth).astype(np.uint8)},
    )


SCALE, ZERO = np.float32(1 / 64), 3


def quantised(x: np.ndarray) -> np.ndarray:
    """What a float becomes by way of int8."""
    q = np.clip(np.rint(x / SCALE) + ZERO, -128, 127).astype(np.float32)
    return (q - np.float32(ZERO)) * SCALE


def through_int8(b: basalt.MLGraphBuilder, x: basalt.MLOperand) -> basalt.MLOperand:
    ones = (1,) * len(x.shape)
    scale, zero = b.constant(np.full(ones, SCALE)), b.constant(np.full(ones, ZERO, np.int8))
    return b.dequantize_linear(b.quantize_linear(x, scale, zero), scale, zero)


CHAINS: dict[str, tuple[Callable[[Any, Any], Any], Callable[[np.ndarray], np.ndarray]]] = {
    "add": (lambda b, x: b.add(x, x), lambda x: x + x),
    "clamp": (lambda b, x: b.clamp(x, min_value=-0.5, max_value=0.75), lambda x: np.clip(x, -0.5, 0.75)),
    "concat": (lambda b, x: b.concat([x, x], 2), lambda x: np.concatenate([x, x], 2)),
    "leaky_relu": (lambda b, x: b.leaky_relu(x, alpha=0.25), lambda x: np.where(x < 0, x * np.float32(0.25), x)),
    "max_pool2d": (lambda b, x: b.max_pool2d(x), lambda x: x.max((2, 3), keepdims=True)),
    "pad": (lambda b, x: b.pad(x, (0, 0, 1, 0), (0, 0, 0, 2)), lambda x: np.pad(x, ((0, 0), (0, 0), (1, 0), (0, 2)))),
    "reduce_max": (lambda b, x: b.reduce_max(x, axes=[1, 3]), lambda x: x.max((1, 3))),
    "reshape": (lambda b, x: b.reshape(x, (6, 20)), lambda x: x.reshape(6, 20)),
    "slice": (lambda b, x: b.slice(x, (0, 1, 0, 2), (1, 2, 4, 2)), lambda x: x[:, 1:, :4, 2:4]),
    "transpose": (lambda b, x: b.transpose(x), lambda x: x.transpose()),
}


@pytest.mark.parametrize("chain", CHAINS)
def test_an_operator_between_quantisations(chain: str) -> None:
    make, meaning = CHAINS[chain]
    x = np.random.default_rng(7).uniform(-2.5, 2.5, (1, 3, 8, 5)).astype(np.float32)
    check(
        lambda b, x: through_int8(b, make(b, through_int8(b, x))),
        {"x": x},
        quantised(meaning(quantised(x))).astype(np.float32),
    )
