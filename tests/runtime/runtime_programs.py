"""Small programs for the tests of the runtime, made of kernels written here."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

from basalt.compiler.codegen.compile import load_kernels
from basalt.runtime.program import Program
from basalt.runtime.spec import KernelCode, ProgramSpec, Row, Slot, TensorSpec

NAMES = ("ptr", "par_f32", "par_i64", "load_f32", "store_f32", "loadrw_f32", "storerw_f32", "add_f32", "mul_f32")
NAMES += ("const_f32", "lt_f32")


def kernel(body: str, label: str = "") -> KernelCode:
    """A kernel over ``x = table[0]`` and ``y = table[1]``; ``body`` is what it does for each ``i``."""
    lines = ["def kernel(table, start, stop):", "    x = ptr(table, 0)", "    y = ptr(table, 1)"]
    lines += ["    for i in range(start, stop):", *("        " + line for line in body.splitlines())]
    return KernelCode.of("\n".join(lines) + "\n", NAMES, label)


COPY = kernel("store_f32(y, i, load_f32(x, i))", "copy")
ADD = kernel("store_f32(y, i, add_f32(load_f32(x, i), par_f32(table, 2)))", "add")
COUNT = kernel("storerw_f32(y, i, add_f32(loadrw_f32(y, i), loadrw_f32(x, i)))", "count")
CHECKED = kernel(
    'v = load_f32(x, i)\nif lt_f32(v, const_f32(0.0)):\n    raise ValueError("negative")\nstore_f32(y, i, v)', "checked"
)
SHIFTED = kernel("store_f32(y, i, load_f32(x, i + par_i64(table, 2)))", "shifted")


def tensors(*names: str, size: int = 16) -> tuple[TensorSpec, ...]:
    return tuple(TensorSpec(name, "float32", (size,)) for name in names)


def program(*rows: Row, size: int = 16, threads: int | None = None, **changes: Any) -> Program:
    """A program from x to y, float32 vectors; rows number the kernels COPY, ADD, COUNT, CHECKED, SHIFTED."""
    parts: dict[str, Any] = {
        "inputs": tensors("x", size=size),
        "outputs": tensors("y", size=size),
        "rows": rows,
        "kernels": (COPY, ADD, COUNT, CHECKED, SHIFTED),
        "constants": (),
        "arena_bytes": 8 * size,
    }
    spec = ProgramSpec(**(parts | changes))
    return Program(spec, load_kernels(spec.kernels), threads=threads)


def chain(length: int, size: int, cost: float, threads: int | None = None, **row: Any) -> Program:
    """``length`` rows, each adding 1 to what the one before gave, through two places in the arena."""
    rows = []
    for index in range(length):
        source = Slot.input(0) if index == 0 else Slot.arena(4 * size * (index % 2))
        target = Slot.output(0) if index == length - 1 else Slot.arena(4 * size * ((index + 1) % 2))
        slots = (source, target, Slot.real(1.0))
        rows.append(Row(1, slots, 0, size, cost, label=f"add {index}", **row))
    return program(*rows, size=size, threads=threads)


def ramp(size: int = 16) -> np.ndarray:
    return np.arange(size, dtype=np.float32)


def run_python(script: str, timeout: float = 120, **environment: str | None) -> str:
    """Runs a script in a process of its own and returns what it printed; None removes an environment variable."""
    here = str(Path(__file__).parent)
    full = {**os.environ, "PYTHONPATH": here, "PYTHONWARNINGS": "default"}
    for name, value in environment.items():
        full.pop(name, None)
        if value is not None:
            full[name] = value
    done = subprocess.run(
        [sys.executable, "-c", script], env=full, capture_output=True, text=True, timeout=timeout, check=False
    )
    assert done.returncode == 0, f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout
