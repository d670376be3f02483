"""Panels of bytes split for sums in 16 bits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from basalt.compiler.templates.byte_packing import bounded, panel_sums, panels_array
from basalt.compiler.templates.byte_products import panel_columns


def _extremes(groups: np.ndarray, steps: int) -> tuple[int, int]:
    """The largest and smallest sums of products with bytes in 16 bits, over runs of groups [..., columns, 4]."""
    runs = groups.reshape(-1, steps, *groups.shape[-2:]).astype(np.int64)
    pairs = [255 * part(runs, 0).reshape(*runs.shape[:-1], 2, 2).sum(axis=(1, -1)) for part in (np.maximum, np.minimum)]
    return pairs[0].max(initial=0), pairs[1].min(initial=0)


@settings(max_examples=24, deadline=None)
@given(st.data())
def test_what_is_split_adds_up_again_within_the_bounds(data: st.DataObject) -> None:
    steps = data.draw(st.sampled_from([1, 2]))
    count, groups, columns = (data.draw(st.integers(1, 4)) for _ in range(3))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    spread = data.draw(st.sampled_from([10.0, 40.0, 300.0]))
    shape = (count, groups * steps, columns, 4)
    panels = np.clip(np.rint(rng.standard_normal(shape) * spread), -128, 127).astype(np.int8)
    found = bounded(panels, steps)
    total = found.panels.astype(np.int64)
    for panel in range(count):
        for i in range(found.marks[panel], found.marks[panel + 1]):
            total[panel, found.places[i]] += found.excess[i]
    np.testing.assert_array_equal(total, panels)
    for groups_of, size in ((found.panels, steps), (found.excess, 1)):
        highest, lowest = _extremes(groups_of, size)
        assert highest < 2**15
        assert lowest >= -(2**15)
    assert found.marks[0] == 0
    assert found.marks[-1] == found.places.size == len(found.excess)


def test_small_numbers_have_no_excess() -> None:
    panels = np.full((2, 4, 8, 4), -32, np.int8)
    assert bounded(panels, 2).share == 0
    assert bounded(panels * 2, 1).share == 0
    assert bounded(panels * 2, 2).share == 0.5


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_sums_are_those_of_the_panels(dtype: str) -> None:
    array = np.random.default_rng(0).integers(0, 128, (2, 7, panel_columns() + 3)).astype(dtype)
    for form in ("plain", "pairs"):
        panels = panels_array(array, form)
        sums = panels.reshape(2, 2, -1, 2 if form == "pairs" else 1, panel_columns(), 2 if form == "pairs" else 4)
        expected = sums.sum(axis=(2, 3, 5), dtype=np.int32).reshape(2, -1)
        np.testing.assert_array_equal(panel_sums(array), expected)
