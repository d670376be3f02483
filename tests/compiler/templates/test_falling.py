"""Powers of what the largest of a row was subtracted from: infinities and NaN as exp and reduce_max have them."""

from __future__ import annotations

import numpy as np
import pytest

from basalt.compiler.interpret import Interpreter

from .harness import Maker, check, compiled, numbers

SPECIAL = (np.nan, np.inf, -np.inf, -1e38, 3e38, 0.0)


def _rows(length: int) -> np.ndarray:
    """Rows of random numbers, then those with special ones first, last and throughout."""
    rows = [numbers(i, (length,)) * 30 for i in range(5)]
    for value in SPECIAL:
        for place in (slice(0, 1), slice(-1, None), slice(None), slice(1, None, 2)):
            row = numbers(7, (length,)) * 30
            row[place] = value
            rows.append(row)
    return np.array(rows)


def _graph(m: Maker, shape: tuple[int, ...], form: str):  # type: ignore[no-untyped-def]
    x = m.input("x", "float32", shape)
    top = m.reduce_max(x, axes=(1,), keep_dimensions=True)
    difference = m.sub(x, top)
    powers = m.exp(difference)
    total = m.reduce_sum(powers, axes=(1,), keep_dimensions=True)
    return {
        "softmax": lambda: {"y": m.div(powers, total)},
        "inverse": lambda: {"y": m.mul(powers, m.reciprocal(total))},
        "logarithm": lambda: {"y": m.sub(difference, m.log(total))},
        "powers": lambda: {"y": powers},
        "largest": lambda: {"y": m.div(powers, total), "z": m.add(top, m.log(total)), "top": top},
        "hidden": lambda: {"y": m.div(powers, total), "z": m.min(top, m.sign(m.log(total)))},
    }[form]()


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("form", ["softmax", "inverse", "logarithm", "powers", "largest", "hidden"])
@pytest.mark.parametrize("length", [17, 63, 64, 70, 161])
def test_special_numbers(form: str, length: int) -> None:
    array = _rows(length)
    m = Maker()
    graph = m.graph(**_graph(m, array.shape, form))
    expected = Interpreter(graph, m.constants).run({"x": array})
    actual = compiled(graph, m.constants, {"x": array})
    for name, want in expected.items():
        np.testing.assert_allclose(actual[name], want, rtol=2e-5, atol=1e-6, err_msg=name)


@pytest.mark.parametrize("length", [64, 300])
def test_the_largest_of_another_operand_is_no_bound(length: int) -> None:
    x, z = numbers(1, (3, length)) * 20, numbers(2, (3, length)) - 40
    m = Maker()
    a, b = m.input("x", "float32", x.shape), m.input("z", "float32", z.shape)
    powers = m.exp(m.sub(a, m.reduce_max(b, axes=(1,), keep_dimensions=True)))
    total = m.reduce_sum(powers, axes=(1,), keep_dimensions=True)
    check(m, {"x": x, "z": z}, y=m.div(powers, total))


def test_all_powers_are_those_of_exp() -> None:
    x = np.concatenate([-np.geomspace(1e-30, 200, 4000, dtype=np.float32), np.float32([0, -0.0, -np.inf])])[None]
    m = Maker()
    given = m.input("x", "float32", x.shape)
    fused = m.exp(m.sub(given, m.reduce_max(given, axes=(1,), keep_dimensions=True)))
    alone = m.exp(given)
    total = m.reduce_sum(fused, axes=(1,), keep_dimensions=True)
    found = check(m, {"x": x}, fused=fused, alone=alone, total=total)
    np.testing.assert_array_equal(found["fused"], found["alone"])
