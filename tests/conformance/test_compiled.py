"""The conformance vectors through the builder and compiled programs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

import basalt

from .building import build, feeds_of
from .vectors import DIRECTORY, FILES, Case, failures, load

pytestmark = pytest.mark.skipif(not FILES, reason=f"the conformance vectors are not at {DIRECTORY}")

CONTEXT = basalt.MLContext(eager_first_run=False)


@pytest.fixture(autouse=True)
def compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BASALT_DEBUG", raising=False)


def run_compiled(case: Case) -> Mapping[str, np.ndarray]:
    graph = build(case, CONTEXT)
    return graph.run(feeds_of(case, graph))


def run_fed(case: Case) -> Mapping[str, np.ndarray]:
    """As :func:`run_compiled`, with an input for every constant, so that nothing is computed beforehand."""
    return run_compiled(replace(case, constants=frozenset()))


@pytest.mark.parametrize("file", FILES)
def test_compiled_program(file: str) -> None:
    wrong = failures(file, run_compiled)
    assert not wrong, f"{len(wrong)} of {len(load(file))} cases:\n" + "\n".join(wrong)


@pytest.mark.parametrize("file", FILES)
def test_compiled_program_without_constants(file: str) -> None:
    wrong = failures(file, run_fed)
    assert not wrong, f"{len(wrong)} of {len(load(file))} cases:\n" + "\n".join(wrong)
