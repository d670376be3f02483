"""Finding the first node that differs, with models that are made up."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from basalt.cli.compare.differences import Difference
from basalt.cli.compare.search import Pair, first_difference

SAME = Difference(("float32",) * 2, ((1,),) * 2)
OTHER = Difference(("float32",) * 2, ((1,),) * 2, beyond=1, verdict="differs")


class Made:
    """Two models of ``count`` results that differ from ``wrong`` on.

    Only so long as not more than ``most`` results are observed, or any in ``fragile``.
    """

    def __init__(self, count: int, wrong: int, most: int, fragile: range = range(0)) -> None:
        self.pairs: list[Pair] = [((i, 0), (i, 0)) for i in range(count)]
        self.wrong, self.most, self.fragile = wrong, most, fragile
        self.programs = 0

    def __call__(self, pairs: Sequence[Pair]) -> tuple[list[Difference], bool]:
        self.programs += 1
        places = [pair[0][0] for pair in pairs]
        there = len(places) <= self.most and not any(place in self.fragile for place in places)
        return [OTHER if there and place >= self.wrong else SAME for place in places], not there


@given(st.integers(1, 400), st.data())
def test_one_program_finds_it_where_observing_changes_nothing(count: int, data: st.DataObject) -> None:
    wrong = data.draw(st.integers(0, count - 1))
    made = Made(count, wrong, 1 << 30)
    found = first_difference(made.pairs, made, 1 << 30)
    assert made.programs == 1
    assert found.first == made.pairs[wrong] and found.exact and found.all_observed
    assert found.before == (made.pairs[wrong - 1] if wrong else None)
    assert not found.observed[made.pairs[wrong]].agrees


@given(st.integers(1, 400), st.integers(1, 50), st.data())
def test_results_that_do_not_fit_together_are_observed_in_parts(count: int, at_once: int, data: st.DataObject) -> None:
    wrong = data.draw(st.integers(0, count - 1))
    made = Made(count, wrong, 1 << 30)
    found = first_difference(made.pairs, made, at_once)
    assert found.first == made.pairs[wrong] and found.exact
    assert made.programs == wrong // at_once + 1


@given(st.integers(20, 400), st.data())
def test_few_at_a_time_where_observing_all_hides_it(count: int, data: st.DataObject) -> None:
    wrong = data.draw(st.integers(0, count))
    made = Made(count, wrong, 9)
    found = first_difference(made.pairs, made, 1 << 30)
    assert found.exact and not found.all_observed
    assert found.first == (made.pairs[wrong] if wrong < count else None)
    assert found.before == (made.pairs[wrong - 1] if wrong else None)
    assert made.programs <= 6


@given(st.data())
def test_a_place_that_cannot_be_observed_is_left_as_an_interval(data: st.DataObject) -> None:
    start = data.draw(st.integers(0, 80))
    fragile = range(start, data.draw(st.integers(start + 1, 90)))
    wrong = data.draw(st.sampled_from(fragile))
    made = Made(100, wrong, 9, fragile)
    found = first_difference(made.pairs, made, 1 << 30)
    assert not found.all_observed
    before = -1 if found.before is None else found.before[0][0]
    first = 100 if found.first is None else found.first[0][0]
    assert before < wrong <= first, "the true place lies in the interval"


@pytest.mark.parametrize("count", [0, 1])
def test_nothing_to_observe(count: int) -> None:
    made = Made(count, count, 1 << 30)
    found = first_difference(made.pairs, made, 8)
    assert found.first is None
