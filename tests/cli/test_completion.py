"""``bslc completion`` and what it completes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.shell_completion import split_arg_string

from basalt.cli.completing import METHODS, PASSES, named_files, one_of, operator_names
from basalt.cli.completion import _joined

from .conftest import PROGRAM, Bslc, Done

EXPECTED = [
    ("co", ["compare", "compile", "completion"]),
    ("cache ", ["clear", "info", "prune", "warm"]),
    ("completion ", ["bash", "zsh", "fish"]),
    ("show m.bsl --after fus", ["fuse_attention", "fuse"]),
    ("show m.bsl --after = can", ["canonicalise"]),
    ("compare m.bsl o", ["ort"]),
    ("compare m.bsl m", []),
    ("bench m.bsl --against ", ["ort"]),
    ("run m.bsl --input x = a", ["a.npy"]),
    ("run m.bsl --input x = ", ["a.npy", "b.npy", "sub/"]),
    ("run m.bsl --input x = sub/", ["sub/c.npy"]),
    ("run m.bsl --input x = none/", []),
    ("run m.bsl --csv t.csv --method predict_", ["predict_proba", "predict_log_proba"]),
    ("ops conv", ["conv2d", "conv_transpose2d"]),
    ("ops --onnx conv", []),
]


def asked(bslc: Bslc, shell: str, line: str) -> Done:
    """What a shell's script asks, and the answer."""
    words = ["bslc", *line.split(" ")]
    current = words[-1] if shell == "fish" else str(len(words) - 1)
    environment = {"_BSLC_COMPLETE": f"{shell}_complete", "COMP_WORDS": "\n".join(words), "COMP_CWORD": current}
    return bslc(environment=environment)


@pytest.fixture
def files(bslc: Bslc) -> None:
    (bslc.folder / "sub").mkdir()
    for name in ("a.npy", "b.npy", "m.bsl", "notes.txt", "sub/c.npy", ".hidden.npy"):
        (bslc.folder / name).touch()


@pytest.mark.usefixtures("files")
@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
def test_bash_completes_with_the_script(bslc: Bslc, tmp_path_factory: pytest.TempPathFactory) -> None:
    """The script itself, in a shell, with ``bslc`` on the path."""
    programs = tmp_path_factory.mktemp("bin")
    (programs / "bslc").write_text(f"#!{sys.executable}\n{PROGRAM[-1]}\n")
    (programs / "bslc").chmod(0o755)
    script = bslc("completion", "bash")
    assert (script.status, script.err) == (0, "")
    empty = '""'
    tries = "\n".join(
        f"COMP_WORDS=(bslc {line}{empty if line.endswith(' ') else ''}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); "
        'COMPREPLY=(); _bslc_completion bslc 2> /dev/null; (IFS=" "; echo "${COMPREPLY[*]}")'
        for line, _ in EXPECTED
    )
    done = subprocess.run(
        ["bash", "-c", f"{script.out}\n{tries}"],
        capture_output=True,
        cwd=bslc.folder,
        env={**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"},
        timeout=300,
        check=False,
    )
    assert done.stderr == b""
    assert [line.split() for line in done.stdout.decode().splitlines()] == [expected for _, expected in EXPECTED]


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells(bslc: Bslc, shell: str) -> None:
    script = bslc("completion", shell)
    assert (script.status, script.err) == (0, "") and f"_BSLC_COMPLETE={shell}_complete" in script.out
    answer = asked(bslc, shell, "run m.bsl --input x=sub/")
    assert (answer.status, answer.err) == (0, "")
    assert "x=sub/c.npy" in answer.out
    assert "file" in asked(bslc, shell, "show m").out
    both = asked(bslc, shell, "compare m.bsl o").out
    assert "ort" in both and "file" in both


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_scripts_are_well_formed(bslc: Bslc, shell: str) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell}")
    done = bslc.in_shell("", "completion", shell, redirection=f"| {shell} -n")
    assert (done.status, done.err) == (0, "")


def test_completing_imports_nothing_heavy(bslc: Bslc) -> None:
    code = (
        "import sys; from basalt.cli import main\n"
        "try: main()\n"
        "finally: print(*(n for n in ('numpy', 'numba', 'llvmlite', 'rich') if n in sys.modules), file=sys.stderr)"
    )
    for line in ("ops conv", "show m.bsl --after f", "compare m.bsl o", "run m.bsl --method p"):
        words = ["bslc", *line.split()]
        environment = {**os.environ, "_BSLC_COMPLETE": "bash_complete", "COMP_WORDS": "\n".join(words)}
        done = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            env={**environment, "COMP_CWORD": str(len(words) - 1)},
            timeout=300,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, b"\n") and done.stdout


def test_an_unknown_shell(bslc: Bslc) -> None:
    done = bslc("completion", "tcsh")
    assert (done.status, done.out) == (2, "") and "'tcsh' is not one of 'bash', 'zsh', 'fish'" in done.err


def test_lists_are_those_of_what_they_stand_for() -> None:
    import basalt
    from basalt.compiler.pipeline import PASSES as passes
    from basalt.ops import all_operators

    assert tuple(each.name for each in passes) == PASSES
    assert {item.value for item in operator_names(_context(), None, "")} == set(all_operators())  # type: ignore[arg-type]
    docs = basalt.Estimator.__doc__ or ""
    for name in METHODS:
        assert name in docs, name


def _context() -> object:
    import click

    return click.Context(click.Command("ops"))


def test_words_are_joined_at_equals_signs() -> None:
    def joined(line: str) -> tuple[list[str], str]:
        words = split_arg_string(line)
        return _joined(words, len(words) - 1)

    assert joined("bslc run m --input x = a") == (["bslc", "run", "m", "--input"], "x=a")
    assert joined("bslc run m --input = x = a") == (["bslc", "run", "m"], "--input=x=a")
    assert _joined(["bslc", "run", "m", "--input", "x", "="], 6) == (["bslc", "run", "m", "--input"], "x=")
    assert _joined(["bslc", "run"], 2) == (["bslc", "run"], "")


def test_values(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert [item.value for item in one_of(["ab", "b"])(None, None, "a")] == ["ab"]  # type: ignore[arg-type]
    assert [item.type for item in named_files("a", ".npy")] == ["file"]
    assert named_files("x=nowhere/", ".npy") == []
    (tmp_path / "y=z.npy").touch()
    assert [item.value for item in named_files("x=", ".npy")] == ["x=y=z.npy"]
