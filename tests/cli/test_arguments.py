"""The parsing of ``--input`` and ``--shape``, and the arrays that the command reads and writes."""

from __future__ import annotations

from pathlib import Path

import click
import ml_dtypes
import numpy as np
import pytest

from basalt.cli import arrays
from basalt.cli.arguments import ARRAYS_FILE, BYTES, NAMED_FILE, NAMED_SHAPE, NAMED_SIZE, by_name
from basalt.serialization import TensorSpec


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x=1x3x224x224", ("x", (1, 3, 224, 224))),
        ("x=7", ("x", (7,))),
        ("x=0x4", ("x", (0, 4))),
        ("x=scalar", ("x", ())),
        ("a=b=2x3", ("a=b", (2, 3))),
        ("model/in:0=2", ("model/in:0", (2,))),
    ],
)
def test_shapes(text: str, expected: tuple[str, tuple[int, ...]]) -> None:
    assert NAMED_SHAPE.convert(text, None, None) == expected


@pytest.mark.parametrize(
    "text", ["", "x", "x=", "=1x2", "1x2", "x=1,2", "x=-1x2", "x=1x", "x=1X2", "x=axb", "x=1.5", "x=²"]
)
def test_bad_shapes(text: str) -> None:
    with pytest.raises(click.UsageError, match="expected NAME=1x3x224x224"):
        NAMED_SHAPE.convert(text, None, None)


def test_sizes_are_limited() -> None:
    assert NAMED_SHAPE.convert("x=4294967295", None, None) == ("x", (2**32 - 1,))
    with pytest.raises(click.UsageError, match="more than 4294967295"):
        NAMED_SHAPE.convert("x=4294967296", None, None)
    with pytest.raises(click.UsageError, match="more than 4294967295"):
        NAMED_SIZE.convert("n=4294967296", None, None)


def test_dimensions() -> None:
    assert NAMED_SIZE.convert("batch=8", None, None) == ("batch", 8)
    assert NAMED_SIZE.convert("a=b=0", None, None) == ("a=b", 0)


@pytest.mark.parametrize("text", ["", "n", "n=", "=3", "n=-1", "n=1x2", "n=1.5", "n=²", "n=+1", "n=1_0"])
def test_bad_dimensions(text: str) -> None:
    with pytest.raises(click.UsageError, match="expected NAME=SIZE, such as batch=8"):
        NAMED_SIZE.convert(text, None, None)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0", 0),
        ("812", 812),
        ("812 B", 812),
        ("500MB", 500_000_000),
        ("1.5gb", 1_500_000_000),
        ("2k", 2000),
        ("64MiB", 64 << 20),
        ("1TiB", 1 << 40),
    ],
)
def test_numbers_of_bytes(text: str, expected: int) -> None:
    assert BYTES.convert(text, None, None) == expected


@pytest.mark.parametrize("text", ["", "MB", "-1", "1.", "1e3", "5 apples", "5mbb", "5kI", "nan"])
def test_bad_numbers_of_bytes(text: str) -> None:
    with pytest.raises(click.UsageError, match="expected a number of bytes such as"):
        BYTES.convert(text, None, None)


def test_files(tmp_path: Path) -> None:
    plain, odd = tmp_path / "a.npy", tmp_path / "a=b.npy"
    for path in (plain, odd):
        np.save(path, np.zeros(2))
    assert NAMED_FILE.convert(f"x={plain}", None, None) == ("x", plain)
    assert NAMED_FILE.convert(str(plain), None, None) == (None, plain)
    assert NAMED_FILE.convert(f"x={odd}", None, None) == ("x", odd)
    assert NAMED_FILE.convert(str(odd), None, None) == (None, odd)


