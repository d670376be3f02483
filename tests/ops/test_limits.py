"""op_support_limits() and the operator reference against the standard and the declarations."""

from __future__ import annotations

import json
from pathlib import Path

from basalt.ops import all_operators
from basalt.ops.limits import camel_case, op_support_limits
from basalt.ops.tables import render, signature
from basalt.ops.types import WEBNN_TYPES

STANDARD: dict[str, dict[str, list]] = json.loads(Path(__file__).with_name("standard_limits.json").read_text())
"""The standard's tables of allowed data types and ranks (8 for any), same-as references resolved, in its order.

The rows of isNaN and isInfinite say any data type; their method steps allow floats alone, and are followed.
"""
for _name in ("isNaN", "isInfinite"):
    STANDARD[_name]["a"][0] = "float32 float16"

REFERENCE = Path(__file__).resolve().parents[2] / "docs" / "operators.md"


def test_every_operator_of_the_standard_is_declared() -> None:
    assert {o.webnn for o in all_operators().values() if o.webnn} == STANDARD.keys()
    assert len(STANDARD) == 95


def test_limits_are_those_of_the_standard() -> None:
    limits = op_support_limits()
    for name, members in STANDARD.items():
        assert list(limits[name]) == list(members), name
        for member, (types, low, high) in members.items():
            wanted = list(WEBNN_TYPES) if types == "any" else types.split()
            assert limits[name][member] == {"dataTypes": wanted, "rankRange": {"min": low, "max": high}}, (name, member)


def test_top_level_members() -> None:
    limits = op_support_limits(preferred_input_layout="nchw")
    assert limits["preferredInputLayout"] == "nchw"
    assert limits["maxTensorByteLength"] == 8 * (2**31 - 1)
    for name in ("input", "constant", "output"):
        assert limits[name] == {"dataTypes": list(WEBNN_TYPES), "rankRange": {"min": 0, "max": 8}}
    assert limits.keys() - STANDARD.keys() == {
        "preferredInputLayout", "maxTensorByteLength", "input", "constant", "output",
    }  # fmt: skip
    json.dumps(limits)


def test_camel_case() -> None:
    assert [camel_case(n) for n in ("zero_point", "input", "output0")] == ["zeroPoint", "input", "output0"]


def test_signature() -> None:
    operators = all_operators()
    assert signature(operators["gather"]) == "gather(input, indices, *, axis=0)"
    assert signature(operators["where"]) == "where(condition, true_value, false_value)"
    assert signature(operators["slice"]) == "slice(input, starts, sizes, *, strides=None)"
    assert signature(operators["conv2d"]).startswith("conv2d(input, filter, *, bias=None, ")


def test_the_committed_reference_is_up_to_date() -> None:
    assert REFERENCE.read_text() == render(), "run python -m basalt.ops.tables > docs/operators.md"


def test_everything_is_documented() -> None:
    for operator in all_operators().values():
        assert operator.__doc__, operator.name
        assert operator.section or operator.webnn is None, operator.name
        for part in (*operator.operands, *operator.arguments, *operator.options):
            assert part.doc, (operator.name, part.name)
