"""Converters of options, and calls' arguments."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from basalt.errors import ValidationError
from basalt.ops import get, symbol
from basalt.ops.convert import (
    boolean,
    data_type,
    dimension,
    double,
    enum,
    int32,
    integer,
    nullable,
    number,
    positive,
    sequence,
    uint,
)
from basalt.ops.schema import RuleError

n = symbol("n")

ACCEPTED: list[tuple[Callable[[Any], Any], Any, Any]] = [
    (boolean, True, True), (boolean, np.False_, False),
    (uint, 3, 3), (uint, np.int64(3), 3), (uint, 3.0, 3), (uint, 2**32 - 1, 2**32 - 1), (int32, -5, -5),
    (dimension, n, n), (dimension, 0, 0), (positive, n, n), (positive, 1, 1),
    (sequence(uint), [1, 2], (1, 2)), (sequence(uint), np.array([1, 2]), (1, 2)), (sequence(uint), range(2), (0, 1)),
    (sequence(uint, 2), (1, 2), (1, 2)), (nullable(uint), None, None), (nullable(uint), 1, 1),
    (number, 2**80, 2**80), (number, True, 1), (number, np.float32(0.5), 0.5), (number, math.inf, math.inf),
    (double, 1, 1.0), (double, np.float16(0.5), 0.5), (enum("a", "b"), "b", "b"),
    (data_type, "int8", "int8"), (data_type, np.int8, "int8"), (data_type, np.dtype("float16"), "float16"),
]  # fmt: skip

REFUSED: list[tuple[Callable[[Any], Any], Any, str]] = [
    (boolean, 1, "expected True or False, got 1"), (boolean, None, "expected True or False, got None"),
    (uint, -1, "from 0 to 4294967295, got -1"), (uint, 2**32, "got 4294967296"), (uint, 1.5, "got 1.5"),
    (uint, True, "got True"), (uint, "1", "got '1'"), (uint, math.nan, "got nan"), (uint, math.inf, "got inf"),
    (int32, 2**31, "from -2147483648 to 2147483647, got 2147483648"), (integer(1, 2), 3, "from 1 to 2, got 3"),
    (uint, 10**5000, "got one of 16610 bits"), (dimension, -1, "got -1"), (positive, 0, "from 1 to 4294967295, got 0"),
    (sequence(uint), 3, "expected a sequence, got 3"), (sequence(uint), "12", "expected a sequence, got '12'"),
    (sequence(uint), {1: 2}.keys, "expected a sequence"), (sequence(uint, 2), [1], "expected 2 values, got 1: (1,)"),
    (sequence(uint), [1, None], "got None"), (number, "1", "expected a number, got '1'"), (number, 1j, "got 1j"),
    (double, math.nan, "expected a finite number, got nan"), (double, -math.inf, "got -inf"),
    (double, 10**400, "expected a finite number"), (enum("a"), "b", "expected one of a, got 'b'"),
    (enum("a"), None, "got None"), (data_type, "float64", "expected one of float32"), (data_type, 3, "got 3"),
    (data_type, np.float64, "got <class 'numpy.float64'>"), (data_type, ml_dtypes.int4, "expected one of float32"),
    (sequence(uint), np.array(3), "expected a sequence, got array(3)"), (sequence(uint), {1, 2}, "expected a sequence"),
    (sequence(uint), {1: 2}, "expected a sequence, got {1: 2}"), (sequence(uint), object(), "expected a sequence"),
    (sequence(uint), itertools.count(), "expected at most 8192 values, got more"),
]  # fmt: skip


@pytest.mark.parametrize(("convert", "given", "expected"), ACCEPTED)
def test_accepted(convert: Callable[[Any], Any], given: Any, expected: Any) -> None:
    result = convert(given)
    assert result == expected
    assert type(result) is type(expected)


@pytest.mark.parametrize(("convert", "given", "message"), REFUSED, ids=range(len(REFUSED)))
def test_refused(convert: Callable[[Any], Any], given: Any, message: str) -> None:
    with pytest.raises(RuleError) as raised:
        convert(given)
    assert message in str(raised.value)


def test_arguments_by_position_and_by_keyword_are_the_same() -> None:
    operator = get("slice")
    by_position = operator.attributes(([0], [1]), {})
    assert by_position == operator.attributes((), {"starts": [0], "sizes": [1]})
    assert by_position == {"starts": (0,), "sizes": (1,), "strides": None}


def test_messages_name_the_operator_its_label_and_the_option() -> None:
    with pytest.raises(ValidationError, match=r'^gather "lookup": axis: expected an integer from 0'):
        get("gather").attributes((), {"axis": -1}, "lookup")
    with pytest.raises(ValidationError, match=r"^gather: has no option axes; its options are .'axis'.$"):
        get("gather").attributes((), {"axes": 1})