def test_shapes_of_a_file_of_arrays(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", **{"x": np.zeros((2, 0, 3)), "a/b:0": np.float32(1), "o": np.array([{}, 1])})
    found = ARRAYS_FILE.convert(str(tmp_path / "a.npz"), None, None)
    assert found == (("x", (2, 0, 3)), ("a/b:0", ()), ("o", (2,)))
    np.savez(tmp_path / "none.npz")
    assert ARRAYS_FILE.convert(str(tmp_path / "none.npz"), None, None) == ()


def test_values_are_matched_to_inputs() -> None:
    assert by_name("--input", [(None, 1)], ["x"], "input") == {"x": 1}
    assert by_name("--input", [("y", 1), ("x", 2)], ["x", "y"], "input") == {"y": 1, "x": 2}


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ([(None, 1)], "--input needs a name here: the model's inputs are x, y"),
        ([("z", 1)], "--input: the model has no input 'z'; its inputs are x, y"),
        ([("x", 1), ("x", 2)], "--input: input 'x' is given twice"),
    ],
)
def test_values_that_match_no_input(pairs: list[tuple[str | None, int]], message: str) -> None:
    with pytest.raises(click.UsageError) as caught:
        by_name("--input", pairs, ["x", "y"], "input")
    assert caught.value.message == message


@pytest.mark.parametrize("content", [b"", b"no array", b"\x93NUMPY\x01\x00\xff\xff{"])
def test_unreadable_arrays(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "bad.npy"
    path.write_bytes(content)
    with pytest.raises(click.ClickException, match=r"bad\.npy: not a readable \.npy file"):
        arrays.read(path)


def test_pickled_arrays_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "objects.npy"
    np.save(path, np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(click.ClickException, match="not a readable"):
        arrays.read(path)


@pytest.mark.parametrize("name", ["file", "allow_pickle", "a/b:0", "ä"])
def test_any_output_name_can_be_saved(tmp_path: Path, name: str) -> None:
    value = np.arange(6, dtype=np.float32).reshape(2, 3)
    arrays.save(tmp_path / "out.npz", {name: value})
    with np.load(tmp_path / "out.npz") as file:
        np.testing.assert_array_equal(file[name], value)
    arrays.save(tmp_path / "folder", {name: value})
    (saved,) = (tmp_path / "folder").iterdir()
    np.testing.assert_array_equal(np.load(saved), value)


def test_names_that_become_one_file_are_refused(tmp_path: Path) -> None:
    with pytest.raises(click.UsageError, match="same file name"):
        arrays.save(tmp_path / "folder", {"a/b": np.zeros(1), "a:b": np.ones(1)})
    assert list(tmp_path.iterdir()) == []


def test_types_of_other_packages_are_widened(tmp_path: Path) -> None:
    arrays.save(tmp_path / "out.npz", {"b": np.ones(2, ml_dtypes.bfloat16), "i": np.array([-8, 7], ml_dtypes.int4)})
    with np.load(tmp_path / "out.npz") as file:
        assert file["b"].dtype == np.float32
        np.testing.assert_array_equal(file["i"], np.array([-8, 7], np.int8), strict=True)


def test_a_failed_save_keeps_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "out.npz"
    target.write_bytes(b"old")

    def fail(*_: object, **__: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(np.lib.format, "write_array", fail)
    with pytest.raises(OSError, match="no space left"):
        arrays.save(target, {"y": np.zeros(3)})
    assert target.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [target]


def test_summary() -> None:
    entry = arrays.summary("y", np.array([[1.0, np.nan], [np.inf, 2.0]], np.float32))
    assert (entry["name"], entry["dtype"], entry["shape"]) == ("y", "float32", [2, 2])
    assert np.isnan(entry["min"]) and len(entry["first"]) == 4
    empty = arrays.summary("e", np.zeros((0, 3), np.int8))
    assert (empty["min"], empty["mean"], empty["max"], empty["first"]) == (None, None, None, [])


def test_random_feeds_repeat_and_follow_shapes() -> None:
    specs = [TensorSpec("x", "float16", ("batch", 3)), TensorSpec("ids", "int64", (4,)), TensorSpec("u", "uint4", (9,))]
    shapes = {"x": (5, 3), "ids": (4,), "u": (9,)}
    first, second = (arrays.random_feeds(specs, shapes, 7) for _ in range(2))
    assert {name: array.shape for name, array in first.items()} == shapes
    assert [array.dtype.name for array in first.values()] == ["float16", "int64", "uint4"]
    assert set(np.unique(first["ids"])) <= {0, 1} and set(np.unique(first["u"].astype(int))) <= {0, 1}
    assert first["x"].min() >= 0 and first["x"].max() <= 1
    for name in first:
        np.testing.assert_array_equal(first[name], second[name])
    assert (first["x"] != arrays.random_feeds(specs, shapes, 8)["x"]).any()
