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

__all__ = ["executor_key", "kernel_key", "settings_key"]

_ABI = "1"
"""Version of the kernel's signature and of the executor's memory layout; a new one makes old code unknown."""
_SETTINGS = (
    "NUMBA_BOUNDSCHECK",
    "NUMBA_DEBUGINFO",
    "NUMBA_DISABLE_INTEL_SVML",
    "NUMBA_ENABLE_AVX",
    "NUMBA_LOOP_VECTORIZE",
    "NUMBA_OPT",
    "NUMBA_SLP_VECTORIZE",
)
_COMPILING = ("condense", "interleaving", "numba_code", "object_code", "translate")
_HERE = Path(__file__).parent
_KERNELS = _HERE.parent / "kernels"


@functools.lru_cache(maxsize=4096)
def kernel_key(code: KernelCode) -> KernelKey:
    """The key of a kernel's machine code on this machine."""
    source = hashlib.sha256(code.source.encode()).hexdigest()
    return KernelKey({**_kernel_material(), "kernel": code.key, "names": " ".join(code.names), "source": source})


def settings_key() -> str:
    """A hash of all that machine code of any kernel depends on besides its source."""
    return KernelKey(_kernel_material()).name


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
def _kernel_material() -> dict[str, str]:
    name, features = host_cpu()
    return {
        "what": "kernel",
        "abi": _ABI,
        "signature": "i32(i8**, i8**, i8*, i64, i64)",
        "platform": host_platform(),
        "cpu": name,
        "features": features,
        "python": f"{sys.version_info.major}.{sys.version_info.minor}",
        "numba": package_version("numba"),
        "llvmlite": package_version("llvmlite"),
        "settings": " ".join(f"{name}={os.environ[name]}" for name in _SETTINGS if name in os.environ),
        "library": _hash_files(
            [
                *sorted(_KERNELS.rglob("*.py")),
                *(_HERE / f"{name}.py" for name in _COMPILING),
            ]
        ),
    }


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
