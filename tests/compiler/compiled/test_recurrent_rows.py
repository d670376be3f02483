"""A row of a recurrent network's batch has the same bits whatever rows are beside it."""

from __future__ import annotations

import numpy as np
import pytest

import basalt

STEPS, FEATURES, HIDDEN = 3, 5, 19


@pytest.mark.parametrize("backwards", [False, True])
def test_rows_do_not_depend_on_their_neighbours(backwards: bool) -> None:
    random = np.random.default_rng(2)
    x = random.normal(size=(STEPS, 5, FEATURES)).astype(np.float32)
    weights = random.normal(size=(1, 4 * HIDDEN, FEATURES)).astype(np.float32)
    recurrent = random.normal(size=(1, 4 * HIDDEN, HIDDEN)).astype(np.float32)
    found = []
    for batch in range(1, 6):
        b = basalt.MLGraphBuilder(basalt.MLContext(eager_first_run=False))
        given = b.input("x", "float32", (STEPS, batch, FEATURES))
        state, cell = b.lstm(
            given,
            b.constant(weights),
            b.constant(recurrent),
            STEPS,
            HIDDEN,
            direction="backward" if backwards else "forward",
        )[:2]
        graph = b.build({"state": state, "cell": cell})
        found.append(graph.run({"x": x[:, :batch]}))
    for batch, results in enumerate(found, 1):
        for name, array in results.items():
            np.testing.assert_array_equal(array, found[-1][name][:, :batch], strict=True)
