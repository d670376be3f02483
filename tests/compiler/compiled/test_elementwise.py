"""Compiled element-wise operators against their NumPy semantics: every data type, shape, layout and special value."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from basalt import ops
from basalt.compiler.ir import Value
from basalt.ops.elementwise import Elementwise
from basalt.ops.types import is_float

from .forms import EXACT, Bench, Tolerance, benches, broadcast_pair, fill, shapes

OPERATORS = sorted(name for name, o in ops.all_operators().items() if isinstance(o, Elementwise) and name != "cast")
DTYPES = ("float32", "float16", "int32", "uint32", "int64", "uint64", "int8", "uint8")
ROUNDED_ONCE = frozenset(
    {"add", "sub", "mul", "div", "sqrt", "reciprocal", "prelu", "leaky_relu", "max", "min", "abs", "neg", "relu"}
    | {"clamp", "ceil", "floor", "round_even", "sign", "identity", "where", "is_nan", "is_infinite"}
)
"""Operators whose float results are the exact ones rounded: nothing else is right."""
ANY_ZERO = frozenset({"max", "min", "relu", "clamp", "hard_sigmoid"})
"""Operators that choose between zeros of both signs, of which any will do."""
OPTIONS: dict[str, list[dict[str, Any]]] = {
    "clamp": [
        {},
        {"min_value": -2},
        {"max_value": 3},
        {"min_value": 0, "max_value": 6},
        {"min_value": 1, "max_value": 1},
    ],
    "elu": [{}, {"alpha": 0.5}, {"alpha": -2.0}],
    "hard_sigmoid": [{}, {"alpha": 1.5, "beta": -0.25}],
    "leaky_relu": [{}, {"alpha": 0.2}, {"alpha": -1.0}],
    "linear": [{}, {"alpha": 2.5, "beta": -7.25}, {"alpha": 0.0, "beta": 3.0}],
}


def tolerance(op: str, dtype: str) -> Tolerance:
    """float32 within two units of the value in float64; float16 is computed in float32 and rounded."""
    exact = not is_float(dtype) or op in ROUNDED_ONCE
    return Tolerance(0.0 if exact else 2.0 if dtype == "float32" else 1.0, signed_zeros=op not in ANY_ZERO)


def dtypes_of(op: str) -> list[str]:
    return [d for d in DTYPES if d in ops.get(op).operands[0].dtypes]


def call(bench: Bench, op: str, shape: tuple[int, ...], dtype: str) -> Value:
    """One node with operands in forms of their own."""
    options = bench.random.choice(OPTIONS.get(op, [{}]))
    if op == "where":
        first, second = broadcast_pair(bench, shape)
        condition = bench.random.choice((shape, first, ()))
        pairs = [(condition, "uint8"), (first, dtype), (second, dtype)]
    elif len(ops.get(op).operands) == 2:
        pairs = [(s, dtype) for s in broadcast_pair(bench, shape)]
    else:
        pairs = [(shape, dtype)]
    operands = [bench.operand(fill(bench, s, d), d) for s, d in pairs]
    return bench.maker.call(op, *operands, **options)  # type: ignore[no-any-return]


@pytest.mark.parametrize("op", OPERATORS)
@settings(max_examples=7)
@given(bench=benches(), shape=shapes(), data=st.data())
def test_operator(op: str, bench: Bench, shape: tuple[int, ...], data: st.DataObject) -> None:
    names = ["float32", *DTYPES] if op == "where" else dtypes_of(op)
    dtype = data.draw(st.sampled_from(names))
    bench.check(bench.result(call(bench, op, shape, dtype)), tolerance(op, dtype))


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("op", [name for name in OPERATORS if "float32" in dtypes_of(name)])
def test_special_values(op: str, dtype: str) -> None:
    """Long rows of every magnitude, so that vectors and the rest behind them are met."""
    for seed in range(2):
        bench = Bench(Random(seed))
        operands = [bench.input(fill(bench, (10_007,), dtype, wild=True), dtype) for _ in ops.get(op).operands]
        bench.check([bench.maker.call(op, *operands)], tolerance(op, dtype))


@pytest.mark.parametrize("source", DTYPES)
@settings(max_examples=6)
@given(bench=benches(), shape=shapes(0, 2), target=st.sampled_from(DTYPES))
def test_cast(source: str, bench: Bench, shape: tuple[int, ...], target: str) -> None:
    x = bench.operand(fill(bench, shape, source), source, ("plain", "transposed"))
    bench.check(bench.result(bench.maker.cast(x, target), ("plain", "joined")), EXACT)


@pytest.mark.parametrize("dtype", ["float64", "bfloat16", "int16", "uint16", "bool", "int4", "uint4"])
@settings(max_examples=9)
@given(bench=benches(), shape=shapes(0, 2), data=st.data())
def test_data_types_of_other_formats(dtype: str, bench: Bench, shape: tuple[int, ...], data: st.DataObject) -> None:
    op = data.draw(st.sampled_from(("add", "mul", "min", "abs", "where", "equal", "cast", "relu")))
    if dtype in ("bool", "int4", "uint4"):
        op = data.draw(st.sampled_from(("cast", "equal", "where")))
    elif dtype == "uint16" and op in ("abs", "relu"):
        op = "max"
    if op == "cast":
        to = data.draw(st.sampled_from(("float32", "int8", "bool", "int4", "float16", "bfloat16", "float64")))
        x = bench.operand(fill(bench, shape, dtype), dtype, ("plain", "transposed"))
        bench.check([bench.maker.cast(x, to)], EXACT)
    else:
        bench.check(bench.result(call(bench, op, shape, dtype), ("plain", "transposed")), EXACT)
