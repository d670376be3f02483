"""Calls of operators as a builder makes them, random operands, and comparisons, for the operators' tests."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from hypothesis import strategies as st

from basalt.ops import TensorType, dtype_name, get, numpy_dtype, parse_dim

FLOATS = ("float16", "float32")
SIGNED = ("int8", "int32", "int64")
INTS = ("int8", "uint8", "int32", "uint32", "int64", "uint64")
ANY = FLOATS + INTS


def outputs(name: str, *given: Any, label: str = "", **keywords: Any) -> list[np.ndarray]:
    """The outputs of ``builder.name(*given, **keywords)`` in NumPy: arrays are operands, also as a list."""
    operator = get(name)
    if operator.variadic:
        flat, positional = list(given[0]), given[1:]
    else:
        required = [o for o in operator.operands if not o.optional]
        values = dict(zip((o.name for o in required), given))
        values |= {o.name: keywords.pop(o.name) for o in operator.operands if o.optional and o.name in keywords}
        flat, positional = [values.get(o.name) for o in operator.operands], given[len(required) :]
    attrs = operator.attributes(positional, keywords, label)
    types = [None if x is None else TensorType(dtype_name(x.dtype), x.shape) for x in flat]
    inferred, completed = operator.check(types, attrs, label)
    assert repr(operator.check(types, completed, label)) == repr((inferred, completed))  # NaN equals not itself
    before = [None if x is None else x.tobytes() for x in flat]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        results = [np.asarray(x) for x in operator.evaluate(operator.bind(flat), completed, inferred)]
    assert [None if x is None else x.tobytes() for x in flat] == before, "an operand was changed"
    assert [(dtype_name(x.dtype), x.shape) for x in results] == [(t.dtype, t.shape) for t in inferred]
    return results


def output(name: str, *given: Any, **keywords: Any) -> np.ndarray:
    """The only output of a call."""
    (result,) = outputs(name, *given, **keywords)
    return result


def tensor(text: str) -> TensorType:
    """``float32[2, n + 1]`` as a tensor type; names are unknown sizes."""
    dtype, shape = text.removesuffix("]").split("[")
    return TensorType(dtype, tuple(parse_dim(d) for d in shape.split(",") if d))


def infer(name: str, *types: str | None, positional: tuple[Any, ...] = (), **keywords: Any) -> list[str]:
    """The output types of a call, as texts, from its operands' types as texts."""
    operator = get(name)
    attrs = operator.attributes(positional, keywords, "probe")
    operands = [None if t is None else tensor(t) for t in types]
    inferred, completed = operator.check(operands, attrs, "probe")
    assert operator.check(operands, completed, "probe") == (inferred, completed)
    return [str(t) for t in inferred]


def array(dtype: str, shape: tuple[int, ...], seed: int) -> np.ndarray:
    """Values of any kind: every bit pattern, moderate numbers, and those where things go wrong."""
    rng = np.random.default_rng(seed)
    target, count = numpy_dtype(dtype), math.prod(shape)
    patterns = np.frombuffer(rng.bytes(count * target.itemsize), target)
    if target.kind == "f":
        limits = np.finfo(target)
        hard = [0.0, -0.0, 1.0, -1.0, 0.5, -3.0, 3.0, math.inf, -math.inf, math.nan, limits.max, limits.tiny]
        hard += [limits.smallest_subnormal, limits.eps, -limits.eps, 88.5, -103.0, 2.5]
        moderate = rng.normal(0, 10.0 ** rng.integers(-3, 3), count).astype(target)
    else:
        limits = np.iinfo(target)
        hard = [0, 1, limits.max, limits.min, limits.max - 1, limits.min + 1, 2, 3]
        moderate = rng.integers(max(limits.min, -9), 10, count).astype(target)
    hard_values = np.array(hard, target)[rng.integers(0, len(hard), count)]
    kind = rng.integers(0, 3, count)
    return np.where(kind == 0, patterns, np.where(kind == 1, moderate, hard_values)).astype(target).reshape(shape)


seeds = st.integers(0, 2**32 - 1)


def shapes(low: int = 0, high: int = 5, *, least: int = 0, limit: int = 400) -> st.SearchStrategy[tuple[int, ...]]:
    """Shapes of ranks ``low`` to ``high``, sometimes of the highest rank there is; few elements; seldom empty."""
    sizes = st.sampled_from([d for d in (1, 2, 3, 4, 5, 2, 3, 1, 7, 0) if d >= least])
    usual = st.lists(sizes, min_size=low, max_size=high)
    deep = st.lists(st.sampled_from((1, 2)), min_size=8, max_size=8)
    return st.one_of(usual, usual, usual, deep).map(tuple).filter(lambda s: math.prod(s) <= limit)


@st.composite
def broadcast_shapes(draw: st.DrawFn, count: int) -> list[tuple[int, ...]]:
    """Shapes that can be broadcast to each other."""
    whole = draw(shapes())
    parts = []
    for _ in range(count):
        cut = draw(st.integers(0, len(whole)))
        parts.append(tuple(1 if draw(st.booleans()) and d else d for d in whole[cut:]))
    return parts


def rows(shape: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Every index of a shape."""
    return iter(np.ndindex(*shape))


def by_index(dtype: np.dtype, shape: tuple[int, ...], value: Callable[[tuple[int, ...]], Any]) -> np.ndarray:
    """An array each of whose elements is given by its index."""
    result = np.empty(shape, dtype)
    for index in rows(shape):
        result[index] = value(index)
    return result


def assert_same_bits(actual: np.ndarray, expected: np.ndarray) -> None:
    """Equal in data type, shape and every bit."""
    assert actual.dtype == expected.dtype
    assert actual.shape == expected.shape
    assert np.ascontiguousarray(actual).tobytes() == np.ascontiguousarray(expected).tobytes()


def assert_close(actual: np.ndarray, exact: np.ndarray, ulps: int, given: Any = None) -> None:
    """Within a number of units in the last place of exact values, NaN where these are NaN; zeros have no sign."""
    with np.errstate(all="ignore"):
        expected = np.asarray(exact).astype(actual.dtype)
    distance = np.abs(_ordinal(actual) - _ordinal(expected))
    both_nan = np.isnan(actual) & np.isnan(expected)
    one_nan = np.isnan(actual) ^ np.isnan(expected)
    wrong = np.flatnonzero((one_nan | (distance > ulps)) & ~both_nan)
    assert not wrong.size, (
        f"{wrong.size} of {actual.size} differ, first {actual.flat[wrong[0]]!r}, expected {expected.flat[wrong[0]]!r}"
        f" (given {[np.broadcast_to(g, actual.shape).flat[wrong[0]] for g in given or ()]})"
    )


def _ordinal(x: np.ndarray) -> np.ndarray:
    bits = np.asarray(x).view({2: np.int16, 4: np.int32, 8: np.int64}[x.dtype.itemsize])
    lowest = np.iinfo(bits.dtype).min
    return np.where(bits < 0, float(lowest) - bits, bits.astype(np.float64))
