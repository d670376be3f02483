"""The conformance vectors through the builder, the interpreter and the ``.bsl`` format."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

import basalt
from basalt import serialization
from basalt.compiler.exchange import from_data, to_data

from .building import build, feeds_of
from .vectors import DIRECTORY, FILES, Case, failures, load

needs_vectors = pytest.mark.skipif(not FILES, reason=f"the conformance vectors are not at {DIRECTORY}")


@pytest.fixture(autouse=True)
def interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BASALT_DEBUG", "interpret")


def run_built(case: Case) -> Mapping[str, np.ndarray]:
    """The outputs of a case's graph, which must also come back from plain data as it was."""
    graph = build(case)
    data = to_data(graph.graph, graph.constants)
    assert to_data(*from_data(data)) == data
    return graph.run(feeds_of(case, graph))


@needs_vectors
@pytest.mark.parametrize("file", FILES)
def test_a_built_graph_gives_the_expected_values(file: str) -> None:
    wrong = failures(file, run_built)
    assert not wrong, f"{len(wrong)} of {len(load(file))} cases:\n" + "\n".join(wrong)


@needs_vectors
@pytest.mark.parametrize("file", ["subgraph", "lstm", "conv2d", "split", "pad", "resample2d"])
def test_a_saved_graph_computes_the_same(file: str, tmp_path: Path) -> None:
    for case in load(file):
        graph = build(case)
        basalt.save(graph, tmp_path / "case.bsl")
        model = basalt.load(tmp_path / "case.bsl")
        feeds = feeds_of(case, graph)
        expected, given = graph.run(feeds), model.run(feeds)
        assert given.keys() == expected.keys()
        for name, array in expected.items():
            assert serialization.dtypes.same_array(given[name], array), case.name
