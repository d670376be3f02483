"""What the machine code of kernels depends on besides their source."""

from __future__ import annotations

import functools
import hashlib
import os
import sys
from pathlib import Path

from basalt.runtime.cache_files import KernelKey
from basalt.runtime.host import host_cpu, host_platform
from basalt.runtime.spec import KernelCode
from basalt.runtime.versions import package_version

from ..kernels.target import NATIVE, Target, target

__all__ = ["executor_key", "kernel_key", "settings_key"]

_ABI = "1"
"""Version of the kernel's signature and of the executor's memory layout; a new one makes old code unknown."""
_SETTINGS = ("NUMBA_ENABLE_AVX",)
"""Variables besides those that name the CPU (:func:`basalt.runtime.host.host_cpu`)."""
_COMPILING = ("condense", "interleaving", "numba_code", "object_code", "translate")
_HERE = Path(__file__).parent
_KERNELS = _HERE.parent / "kernels"


def kernel_key(code: KernelCode, goal: Target | None = None) -> KernelKey:
    """The key of a kernel's machine code for a target, by default the current one."""
    return _kernel_key(code, (goal or target()).name)


@functools.lru_cache(maxsize=4096)
def _kernel_key(code: KernelCode, name: str) -> KernelKey:
    source = hashlib.sha256(code.source.encode()).hexdigest()
    material = {**_kernel_material(name), "kernel": code.key, "names": " ".join(code.names), "source": source}
    return KernelKey(material)


def settings_key(goal: Target | None = None) -> str:
    """A hash of all that machine code of any kernel for a target depends on besides its source."""
    return KernelKey(_kernel_material((goal or target()).name)).name


def executor_key() -> KernelKey:
    """The key of the executor's machine code, which depends on the architecture but not on the CPU."""
    sources = [_HERE / "emitter.py", *sorted(_HERE.glob("executor*.py"))]
    return KernelKey(
        {
            "what": "executor",
            "abi": _ABI,
            "platform": host_platform(),
            "llvmlite": package_version("llvmlite"),
            "library": _hash_files([*sources, _layout_file()]),
        }
    )


@functools.cache
def _kernel_material(name: str) -> dict[str, str]:
    """What code depends on for the target of that name: this machine's CPU, or a level, which is its own CPU."""
    return {
        **(_native_cpu() if name == NATIVE else {"target": name}),
        "what": "kernel",
        "abi": _ABI,
        "signature": "i32(i8**, i8**, i8*, i64, i64)",
        "platform": host_platform(),
        "python": f"{sys.version_info.major}.{sys.version_info.minor}",
        "numba": package_version("numba"),
        "llvmlite": package_version("llvmlite"),
        "library": _hash_files(
            [
                *sorted(_KERNELS.rglob("*.py")),
                *(_HERE / f"{name}.py" for name in _COMPILING),
            ]
        ),
    }


def _native_cpu() -> dict[str, str]:
    name, features = host_cpu()
    settings = " ".join(f"{name}={os.environ[name]}" for name in _SETTINGS if name in os.environ)
    return {"cpu": name, "features": features, "settings": settings}


def _layout_file() -> Path:
    from basalt.runtime import layout

    return Path(layout.__file__)


def _hash_files(paths: list[Path]) -> str:
    digest = hashlib.sha256()
    for path in paths:
        content = path.read_bytes()
        digest.update(f"{path.name} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()
