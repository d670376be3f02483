"""Bounds and quotients of symbolic sizes, against values of their symbols."""

from __future__ import annotations

from itertools import product as pairs

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from basalt.compiler.onnx.ops.ranges import clamp, larger, lower_bound, never_above, quotient, smaller
from basalt.ops import Dim, SymDim, symbol
from basalt.ops.dims import bind_shape, dim_max, dim_min, product

N, M = symbol("n"), symbol("m")


def expressions() -> st.SearchStrategy[Dim]:
    leaves: st.SearchStrategy[Dim] = st.sampled_from([N, M]) | st.integers(-4, 4)

    def grown(inner: st.SearchStrategy[Dim]) -> st.SearchStrategy[Dim]:
        two = st.tuples(inner, inner)
        return (
            two.map(lambda p: p[0] + p[1])
            | two.map(lambda p: p[0] * p[1])
            | two.map(lambda p: p[0] - p[1])
            | two.map(lambda p: dim_max(*p))
            | two.map(lambda p: dim_min(*p))
            | st.tuples(inner, st.integers(1, 4)).map(lambda p: p[0] // p[1])
            | st.tuples(inner, st.integers(1, 4)).map(lambda p: p[0] % p[1])
        )

    return st.recursive(leaves, grown, max_leaves=6)


def value(d: Dim, n: int, m: int) -> int:
    (bound,) = bind_shape((d,), {"n": n, "m": m})
    assert isinstance(bound, int)
    return bound


@settings(max_examples=200, deadline=None)
@given(expressions(), expressions())
def test_bounds_hold(a: Dim, b: Dim) -> None:
    bound = lower_bound(a)
    for n, m in pairs((1, 2, 5), (1, 3, 8)):
        first, second = value(a, n, m), value(b, n, m)
        assert bound is None or bound <= first
        assert not never_above(a, b) or first <= second
        assert value(smaller(a, b), n, m) == min(first, second)
        assert value(larger(a, b), n, m) == max(first, second)
        assert value(clamp(a, -1, b), n, m) == max(min(first, second), -1)


def test_bounds_that_are_found() -> None:
    assert lower_bound(N * M + 2) == 3
    assert lower_bound(dim_max(N - 3, -1)) == -1
    assert lower_bound((N + 7) // 4 * 2 + 1) == 5
    assert lower_bound(dim_min(N, 5) * M) == 1
    assert lower_bound(N - M) is None
    assert lower_bound(dim_min(N - 9, 5)) == -8
    assert smaller(N, N - 1) == N - 1
    assert larger(N, 1) == N


@pytest.mark.parametrize(
    ("numerator", "denominator", "expected"),
    [
        ((N, 12, 64), (N, 12), 64),
        ((N, 3, M), (M,), N * 3),
        ((N * 2, M), (N, 4), M * 2 // 4),
        ((N + 1, 6), (N + 1, 4), 1),
        ((0, 3), (0,), 3),
        ((0, 3), (4,), 0),
        ((N * M,), (M,), N),
    ],
)
def test_quotients(numerator: tuple[Dim, ...], denominator: tuple[Dim, ...], expected: Dim) -> None:
    found = quotient(numerator, denominator)
    if isinstance(expected, int) or not isinstance(found, SymDim):
        assert found == expected
    for n, m in pairs((1, 2, 6), (2, 4, 10)):
        if denominator != (0,):
            exact = value(product(numerator), n, m) // value(product(denominator), n, m)
            assert value(found, n, m) == exact
