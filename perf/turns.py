"""The parent's side of worker processes: who is alive, who has the turn, what happened to one that died."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .measure import clean_environment
from .site import ROOT

__all__ = ["Contender", "Refused", "WorkerLost", "WorkerProcess"]

_TAIL = 1500
_THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


class WorkerLost(Exception):
    """A worker ended, or did not answer in time; the message has its exit status and what it printed last."""


class Refused(Exception):
    """A worker answered that it cannot do what it was told, or failed at it."""

    def __init__(self, message: str, cannot: bool) -> None:
        super().__init__(message)
        self.cannot = cannot


@dataclass(frozen=True)
class Contender:
    """A library at a number of threads, and where Basalt is imported from in its process.

    ``label`` tells two of the same library apart: commits that are compared.
    """

    name: str
    threads: int
    site: Path
    label: str = ""
    environment: tuple[tuple[str, str], ...] = ()

    @property
    def key(self) -> str:
        """The name under which results hold it."""
        return self.label or self.name


class WorkerProcess:
    """A running worker. Use as a context manager, or ``close`` it."""

    def __init__(self, contender: Contender, command: list[str] | None = None) -> None:
        self.contender = contender
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115
        self._buffer = b""
        self._process = subprocess.Popen(
            command or [sys.executable, "-P", "-m", "perf.worker", contender.name, str(contender.threads)],
            cwd=ROOT,
            env=_environment(contender),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
        )
        self._selector = selectors.DefaultSelector()
        assert self._process.stdout is not None
        self._selector.register(self._process.stdout, selectors.EVENT_READ)

    def ask(self, message: dict[str, Any], timeout: float) -> dict[str, Any]:
        """The answer to a command.

        Raises:
            Refused: if the worker says that it cannot, or failed.
            WorkerLost: if it ended or did not answer within ``timeout`` seconds, after which it is no longer there.
        """
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(message).encode() + b"\n")
            self._process.stdin.flush()
        except OSError:
            raise self._lost(f"ended before {message['do']!r}") from None
        answer = json.loads(self._line(message["do"], timeout))
        if not answer["ok"]:
            raise Refused(answer["error"], answer["cannot"])
        return answer

    def _line(self, command: str, timeout: float) -> bytes:
        deadline = time.monotonic() + timeout
        assert self._process.stdout is not None
        while b"\n" not in self._buffer:
            left = deadline - time.monotonic()
            if left <= 0 or not self._selector.select(left):
                self.kill()
                raise self._lost(f"did not answer {command!r} within {timeout:g} s")
            piece = os.read(self._process.stdout.fileno(), 1 << 16)
            if not piece:
                raise self._lost(f"ended at {command!r}")
            self._buffer += piece
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line

    def _lost(self, what: str) -> WorkerLost:
        self.kill()
        status = self._process.returncode
        end = f"signal {signal.Signals(-status).name}" if status < 0 else f"exit status {status}"
        self._errors.seek(0)
        tail = self._errors.read()[-_TAIL:].decode("utf-8", "replace").strip()
        printed = f"; it printed:\n{tail}" if tail else ""
        return WorkerLost(f"{self.contender.key} ({self.contender.threads} threads) {what}, {end}{printed}")

    @property
    def pid(self) -> int:
        """The process's number."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether the process has not ended."""
        return self._process.poll() is None

    def kill(self) -> None:
        """End the process at once, if it has not ended."""
        if self.alive:
            try:
                self._process.wait(timeout=0.2)
            except subprocess.TimeoutExpired:
                self._process.kill()
        self._process.wait()

    def close(self) -> None:
        """Let the worker end, and make sure that it did."""
        assert self._process.stdin is not None and self._process.stdout is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        try:
            self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._selector.close()
        self._process.stdout.close()
        self._errors.close()

    def __enter__(self) -> WorkerProcess:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def _environment(contender: Contender) -> dict[str, str]:
    threads = dict.fromkeys(_THREAD_VARIABLES, str(contender.threads))
    path = os.pathsep.join([str(contender.site), str(ROOT)])
    # Else first runs would go through NumPy while kernels are made in the background.
    ready = {"PYTHONPATH": path, "BASALT_EAGER": "0"}
    return clean_environment(threads | ready | dict(contender.environment))
