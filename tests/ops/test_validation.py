"""What each call is refused for, and how it is told; beside each refused call one that is accepted."""

from __future__ import annotations

import math
import re
from typing import Any

import pytest

from basalt.errors import ValidationError
from basalt.ops import all_operators, get
from basalt.ops.types import WEBNN_TYPES

from .calling import infer, tensor

F = "float32[2, 3]"
V = "float32[4]"


class Call:
    """A call in the tables below: operand types as texts, then arguments, then options."""

    def __init__(self, name: str, *given: Any, **options: Any) -> None:
        self.name = name
        self.types = [g for g in given if isinstance(g, str) and "[" in g]
        self.positional = tuple(g for g in given if not (isinstance(g, str) and "[" in g))
        self.options = options

    def infer(self) -> list[str]:
        return infer(self.name, *self.types, positional=self.positional, **self.options)

    def __repr__(self) -> str:
        return f"{self.name}{self.types}{self.positional}{self.options or ''}"


_UNARY = "abs ceil cos erf exp floor identity log neg reciprocal round_even sin sign sqrt tan elu gelu hard_sigmoid"
_UNARY += " hard_swish leaky_relu linear relu sigmoid softplus softsign tanh clamp reverse"
_BINARY = "add sub mul div max min pow prelu"
_COMPARISON = "equal not_equal greater greater_or_equal lesser lesser_or_equal"

ACCEPTED: list[tuple[Call, str | list[str]]] = [
    *((Call(name, "float32[2, 1, 3]"), "float32[2, 1, 3]") for name in _UNARY.split()),
    *((Call(name, "float32[2, 1, 3]", "float32[4, 1]"), "float32[2, 4, 3]") for name in _BINARY.split()),
    *((Call(name, "float32[2, 1, 3]", "float32[4, 1]"), "uint8[2, 4, 3]") for name in _COMPARISON.split()),
    *((Call(f"logical_{name}", "uint8[3]", "uint8[2, 1]"), "uint8[2, 3]") for name in ("and", "or", "xor")),
    (Call("logical_not", "uint8[3]"), "uint8[3]"),
    (Call("is_nan", F), "uint8[2, 3]"),
    (Call("is_infinite", F), "uint8[2, 3]"),
    (Call("clamp", V, min_value=1, max_value=1), V),
    (Call("clamp", "uint8[4]", min_value=-5), "uint8[4]"),
    (Call("cast", F, "int64"), "int64[2, 3]"),
    (Call("where", "uint8[2, 1]", V, "float32[]"), "float32[2, 4]"),
    (Call("dequantize_linear", "uint8[4, 6]", "float16[2, 3]", "uint8[2, 3]"), "float16[4, 6]"),
    (Call("quantize_linear", "float32[4, 6]", "float32[1, 6]", "int8[1, 6]"), "int8[4, 6]"),
    (Call("quantize_linear", "float32[]", "float32[]", "uint32[]"), "uint32[]"),
    (Call("concat", F, "float32[2, 5]", 1), "float32[2, 8]"),
    (Call("expand", "float32[1, 3]", [4, 2, 3]), "float32[4, 2, 3]"),
    (Call("expand", "float32[]", []), "float32[]"),
    (Call("reshape", F, [6]), "float32[6]"),
    (Call("reshape", "float32[1]", []), "float32[]"),
    (Call("transpose", "float32[2, 3, 4]"), "float32[4, 3, 2]"),
    (Call("transpose", F, permutation=[1, 0]), "float32[3, 2]"),
    (Call("slice", F, [1, 0], [1, 3]), "float32[1, 3]"),
    (Call("slice", "float32[9]", [1], [8], strides=[3]), "float32[3]"),
    (Call("split", F, 3, axis=1), ["float32[2, 1]"] * 3),
    (Call("split", F, [1, 2], axis=1), ["float32[2, 1]", "float32[2, 2]"]),
    (Call("pad", F, [1, 2], [0, 2], mode="reflection"), "float32[3, 7]"),
    (Call("pad", F, [5, 0], [0, 0], mode="edge"), "float32[7, 3]"),
    (Call("pad", "float32[]", [], []), "float32[]"),
    (Call("tile", F, [1, 4]), "float32[2, 12]"),
    (Call("reverse", F, axes=[]), F),
    (Call("triangular", F, diagonal=-(2**31)), F),
    (Call("gather", "float32[5, 3]", "int32[2, 2]"), "float32[2, 2, 3]"),
    (Call("gather", "float32[5]", "uint32[]"), "float32[]"),
    (Call("gather", "float32[5, 3]", "int64[4]", axis=1), "float32[5, 4]"),
    (Call("gather_elements", "float32[5, 3]", "int32[2, 3]"), "float32[2, 3]"),
    (Call("gather_nd", "float32[5, 3]", "int32[4, 2]"), "float32[4]"),
    (Call("scatter_elements", "float32[5, 3]", "int32[5, 1]", "float32[5, 1]", axis=1), "float32[5, 3]"),
    (Call("scatter_nd", "float32[5, 3]", "int32[4, 1]", "float32[4, 3]"), "float32[5, 3]"),
    (Call("cumulative_sum", F, 1, exclusive=True, reversed=True), F),
]

