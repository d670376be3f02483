"""Constants beside graphs."""

from __future__ import annotations

import numpy as np

from basalt.compiler.ir import Constants


def test_what_is_derived_from_a_constant_is_shared_by_copies() -> None:
    store = Constants()
    value = store.add(np.arange(4))
    calls = []

    def double(array: np.ndarray) -> np.ndarray:
        calls.append(1)
        return 2 * array

    first, second = store.copy(), store.copy()
    assert first.derived(value, ("double",), double) is second.derived(value, ("double",), double)
    own, other = first.add(np.ones(2)), second.add(np.zeros(3))
    assert own.constant == other.constant
    assert first.derived(own, ("double",), double).tolist() == [2, 2]
    assert second.derived(other, ("double",), double).tolist() == [0, 0, 0]
    assert len(calls) == 3
