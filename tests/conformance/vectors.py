"""The WebNN conformance vectors of web-platform-tests as plain cases, whatever executes them.

A test module calls :func:`failures` with a file's name and a function from a case to its outputs by name.

The vectors are of March 2025, the standard's text that the project follows of June 2026. Where the two differ, a case
is adapted to the newer text (see :func:`_adapted`), and never left out:

- ``softmax`` without an axis: the axis is now required; the older text took the last one of a matrix.
- pooling's ``roundingType``: now ``outputShapeRounding``, of the same values.
- ``quantizeLinear`` and ``dequantizeLinear`` with a scale and zero point of a lower rank than the input's: they now
  have its rank, so leading dimensions of 1 are added, as the older text's broadcasting implied.
- the same with a scale that is not positive: now implementation-defined; the formula still gives the expected values.
- int4 and uint4, which the standard has dropped: run as they are, for they are an extension of the project. Expected
  values beyond their range (16 for uint4) are meant clamped to it.

Three cases expect wrong values, which :data:`_CORRECTIONS` replaces.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

DIRECTORY = Path(__file__).resolve().parents[3] / "shared" / "webnn-vectors"
FILES = sorted(path.stem for path in DIRECTORY.glob("*.json"))

_SPECIAL = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf, "-0": -0.0}
_INT4 = {"int4": (ml_dtypes.int4, -8, 7), "uint4": (ml_dtypes.uint4, 0, 15)}
_NO_SQUARE_ROOT = {2: 90.67685823, 8: 26.61993333, 11: 72.42569572, 17: 90.64600929}
_CORRECTIONS: dict[str, dict[int, float]] = {
    # Windows of two elements lack the square root (webmachinelearning/webnn-baseline, pull request 125).
    "l2Pool2d float32 4D tensor options.roundingType=ceil": _NO_SQUARE_ROOT,
    "l2Pool2d float32 4D tensor options.outputSizes ignores options.roundingType=floor": _NO_SQUARE_ROOT,
    # gelu(-2.121315) from 1 + erf(-1.5) in float32, which cancels: 35 units of the last place off, 24 are allowed.
    "batchNormalization options.axis=0 + gelu": {4: -0.03595130433},
}
"""Right values by case and position in its output."""


@dataclass(frozen=True)
class Call:
    """One builder call: names of values as positional operands (a tuple of names for a sequence) and as options."""

    name: str
    operands: tuple[Any, ...]
    arguments: tuple[Any, ...]
    operand_options: Mapping[str, str]
    options: Mapping[str, Any]
    outputs: tuple[str, ...]
    sequence: bool
    """Whether the method returns a sequence."""


@dataclass(frozen=True)
class Case:
    """A graph with the values of its inputs and constants, and what must come out."""

    name: str
    inputs: Mapping[str, np.ndarray]
    constants: frozenset[str]
    """The names in ``inputs`` that are constants of the graph."""
    calls: tuple[Call, ...]
    expected: Mapping[str, np.ndarray]
    kind: str
    """``ULP`` or ``ATOL``."""
    tolerance: float


Execute = Callable[[Case], Mapping[str, np.ndarray]]


def snake_case(name: str) -> str:
    """``gatherND`` -> ``gather_nd``, ``isNaN`` -> ``is_nan``, ``l2Pool2d`` -> ``l2_pool2d``."""
    return re.sub(r"(?<=[a-z0-9])([A-Z]+)", r"_\1", name.replace("NaN", "Nan")).lower()


@cache
def load(file: str) -> tuple[Case, ...]:
    """The cases of a file, adapted to the standard's newer text."""
    return tuple(_case(raw) for raw in json.loads((DIRECTORY / f"{file}.json").read_text()))


def failures(file: str, execute: Execute) -> list[str]:
    """What is wrong with the outputs of each case of a file, one line a case; empty if all are right."""
    found = []
    for case in load(file):
        try:
            wrong = list(_differences(case, execute(case)))
        except Exception as error:
            wrong = [f"{type(error).__name__}: {error}"]
        if wrong:
            found.append(f"{case.name}: {'; '.join(wrong)}")
    return found


def _case(raw: dict[str, Any]) -> Case:
    graph = raw["graph"]
    calls: list[Call] = []
    values = set(graph["inputs"])
    for operator in graph["operators"]:
        calls.append(_call(operator, values))
        values.update(calls[-1].outputs)
    case = Case(
        raw["name"],
        {name: _array(given) for name, given in graph["inputs"].items()},
        frozenset(name for name, given in graph["inputs"].items() if given["constant"]),
        tuple(calls),
        {name: _expected(given, raw["name"]) for name, given in graph["expectedOutputs"].items()},
        raw["tolerance"]["type"],
        raw["tolerance"]["value"],
    )
    return _adapted(case) if "divergence" in raw else case