REFUSED: list[tuple[Call, str]] = [
    (Call("abs", "uint8[2]"), "input is uint8, expected one of float16, float32, int32, int64, int8"),
    (Call("add", F, "float16[2, 3]"), "b is float16, but must have the data type of a, float32"),
    (Call("add", F, "float32[2, 2]"), "shapes [2, 3] and [2, 2] cannot be broadcast: 3 and 2 differ and neither is 1"),
    (Call("add", "float32[65536, 1]", "float32[1, 65536]"), "has 4294967296 elements, more than 2147483647"),
    (Call("prelu", F, "float32[4]"), "shapes [2, 3] and [4] cannot be broadcast"),
    (Call("equal", "int8[2]", "int8[3]"), "shapes [2] and [3] cannot be broadcast"),
    (Call("logical_and", "int8[2]", "int8[2]"), "a is int8, expected one of uint8"),
    (Call("logical_not", "float32[2]"), "a is float32, expected one of uint8"),
    (Call("is_nan", "int32[2]"), "a is int32, expected one of float16, float32"),
    (Call("clamp", V, min_value=2, max_value=1), "min_value is 2.0, greater than max_value, 1.0"),
    (Call("clamp", "int64[1]", min_value=2**53 + 1, max_value=2**53), "min_value is 9007199254740993, greater"),
    (Call("clamp", V, min_value="0"), "min_value: expected a number, got '0'"),
    (Call("elu", V, alpha=math.inf), "alpha: expected a finite number, got inf"),
    (Call("leaky_relu", V, alpha=math.nan), "alpha: expected a finite number, got nan"),
    (Call("linear", V, gamma=1), "has no option gamma"),
    (Call("cast", V, "float64"), "data_type: expected one of float32, float16, int32"),
    (Call("cast", V), "data_type is missing"),
    (Call("where", "int32[2]", V, V), "condition is int32, expected one of uint8"),
    (Call("where", "uint8[4]", V, "float16[4]"), "false_value is float16, but must have the data type of true_value"),
    (Call("where", "uint8[3]", V, V), "shapes [3] and [4] cannot be broadcast"),
    (Call("dequantize_linear", "int64[4]", V, "int64[4]"), "input is int64, expected one of int32, int4, int8, uint32"),
    (Call("dequantize_linear", "int8[4]", "int8[4]", "int8[4]"), "scale is int8, expected one of float16, float32"),
    (Call("dequantize_linear", "int8[4]", V, "uint8[4]"), "zero_point is uint8, but must have the data type of input"),
    (Call("dequantize_linear", "int8[2, 4]", V, "int8[4]"), "scale has rank 1, but must have the rank of input, 2"),
    (Call("dequantize_linear", "int8[4]", "float32[2]", "int8[4]"), "zero_point has shape [4], expected scale's, [2]"),
    (Call("dequantize_linear", "int8[4]", "float32[3]", "int8[3]"), "scale shape [3] does not divide the input's, [4]"),
    (Call("quantize_linear", V, "float16[4]", "int8[4]"), "scale is float16, but must have the data type of input"),
    (Call("quantize_linear", V, V, "int64[4]"), "zero_point is int64, expected one of int32, int4, int8, uint32"),
    (Call("quantize_linear", V, "float32[8]", "int8[8]"), "scale shape [8] does not divide the input's, [4]"),
    (Call("concat", F, V, 0), "inputs[1] is float32[4], expected the data type and rank of inputs[0], float32[2, 3]"),
    (Call("concat", F, "float16[2, 3]", 0), "inputs[1] is float16[2, 3], expected the data type and rank of inputs[0]"),
    (Call("concat", F, "float32[2, 4]", 0), "inputs[1] has size 4 in dimension 1, expected that of inputs[0], 3"),
    (Call("concat", F, F, 2), "axis is 2, expected 0 to 1 (rank 2)"),
    (Call("concat", "float32[]", 0), "inputs has rank 0, expected 1 to 8"),
    (Call("concat", "float32[2147483647]", V, 0), "has dimension 2147483651, expected 0 to 2147483647"),
    (Call("expand", F, [3]), "input of shape [2, 3] cannot be expanded to new_shape [3]"),
    (Call("expand", F, [2, 4]), "input of shape [2, 3] cannot be expanded to new_shape [2, 4]"),
    (Call("expand", "float32[1]", [0]), "new_shape: expected an integer from 1 to 4294967295, got 0"),
    (Call("expand", V, [1] * 8 + [4]), "the output would have rank 9, expected at most 8"),
    (Call("reshape", F, [5]), "new_shape [5] has 5 elements, expected the input's 6"),
    (Call("reshape", F, [6, 0]), "new_shape: expected an integer from 1 to 4294967295, got 0"),
    (Call("reshape", F, [-1]), "new_shape: expected an integer from 1 to 4294967295, got -1"),
    (Call("reshape", F, [1] * 8 + [6]), "the output would have rank 9, expected at most 8"),
    (Call("reshape", F, "6"), "new_shape: expected a sequence, got '6'"),
    (Call("transpose", F, permutation=[0]), "permutation is [0], expected each of the 2 axes once"),
    (Call("transpose", F, permutation=[0, 2]), "permutation is [0, 2], expected each of the 2 axes once"),
    (Call("transpose", F, permutation=[1, 1]), "permutation is [1, 1], expected each of the 2 axes once"),
    (Call("slice", F, [0, 0], [2, 0]), "sizes: expected an integer from 1 to 4294967295, got 0"),
    (Call("slice", F, [0], [2, 3]), "starts [0] has 1 values, expected one for each of 2 dimensions"),
    (Call("slice", F, [0, 0], [2]), "sizes [2] has 1 values"),
    (Call("slice", F, [0, 0], [2, 3], strides=[1]), "strides [1] has 1 values"),
    (Call("slice", F, [0, 0], [2, 3], strides=[1, 0]), "strides: expected an integer from 1 to 4294967295, got 0"),
    (Call("slice", F, [0, 4], [2, 1]), "starts[1] + sizes[1] is 5, beyond the input's size 3"),
    (Call("slice", F, [0, 1], [2, 3]), "starts[1] + sizes[1] is 4, beyond the input's size 3"),
    (Call("split", F, 2, axis=1), "splits is 2, which does not divide the axis of size 3"),
    (Call("split", F, 0), "splits asks for 0 parts, expected 1 to 8192"),
    (Call("split", "float32[8193]", 8193), "splits asks for 8193 parts, expected 1 to 8192"),
    (Call("split", F, []), "splits asks for 0 parts, expected 1 to 8192"),
    (Call("split", F, [2, 0]), "splits: expected an integer from 1 to 4294967295, got 0"),
    (Call("split", F, [1, 2]), "splits [1, 2] add up to 3, expected the size of the axis, 2"),
    (Call("split", F, 1, axis=2), "axis is 2, expected 0 to 1 (rank 2)"),
    (Call("split", "float32[]", 1), "input has rank 0, expected 1 to 8"),
    (Call("pad", F, [1], [1, 1]), "beginning_padding [1] has 1 values, expected 2, the input's rank"),
    (Call("pad", F, [1, 1], [1]), "ending_padding [1] has 1 values, expected 2, the input's rank"),
    (Call("pad", F, [2, 0], [0, 0], mode="reflection"), "beginning_padding[0] is 2, expected less than the"),
    (Call("pad", F, [0, 0], [0, 3], mode="reflection"), "ending_padding[1] is 3, expected less than the"),
    (Call("pad", F, [0, 0], [2**31, 0]), "has dimension 2147483650, expected 0 to 2147483647"),
    (Call("pad", F, [0, -1], [0, 0]), "beginning_padding: expected an integer from 0 to 4294967295, got -1"),
    (Call("pad", F, [0, 0], [0, 0], mode="symmetric"), "mode: expected one of constant, edge, reflection, got"),
    (Call("pad", "float32[0]", [1], [0], mode="edge"), "beginning_padding[0] is 1, but an empty dimension has no edge"),
    (Call("tile", F, [2]), "repetitions [2] has 1 values, expected 2, the input's rank"),
    (Call("tile", F, [2, 0]), "repetitions: expected an integer from 1 to 4294967295, got 0"),
    (Call("tile", F, [2**30, 1]), "has dimension 2147483648, expected 0 to 2147483647"),
    (Call("reverse", F, axes=[0, 0]), "axes [0, 0] name an axis twice"),
    (Call("reverse", F, axes=[2]), "axes is 2, expected 0 to 1 (rank 2)"),
    (Call("triangular", V), "input has rank 1, expected 2 to 8"),
    (Call("triangular", F, diagonal=2**31), "diagonal: expected an integer from -2147483648 to 2147483647"),
    (Call("triangular", F, upper=1), "upper: expected True or False, got 1"),
    (Call("gather", F, "int8[1]"), "indices is int8, expected one of int32, int64, uint32"),
    (Call("gather", F, "int32[1]", axis=2), "axis is 2, expected 0 to 1 (rank 2)"),
    (Call("gather", F, "int32[1]", axis=-1), "axis: expected an integer from 0 to 4294967295, got -1"),
    (Call("gather", "float32[]", "int32[1]"), "input has rank 0, expected 1 to 8"),
    (Call("gather", "float32[0]", "int32[1]"), "the input is empty along an axis that is indexed"),
    (Call("gather", "float32[1, 1, 1, 1, 1]", "int32[1, 1, 1, 1, 1]"), "the output would have rank 9"),
    (Call("gather_elements", F, "int32[2]"), "indices has rank 1, but must have the rank of input, 2"),
    (Call("gather_elements", F, "int32[2, 2]"), "indices has shape [2, 2], expected [2, 3]: the input's"),
    (Call("gather_elements", F, "int32[2, 3]", axis=2), "axis is 2, expected 0 to 1 (rank 2)"),
    (Call("gather_elements", F, "uint8[2, 3]"), "indices is uint8, expected one of int32, int64, uint32"),
    (Call("gather_nd", F, "int32[]"), "indices has rank 0, expected 1 to 8"),
    (Call("gather_nd", F, "int32[4, 3]"), "indices hold coordinates of length 3, expected 1 to the input's rank, 2"),
    (Call("gather_nd", F, "int32[4, n]"), "the last dimension of indices is n, expected a known size"),
    (Call("gather_nd", F, "uint8[4, 1]"), "indices is uint8, expected one of int32, int64, uint32"),
    (Call("scatter_elements", F, "int32[2, 3]", "int32[2, 3]"), "updates is int32, but must have the data type of"),
    (Call("scatter_elements", F, "int32[2, 3]", "float32[2, 2]"), "updates has shape [2, 2], expected that of indices"),
    (Call("scatter_elements", F, "int32[1, 2]", "float32[1, 2]"), "indices has shape [1, 2], expected [1, 3]"),
    (Call("scatter_elements", F, "int32[1, 3]", "float32[1, 3]", axis=7), "axis is 7, expected 0 to 1 (rank 2)"),
    (Call("scatter_elements", F, "float32[1, 3]", F), "indices is float32, expected one of int32, int64, uint32"),
    (Call("scatter_nd", F, "int32[4, 1]", "float32[4, 2]"), "updates has shape [4, 2], expected [4, 3]: one slice"),
    (Call("scatter_nd", F, "int32[4, 3]", "float32[4]"), "indices hold coordinates of length 3"),
    (Call("scatter_nd", F, "int32[4, 1]", "float16[4, 3]"), "updates is float16, but must have the data type of input"),
    (Call("cumulative_sum", "int8[4]", 0), "input is int8, expected one of float16, float32, int32, int64, uint32"),
    (Call("cumulative_sum", V, 1), "axis is 1, expected 0 to 0 (rank 1)"),
    (Call("cumulative_sum", "float32[]", 0), "input has rank 0, expected 1 to 8"),
    (Call("cumulative_sum", V, 0, exclusive=0), "exclusive: expected True or False, got 0"),
    (Call("cumulative_sum", V), "axis is missing"),
    (Call("cumulative_sum", V, 0, 1), "takes ['axis'] after its operands, each once"),
    (Call("cumulative_sum", V, 0, axis=0), "takes ['axis'] after its operands, each once"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "expected"), ACCEPTED, ids=lambda v: repr(v) if isinstance(v, Call) else "")
