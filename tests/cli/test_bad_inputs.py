"""Every command on every kind of wrong file and with wrong options: a status, a line that names it, no traceback."""

from __future__ import annotations

import json
import os
import pickle
import signal
import time
import warnings
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest

from basalt.cli.app import cli, run

from .conftest import TIMEOUT, Bslc, Done

Run = Callable[..., Done]
LONGEST = 300
"""Characters of a message about an operator or file, about; a list may have more."""


@pytest.fixture
def here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], models: Mapping[str, Path]
) -> Run:
    """The command in this process, in a folder with a good model, ``good.bsl``."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)
    Path("good.bsl").write_bytes(models["affine"].read_bytes())

    def command(*arguments: str | Path) -> Done:
        status = run(list(map(str, arguments)))
        return Done(status, *capfd.readouterr())

    return command


COMMANDS = {
    "run": "run {} --random",
    "rows": "run {} --csv rows.csv",
    "compile": "compile {}",
    "tune": "compile {} --tune",
    "bench": "bench {}",
    "profile": "profile {}",
    "show": "show {}",
    "passes": "show {} --passes",
    "after": "show {} --after all",
    "explain": "show {} --explain",
    "source": "show {} --source",
    "export": "export {} -o out.onnx",
    "compare": "compare {} numpy",
    "second": "compare good.bsl {}",
    "warm": "cache warm {}",
}
"""Each command that reads a model, with a place for its file."""


def absent(path: Path) -> None:
    """No file."""


def folder(path: Path) -> None:
    path.mkdir()


def loop(path: Path) -> None:
    path.symlink_to(path)


def dangling(path: Path) -> None:
    path.symlink_to("nowhere")


def fifo(path: Path) -> None:
    os.mkfifo(path)


def empty(path: Path) -> None:
    path.touch()


def text(path: Path) -> None:
    path.write_text("A text that is longer than the header of a model has to be, and no model.\n")


def truncated(path: Path) -> None:
    path.write_bytes(Path("good.bsl").read_bytes()[:-1])


def damaged(path: Path) -> None:
    content = bytearray(Path("good.bsl").read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)


def pickled(path: Path) -> None:
    path.write_bytes(pickle.dumps({"not": "a model"}, 4))


def array(path: Path) -> None:
    np.save(path.with_suffix(".npy"), np.zeros(3))
    path.with_suffix(".npy").rename(path)


def protocol_buffers(path: Path) -> None:
    path.write_bytes(b"\x08\x08" + b"\xff" * 40)


FILES = [
    (absent, "a.bsl", 2),
    (folder, "a.bsl", 2),
    (loop, "a.bsl", 2),
    (dangling, "a.bsl", 2),
    (absent, "n" * 300, 2),
    (absent, "", 2),
    (fifo, "a.bsl", 1),
    (empty, "a.bsl", 1),
    (empty, "a.onnx", 1),
    (empty, "a", 1),
    (text, "a.bsl", 1),
    (text, "a.onnx", 1),
    (text, "a.txt", 1),
    (truncated, "a.bsl", 1),
    (damaged, "a.bsl", 1),
    (pickled, "a.pkl", 1),
    (pickled, "a.joblib", 1),
    (pickled, "a", 1),
    (array, "a.npy", 1),
    (protocol_buffers, "a.onnx", 1),
    (protocol_buffers, "a", 1),
    (text, "sp ace ü.bsl", 1),
    (text, "new\nline\x1b[31m.bsl", 1),
]


@pytest.mark.parametrize("command", COMMANDS)
def test_files(here: Run, command: str) -> None:
    Path("rows.csv").write_text("a,b,c,d\n1,2,3,4\n")
    for number, (make, name, status) in enumerate(FILES):
        place = Path(str(number))
        place.mkdir()
        path = place / name if name else Path("")
        if name:
            make(path)
        given = str(path) if name else ""
        done = here(*[given if word == "{}" else word for word in COMMANDS[command].split()])
        check(done, status, name[:20].split("\n")[0], command)
        assert not Path("out.onnx").exists()


def check(done: Done, status: int, named: str, command: str) -> None:
    """A status, and an error that names what was given."""
    assert done.status == status, (command, named, done.err)
    assert "Traceback" not in done.err and "internal error" not in done.err, done.err
    assert "\x1b" not in done.err
    errors = [line for line in done.err.splitlines() if not line.startswith(("note: ", "warning: "))]
    assert errors and errors[0].startswith("error: "), (command, named, done.err)
    assert named in errors[0] and len(errors[0]) < LONGEST + 300, (command, named, done.err)
    if status == 2:
        assert errors[1].startswith("See 'bslc ") and len(errors) == 2
        assert done.out == ""


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
@pytest.mark.parametrize("command", COMMANDS)
def test_a_file_without_permission(here: Run, command: str) -> None:
    Path("rows.csv").write_text("a,b,c,d\n1,2,3,4\n")
    Path("secret.bsl").write_bytes(Path("good.bsl").read_bytes())
    Path("secret.bsl").chmod(0)
    done = here(*["secret.bsl" if word == "{}" else word for word in COMMANDS[command].split()])
    check(done, 2, "secret.bsl", command)


SIZES = [
    ("--shape x=2x5", 1, "[2, 5]"),
    ("--shape x=4", 1, "rank 1"),
    ("--shape z=2x4", 2, "'z'"),
    ("--shape x=2,4", 2, "'x=2,4'"),
    ("--shape x=99999999999x4", 2, "99999999999"),
    ("--shapes-from absent.npz", 2, "absent.npz"),
    ("--shapes-from folder.npz", 2, "folder.npz"),
    ("--shapes-from right.npy", 2, "right.npy"),
    ("--shapes-from wrong.zip", 1, "'x'"),
    ("--shapes-from text.zip", 2, "text.zip"),
    ("--dim z=2", 2, "'z'"),
    ("--dim n=two", 2, "'n=two'"),
    ("--dim n=-1", 2, "'n=-1'"),
    ("--dim n", 2, "'n'"),
    ("--dim", 2, "--dim"),
]
INPUTS = [
    ("--input absent.npy", 2, "absent.npy"),
    ("--input x=folder.npy", 2, "folder.npy"),
    ("--input x=text.txt", 2, "text.txt"),
    ("--input x=text.npy", 1, "text.npy"),
    ("--input x=cut.npy", 1, "cut.npy"),
    ("--input x=objects.npy", 1, "objects.npy"),
    ("--input z=right.npy", 2, "'z'"),
    ("--input x=right.npy --input right.npy", 2, "twice"),
    ("--input x=wrong.npy", 1, "'x'"),
    ("--input x=doubles.npy", 1, "float64"),
    ("--input x=right.npy --dim n=3", 1, "'x'"),
]
SEEDS = [("--seed -1", 2, "-1"), ("--seed one", 2, "'one'")]
THREADS = [("--threads 0", 2, "0"), ("--threads two", 2, "'two'")]
OPTIONS = {
    "sign good.bsl": [("", 2, "--key"), ("--key absent.pem", 2, "absent.pem")],
    "verify good.bsl": [("--keys absent.keys", 2, "absent.keys")],
    "run good.bsl --random": [
        *SIZES,
        *INPUTS,
        *SEEDS,
        *THREADS,
        ("--output nowhere/out.npz", 2, "nowhere"),
        ("--output folder.npz", 2, "folder.npz"),
        ("--output fifo.npz", 2, "fifo.npz"),
        ("--output text.txt", 2, "text.txt"),
        ("--method predict", 2, "--method"),
        ("--delimiter ;", 2, "--delimiter"),
        ("--csv rows.csv", 2, "--random"),
    ],
    "run good.bsl": [
        ("", 2, "x"),
        ("--csv absent.csv", 2, "absent.csv"),
        ("--csv folder.npy", 2, "folder.npy"),
        ("--csv empty.csv", 1, "empty.csv"),
        ("--csv text.npy", 1, "text.npy"),
        ("--csv rows.csv --delimiter ab", 2, "'ab'"),
        ("--csv rows.csv --method nothing", 2, "nothing"),
        ("--csv rows.csv --output out.txt", 2, "out.txt"),
        ("--csv rows.csv --output nowhere/out.csv", 2, "nowhere"),
        ("--csv rows.csv --output folder.csv", 2, "folder.csv"),
        ("--csv rows.csv --parquet rows.csv", 2, "--parquet"),
        ("--parquet text.txt", 1, "text.txt"),
        ("--csv rows.csv --json", 2, "--json"),
        ("--csv rows.csv --shapes-from wrong.zip", 2, "--shapes-from"),
    ],
    "compile good.bsl": [*SIZES, ("--tune-seconds 3", 2, "--tune"), ("--tune --tune-seconds -1", 2, "-1")],
    "compile good.bsl --tune --tune-seconds 0": [*SIZES, *INPUTS, *SEEDS, *THREADS],
    "bench good.bsl": [
        *SIZES,
        *INPUTS,
        *SEEDS,
        *THREADS,
        ("--rounds 4", 2, "4"),
        ("--against torch", 2, "'torch'"),
        ("--tolerance -1", 2, "-1"),
    ],
    "profile good.bsl": [
        *SIZES,
        *INPUTS,
        *SEEDS,
        *THREADS,
        ("--repeats 0", 2, "0"),
        ("--top 0", 2, "0"),
        ("--trace folder.npz", 2, "folder.npz"),
        ("--trace nowhere/t.json", 2, "nowhere"),
        ("--trace fifo.npz", 2, "fifo.npz"),
    ],
    "compare good.bsl numpy": [
        *SIZES,
        *INPUTS,
        *SEEDS,
        *THREADS,
        ("--tolerance -1", 2, "-1"),
        ("--tolerance much", 2, "'much'"),
        ("--atol -1", 2, "-1"),
        ("good.bsl", 2, "good.bsl"),
    ],
    "compare good.bsl": [("", 2, "OTHER"), ("torch", 2, "'torch'"), ("folder.npz", 2, "folder.npz")],
    "show good.bsl": [
        ("--after nothing", 2, "'nothing'"),
        ("--passes --source", 2, "--passes"),
        ("--dim n=2", 2, "--dim"),
    ],
    "show good.bsl --explain": SIZES,
    "export good.bsl": [
        ("", 2, "--output"),
        ("-o folder.npz", 2, "folder.npz"),
        ("-o nowhere/out.onnx", 2, "nowhere"),
        ("-o fifo.npz", 2, "fifo.npz"),
        ("-o out.onnx --opset 3", 2, "3"),
        ("-o out.onnx --opset 999", 2, "999"),
        ("-o out.onnx --external-data a/b", 1, "a/b"),
        ("-o out.onnx --external-data out.onnx", 1, "out.onnx"),
    ],
    "cache warm good.bsl": [each for each in SIZES if each[1] == 2],
    "cache": [
        ("warm", 2, "MODEL"),
        ("prune", 2, "--max-size"),
        ("prune --max-size much", 2, "'much'"),
        ("prune --max-size -1", 2, "-1"),
        ("empty", 2, "'empty'"),
        ("info good.bsl", 2, "good.bsl"),
    ],
    "ops": [("nothing", 2, "'nothing'"), ("--onnx nothing", 2, "'nothing'"), ("relu add", 2, "add")],
    "completion": [("", 2, "SHELL"), ("tcsh", 2, "'tcsh'")],
    "": [("nothing", 2, "'nothing'"), ("--nothing", 2, "--nothing")],
}


@pytest.mark.parametrize("command", OPTIONS)
def test_options(here: Run, command: str) -> None:
    Path("rows.csv").write_text("a,b,c,d\n1,2,3,4\n")
    Path("empty.csv").touch()
    for name in ("folder.npy", "folder.npz", "folder.csv"):
        Path(name).mkdir()
    for name in ("text.txt", "text.npy"):
        Path(name).write_text("no array, no table\n")
    os.mkfifo("fifo.npz")
    np.save("right.npy", np.zeros((2, 4), np.float32))
    np.save("wrong.npy", np.zeros((2, 3), np.float32))
    np.savez("wrong", x=np.zeros((2, 3), np.float32))
    Path("wrong.npz").rename("wrong.zip")
    with zipfile.ZipFile("text.zip", "w") as archive:
        archive.writestr("x.npy", "no array")
    np.save("doubles.npy", np.full((2, 4), 0.1))
    np.save("objects.npy", np.array([{}]), allow_pickle=True)
    Path("cut.npy").write_bytes(Path("right.npy").read_bytes()[:-1])
    there = sorted(os.listdir())
    for options, status, named in [*OPTIONS[command], *([("--nothing", 2, "--nothing")] if command else [])]:
        check(here(*command.split(), *options.split()), status, named, f"{command} {options}")
        assert sorted(os.listdir()) == there, f"{command} {options} left something"


def test_every_command_has_its_cases() -> None:
    groups = {name for name in cli.commands if name != "cache"} | {"cache warm", "cache"}
    tried = {" ".join(line.split()[: 2 if line.startswith("cache warm") else 1]) for line in OPTIONS}
    assert tried >= groups, "every command is in OPTIONS"
    reading = {name for name, each in cli.commands.items() if any(p.name == "model" for p in each.params)}
    assert {line.split()[0] for line in COMMANDS.values()} >= reading, "and in COMMANDS if it reads a model"


TABLES = [
    "verify good.bsl",
    "cache info",
    "cache clear",
    "cache prune --max-size 1GB",
    "cache warm good.bsl",
    "compile good.bsl",
    "compare good.bsl numpy",
    "bench good.bsl --rounds 5",
    "profile good.bsl --repeats 1",
    "run good.bsl --random",
    "show good.bsl",
    "show good.bsl --after all",
    "show good.bsl --passes",
    "show good.bsl --source",
    "show good.bsl --explain",
    "export good.bsl -o out.onnx",
    "ops",
    "ops relu",
    "ops --onnx Relu",
]


def test_json_wherever_something_is_printed(here: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for line in TABLES:
        with monkeypatch.context() as changed:
            if line.startswith(("cache clear", "cache prune")):
                changed.setenv("BASALT_CACHE_DIR", str(tmp_path / "cache"))
            text, data = here(*line.split()), here(*line.split(), "--json")
        assert (text.status, data.status) == (0, 0), (line, text.err, data.err)
        assert text.out.strip()
        json.loads(data.out)
    printing = {name for name, each in cli.commands.items() if any(p.name == "as_json" for p in each.params)}
    # A key is never made twice, nor is there one here: test_sign.py reads what `sign --json` prints.
    assert printing | {"cache"} == {line.split()[0] for line in TABLES} | {"sign"}
    assert set(cli.commands) - printing == {"cache", "completion"}


@pytest.mark.parametrize("command", ["show good.bsl", "ops --json", "cache info", "--help", "completion bash"])
def test_a_reader_that_leaves_a_full_disk_and_no_stdout_at_all(
    bslc: Bslc, models: Mapping[str, Path], command: str
) -> None:
    (bslc.folder / "good.bsl").write_bytes(models["affine"].read_bytes())
    words = command.split()
    done = bslc.in_shell("", *words, redirection='| true; echo "${PIPESTATUS[0]}"')
    assert (done.out, done.err) == ("141\n", "")
    done = bslc.in_shell("", *words, redirection="> /dev/full")
    assert (done.status, done.err) == (1, "error: No space left on device\n")
    done = bslc.in_shell("", *words, redirection=">&-")
    assert (done.status, done.err) == (1, "error: stdout is closed\n")


def test_without_any_stream_what_is_to_be_done_is_done(bslc: Bslc, models: Mapping[str, Path]) -> None:
    done = bslc.in_shell("", "show", "absent.bsl", redirection="2>&-")
    assert (done.status, done.out, done.err) == (2, "", "")
    done = bslc.in_shell("", "export", models["affine"], "-o", "out.onnx", redirection="<&- >&- 2>&-")
    assert (done.status, done.out, done.err) == (1, "", ""), "what it prints could not be printed"
    content = (bslc.folder / "out.onnx").read_bytes()
    assert b"basalt" in content and b"opset 17" not in content, "nothing is printed into the file"


def test_a_disk_that_fills(bslc: Bslc, models: Mapping[str, Path]) -> None:
    """A limit for files stands for the disk's: the writing fails in the middle."""
    bslc("run", models["affine"], "--random", "--dim", "n=4")
    for options in (["run", models["affine"], "--random", "--dim", "n=4", "--output", "out.npz"],):
        (bslc.folder / "out.npz").write_text("old")
        done = bslc.in_shell("ulimit -f 0; ", *options)
        assert done.status == 1 and done.err.startswith("error: ") and "out.npz" in done.err
        assert (bslc.folder / "out.npz").read_text() == "old" and len(list(bslc.folder.iterdir())) == 1
    done = bslc.in_shell("ulimit -f 0; ", "export", models["affine"], "-o", "out.onnx")
    assert done.status == 1 and done.err.startswith("error: out.onnx: ")
    assert not (bslc.folder / "out.onnx").exists()


