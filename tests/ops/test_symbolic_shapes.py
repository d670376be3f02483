"""Shape rules where sizes are not known yet: what they give, and what they leave open or refuse."""

from __future__ import annotations

import pytest

from basalt.errors import ValidationError
from basalt.ops import bind_shape, symbol

from .calling import tensor
from .test_validation import ACCEPTED, Call

RULES: list[tuple[Call, str | list[str]]] = [
    (Call("relu", "float32[n, 3]"), "float32[n, 3]"),
    (Call("add", "float32[n, 1]", "float32[m]"), "float32[n, m]"),
    (Call("add", "float32[n, 3]", "float32[n, 3]"), "float32[n, 3]"),
    (Call("add", "float32[n]", "float32[3]"), "float32[3]"),
    (Call("add", "float32[n]", "float32[m]"), "float32[max(n, m)]"),
    (Call("where", "uint8[n, 1]", "float32[m]", "float32[]"), "float32[n, m]"),
    (Call("dequantize_linear", "int8[n, 64]", "float32[m, 2]", "int8[m, 2]"), "float32[n, 64]"),
    (Call("concat", "float32[n, 3]", "float32[m, 3]", "float32[2, 3]", 0), "float32[m + n + 2, 3]"),
    (Call("concat", "float32[2, n]", "float32[2, 4]", 0), "float32[4, 4]"),
    (Call("reshape", "float32[n, 3]", [symbol("n") * 3]), "float32[3*n]"),
    (Call("reshape", "float32[n, 4]", [symbol("n"), 2, 2]), "float32[n, 2, 2]"),
    (Call("reshape", "float32[n, 4]", [5]), "float32[5]"),
    (Call("transpose", "float32[a, b, c]"), "float32[c, b, a]"),
    (Call("expand", "float32[1, 3]", [symbol("n"), 3]), "float32[n, 3]"),
    (Call("slice", "float32[n]", [1], [symbol("n") - 1]), "float32[n - 1]"),
    (Call("slice", "float32[n]", [0], [symbol("n")], strides=[2]), "float32[((n + 1) // (2))]"),
    (Call("slice", "float32[n]", [5], [2]), "float32[2]"),
    (Call("split", "float32[2*n]", 2), ["float32[n]", "float32[n]"]),
    (Call("split", "float32[n]", [2, symbol("n") - 2]), ["float32[2]", "float32[n - 2]"]),
    (Call("pad", "float32[n]", [1], [symbol("m")]), "float32[m + n + 1]"),
    (Call("tile", "float32[n, 2]", [3, symbol("m")]), "float32[3*n, 2*m]"),
    (Call("reverse", "float32[n]"), "float32[n]"),
    (Call("triangular", "float32[n, m]"), "float32[n, m]"),
    (Call("gather", "float32[n, 3]", "int32[m]"), "float32[m, 3]"),
    (Call("gather_elements", "float32[n, 3]", "int32[m, 3]"), "float32[m, 3]"),
    (Call("gather_nd", "float32[n, 3]", "int32[m, 1]"), "float32[m, 3]"),
    (Call("scatter_elements", "float32[n]", "int32[m]", "float32[m]"), "float32[n]"),
    (Call("scatter_nd", "float32[n, k]", "int32[m, 1]", "float32[m, k]"), "float32[n, k]"),
    (Call("cumulative_sum", "float32[n]", 0), "float32[n]"),
]

REFUSED: list[tuple[Call, str]] = [
    (Call("add", "float32[n, 2]", "float32[n, 3]"), "2 and 3 differ"),
    (Call("slice", "float32[n]", [1], [symbol("n")]), "beyond the input's size n"),
    (Call("split", "float32[n]", [2, symbol("n") - 1]), "expected the size of the axis, n"),
    (Call("concat", "float32[n, 2]", "float32[m, 3]", 0), "has size 3 in dimension 1"),
    (Call("expand", "float32[n, 2]", [symbol("n"), 3]), "cannot be expanded"),
    (Call("dequantize_linear", "int8[n, 3]", "float32[n, 2]", "int8[n, 2]"), "does not divide"),
]


@pytest.mark.parametrize(("call", "expected"), RULES, ids=lambda v: repr(v) if isinstance(v, Call) else "")
def test_rule(call: Call, expected: str | list[str]) -> None:
    assert call.infer() == ([expected] if isinstance(expected, str) else expected)


@pytest.mark.parametrize(("call", "message"), REFUSED, ids=lambda v: repr(v) if isinstance(v, Call) else "")
def test_known_sizes_are_refused_all_the_same(call: Call, message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        call.infer()


@pytest.mark.parametrize(("call", "expected"), ACCEPTED, ids=lambda v: repr(v) if isinstance(v, Call) else "")
def test_hidden_sizes_lead_to_the_same_shapes(call: Call, expected: str | list[str]) -> None:
    """Every accepted call is accepted with sizes unknown, and its output has the known shape once they are told."""
    sizes: dict[str, int] = {}

    def hide(text: str, keep_last: bool) -> str:
        known = tensor(text)
        hidden = [str(d) if d == 1 else f"n{d}" for d in known.shape]
        sizes.update({f"n{d}": d for d in known.shape if isinstance(d, int)})
        if keep_last:
            hidden[-1] = str(known.shape[-1])
        return f"{known.dtype}[{', '.join(hidden)}]"

    coordinates = call.name in ("gather_nd", "scatter_nd")
    types = [hide(t, coordinates and i == 1) for i, t in enumerate(call.types)]
    outputs = [tensor(t) for t in Call(call.name, *types, *call.positional, **call.options).infer()]
    bound = [f"{t.dtype}[{', '.join(map(str, bind_shape(t.shape, sizes)))}]" for t in outputs]
    assert bound == ([expected] if isinstance(expected, str) else expected)
