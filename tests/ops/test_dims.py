"""Symbolic dimensions against plain integers."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from basalt.ops import Dim, SymDim, bind_shape, known, parse_dim, symbol
from basalt.ops.dims import ceil_div, dim_max, dim_min, product, symbols_of

n, m = symbol("n"), symbol("m")
values = st.fixed_dictionaries({name: st.integers(1, 9) for name in ("n", "m", "batch size")})


@st.composite
def dims(draw: st.DrawFn, depth: int = 3) -> tuple[Dim, str]:
    """A dimension and Python's text of the same arithmetic over v[name]."""
    if depth == 0 or draw(st.booleans()):
        if draw(st.booleans()):
            number = draw(st.integers(1, 6))
            return number, str(number)
        name = draw(st.sampled_from(["n", "m", "batch size"]))
        return symbol(name), f"v[{name!r}]"
    (a, left), (b, right) = draw(dims(depth - 1)), draw(dims(depth - 1))
    operation = draw(st.sampled_from(["+", "-", "*", "//", "%", "max", "min"]))
    if operation in ("//", "%"):
        b, right = draw(st.sampled_from([(2, "2"), (3, "3"), (n, "v['n']")]))
        return (a // b if operation == "//" else a % b), f"(({left}) {operation} ({right}))"
    if operation in ("max", "min"):
        return (dim_max if operation == "max" else dim_min)(a, b), f"{operation}({left}, {right})"
    return {"+": a + b, "-": a - b, "*": a * b}[operation], f"(({left}) {operation} ({right}))"


def bound(dim: Dim, v: Mapping[str, int]) -> Dim:
    return dim.bind(v) if isinstance(dim, SymDim) else dim


@given(form=dims(), v=values)
def test_arithmetic_commutes_with_binding(form: tuple[Dim, str], v: dict[str, int]) -> None:
    dim, text = form
    assert bound(dim, v) == eval(text, {"v": v})


@given(form=dims())
def test_text_is_read_back(form: tuple[Dim, str]) -> None:
    assert parse_dim(str(form[0])) == form[0]


@given(form=dims(), v=values)
def test_binding_one_after_another(form: tuple[Dim, str], v: dict[str, int]) -> None:
    dim = form[0]
    for name, value in v.items():
        dim = bound(dim, {name: value})
    assert dim == bound(form[0], v)


def test_canonical_form() -> None:
    assert n + m == m + n
    assert (n + 1) * (n - 1) == n * n - 1
    assert hash(2 * n - n) == hash(n)
    assert n - n == 0
    assert (2 * n + 4) // 2 == n + 2
    assert (6 * n) % 3 == 0
    assert n // n == 1
    assert n // 1 == n
    assert n != m
    assert product([n, 2, m]) == 2 * m * n
    assert ceil_div(7, 2) == 4
    assert dim_max(n, n) == n


def test_texts() -> None:
    assert str(2 * n * m - n + 3) == "2*m*n - n + 3"
    assert str(symbol("batch size")) == "sym('batch size')"
    assert symbols_of(n // m + symbol("k")) == {"n", "m", "k"}
    assert symbols_of(3) == frozenset()
    assert known(1, 2)
    assert not known(1, n)
    assert bind_shape((n, 2, m + 1), {"n": 4}) == (4, 2, m + 1)


@pytest.mark.parametrize("text", ["p2o.DynamicDimension.0", "?", "", "a b", "n +", "f(n)", "1.5", "(" * 5000, "True"])
def test_names_that_are_no_expressions_stay_whole(text: str) -> None:
    dim = parse_dim(text)
    assert dim == symbol(text)
    assert parse_dim(str(dim)) == dim
