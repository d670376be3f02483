"""``bslc run MODEL --csv FILE``, end to end."""

from __future__ import annotations

import csv
import io
import os
import sys
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest

import basalt
from basalt.cli.app import run

from .conftest import Bslc, Done

GOLDEN = Path(__file__).parents[1] / "compiler" / "estimators" / "golden"
CLASSIFIER = GOLDEN / "kinds" / "linear_classifier.bsl"
"""Takes three numbers without names; its classes are high, low and middle."""
NAMED = GOLDEN / "pipeline.bsl"
"""Takes a number ``width`` and a category ``colour``; gives large or small."""
ROWS = [[1.0, 2.0, 3.0], [7.5, -8.0, 9.25], [0.1, 0.2, -0.3]]
PLAIN = "a,b,c\n1,2,3\n7.5,-8,9.25\n.1,2e-1,-0.3\n"


Run = Callable[..., Done]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    """The command in this process, which saves the second that starting another takes."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)

    def command(*arguments: str | Path) -> Done:
        status = run(list(map(str, arguments)))
        return Done(status, *capfd.readouterr())

    return command


def lines(done: Done, delimiter: str = ",") -> list[list[str]]:
    """The cells of the CSV that a command printed."""
    assert (done.status, done.err) == (0, "")
    return list(csv.reader(io.StringIO(done.out), delimiter=delimiter))


def numbers(found: list[list[str]]) -> list[list[float]]:
    """The numbers below a header."""
    return [[float(cell) for cell in row] for row in found[1:]]


def written(folder: Path, content: str | bytes, name: str = "rows.csv") -> Path:
    (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
    return folder / name


def test_every_row_gets_a_result(bslc: Bslc) -> None:
    written(bslc.folder, PLAIN)
    found = lines(bslc("run", CLASSIFIER, "--csv", "rows.csv"))
    assert found == [["predict"], *([c] for c in basalt.load(CLASSIFIER).predict(ROWS))]


@pytest.mark.parametrize(
    ("content", "options"),
    [
        (PLAIN.replace("\n", "\r\n"), []),
        (b"\xef\xbb\xbf" + PLAIN.encode(), []),
        (PLAIN.rstrip("\n"), []),
        (PLAIN + "\n\n", []),
        ('"a","b\nb","c"\n1,2,3\n"7.5","-8",9.25\n.1,2e-1,"-0.3"\n', []),
        ("a, b, c\n 1, 2 ,3\n+7.5,-8,9.25\n.1,2e-1,-0.3\n", []),
        ("0,1,2\n1,2,3\n7.5,-8,9.25\n.1,2e-1,-0.3\n", []),
        (PLAIN.partition("\n")[2], ["--no-header"]),
        (PLAIN.replace(",", ";"), ["--delimiter", ";"]),
        (PLAIN.replace(",", "\t"), ["--delimiter", "tab"]),
    ],
    ids=["crlf", "bom", "no end", "blank end", "quotes", "spaces", "pandas", "no header", "semicolons", "tabs"],
)
def test_forms_of_csv(here: Run, tmp_path: Path, content: str | bytes, options: list[str]) -> None:
    written(tmp_path, content)
    delimiter = {";": ";", "tab": "\t"}.get(options[-1] if options else "", ",")
    found = lines(here("run", CLASSIFIER, "--csv", "rows.csv", "--method", "predict_proba", *options), delimiter)
    assert found[0] == ["high", "low", "middle"] if "--delimiter" not in options else len(found) == 4
    if "--delimiter" not in options:
        assert [[float(cell) for cell in row] for row in found[1:]] == basalt.load(CLASSIFIER).predict_proba(
            ROWS
        ).tolist()


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ("", [], "rows.csv: is empty, expected a header line"),
        ("", ["--no-header"], "rows.csv: is empty, expected a row"),
        ("\n1,2,3\n", [], "rows.csv: begins with an empty line, expected a header line"),
        ("a,b\n1,2\n", [], "rows.csv: has 2 columns, expected 3"),
        (
            "1,2,3\n4,5,6\n",
            [],
            "rows.csv: its first line holds numbers only, expected the columns' names; if it is a row",
        ),
        ("a,b,c\n1,2,3\n4,5\n", [], "rows.csv, line 3: 2 columns, expected 3"),
        ("a,b,c\n1,2,3\n4,5,6,7\n", [], "rows.csv, line 3: 4 columns, expected 3"),
        ("a,b,c\n1,2,3\n\n4,5,6\n", [], 'rows.csv, line 3: an empty line, expected 3 columns (one empty cell is "")'),
        ("a,b,c\n1,2,3\n4,x,6\n", [], "rows.csv, line 3, column 'b': 'x' is no number"),
        ("1,2,3\n4,5,1_0\n", ["--no-header"], "rows.csv, line 2, column 3: '1_0' is no number"),
        ("a,b,c\n1,2,٣\n", [], "rows.csv, line 2, column 'c': '٣' is no number"),
        ('a,b,c\n1,"2,5",3\n', [], "rows.csv, line 2, column 'b': '2,5' is no number"),
        ('a,b,c\n"1\n",2,3\n4,5,"six"\n', [], "rows.csv, line 4, column 'c': 'six' is no number"),
        ("a,b,c\n1,2,3\n4,,6\n", [], "rows.csv, line 3, column 'b': an empty cell: input X contains NaN or infinity"),
        ("a,b,c\n1,2,3\n4,5,-inf\n", [], "rows.csv, line 3, column 'c': -inf: input X contains NaN or infinity"),
        ('a,b,c\n1,"2"x,3\n', [], "rows.csv, line 2: not well-formed: "),
        ('a,b,c\n1,2,"3\n', [], "rows.csv, line 2: not well-formed: "),
        ("a,b,c\n1,2,3\r4,5,6\n", [], "rows.csv, line 2: not well-formed: "),
        (b"a,b,c\n1,2,\xff\n", [], "rows.csv, line 2: byte 5 is not UTF-8: "),
        ("a,b,c\n1,2,3\n".encode("utf-16"), [], "rows.csv, line 1: byte 1 is not UTF-8: "),
        ("a,b,c\n1,2,\0\n", [], "rows.csv, line 2, column 'c': '\\x00' is no number"),
    ],
)
def test_faults_name_their_place(
    here: Run, tmp_path: Path, content: str | bytes, options: list[str], message: str
) -> None:
    written(tmp_path, content)
    done = here("run", CLASSIFIER, "--csv", "rows.csv", *options)
    assert done.status == 1
    assert done.err.startswith(f"error: {message}")
    assert len(done.err.splitlines()) == 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            "width,color\n1,red\n",
            "the header lacks 'colour', has unknown 'color'; expected the columns 'width'",
        ),
        ("width\n1\n", "the header lacks 'colour'; expected"),
        ("id,width,colour\n1,1,red\n", "the header has unknown 'id'; expected"),
        ("width,colour,width\n1,red,2\n", "the header repeats 'width'; expected"),
        ("1,2\n1,red\n", "the header lacks 'width', 'colour', has unknown '1', '2'; expected the columns"),
        ("colour,width\nred,wide\n", ", line 2, column 'width': 'wide' is no number"),
        ("colour,width\nred,1\ngreen,\n", ", line 3, column 'width': an empty cell: input X contains NaN"),
    ],
)
def test_the_header_is_checked(here: Run, tmp_path: Path, content: str, message: str) -> None:
    written(tmp_path, content)
    done = here("run", NAMED, "--csv", "rows.csv")
    assert done.status == 1 and message in done.err
    assert ("--no-header" in done.err) == content.startswith("1")


def test_columns_are_found_by_name(here: Run, tmp_path: Path) -> None:
    written(tmp_path, 'colour,width\nred,0.5\n"green",2\nnone,3.5\n')
    assert lines(here("run", NAMED, "--csv", "rows.csv")) == [["predict"], ["large"], ["small"], ["small"]]
    written(tmp_path, "0.5,red\n2,green\n3.5,none\n")
    assert lines(here("run", NAMED, "--csv", "rows.csv", "--no-header"))[1:] == [["large"], ["small"], ["small"]]


def test_categories_that_are_unknown_are_named(here: Run, tmp_path: Path) -> None:
    pytest.importorskip("sklearn")
    from sklearn.preprocessing import OrdinalEncoder

    known = np.array([["a", 1, True], ["b", 2.5, False], ["", None, True]], object)
    basalt.save(OrdinalEncoder().fit(known[:2]), tmp_path / "encoder.bsl")
    written(tmp_path, "x,y,z\nb,2.50,True\na,1,False\n")
    found = lines(here("run", "encoder.bsl", "--csv", "rows.csv"))
    assert found[1:] == [["1.0", "1.0", "1.0"], ["0.0", "0.0", "0.0"]]
    written(tmp_path, "x,y,z\nb,1,True\na,7,False\n")
    done = here("run", "encoder.bsl", "--csv", "rows.csv")
    assert done.status == 1 and "rows.csv, line 3, column 'y': '7': " in done.err and "a category that" in done.err


def test_missing_values_are_taken_where_the_estimator_takes_them(here: Run, tmp_path: Path) -> None:
    imputer = GOLDEN / "kinds" / "imputer.bsl"
    written(tmp_path, "a,b,c\n,2,\nnan,,\n1,2,NaN\n")
    given = np.array([[np.nan, 2, np.nan], [np.nan] * 3, [1, 2, np.nan]])
    found = lines(here("run", imputer, "--csv", "rows.csv"))
    assert numbers(found) == basalt.load(imputer).transform(given).tolist()


def test_a_file_of_no_rows_gives_no_results(here: Run, tmp_path: Path) -> None:
    written(tmp_path, "a,b,c\n")
    assert lines(here("run", CLASSIFIER, "--csv", "rows.csv", "--method", "predict_proba")) == [
        ["high", "low", "middle"]
    ]
    assert here("run", CLASSIFIER, "--csv", "rows.csv", "--output", "out.npy").status == 0
    assert np.load(tmp_path / "out.npy").shape == (0,)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes have no names here")
def test_what_is_no_file_is_refused(here: Run, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "rows.csv")
    done = here("run", CLASSIFIER, "--csv", "rows.csv")
    assert done.status == 1 and done.err.startswith("error: rows.csv: is not a regular file")


@pytest.mark.parametrize("method", ["predict", "predict_proba", "decision_function"])
def test_an_array_of_results(here: Run, tmp_path: Path, method: str) -> None:
    written(tmp_path, PLAIN)
    done = here("run", CLASSIFIER, "--csv", "rows.csv", "--method", method, "--output", "out.npy")
    assert (done.status, done.out, done.err) == (0, "", "")
    expected = getattr(basalt.load(CLASSIFIER), method)(ROWS)
    expected = expected.astype("U") if method == "predict" else expected
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), expected)


def test_several_chunks_are_one_result(here: Run, tmp_path: Path) -> None:
    rows = np.random.default_rng(0).normal(size=(20000, 3)).round(4)
    text = "\n".join(",".join(map(repr, row)) for row in rows.tolist())
    written(tmp_path, f"a,b,c\n{text}\n")
    assert here("run", CLASSIFIER, "--csv", "rows.csv", "--method", "predict_proba", "--output", "out.npy").status == 0
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), basalt.load(CLASSIFIER).predict_proba(rows))
    written(tmp_path, f"a,b,c\n{text}\n1,,3\n")
    done = here("run", CLASSIFIER, "--csv", "rows.csv", "--output", "out.npy")
    assert done.status == 1 and "rows.csv, line 20002, column 'b': an empty cell" in done.err
    assert np.load(tmp_path / "out.npy").shape == (20000, 3)
    assert sorted(os.listdir(tmp_path)) == ["out.npy", "rows.csv"]


def test_results_as_a_csv_file(here: Run, tmp_path: Path) -> None:
    written(tmp_path, PLAIN)
    printed = here("run", CLASSIFIER, "--csv", "rows.csv", "--method", "decision_function")
    assert lines(printed)[0] == ["decision_function_0", "decision_function_1", "decision_function_2"]
    done = here("run", CLASSIFIER, "--csv", "rows.csv", "--method", "decision_function", "--output", "out.csv")
    assert (done.status, done.out, done.err) == (0, "", "")
    assert (tmp_path / "out.csv").read_text() == printed.out


def test_neighbours_are_two_arrays(here: Run, tmp_path: Path) -> None:
    written(tmp_path, PLAIN)
    model = GOLDEN / "kinds" / "neighbours.bsl"
    found = lines(here("run", model, "--csv", "rows.csv", "--method", "kneighbors"))
    assert found[0][0].startswith("distance") and found[0][-1].startswith("index") and len(found) == 4
    done = here("run", model, "--csv", "rows.csv", "--method", "kneighbors", "--output", "out.npy")
    assert done.status == 1 and "kneighbors gives 2 arrays, a .npy file holds one" in done.err


def test_back_from_what_was_transformed(here: Run, tmp_path: Path) -> None:
    written(tmp_path, "p,q\n1,2\n")
    model = GOLDEN / "kinds" / "decomposition.bsl"
    found = lines(here("run", model, "--csv", "rows.csv", "--method", "inverse_transform"))
    assert [float(c) for c in found[1]] == basalt.load(model).inverse_transform([[1.0, 2.0]])[0].tolist()


def test_a_graph_of_rows(here: Run, tmp_path: Path, models: Mapping[str, Path]) -> None:
    written(tmp_path, "a,b,c,d\n1,2,3,-4\n0.25,0.1,0.75,1\n")
    found = lines(here("run", models["affine"], "--csv", "rows.csv"))
    assert found == [["y_0", "y_1", "y_2", "y_3"], ["1.0", "3.0", "5.0", "0.0"], ["0.0", "0.0", "0.5", "1.0"]]
    basalt.save_onnx(basalt.load(models["affine"]), tmp_path / "affine.onnx")
    assert lines(here("run", "affine.onnx", "--csv", "rows.csv")) == found
    done = here("run", models["pair"], "--csv", "rows.csv")
    assert (
        done.status == 1
        and "rows need a model with one input of rank 2 of floats; its inputs are a float32" in done.err
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--csv", "rows.csv", "--method", "transform"],
            "--method: LogisticRegression has no 'transform'; it has",
        ),
        (["--csv", "rows.csv", "--output", "out.txt"], "--output: 'out.txt' ends in none of .csv, .npy, .parquet"),
        (["--csv", "rows.csv", "--output", "no/out.csv"], "--output: folder 'no' does not exist"),
        (["--csv", "rows.csv", "--json"], "--json does not go with --csv or --parquet"),
        (["--csv", "rows.csv", "--random"], "--random does not go with --csv or --parquet"),
        (["--csv", "rows.csv", "--parquet", "rows.csv"], "--parquet does not go with --csv"),
        (["--csv", "rows.csv", "--delimiter", "ab"], "'ab': expected one character"),
        (["--csv", "rows.csv", "--delimiter", "."], "'.': expected one character"),
        (["--random", "--no-header"], "--no-header needs --csv or --parquet"),
        (["--parquet", "rows.csv", "--no-header"], "--no-header needs --csv"),
        (["--csv", "none.csv"], "'none.csv' does not exist"),
    ],
)
def test_wrong_options(here: Run, tmp_path: Path, options: list[str], message: str) -> None:
    written(tmp_path, PLAIN)
    done = here("run", CLASSIFIER, *options)
    assert done.status == 2 and message in done.err and done.out == ""


def test_progress_on_a_terminal_alone(bslc: Bslc) -> None:
    written(bslc.folder, PLAIN)
    assert "3 rows in" in bslc.on_terminal("run", CLASSIFIER, "--csv", "rows.csv", "--output", "out.csv").out
    assert bslc("run", CLASSIFIER, "--csv", "rows.csv", "--output", "out.csv").err == ""


def test_parquet_in_and_out(here: Run, tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    table = {"colour": pa.array(["red", "green", None]), "width": pa.array([0.5, 2, 3.5])}
    pq.write_table(pa.table(table), tmp_path / "rows.parquet")
    assert lines(here("run", NAMED, "--parquet", "rows.parquet")) == [["predict"], ["large"], ["small"], ["small"]]
    done = here("run", NAMED, "--parquet", "rows.parquet", "--output", "out.parquet")
    assert (done.status, done.err) == (0, "")
    assert pq.read_table(tmp_path / "out.parquet").to_pydict() == {"predict": ["large", "small", "small"]}


def test_types_of_parquet_columns(here: Run, tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    columns = {"a": pa.array([1, 2]), "b": pa.array([True, False]), "c": pa.array([1.5, 2.5], pa.float32())}
    pq.write_table(pa.table(columns), tmp_path / "rows.parquet")
    found = lines(here("run", CLASSIFIER, "--parquet", "rows.parquet", "--method", "predict_proba"))
    expected = basalt.load(CLASSIFIER).predict_proba([[1, 1, 1.5], [2, 0, 2.5]])
    assert numbers(found) == expected.tolist()
    pq.write_table(pa.table({**columns, "b": pa.array([1.0, None])}), tmp_path / "rows.parquet")
    done = here("run", CLASSIFIER, "--parquet", "rows.parquet")
    assert done.status == 1 and "rows.parquet, row 2, column 'b': an empty cell: input X contains NaN" in done.err
    pq.write_table(pa.table({**columns, "b": pa.array(["x", "y"])}), tmp_path / "rows.parquet")
    done = here("run", CLASSIFIER, "--parquet", "rows.parquet")
    assert done.status == 1 and "rows.parquet: column 'b' holds string, expected numbers" in done.err
    written(tmp_path, b"PAR1 no", "rows.parquet")
    done = here("run", CLASSIFIER, "--parquet", "rows.parquet")
    assert done.status == 1 and "rows.parquet: not a readable Parquet file" in done.err


def test_without_pyarrow_the_message_says_what_to_install(bslc: Bslc) -> None:
    (bslc.folder / "pyarrow.py").write_text("raise ImportError('blocked')\n")
    written(bslc.folder, PLAIN)
    blocked = {"PYTHONPATH": str(bslc.folder)}
    for options in (["--parquet", "rows.csv"], ["--csv", "rows.csv", "--output", "out.parquet"]):
        done = bslc("run", CLASSIFIER, *options, environment=blocked)
        assert done.status == 1 and "pip install 'basalt-compiler[parquet]' (blocked)" in done.err
    assert lines(bslc("run", CLASSIFIER, "--csv", "rows.csv", environment=blocked))[0] == ["predict"]


@pytest.mark.parametrize("command", [["run", "--csv", "rows.csv"], ["run", "--random"], ["show"], ["compile"]])
@pytest.mark.parametrize("name", ["model.joblib", "model.pkl"])
def test_pickles_are_refused_by_every_command(here: Run, tmp_path: Path, command: list[str], name: str) -> None:
    written(tmp_path, PLAIN)
    written(tmp_path, b"\x80\x04cos\nsystem\n(X\x06\x00\x00\x00exit 3tR.", name)
    done = here(command[0], name, *command[1:])
    assert done.status == 1
    assert "pickle and joblib files are not loaded" in done.err and "can run any code" in done.err


def test_an_estimator_is_exported_as_the_converter_does_it(here: Run, tmp_path: Path) -> None:
    done = here("export", CLASSIFIER, "-o", "model.onnx", "--opset", "18")
    assert (done.status, done.err) == (0, "")
    basalt.OnnxConverter.export(basalt.load(CLASSIFIER), None, tmp_path / "expected.onnx", opset=18)
    assert (tmp_path / "model.onnx").read_bytes() == (tmp_path / "expected.onnx").read_bytes()


def test_an_estimator_is_a_model_of_its_methods(here: Run, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.array(ROWS))
    done = here("run", CLASSIFIER, "--input", "x.npy", "--output", "out.npz")
    assert (done.status, done.err) == (0, "")
    with np.load(tmp_path / "out.npz") as found:
        np.testing.assert_array_equal(found["predict_proba"], basalt.load(CLASSIFIER).predict_proba(ROWS))
    shown = here("show", NAMED).out
    for line in ("kind     ESTIMATOR (3)", "classes  large, small", "features width, colour", "column 2 of "):
        assert line in shown


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_reader_that_leaves_is_no_error(bslc: Bslc) -> None:
    written(bslc.folder, "a,b,c\n" + "1,2,3\n" * 40000)
    done = bslc.through(f"run {CLASSIFIER} --csv rows.csv", "head -n 2")
    assert (done.out, done.err) == ("predict\nhigh\n", "")
