"""The conformance vectors through the pipeline and NumPy: what the passes make of a graph meets the tolerances too."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

from basalt.compiler.interpret import interpret
from basalt.compiler.passes.context import Debug
from basalt.compiler.pipeline import run_pipeline

from .building import build, feeds_of
from .vectors import DIRECTORY, FILES, Case, failures, load

pytestmark = pytest.mark.skipif(not FILES, reason=f"the conformance vectors are not at {DIRECTORY}")


def run_rewritten(case: Case) -> Mapping[str, np.ndarray]:
    """With every constant as an input: folding would hide what is computed at run time."""
    graph = build(replace(case, constants=frozenset()))
    constants = graph._constants.copy()
    result = run_pipeline(graph._graph, constants, debug=Debug(verify=True))
    return interpret(result.graph, constants, feeds_of(case, graph))


@pytest.mark.parametrize("file", FILES)
def test_rewritten_graph(file: str) -> None:
    wrong = failures(file, run_rewritten)
    assert not wrong, f"{len(wrong)} of {len(load(file))} cases:\n" + "\n".join(wrong)
