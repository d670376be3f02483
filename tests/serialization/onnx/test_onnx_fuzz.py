"""Short runs of the fuzzer; :mod:`wire_fuzzing` says how to make longer ones."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from wire_fuzzing import check, fuzz, seeds
from wire_samples import data, key, model, num

DATA = Path(__file__).parent / "data"


def test_mutants_of_golden_files() -> None:
    models = seeds(sorted(DATA.glob("*.onnx")))
    assert len(models) >= 4
    outcome = fuzz(models, count=1500)
    assert outcome.loaded > 50
    assert outcome.refused > 500
    assert len(outcome.reasons) > 20


@settings(max_examples=200)
@given(st.binary(max_size=200))
def test_random_bytes(content: bytes) -> None:
    check(content)


def fields() -> st.SearchStrategy[bytes]:
    """Well-formed wire data that means nothing in particular."""
    numbers = st.integers(1, 30)
    leaves = st.one_of(
        st.builds(num, numbers, st.integers(0, (1 << 64) - 1) | st.integers(0, 30)),
        st.builds(data, numbers, st.binary(max_size=8) | st.text("ab", max_size=2)),
        st.builds(lambda number, value: key(number, 5) + value, numbers, st.binary(min_size=4, max_size=4)),
        st.builds(lambda number, value: key(number, 1) + value, numbers, st.binary(min_size=8, max_size=8)),
    )
    return st.recursive(leaves, lambda inner: st.builds(data, numbers, inner, inner), max_leaves=12)


@settings(max_examples=200)
@given(st.lists(fields(), max_size=6))
def test_random_fields(parts: list[bytes]) -> None:
    check(model(*parts))
    check(model(head=b"".join(parts)))
    check(model(data(1, data(5, *parts)), data(5, *parts), data(11, data(2, *parts))))


@pytest.mark.slow
def test_mutants_of_published_models() -> None:
    onnx = pytest.importorskip("onnx")
    folder = Path(onnx.__file__).parent / "backend" / "test" / "data"
    outcome = fuzz(seeds(sorted(folder.rglob("*.onnx"))), count=10_000, seed=1)
    assert outcome.loaded > 200
    assert outcome.refused > 2000
