"""What a page says of how it was made: versions and processor."""

from __future__ import annotations

import platform

from basalt.runtime.cpus import usable_cores
from basalt.runtime.host import host_cpu, host_platform
from basalt.runtime.versions import package_version

__all__ = ["made_with"]


def made_with() -> list[tuple[str, str]]:
    """Names and values: versions, this machine's processor and platform, what code is compiled for."""
    import llvmlite.binding as llvm

    import basalt

    from ..kernels.target import target

    goal = target()
    packages = {name: package_version(name) for name in ("numba", "llvmlite", "numpy")}
    versions = {
        "Basalt": basalt.__version__,
        **packages,
        "LLVM": ".".join(map(str, llvm.llvm_version_info)),
        "Python": platform.python_version(),
    }
    cores = usable_cores()
    return [
        ("versions", ", ".join(f"{name} {version}" for name, version in versions.items())),
        ("processor", f"{host_cpu()[0].rpartition('/')[2] or 'unknown'}, {cores} core{'s'[: cores > 1]}"),
        ("code is for", f"{goal.processor.cpu}, with {goal.registers} vector registers of {goal.bits} bits"),
        ("platform", host_platform()),
    ]
