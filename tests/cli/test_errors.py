"""Every way to use the command on the wrong model, arrays or place: status and message, end to end."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from .conftest import Bslc, Done

COMMANDS = [["run", "--random"], ["compile"], ["show"]]


def check(done: Done, status: int, message: str) -> None:
    """An error has a status and one line of text; a wrong command line has one more that names the help."""
    assert (done.status, done.out) == (status, "")
    first, *rest = done.err.splitlines()
    assert first == f"error: {message}"
    assert len(rest) == (1 if status == 2 else 0)
    assert not rest or rest[0].startswith("See 'bslc ")


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_missing_file(bslc: Bslc, command: list[str]) -> None:
    check(bslc(*command, "absent.bsl"), 2, "Invalid value for 'MODEL': File 'absent.bsl' does not exist.")


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_folder(bslc: Bslc, command: list[str]) -> None:
    (bslc.folder / "folder.bsl").mkdir()
    check(bslc(*command, "folder.bsl"), 2, "Invalid value for 'MODEL': File 'folder.bsl' is a directory.")


def test_a_pipe_does_not_hang(bslc: Bslc) -> None:
    os.mkfifo(bslc.folder / "pipe.bsl")
    assert stat.S_ISFIFO((bslc.folder / "pipe.bsl").stat().st_mode)
    check(bslc("show", "pipe.bsl"), 1, "pipe.bsl: cannot load: it is not a regular file")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_a_file_without_permission(bslc: Bslc, models: Mapping[str, Path]) -> None:
    copy = bslc.folder / "secret.bsl"
    copy.write_bytes(models["affine"].read_bytes())
    copy.chmod(0)
    check(bslc("show", "secret.bsl"), 2, "Invalid value for 'MODEL': File 'secret.bsl' is not readable.")


@pytest.mark.parametrize("name", ["text.bsl", "text.txt"])
def test_another_kind_of_file(bslc: Bslc, name: str) -> None:
    (bslc.folder / name).write_text("A text that is longer than the header of a model.\n")
    done = bslc("show", name)
    assert done.err.startswith(f"error: {name}: ") and "magic" in done.err
    check(done, 1, done.err.splitlines()[0].removeprefix("error: "))


def test_an_empty_file(bslc: Bslc) -> None:
    (bslc.folder / "empty.bsl").touch()
    done = bslc("show", "empty.bsl")
    assert done.err.startswith("error: empty.bsl: ") and "0 bytes" in done.err
    check(done, 1, done.err.splitlines()[0].removeprefix("error: "))


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_damaged_file(bslc: Bslc, models: Mapping[str, Path], command: list[str]) -> None:
    content = bytearray(models["affine"].read_bytes())
    content[-1] ^= 1
    (bslc.folder / "damaged.bsl").write_bytes(content)
    done = bslc(*command, "damaged.bsl")
    assert done.err.startswith("error: damaged.bsl: ") and "CRC32C" in done.err
    check(done, 1, done.err.splitlines()[0].removeprefix("error: "))


def test_a_truncated_file(bslc: Bslc, models: Mapping[str, Path]) -> None:
    (bslc.folder / "short.bsl").write_bytes(models["affine"].read_bytes()[:-1])
    done = bslc("show", "short.bsl")
    assert done.err.startswith("error: short.bsl: ") and "declares a payload of" in done.err
    check(done, 1, done.err.splitlines()[0].removeprefix("error: "))


INPUTS = "Invalid value for '--input': "
SHAPES = "Invalid value for '--shape': "
DIMS = "Invalid value for '--dim': "


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "no value for input a, k: give --input a=FILE.npy, or --random"),
        (["--input", "k=k.npy"], "no value for input a: give --input a=FILE.npy, or --random"),
        (["--input", "k.npy"], "--input needs a name here: the model's inputs are a, k"),
        (["--input", "z=k.npy"], "--input: the model has no input 'z'; its inputs are a, k"),
        (["--input", "k=k.npy", "--input", "k=k.npy"], "--input: input 'k' is given twice"),
        (["--input", "k=absent.npy"], f"{INPUTS}file 'absent.npy' does not exist"),
        (["--input", "k=k.txt"], f"{INPUTS}'k=k.txt': expected NAME=FILE.npy"),
        (["--random", "--shape", "a=2,3"], f"{SHAPES}'a=2,3': expected NAME=1x3x224x224, or NAME=scalar"),
        (["--random", "--shape", "2x3"], f"{SHAPES}'2x3': expected NAME=1x3x224x224, or NAME=scalar"),
        (["--random", "--shape", "z=2x3"], "--shape: the model has no input 'z'; its inputs are a, k"),
        (["--random", "--shape", "a=1x1", "--shape", "a=2x3"], "--shape: input 'a' is given twice"),
        (
            ["--random", "--input", "k=k.npy", "--shape", "k=3"],
            "--shape k=... only applies to an input that --random fills",
        ),
        (["--random", "--dim", "n"], f"{DIMS}'n': expected NAME=SIZE, such as batch=8"),
        (
            ["--random", "--dim", "z=3"],
            "--dim: the model has no symbolic dimension 'z'; its symbolic dimensions are m, n",
        ),
        (["--random", "--dim", "n=1", "--dim", "n=2"], "--dim: symbolic dimension 'n' is given twice"),
        (["--random", "--seed", "one"], "Invalid value for '--seed': 'one' is not a valid integer range."),
        (["--random", "--threads", "0"], "Invalid value for '--threads': 0 is not in the range x>=1."),
        (["--random", "--output", "absent/out.npz"], "--output: folder 'absent' does not exist"),
        (["--random", "--output", "folder.npz"], "--output: 'folder.npz' is a folder"),
        (["--random", "--output", "k.txt"], "--output: 'k.txt' is a file; expected FILE.npz or a folder"),
    ],
)
def test_wrong_command_lines(bslc: Bslc, models: Mapping[str, Path], arguments: list[str], message: str) -> None:
    np.save(bslc.folder / "k.npy", np.arange(5, dtype=np.int32))
    (bslc.folder / "k.txt").touch()
    (bslc.folder / "folder.npz").mkdir()
    check(bslc("run", models["pair"], *arguments), 2, message)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--input", "a=f2x3.npy"], "input 'k': axis 0 is 5, expected n = 2: n is 2 by axis 0 of input 'a'"),
        (["--input", "a=f2.npy"], "input 'a' has shape [2] of rank 1, expected float32[n, m] of rank 2"),
        (
            ["--input", "a=f2x3.npy", "--dim", "n=4"],
            "input 'a' has shape [2, 3], expected float32[4, m]: axis 0 is 2, not 4",
        ),
        (["--shape", "a=5x1x1"], "input 'a' has shape [5, 1, 1] of rank 3, expected float32[n, m] of rank 2"),
        (["--input", "a=bad.npy"], "bad.npy: not a readable .npy file: "),
        (["--input", "a=objects.npy"], "objects.npy: not a readable .npy file: "),
        (
            ["--dim", "m=4294967295", "--input", "k=k5.npy"],
            "input 'a': no memory for an array of (5, 4294967295): ",
        ),
    ],
)
def test_arrays_that_do_not_fit(bslc: Bslc, models: Mapping[str, Path], arguments: list[str], message: str) -> None:
    folder = bslc.folder
    np.save(folder / "k5.npy", np.arange(5, dtype=np.int32))
    np.save(folder / "f2x3.npy", np.ones((2, 3), np.float32))
    np.save(folder / "f2.npy", np.ones(2, np.float32))
    np.save(folder / "objects.npy", np.array([{}]), allow_pickle=True)
    (folder / "bad.npy").write_text("no array")
    given = arguments if "k=k5.npy" in arguments else [*arguments, "--input", "k=k5.npy"]
    limit = "ulimit -v 8000000; " if "no memory" in message else ""
    done = bslc.in_shell(limit, "run", models["pair"], "--random", *given)
    assert done.err.startswith(f"error: {message}")
    check(done, 1, done.err.splitlines()[0].removeprefix("error: "))


def test_an_array_of_another_type(bslc: Bslc, models: Mapping[str, Path]) -> None:
    np.save(bslc.folder / "x.npy", np.full((2, 4), 0.1))
    done = bslc("run", models["affine"], "--input", "x.npy")
    assert "input 'x'" in done.err and "float64" in done.err and "float32" in done.err
    check(done, 1, done.err.splitlines()[0].removeprefix("error: "))


@pytest.mark.parametrize("command", [["compile"], ["show", "--explain"], ["show", "--after", "all"]], ids=" ".join)
def test_shapes_that_the_model_does_not_allow(bslc: Bslc, models: Mapping[str, Path], command: list[str]) -> None:
    expected = "input 'x' has shape [2, 5], expected float32[n, 4]: axis 1 is 5, not 4"
    check(bslc(*command, models["affine"], "--shape", "x=2x5"), 1, expected)
    expected = "--dim: the model has no symbolic dimension 'batch'; its symbolic dimensions are n"
    check(bslc(*command, models["affine"], "--dim", "batch=2"), 2, expected)


@pytest.mark.parametrize("target", ["/dev/full/out.npz", "/dev/null"])
def test_a_place_that_is_no_folder(bslc: Bslc, models: Mapping[str, Path], target: str) -> None:
    done = bslc("run", models["affine"], "--random", "--output", target)
    assert done.err.startswith("error: --output: ")
    check(done, 2, done.err.splitlines()[0].removeprefix("error: "))


def test_a_folder_where_nothing_can_be_written(bslc: Bslc, models: Mapping[str, Path]) -> None:
    done = bslc("run", models["affine"], "--random", "--dim", "n=2", "--output", "/proc/out.npz")
    assert done.err.startswith("error: /proc/")
    check(done, 1, done.err.splitlines()[0].removeprefix("error: "))


def test_output_to_a_full_disk(bslc: Bslc, models: Mapping[str, Path]) -> None:
    done = bslc.in_shell("", "show", models["affine"], redirection="> /dev/full")
    check(done, 1, "No space left on device")


def test_a_traceback_can_be_had(bslc: Bslc) -> None:
    (bslc.folder / "empty.bsl").touch()
    done = bslc("show", "empty.bsl", environment={"BASALT_DEBUG": "verify,traceback"})
    assert done.status == 1
    assert "Traceback (most recent call last)" in done.err and "ModelFormatError" in done.err
