"""How many cores this process may really use: affinity, physical cores, container quotas."""

from __future__ import annotations

import math
import os
from pathlib import Path

__all__ = ["usable_cores"]

_CPU = "/sys/devices/system/cpu"


def usable_cores() -> int:
    """Physical cores in the process's affinity mask, at most the CPU time that its control group grants; at least 1.

    Two hardware threads of a core count once: they share the vector units that the kernels keep busy.
    """
    cores = _affinity_cores()
    quota = cgroup_quota()
    return max(1, cores if quota is None else min(cores, math.ceil(quota)))


def _affinity_cores() -> int:
    if not hasattr(os, "sched_getaffinity"):
        return os.cpu_count() or 1
    cpus = os.sched_getaffinity(0)
    siblings = {_read(f"{_CPU}/cpu{cpu}/topology/thread_siblings_list") or f"cpu {cpu}" for cpu in cpus}
    return len(siblings)


def cgroup_quota(root: str = "/sys/fs/cgroup", membership: str = "/proc/self/cgroup") -> float | None:
    """CPUs' worth of time that the control group (v2 or v1) grants, or None if it sets no bound."""
    quotas = []
    for line in (_read(membership) or "").splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if controllers == "":
            quotas += [_quota_v2(group) for group in _up(Path(root), path)]
        elif "cpu" in controllers.split(","):
            quotas += [_quota_v1(group) for name in (controllers, "cpu") for group in _up(Path(root) / name, path)]
    granted = [quota for quota in quotas if quota is not None]
    return min(granted, default=None)


def _up(base: Path, path: str) -> list[Path]:
    """The group's folder and those above it: each may set a bound. In a container only ``base`` may exist."""
    group = base / path.strip("/")
    return [group, *(parent for parent in group.parents if parent == base or base in parent.parents)]


def _quota_v2(group: Path) -> float | None:
    fields = (_read(group / "cpu.max") or "").split()
    if len(fields) != 2 or fields[0] == "max":
        return None
    return _ratio(fields[0], fields[1])


def _quota_v1(group: Path) -> float | None:
    return _ratio(_read(group / "cpu.cfs_quota_us") or "", _read(group / "cpu.cfs_period_us") or "")


def _ratio(quota: str, period: str) -> float | None:
    try:
        time, window = int(quota), int(period)
    except ValueError:
        return None
    return time / window if time > 0 and window > 0 else None


def _read(path: str | Path) -> str | None:
    try:
        with open(path, "rb", buffering=0) as file:
            return file.read(4096).decode("utf-8", "replace").strip()
    except OSError:
        return None
