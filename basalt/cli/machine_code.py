"""Putting the machine code of programs into the cache."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import click

from basalt.cli.output import Progress
from basalt.compiler.codegen.compile import load_executor, load_kernels
from basalt.compiler.codegen.fingerprint import executor_key, kernel_key
from basalt.runtime.cache_files import KernelKey
from basalt.runtime.kernel_cache import CACHE
from basalt.runtime.spec import KernelCode, ProgramSpec

__all__ = ["Compiled", "check_kept", "compile_kernels", "distinct"]


@dataclass(frozen=True)
class Compiled:
    """One piece of machine code: what it computes, the seconds that compiling took (None: it was in the cache)."""

    what: str
    seconds: float | None
    calls: int
    operators: str


def compile_kernels(spec: ProgramSpec, show: Progress) -> list[Compiled]:
    """Compile what the cache lacks: the executor, which all programs share, and the program's kernels."""
    codes = distinct(spec)
    absent = [code.key for code in codes if not _has(kernel_key(code))]
    took: list[float] = []
    executor_is_absent = not _has(executor_key())
    show(0, len(codes), 0.0)
    start = time.perf_counter()
    load_executor()
    executor_seconds = time.perf_counter() - start
    load_kernels(spec.kernels, _recording(took, show))
    show(len(codes), len(codes), 0.0)
    seconds = dict(zip(absent, took))
    entries = [Compiled("executor", executor_seconds if executor_is_absent else None, 0, "")]
    for code in codes:
        rows = [row for row in spec.rows if spec.kernels[row.kernel].key == code.key]
        operators = ", ".join(dict.fromkeys(row.label for row in rows if row.label))
        entries.append(Compiled(code.label or "unnamed", seconds.get(code.key), len(rows), operators))
    return entries


def distinct(spec: ProgramSpec) -> list[KernelCode]:
    """The program's kernels, each once."""
    return list({code.key: code for code in spec.kernels}.values())


def check_kept(spec: ProgramSpec) -> None:
    """Compiling ahead is of no use if the files could not be written, of which the cache itself only warns.

    Raises click.ClickException.
    """
    keys = [executor_key(), *map(kernel_key, spec.kernels)]
    lost = sum(CACHE.folder.read(key.name) is None for key in keys)
    if lost:
        place = "no folder" if CACHE.folder.path is None else str(CACHE.folder.path)
        raise click.ClickException(f"{lost} of {len(keys)} kernels could not be kept in the cache ({place})")


def _has(key: KernelKey) -> bool:
    return CACHE.has(key)


def _recording(took: list[float], show: Progress) -> Callable[[int, int, float], None]:
    def record(done: int, total: int, seconds: float) -> None:
        took.append(seconds)
        show(done, total, seconds)

    return record
