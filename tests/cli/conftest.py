"""Running ``bslc`` as a user does: as a process of its own."""

from __future__ import annotations

import os
import pty
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from . import samples

TIMEOUT = 300
PROGRAM = [sys.executable, "-c", "from basalt.cli import main; main()"]


@dataclass(frozen=True)
class Done:
    """How a command ended; ``out`` and ``err`` are what it printed."""

    status: int
    out: str
    err: str


class Bslc:
    """Runs commands in a folder of the test's own."""

    def __init__(self, folder: Path, program: Sequence[str] = PROGRAM) -> None:
        self.folder = folder
        self.program = list(program)
        self._started: list[subprocess.Popen[bytes]] = []

    def __call__(self, *arguments: str | Path, environment: Mapping[str, str] | None = None) -> Done:
        """Run one command with pipes for stdout and stderr."""
        command = [*self.program, *map(str, arguments)]
        done = subprocess.run(
            command, capture_output=True, cwd=self.folder, env=_environment(environment), timeout=TIMEOUT, check=False
        )
        return Done(done.returncode, done.stdout.decode(), done.stderr.decode())

    def start(self, *arguments: str | Path, environment: Mapping[str, str] | None = None) -> subprocess.Popen[bytes]:
        """Begin one command with pipes for stdout and stderr."""
        command = [*self.program, *map(str, arguments)]
        pipe = subprocess.PIPE
        process = subprocess.Popen(command, stdout=pipe, stderr=pipe, cwd=self.folder, env=_environment(environment))
        self._started.append(process)
        return process

    def end(self) -> None:
        """Kill what was begun and still runs, as it does where a test failed."""
        for process in self._started:
            process.kill()
            process.communicate()

    def through(self, arguments: str, filter_command: str) -> Done:
        """Run ``bslc arguments | filter_command`` in a shell; stderr is bslc's."""
        return self.in_shell("", *arguments.split(), redirection=f"| {filter_command}")

    def in_shell(self, before: str, *arguments: str | Path, redirection: str = "") -> Done:
        """Run one command in a shell, after ``before`` and with ``redirection`` at its end."""
        command = shlex.join([*self.program, *map(str, arguments)])
        done = subprocess.run(
            ["bash", "-c", f"{before}{command} {redirection}"],
            capture_output=True,
            cwd=self.folder,
            env=_environment(None),
            timeout=TIMEOUT,
            check=False,
        )
        return Done(done.returncode, done.stdout.decode(), done.stderr.decode())

    def on_terminal(self, *arguments: str | Path, environment: Mapping[str, str] | None = None) -> Done:
        """Run one command with a terminal for stdout and stderr together, which come back as ``out``."""
        ours, theirs = pty.openpty()
        command = [*self.program, *map(str, arguments)]
        variables = _environment({"TERM": "xterm-256color", **(environment or {})})
        with subprocess.Popen(command, stdout=theirs, stderr=theirs, cwd=self.folder, env=variables) as process:
            os.close(theirs)
            chunks = []
            while chunk := _read(ours):
                chunks.append(chunk)
            status = process.wait(TIMEOUT)
        os.close(ours)
        return Done(status, b"".join(chunks).decode().replace("\r\n", "\n"), "")


def _read(descriptor: int) -> bytes:
    """The next bytes of a terminal, empty once its other side is closed."""
    try:
        return os.read(descriptor, 65536)
    except OSError:
        return b""


def _environment(extra: Mapping[str, str] | None) -> dict[str, str]:
    """The test's environment without what would change the output."""
    dropped = ("NO_COLOR", "FORCE_COLOR", "BASALT_DEBUG", "COLUMNS")
    kept = {name: value for name, value in os.environ.items() if name not in dropped}
    return {**kept, **(extra or {})}


@pytest.fixture
def bslc(tmp_path: Path) -> Iterator[Bslc]:
    """The command, run in the test's temporary folder."""
    command = Bslc(tmp_path)
    yield command
    command.end()


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    """Model files by the name of what :mod:`.samples` puts into them."""
    folder = tmp_path_factory.mktemp("models")
    for make in (samples.affine, samples.pair, samples.many):
        make(folder / f"{make.__name__}.bsl")
    return {path.stem: path for path in folder.iterdir()}


@pytest.fixture
def own_cache(tmp_path: Path) -> Path:
    """A kernel cache of the test's own, which does not exist yet; :func:`cached_in` makes a command use it."""
    return tmp_path / "cache"


def cached_in(folder: Path) -> dict[str, str]:
    """The environment of a command that keeps its kernels in ``folder``."""
    return {"BASALT_CACHE_DIR": str(folder)}
