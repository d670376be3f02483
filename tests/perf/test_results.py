"""Result files: what is written comes back; other files are refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from perf.results import SCHEMA, ResultsError, load, save

from . import samples


def test_what_is_saved_comes_back(tmp_path: Path) -> None:
    results = samples.results([*samples.kernels(1), *samples.kernels(2)])
    path = tmp_path / "results.json"
    save(results, path)
    assert load(path) == results
    assert list(tmp_path.iterdir()) == [path], "no temporary file is left"


def test_a_file_says_its_schema_and_sums_up(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    save(samples.results(samples.kernels(1)), path)
    value = json.loads(path.read_text())
    assert value["schema"] == SCHEMA == "basalt-perf/1"
    summary = value["cases"][0]["summary"]
    assert summary["median_seconds"]["basalt"] == pytest.approx(0.01, rel=0.05)
    assert summary["ratios"]["ort/basalt"]["ratio"] == pytest.approx(2.0, rel=0.05)
    assert value["cases"][2]["summary"]["ratios"] == {}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", "no JSON"),
        ("[1]", "schema is 'list'"),
        ('{"schema": "basalt-perf/2"}', "schema is 'basalt-perf/2', expected 'basalt-perf/1'"),
        ('{"schema": "basalt-perf/1"}', "a field is missing or of another type: 'cases'"),
        ('{"schema": "basalt-perf/1", "cases": [3]}', "a field is missing or of another type"),
    ],
)
def test_other_files_are_refused(content: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "other.json"
    path.write_text(content)
    with pytest.raises(ResultsError, match=r"other\.json: ") as refused:
        load(path)
    assert words in str(refused.value)


def test_ratios_are_the_peers_time_over_ours() -> None:
    case = samples.kernels(1)[0]
    found = case.ratio("ort", "basalt")
    assert found is not None and found.ratio == pytest.approx(2.0, rel=0.05)
    assert samples.kernels(1)[2].ratio("ort", "basalt") is None
    assert samples.kernels(1)[3].seconds("ort") is None
