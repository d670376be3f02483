"""Which outputs count as right."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from perf.checking import ROWS, wrong_outputs
from perf.suites import Case

NAN = float("nan")


def check(expected: dict[str, Any], given: dict[str, Any], folder: Path, tolerance: float = 1e-3, **params: Any) -> Any:
    np.savez(folder / "expected.npz", **{name: np.asarray(value) for name, value in expected.items()})
    return wrong_outputs(
        Case("kernels", "x", "x", params, tolerance), folder, {k: np.asarray(v) for k, v in given.items()}
    )


def test_errors_are_parts_of_the_scale(tmp_path: Path) -> None:
    error, wrong = check({"y": [100.0, 0.0]}, {"y": [100.0, 0.05]}, tmp_path)
    assert error == pytest.approx(5e-4) and wrong == []
    error, wrong = check({"y": [100.0, 0.0]}, {"y": [100.0, 0.5]}, tmp_path)
    assert error == pytest.approx(5e-3) and wrong == ["y: error 0.005 of the scale, expected at most 0.001"]


def test_places_that_are_not_finite_must_agree(tmp_path: Path) -> None:
    assert check({"y": [NAN, np.inf, 1.0]}, {"y": [NAN, np.inf, 1.0]}, tmp_path) == (0.0, [])
    for given in ([1.0, np.inf, 1.0], [NAN, -np.inf, 1.0], [NAN, np.inf, NAN]):
        assert check({"y": [NAN, np.inf, 1.0]}, {"y": given}, tmp_path)[1]


def test_names_and_shapes(tmp_path: Path) -> None:
    assert check({"y": [1.0]}, {"z": [1.0]}, tmp_path)[1] == ["y: not given; outputs are z"]
    assert check({"y": [1.0]}, {"y": [[1.0]]}, tmp_path)[1] == ["y: shape (1, 1), expected (1,)"]


def test_of_labels_a_share_may_differ(tmp_path: Path) -> None:
    right = np.arange(1000)
    given = right.copy()
    given[7] = 0
    assert check({"y": right}, {"y": given}, tmp_path, labels=True) == (1e-3, [])
    given[8] = 0
    assert check({"y": right}, {"y": given}, tmp_path, labels=True)[1]


def test_texts_must_be_equal(tmp_path: Path) -> None:
    assert check({"y": ["a", "b"]}, {"y": ["a", "b"]}, tmp_path)[1] == []
    assert check({"y": ["a", "b"]}, {"y": ["a", "c"]}, tmp_path)[1]


def test_expected_rows_are_compared_where_they_were_computed(tmp_path: Path) -> None:
    expected = {ROWS: [0, 2, 5], "y": [0.0, 2.0, 5.0]}
    assert check(expected, {"y": np.arange(6.0)}, tmp_path) == (0.0, [])
    assert check(expected, {"y": np.arange(4.0)}, tmp_path) == (0.0, [])
    assert check(expected, {"y": np.zeros(6)}, tmp_path)[1]
