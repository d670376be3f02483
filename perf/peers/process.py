"""Any contender in a case of whole processes: the worker starts the command and waits for it."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from . import CannotRun, Prepared, Task

__all__ = ["prepare"]

_UNUSUAL = ("BASALT_EAGER", "PYTHONDONTWRITEBYTECODE")
"""What users' processes lack: first results come from wherever that is soonest, and installers compile modules."""


def prepare(task: Task) -> Prepared:
    """A call starts an interpreter that runs the contender's code, and waits for its end.

    In a cold case each process has an empty folder of kernels; the time to make and remove it counts.

    Raises CannotRun if the case has no code for the contender, RuntimeError if the code fails.
    """
    template = task.params["commands"].get(task.contender)
    if template is None:
        raise CannotRun(f"{task.contender} has no command for this case")
    values = {"model": "model.onnx", "compiled": "model.bsl", "feeds": "feeds.npz"}
    values = {name: str(task.folder / file) for name, file in values.items()} | {"threads": str(task.threads)}
    command = [sys.executable, "-P", "-c", template.format(**values)]
    environment = {name: value for name, value in os.environ.items() if name not in _UNUSUAL}

    def once() -> None:
        _run(command, environment)

    def cold() -> None:
        with tempfile.TemporaryDirectory() as cache:
            _run(command, environment | {"BASALT_CACHE_DIR": cache})

    call = cold if task.params["cold"] else once

    def outputs() -> dict[str, np.ndarray]:
        call()
        return {"status": np.zeros(1, np.int64)}

    return Prepared(call, outputs, "whole process")


def _run(command: list[str], environment: dict[str, str]) -> None:
    done = subprocess.run(
        command, env=environment, cwd=Path(tempfile.gettempdir()), capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"the process ended with {done.returncode}: {done.stderr.strip()[-500:]}")