def test_no_home(bslc: Bslc, models: Mapping[str, Path]) -> None:
    """Without HOME the user's entry in the password file counts; what reads models works in any case."""
    before = "unset HOME BASALT_CACHE_DIR XDG_CACHE_HOME; "
    for arguments in (["cache", "info"], ["show", models["affine"]], ["ops", "relu"]):
        done = bslc.in_shell(before, *arguments)
        assert (done.status, done.err) == (0, "")


def test_a_folder_that_is_gone(bslc: Bslc) -> None:
    done = bslc.in_shell("mkdir gone; cd gone; rmdir ../gone; ", "show", "a.bsl")
    assert done.status == 2 and "'a.bsl' does not exist" in done.err


def has_open(pid: int, path: Path) -> bool:
    """Whether a process reads a file at the moment."""
    try:
        return any(
            os.readlink(f"/proc/{pid}/fd/{name}") == str(path.resolve()) for name in os.listdir(f"/proc/{pid}/fd")
        )
    except OSError:
        return False


LONG = [
    "bench good.bsl --rounds 1000000",
    "profile good.bsl --repeats 100000000",
    "run good.bsl --csv rows.csv --output out.csv",
]


@pytest.mark.parametrize("command", LONG)
def test_an_interrupt_ends_any_command(bslc: Bslc, models: Mapping[str, Path], command: str) -> None:
    (bslc.folder / "good.bsl").write_bytes(models["affine"].read_bytes())
    is_of_rows = "--csv" in command
    if is_of_rows:
        (bslc.folder / "rows.csv").write_text("a,b,c,d\n" + "1,2,3,4\n" * 4_000_000)
    process = bslc.start(*command.split())
    assert process.stderr is not None
    if is_of_rows:
        deadline = time.monotonic() + TIMEOUT
        while not has_open(process.pid, bslc.folder / "rows.csv") and time.monotonic() < deadline:
            time.sleep(0.01)
    else:
        assert process.stderr.readline().startswith(b"note: n = 1")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=TIMEOUT)
    assert (process.returncode, out, err) == (130, b"", b"interrupted\n")
    assert not (bslc.folder / "out.csv").exists() and not list(bslc.folder.glob(".bsl-*"))
