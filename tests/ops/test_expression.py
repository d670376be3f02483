"""Scalar expressions: their types, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from basalt.ops import TensorType, all_operators
from basalt.ops.elementwise import Expressed
from basalt.ops.expression import FUNCTIONS, INTEGER_FUNCTIONS, ExpressionError, Term, typed
from basalt.ops.numpy_terms import evaluate


def test_numbers_take_the_data_type_beside_them() -> None:
    term = typed("max(x, 0)", {"x": "int8", "output": "int8"})
    assert term == Term("max", "int8", (Term("name", "int8", value="x"), Term("const", "int8", value=0)))


def test_parameters_take_the_data_type_beside_them() -> None:
    term = typed("alpha * x", {"x": "float16", "output": "float16"}, ("alpha",))
    assert term.args[0] == Term("param", "float16", value="alpha")


def test_comparisons_become_numbers_where_they_leave() -> None:
    term = typed("a < b", {"a": "float32", "b": "float32", "output": "uint8"})
    assert (term.op, term.dtype, term.args[0].dtype) == ("to", "uint8", "bool")


def test_casts() -> None:
    types = {"x": "int8", "scale": "float32", "output": "float32"}
    assert typed("to(x, scale)", types).dtype == "float32"
    assert typed("to(to(x, int64), output)", types).args[0].dtype == "int64"
    assert typed("to(scale, output)", types) == Term("name", "float32", value="scale")


@pytest.mark.parametrize(
    "text",
    ["y", "x +", "x ** 2", "foo(x)", "max(x)", "x + y", "to(x, nothing)", "x < y < x", "select(x, x, x)", "a + x",
     "x if x else x", "'text'", "x.real", "to(x, a)"],
)  # fmt: skip
def test_refused(text: str) -> None:
    with pytest.raises((ExpressionError, SyntaxError)):
        typed(text, {"x": "float32", "a": "int8", "output": "float32"})


def test_every_expression_of_an_operator_is_well_formed_for_its_data_types() -> None:
    count = 0
    for operator in all_operators().values():
        if not isinstance(operator, Expressed):
            continue
        for first in sorted({d for o in operator.operands if not isinstance(o.dtypes, str) for d in o.dtypes}):
            types = []
            for operand in operator.operands:
                shared = {o.name: t for o, t in zip(operator.operands, types)}
                own = operand.dtypes if isinstance(operand.dtypes, frozenset) else {shared[operand.dtypes].dtype}
                types.append(TensorType(first if first in own else sorted(own)[0], ()))
            attrs = {o.name: o.default for o in operator.options} | {"data_type": "int8"}
            outputs, attrs = operator.check(types, attrs)
            term = operator.term(types, attrs, outputs[0])
            assert term.dtype == outputs[0].dtype
            assert _functions(term) <= FUNCTIONS.keys() | {"name", "param", "const"}
            count += 1
    assert count > 200


def _functions(term: Term) -> set[str]:
    return {term.op}.union(*(_functions(a) for a in term.args))


def test_every_function_is_evaluated() -> None:
    for name, count in FUNCTIONS.items():
        if name in ("to", "select"):
            continue
        dtype = "int32" if name in INTEGER_FUNCTIONS else "float64"
        x = np.array([0.25, 0.5, 0.75]) if dtype == "float64" else np.array([1, 2, 3], np.int32)
        predicate = typed(f"{name}({', '.join('x' * count)})", {"x": dtype, "output": dtype})
        result = evaluate(predicate, {"x": x}, dtype)
        assert result.shape == x.shape
        assert not np.isnan(result).any() or name == "acosh"


def test_results_beside_a_jump_are_those_of_code_in_the_data_type() -> None:
    """2.445 / 1.63 is just below 1.5 in exact numbers, and 1.5 in float32, which goes to 2."""
    a, b = np.array([2.445, 4.5750003], np.float32), np.array([1.63, 1.83], np.float32)
    term = typed("rint(a / b)", {"a": "float32", "b": "float32", "output": "float32"})
    assert evaluate(term, {"a": a, "b": b}, "float32").tolist() == [2.0, 2.0]
    wide = typed("rint(a / b * 1)", {"a": "float32", "b": "float32", "output": "float32"})  # computed in float64
    assert evaluate(wide, {"a": a, "b": b}, "float32").tolist() == [2.0, 2.0]
