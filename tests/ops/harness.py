"""Calls of operators as the builder makes them, and what every call must satisfy beside its result."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from basalt import ops
from basalt.errors import ValidationError
from basalt.ops import TensorType, bind_shape, dtype_name, known, numpy_dtype, symbol
from basalt.ops.schema import Operator

_SHORT = {"f32": "float32", "f16": "float16", "i8": "int8", "u8": "uint8", "i32": "int32", "i64": "int64"}


def tensor_type(text: str) -> TensorType:
    """``f32[1, n, 3]`` as a tensor type; names are symbolic dimensions."""
    match = re.fullmatch(r"(\w+)\[(.*)\]", text)
    assert match, text
    dims = [d.strip() for d in match[2].split(",") if d.strip()]
    shape = tuple(int(d) if d.isdigit() else symbol(d) for d in dims)
    return TensorType(_SHORT.get(match[1], match[1]), shape)


def split_call(name: str, given: Mapping[str, Any]) -> tuple[Operator, list[Any], dict[str, Any]]:
    """The operator, its operands in order (None for absent ones), and its attributes in converted form."""
    operator = ops.get(name)
    operands = [given.get(o.name) for o in operator.operands]
    names = {o.name for o in operator.operands}
    attrs = operator.attributes((), {k: v for k, v in given.items() if k not in names}, "probe")
    return operator, operands, attrs


Call = dict[str, Any]
"""Operands as texts of types, and options."""
Rules = tuple[str, Call, list[tuple[Call, Call, str]]]
"""An operator, a call, and for each rule what keeps it, what breaks it, and the message then."""


def each_rule(rules: Sequence[Rules]) -> list[tuple[str, Call, Call, str]]:
    """The operator, the call that keeps a rule, the one that breaks it, and the message, for each rule."""
    return [
        (name, {**call, **keeps}, {**call, **breaks}, message)
        for name, call, cases in rules
        for keeps, breaks, message in cases
    ]


def check_rule(name: str, kept: Call, broken: Call, message: str) -> None:
    """One call passes; the other is refused, with a message that names the operator and its label."""
    infer(name, **kept)
    with pytest.raises(ValidationError, match=re.escape(message)) as error:
        infer(name, **broken)
    assert str(error.value).startswith(f'{name} "probe"')


def infer(name: str, **given: Any) -> list[str]:
    """The output types of a call whose operands are given as texts of types."""
    operator, operands, attrs = split_call(name, given)
    types = [None if o is None else tensor_type(o) for o in operands]
    outputs, completed = operator.check(types, attrs, "probe")
    assert operator.check(types, completed, "probe") == (outputs, completed)
    return [str(t) for t in outputs]


def run(name: str, **given: Any) -> list[np.ndarray]:
    """The outputs of a call on arrays; the operands stay as they are, and symbolic sizes give the same types."""
    operator, operands, attrs = split_call(name, given)
    before = [None if o is None else o.copy() for o in operands]
    types = [None if o is None else TensorType(dtype_name(o.dtype), o.shape) for o in operands]
    outputs, completed = operator.check(types, attrs)
    assert operator.check(types, completed) == (outputs, completed)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        results = operator.evaluate(operator.bind(operands), completed, outputs)
    assert [(dtype_name(r.dtype), r.shape) for r in results] == [(t.dtype, t.shape) for t in outputs]
    for old, new in zip(before, operands):
        assert old is None or np.array_equal(old, new, equal_nan=old.dtype.kind == "f")
    _check_symbolic(operator, types, attrs, outputs, completed)
    return list(results)


def _check_symbolic(
    operator: Operator,
    types: Sequence[TensorType | None],
    attrs: Mapping[str, Any],
    outputs: Sequence[TensorType],
    completed: Mapping[str, Any],
) -> None:
    """Types of symbolic sizes, bound to their values, and the attributes completed from them are the concrete ones."""
    values = {f"n{d}": d for t in types if t for d in t.shape if d > 1}
    hidden = [t and TensorType(t.dtype, tuple(symbol(f"n{d}") if d > 1 else d for d in t.shape)) for t in types]
    guessed, partial = operator.check(hidden, attrs)
    assert [(t.dtype, bind_shape(t.shape, values)) for t in guessed] == [(t.dtype, t.shape) for t in outputs]
    assert operator.check(types, partial) == (tuple(outputs), completed)
    assert operator.check(hidden, partial) == (guessed, partial)
    assert all(known(*t.shape) for t in outputs)


@st.composite
def arrays(draw: st.DrawFn, shape: Sequence[int], dtype: str, low: float = -4.0, high: float = 4.0) -> np.ndarray:
    """Arrays of random values; integers over their type's whole range."""
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    target = numpy_dtype(dtype)
    if target.kind == "f":
        return random.uniform(low, high, shape).astype(target)
    bounds = np.iinfo(target)
    return random.integers(bounds.min, bounds.max, shape, target, endpoint=True)


def shapes(rank_min: int = 0, rank_max: int = 4, size_max: int = 5) -> st.SearchStrategy[tuple[int, ...]]:
    """Shapes of small sizes."""
    return st.lists(st.integers(1, size_max), min_size=rank_min, max_size=rank_max).map(tuple)


def some_axes(rank: int) -> st.SearchStrategy[list[int]]:
    """Some of the axes of a rank, in any order."""
    return st.permutations(range(rank)).flatmap(lambda axes: st.integers(0, rank).map(lambda count: axes[:count]))


float_types = st.sampled_from(["float32", "float16"])


def assert_rounded(actual: np.ndarray, exact: np.ndarray, cancellation: float = 1e-11) -> None:
    """The result is the exact one rounded once to the result's data type, but for one unit of the last place."""
    exact = np.asarray(exact)
    assert actual.shape == exact.shape
    if actual.dtype.kind != "f":
        np.testing.assert_array_equal(actual, exact)
        return
    info = np.finfo(actual.dtype)
    with np.errstate(over="ignore"):
        expected = exact.astype(actual.dtype).astype(np.float64)
    bound = cancellation + float(info.smallest_subnormal)
    np.testing.assert_allclose(actual.astype(np.float64), expected, rtol=float(info.eps) * 1.01, atol=bound)
