"""Parsers of blocks of numbers: equal to ``float``, or no answer."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from click import ClickException
from hypothesis import given
from hypothesis import strategies as st

from basalt.cli.rows import csv_table
from basalt.cli.rows.cells import Converter, number
from basalt.cli.rows.csv_table import CsvTable
from basalt.cli.rows.features import Features
from basalt.cli.rows.number_blocks import BlockParser, arrow_parser, numpy_parser

PARSERS = [numpy_parser, arrow_parser]
floats = st.floats(allow_nan=False).map(repr)
forms = st.sampled_from(
    ["", "nan", "1", "-0", ".5", "5.", "1E5", "1e-400", "1e400", "inf", "-Infinity", "0.1" + "0" * 40]
)
rows = st.integers(1, 4).flatmap(
    lambda width: st.lists(st.lists(floats | forms, min_size=width, max_size=width), min_size=1, max_size=6)
)


def parser(make: object, delimiter: str, columns: int) -> BlockParser:
    found = make(delimiter, columns)  # type: ignore[operator]
    if found is None:
        pytest.skip("pyarrow is not installed")
    return found  # type: ignore[no-any-return]


@pytest.mark.parametrize("make", PARSERS)
@given(rows=rows, delimiter=st.sampled_from([",", ";", "\t", "|", " "]), ending=st.sampled_from(["\n", "\r\n"]))
def test_numbers_are_those_of_float(make: object, rows: list[list[str]], delimiter: str, ending: str) -> None:
    block = "".join(delimiter.join(row) + ending for row in rows).encode()
    found = parser(make, delimiter, len(rows[0]))(block)
    if found is not None:
        expected = np.array([[float(cell or "nan") for cell in row] for row in rows])
        assert found.shape == expected.shape
        np.testing.assert_array_equal(
            found.view(np.int64)[~np.isnan(found)], expected.view(np.int64)[~np.isnan(expected)]
        )
        assert (np.isnan(found) == np.isnan(expected)).all()


@pytest.mark.parametrize("make", PARSERS)
def test_the_usual_forms_are_taken(make: object) -> None:
    found = parser(make, ",", 3)(b"1,-2.5,3e-7\r\n,,\n4,,inf")
    assert found is not None
    np.testing.assert_array_equal(found, [[1, -2.5, 3e-7], [math.nan] * 3, [4, math.nan, math.inf]])


@pytest.mark.parametrize("make", PARSERS)
@pytest.mark.parametrize(
    "block",
    [
        *(
            b"1,x\n",
            b"1,0x10\n",
            b"1,1_0\n",
            b"1,2 3\n",
            b"1,2,3\n",
            b"1\n",
            b"1,2\n\n3,4\n",
            b"\n1,2\n",
            b"1,2\r3,4\n",
        ),
        *("1,\u0663\n".encode(), b"1,\xff\n", b"1,#\n", b"1,true\n", b"1,NA\n", b"1,2\n3\n", b"1,2\n\n"),
    ],
)
def test_what_is_no_table_of_numbers_gets_no_answer(make: object, block: bytes) -> None:
    assert parser(make, ",", 2)(block) is None


@given(text=st.text("0123456789.eE+-_ nafity\u0663x", max_size=6))
def test_a_cell_is_a_number_where_it_is_one_for_float(text: str) -> None:
    try:
        found: float | None = number(text)
    except ValueError:
        found = None
    if not text.strip():
        assert found is not None and math.isnan(found)
    elif "_" in text or not text.isascii():
        assert found is None
    else:
        try:
            expected = float(text)
        except ValueError:
            assert found is None
        else:
            assert found == expected or math.isnan(expected)


def test_categories_are_told_by_text_then_by_value() -> None:
    made = Converter(Features(None, 3, {0: ["a", "1", 2, None], 1: [1.5, True, math.nan], 2: ["", "b"]}), [0, 1, 2])
    found = made.rows([["1", "1.50", ""], ["2.0", "True", "b"], ["", "", "c"]])
    assert found[:2].tolist() == [["1", 1.5, ""], [2, True, "b"]]
    assert found[2, 0] is None and math.isnan(found[2, 1]) and found[2, 2] == "c"


@pytest.mark.parametrize("large", [False, True], ids=["numpy", "arrow"])
@pytest.mark.parametrize("odd", ["+1", '"1"', "1"])
def test_blocks_make_one_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, large: bool, odd: str) -> None:
    """Lines that only the csv module takes stand among blocks that the compiled parsers take."""
    monkeypatch.setattr(csv_table, "BLOCK", 64)
    monkeypatch.setattr(csv_table, "RECORDS", 3)
    if large:
        pytest.importorskip("pyarrow")
        monkeypatch.setattr(csv_table, "LARGE", 0)
    lines = [f"{odd if i == 50 else i},{i / 8},{-i}" for i in range(100)]
    path = tmp_path / "rows.csv"
    path.write_text("c,b,a\n" + "\n".join(lines))
    table = CsvTable(path, Features(("a", "b", "c"), 3), ",", True)
    chunks = list(table.chunks())
    assert len(chunks) > 5
    found = np.concatenate([chunk.rows for chunk in chunks])
    expected = np.array([[-i, i / 8, 1 if i == 50 else i] for i in range(100)], float)
    np.testing.assert_array_equal(found, expected)
    assert np.concatenate([chunk.places for chunk in chunks]).tolist() == list(range(2, 102))
    assert table.read == table.size == path.stat().st_size


@pytest.mark.parametrize("categories", [{}, {0: ["a"]}], ids=["numbers", "categories"])
def test_a_line_without_end_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, categories: dict[int, list[str]]
) -> None:
    monkeypatch.setattr(csv_table, "LONGEST_LINE", 1000)
    monkeypatch.setattr(csv_table, "BLOCK", 100)
    (tmp_path / "rows.csv").write_text("a\n" + "1" * 5000)
    table = CsvTable(tmp_path / "rows.csv", Features(None, 1, categories), ",", True)
    with pytest.raises(ClickException, match=r"rows.csv, line 2: this or a later line has 1000 bytes or more"):
        list(table.chunks())
