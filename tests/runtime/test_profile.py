"""Profiles name the rows and measure each."""

from __future__ import annotations

import numpy as np
import pytest
from runtime_programs import chain, program, ramp, run_python

from basalt.errors import BasaltError, ValidationError
from basalt.runtime.profile import profile
from basalt.runtime.spec import Row, Slot


@pytest.mark.parametrize("threads", [1, 2])
def test_rows_are_measured_one_by_one(threads: int) -> None:
    long = chain(4, 100_000, 1e6, threads=threads)
    rows = profile(long, {"x": ramp(100_000)}, repeats=5)
    assert [row.label for row in rows] == [f"add {index}" for index in range(4)]
    assert all(row.kernel == "add" and 0 < row.best <= row.median and row.estimate == 1e6 for row in rows)
    assert all((row.chunks > 1) == (threads > 1) for row in rows)
    np.testing.assert_array_equal(long.run({"x": ramp(100_000)})["y"], ramp(100_000) + 4)


def test_what_a_profile_refuses() -> None:
    short = chain(1, 16, 10.0)
    with pytest.raises(ValidationError, match="0 repeats given"):
        profile(short, {"x": ramp()}, repeats=0)
    with pytest.raises(ValidationError, match="input 'x' is missing"):
        profile(short, {})
    checked = program(Row(3, (Slot.input(0), Slot.output(0)), 0, 16, 1.0, label="root"))
    with pytest.raises(BasaltError, match="operator 'root'"):
        profile(checked, {"x": -ramp()})
    assert checked.run({"x": ramp()})["y"][3] == 3


def test_profiles_under_a_layer_that_bears_one_team() -> None:
    script = """
from basalt.runtime.profile import profile
from basalt.runtime.threads import THREADS
from runtime_programs import chain, ramp
long = chain(4, 5000, 1e6, threads=2)
count = len(profile(long, {"x": ramp(5000)}))
print(count, THREADS.guard.locked(), (long.run({"x": ramp(5000)})["y"] == ramp(5000) + 4).all())
"""
    assert run_python(script, BASALT_THREADING_LAYER="workqueue").split() == ["4", "False", "True"]