def test_accepted(call: Call, expected: str | list[str]) -> None:
    assert call.infer() == ([expected] if isinstance(expected, str) else expected)


@pytest.mark.parametrize(("call", "message"), REFUSED, ids=lambda v: repr(v) if isinstance(v, Call) else "")
def test_refused(call: Call, message: str) -> None:
    with pytest.raises(ValidationError, match=re.escape(message)) as raised:
        call.infer()
    shown = str(raised.value)
    assert shown.startswith(f'{call.name} "probe"')
    if shown.startswith(f'{call.name} "probe" ('):
        assert all(t in shown for t in call.types), shown


def test_every_refusal_has_an_accepted_call_beside_it() -> None:
    accepted = {call.name for call, _ in ACCEPTED}
    assert {call.name for call, _ in REFUSED} <= accepted


CASES = {call.name: call for call, _ in ACCEPTED}


@pytest.mark.parametrize("name", CASES)
def test_data_types_are_limited_as_declared(name: str) -> None:
    """Each operand in turn gets each data type; those that share its data type follow it."""
    operator, call = get(name), CASES[name]
    for i, operand in enumerate(operator.operands[: len(call.types)]):
        for dtype in WEBNN_TYPES:
            types = list(call.types)
            sharing = {operand.name} | {o.name for o in operator.operands if o.dtypes == operand.name}
            for j, other in enumerate(operator.operands[: len(types)]):
                if other.name in sharing or (operator.variadic and j == i):
                    types[j] = re.sub(r"^\w+", dtype, types[j])
            types = [re.sub(r"^\w+", dtype, t) for t in types] if operator.variadic else types
            attempt = Call(name, *types, *call.positional, **call.options)
            own = call.types[i].split("[")[0]
            allowed = dtype == own if isinstance(operand.dtypes, str) else dtype in operand.dtypes
            if allowed:
                attempt.infer()
            else:
                with pytest.raises(ValidationError, match=f"is {dtype}, "):
                    attempt.infer()


