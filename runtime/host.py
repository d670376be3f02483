"""What machine this is, in words that decide whether machine code made elsewhere or earlier may run here."""

from __future__ import annotations

import functools
import os
import platform
import sys

from .tile_registers import without_tiles

__all__ = ["cpu_flags", "host_cpu", "host_platform"]

_X86_FIELDS = ("vendor_id", "cpu family", "model", "model name")
_ARM_FIELDS = ("CPU implementer", "CPU architecture", "CPU variant", "CPU part")


@functools.cache
def host_cpu() -> tuple[str, str]:
    """Name and features of the CPU that code is compiled for.

    NUMBA_CPU_NAME and NUMBA_CPU_FEATURES take their places if they are set. On Linux the rest comes from the kernel's
    description, which costs a tenth of a millisecond; elsewhere LLVM is asked. Tile registers are among the features
    only if the process may use them, which this asks for.
    """
    name, features = os.environ.get("NUMBA_CPU_NAME"), os.environ.get("NUMBA_CPU_FEATURES")
    found_name, found_features = ("", "") if name and features is not None else _detect()
    return name or found_name, found_features if features is None else features


@functools.cache
def host_platform() -> str:
    """Architecture and system, such as ``x86_64-linux``."""
    return f"{platform.machine().lower()}-{sys.platform}"


@functools.cache
def cpu_flags() -> tuple[str, tuple[str, ...]]:
    """Name of this CPU, and the features that the system lets programs use, tile registers without asking for them.

    Both are empty where neither the system nor LLVM tells.
    """
    found = _read_cpuinfo()
    if found:
        return found[0], tuple(found[1].split())
    try:
        name, features = _ask_llvm()
    except ImportError:
        return "", ()
    return name, tuple(feature[1:] for feature in features.split(",") if feature.startswith("+"))


def _detect() -> tuple[str, str]:
    found = _read_cpuinfo()
    return (found[0], without_tiles(found[1])) if found else _ask_llvm()


def _read_cpuinfo() -> tuple[str, str] | None:
    try:
        # The first processor is enough, and the kernel is slow to describe hundreds of them.
        with open("/proc/cpuinfo", "rb", buffering=0) as file:
            text = file.read(8192).decode("utf-8", "replace")
    except OSError:
        return None
    return parse_cpuinfo(text)


def parse_cpuinfo(text: str) -> tuple[str, str] | None:
    """Name and features of the first processor in Linux's ``/proc/cpuinfo``; None if they are not there."""
    lines = text.split("\n\n", 1)[0].splitlines()
    fields = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in lines)}
    features = fields.get("flags") or fields.get("Features")
    name = "/".join(fields[key] for key in (*_X86_FIELDS, *_ARM_FIELDS) if key in fields)
    return (name, " ".join(sorted(features.split()))) if features and name else None


def _ask_llvm() -> tuple[str, str]:
    import llvmlite.binding as llvm

    return llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()