def _call(raw: dict[str, Any], values: set[str]) -> Call:
    operands, arguments, operand_options, options = [], [], {}, {}
    for argument in raw["arguments"]:
        ((key, value),) = argument.items()
        if key == "options":
            for name, item in value.items():
                target = operand_options if isinstance(item, str) and item in values else options
                target[snake_case(name)] = _plain(item)
        elif isinstance(value, str) and value in values:
            operands.append(value)
        elif isinstance(value, list) and value and all(isinstance(v, str) for v in value):
            operands.append(tuple(value))
        else:
            arguments.append(_plain(value))
    names, sequence = raw["outputs"], isinstance(raw["outputs"], list)
    return Call(
        snake_case(raw["name"]),
        tuple(operands),
        tuple(arguments),
        operand_options,
        options,
        tuple(names) if sequence else (names,),
        sequence,
    )


def _adapted(case: Case) -> Case:
    inputs, calls = dict(case.inputs), []
    for call in case.calls:
        arguments, options = call.arguments, dict(call.options)
        if call.name == "softmax" and not arguments:
            arguments = (inputs[call.operands[0]].ndim - 1,)
        if "rounding_type" in options:
            options["output_shape_rounding"] = options.pop("rounding_type")
        if call.name in ("quantize_linear", "dequantize_linear"):
            rank = inputs[call.operands[0]].ndim
            for name in call.operands[1:]:
                inputs[name] = inputs[name].reshape((1,) * (rank - inputs[name].ndim) + inputs[name].shape)
        calls.append(
            Call(call.name, call.operands, arguments, call.operand_options, options, call.outputs, call.sequence)
        )
    return Case(case.name, inputs, case.constants, tuple(calls), case.expected, case.kind, case.tolerance)


def _plain(value: Any) -> Any:
    """A JSON value with the numbers that JSON lacks."""
    if isinstance(value, list):
        return [_plain(v) for v in value]
    if isinstance(value, str) and value in _SPECIAL:
        return _SPECIAL[value]
    if isinstance(value, str) and re.fullmatch(r"-?\d+n", value):
        return int(value[:-1])
    return value


def _expected(given: dict[str, Any], case: str) -> np.ndarray:
    dtype, values = given["descriptor"]["dataType"], given["data"]
    if dtype in _INT4:
        _, low, high = _INT4[dtype]
        return _array({**given, "data": [min(max(v, low), high) for v in values]})
    expected = _array(given)
    for position, value in _CORRECTIONS.get(case, {}).items():
        expected.flat[position] = value
    return expected


def _array(given: dict[str, Any]) -> np.ndarray:
    """The values of an operand; those of 4 bits wrap around, as the vectors' packing into bytes makes them."""
    dtype, shape = given["descriptor"]["dataType"], tuple(given["descriptor"]["shape"])
    data = _plain(given["data"])
    values = data if isinstance(data, list) else [data] * math.prod(shape)
    if dtype in _INT4:
        wrapped = [((int(v) & 15) ^ 8) - 8 if dtype == "int4" else int(v) & 15 for v in values]
        return np.array(wrapped, np.int8).astype(_INT4[dtype][0]).reshape(shape)
    if dtype.startswith("float"):
        return np.array(values, np.float64).astype(dtype).reshape(shape)
    return np.array([int(v) for v in values], dtype).reshape(shape)


def _differences(case: Case, actual: Mapping[str, np.ndarray]) -> Iterator[str]:
    for name, expected in case.expected.items():
        if name not in actual:
            yield f"{name} is missing"
            continue
        given = np.asarray(actual[name])
        if given.dtype != expected.dtype or given.shape != expected.shape:
            yield f"{name} is {given.dtype}{list(given.shape)}, expected {expected.dtype}{list(expected.shape)}"
            continue
        distance = _distance(given, expected, case.kind)
        wrong = np.flatnonzero(~(distance <= case.tolerance))
        if wrong.size:
            at = wrong[0]
            yield (
                f"{name} differs at {wrong.size} of {given.size} elements, first at {at}: {given.flat[at]!r}, expected "
                f"{expected.flat[at]!r} within {case.kind} {case.tolerance}, distance {distance.flat[at]}"
            )


def _distance(given: np.ndarray, expected: np.ndarray, kind: str) -> np.ndarray:
    """How far apart the elements are, as the vectors' tolerance counts; equal values and NaNs are at distance 0."""
    if kind == "ATOL":
        distance = np.abs(given.astype(np.float64) - expected.astype(np.float64))
    elif given.dtype == np.float32:
        distance = np.abs(_ordinal(given) - _ordinal(expected)).astype(np.float64)
    elif given.dtype == np.float16:
        distance = np.abs(given.view(np.uint16).astype(np.float64) - expected.view(np.uint16).astype(np.float64))
    else:
        exact = np.abs(given.astype(object) - expected.astype(object))
        distance = np.asarray(exact, np.float64).reshape(given.shape)
    if given.dtype.kind == "f":
        distance = np.where(np.isnan(given) & np.isnan(expected), 0.0, distance)
    return np.where(given == expected, 0.0, distance)


def _ordinal(x: np.ndarray) -> np.ndarray:
    """The rank of each float32 among all of them, in order of value."""
    bits = x.view(np.uint32).astype(np.int64)
    return np.where(bits >= 1 << 31, (1 << 31) - bits, bits)