@pytest.mark.parametrize("name", CASES)
def test_ranks_are_limited_as_declared(name: str) -> None:
    operator, call = get(name), CASES[name]
    for i, operand in enumerate(operator.operands[: len(call.types)]):
        low, _ = operand.rank_range or (tensor(call.types[0]).rank, 0)
        for rank in {low - 1, 9} - {-1}:
            types = list(call.types)
            types[i] = f"{types[i].split('[')[0]}[{', '.join('1' * rank)}]"
            with pytest.raises(ValidationError, match=f"has rank {rank}, "):
                Call(name, *types, *call.positional, **call.options).infer()


def test_missing_operands() -> None:
    with pytest.raises(ValidationError, match=r'add "probe" \(a: float32\[2, 3\]\): operand b is missing'):
        infer("add", F)
    with pytest.raises(ValidationError, match="got 0 inputs, expected 1 to 8192"):
        infer("concat", positional=(0,))
    with pytest.raises(ValidationError, match="got 8193 inputs, expected 1 to 8192"):
        infer("concat", *["float32[1]"] * 8193, positional=(0,))


def test_data_types_of_other_formats_need_to_be_asked_for() -> None:
    for name, dtype in {"exp": "float64", "add": "int16", "sigmoid": "bfloat16", "logical_not": "bool"}.items():
        operator = get(name)
        types = [tensor(f"{dtype}[2]")] * len(operator.operands)
        attrs = operator.attributes((), {})
        with pytest.raises(ValidationError, match=f"is {dtype}, expected one of"):
            operator.check(types, attrs)
        assert operator.check(types, attrs, extended=True)[0][0].shape == (2,)


def test_no_operator_fails_otherwise_on_a_call_without_operands() -> None:
    for name, operator in all_operators().items():
        attrs = {o.name: 0 for o in operator.arguments} | {o.name: o.default for o in operator.options}
        with pytest.raises(ValidationError, match=f'^{name} "probe"'):
            operator.check([], attrs, "probe")


def test_no_operator_takes_an_option_it_does_not_have() -> None:
    for name, operator in all_operators().items():
        with pytest.raises(ValidationError, match=f'^{name} "probe": .*(is missing|has no option colour)'):
            operator.attributes((), {"colour": "red"}, "probe")
