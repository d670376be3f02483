"""The machine that figures were measured on, as far as the system tells."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Any

__all__ = ["busy_ticks", "describe", "load", "process_ticks"]

_CPU = Path("/sys/devices/system/cpu/cpu0")


def describe() -> dict[str, Any]:
    """Processor, cores, caches, governor, memory, system. What the system does not tell is left out."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    found: dict[str, Any] = {
        "cpu": _cpu_model(),
        "cores": usable,
        "architecture": platform.machine(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "caches": _caches(),
        "governor": _read(_CPU / "cpufreq" / "scaling_governor"),
        "memory_bytes": _memory(),
    }
    return {name: value for name, value in found.items() if value}


def load() -> list[float]:
    """Load averages over 1, 5 and 15 minutes; empty where there are none."""
    try:
        return list(os.getloadavg())
    except OSError:
        return []


def busy_ticks() -> tuple[int, int] | None:
    """CPU time of the whole machine since it started, in clock ticks: (not idle, all). None where it is not told."""
    try:
        fields = [int(value) for value in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
    except (OSError, ValueError, IndexError):
        return None
    return sum(fields) - fields[3] - fields[4], sum(fields)


def process_ticks(pid: int) -> int:
    """CPU time of a process and of its children that ended, in clock ticks; 0 where it is not told."""
    try:
        # The name, in parentheses, may hold spaces.
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return sum(int(value) for value in fields[11:15])
    except (OSError, ValueError, IndexError):
        return 0


def _cpu_model() -> str:
    model, numbers = platform.processor(), {}
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            name, _, value = line.partition(":")
            numbers.setdefault(name.strip(), value.strip())
    except OSError:
        return model
    name = numbers.get("model name", model)
    if "cpu family" in numbers:
        name += f" (family {numbers['cpu family']}, model {numbers['model']}, stepping {numbers['stepping']})"
    return name


def _caches() -> dict[str, str]:
    caches = {}
    for index in sorted(_CPU.glob("cache/index*")):
        kind = _read(index / "type")
        name = f"L{_read(index / 'level')}" + {"Data": "d", "Instruction": "i"}.get(kind, "")
        caches[name] = _read(index / "size")
    return caches


def _memory() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):
        return 0


def _read(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""
