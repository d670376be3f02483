"""The conformance vectors through the operators' NumPy semantics."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from basalt import ops
from basalt.ops import TensorType, dtype_name

from .vectors import DIRECTORY, FILES, Call, Case, failures, load, snake_case


def run_numpy(case: Case) -> Mapping[str, np.ndarray]:
    """The outputs of a case, computed one operator after another."""
    values = dict(case.inputs)
    for call in case.calls:
        results = _evaluate(call, values)
        assert len(results) == len(call.outputs)
        values.update(zip(call.outputs, results))
    return {name: values[name] for name in case.expected}


def _evaluate(call: Call, values: Mapping[str, np.ndarray]) -> list[np.ndarray]:
    operator = ops.get(call.name)
    if operator.variadic:
        flat = [values[name] for name in call.operands[0]]
    else:
        named = dict(zip((o.name for o in operator.operands if not o.optional), call.operands, strict=True))
        named |= call.operand_options
        assert named.keys() <= {o.name for o in operator.operands}
        flat = [values[named[o.name]] if o.name in named else None for o in operator.operands]
    attrs = operator.attributes(call.arguments, call.options, call.name)
    types = [None if x is None else TensorType(dtype_name(x.dtype), x.shape) for x in flat]
    outputs, attrs = operator.check(types, attrs, call.name)
    results = [np.asarray(x) for x in operator.evaluate(operator.bind(flat), attrs, outputs)]
    assert [(dtype_name(x.dtype), x.shape) for x in results] == [(t.dtype, t.shape) for t in outputs]
    return results


@pytest.mark.skipif(not FILES, reason=f"the conformance vectors are not at {DIRECTORY}")
def test_vectors_are_complete() -> None:
    assert len(FILES) == 91
    assert sum(len(load(file)) for file in FILES) == 1469
    called = {call.name for file in FILES for case in load(file) for call in case.calls}
    assert called <= ops.all_operators().keys()
    assert {snake_case(o.webnn) for o in ops.all_operators().values() if o.webnn} - called == {
        "is_infinite", "is_nan", "round_even",
    }  # fmt: skip


@pytest.mark.skipif(not FILES, reason=f"the conformance vectors are not at {DIRECTORY}")
@pytest.mark.parametrize("file", FILES)
def test_numpy_semantics(file: str) -> None:
    wrong = failures(file, run_numpy)
    assert not wrong, f"{len(wrong)} of {len(load(file))} cases:\n" + "\n".join(wrong)
