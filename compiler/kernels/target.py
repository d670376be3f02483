"""What the target CPU's vector unit looks like, for code that is written for it: width, registers, masked memory."""

from __future__ import annotations

import functools
import os
from typing import NamedTuple

from basalt.runtime.host import host_cpu, host_platform
from basalt.runtime.tile_registers import may_use_tiles

__all__ = ["SPLIT", "Target", "byte_products", "byte_products_of", "matrix_products", "matrix_products_of", "target"]

SPLIT = 8
"""Sums below which a micro-kernel splits each in several: a multiply-add takes four cycles, and two start in each."""


class Target(NamedTuple):
    """A vector unit: bits of a register, number of registers, and the narrowest element (in bits) of masked loads."""

    bits: int
    registers: int
    masked: int
    """LLVM writes masked loads of narrower elements one element at a time."""

    def lanes(self, bits: int) -> int:
        """Elements of some width in one register."""
        return self.bits // bits

    @staticmethod
    def of(features: str, triple: str) -> Target:
        """The vector unit of a CPU.

        Args:
            features: LLVM's list of features, such as ``+avx,+avx2,-avx512f``.
            triple: LLVM's target triple.
        """
        has = set(features.split(","))
        if {"+avx512f", "+avx512vl", "+avx512bw"} <= has:
            return Target(512, 32, 8)
        if "+avx" in has:
            return Target(256, 16, 32)
        return Target(128, 32 if triple.startswith(("aarch64", "arm64")) else 16, 1024)


_OTHER_CPU = ("NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES", "NUMBA_ENABLE_AVX")
"""Variables that have Numba compile for another CPU than this one."""


@functools.cache
def target() -> Target:
    """The vector unit of the CPU that Numba compiles for."""
    return Target.of(*_described())


@functools.cache
def byte_products() -> str:
    """How that CPU sums up products of bytes (see :func:`byte_products_of`)."""
    return byte_products_of(*_described())


def byte_products_of(features: str, triple: str) -> str:
    """The form of :mod:`basalt.compiler.kernels.byte_tiles` for a CPU, given as for :meth:`Target.of`.

    ``vnni`` where four products of bytes are added up by one instruction, ``pairs`` where two of 16 bits are, else
    ``plain``.
    """
    has = {feature.replace("_", "") for feature in features.split(",")}
    bits = Target.of(features, triple).bits
    if (bits == 512 and "+avx512vnni" in has) or (bits == 256 and "+avxvnni" in has):
        return "vnni"
    x86 = triple.startswith(("x86", "i686", "amd64"))
    return "pairs" if x86 and (bits != 256 or "+avx2" in has) else "plain"


@functools.cache
def matrix_products() -> frozenset[str]:
    """The element types whose matrices that CPU multiplies as a whole, if this process may have it do so."""
    found = matrix_products_of(*_described())
    return found if found and may_use_tiles() else frozenset()


def matrix_products_of(features: str, triple: str) -> frozenset[str]:
    """What of ``int8`` and ``bfloat16`` a CPU, given as for :meth:`Target.of`, multiplies tiles of (Intel's AMX)."""
    has = {feature.replace("_", "").replace("-", "") for feature in features.split(",") if feature[:1] == "+"}
    if Target.of(features, triple).bits != 512 or "+amxtile" not in has or "+avx512vnni" not in has:
        return frozenset()
    return frozenset(kind for kind, name in (("int8", "+amxint8"), ("bfloat16", "+amxbf16")) if name in has)


def _described() -> tuple[str, str]:
    """Features and triple of the CPU that Numba compiles for.

    Numba is asked only if it may see another one than the system's description says: with a warm cache, importing it
    would take longer than everything else. It leaves AVX alone on the first CPUs that had it, which lacked AVX2.
    """
    flags = set(host_cpu()[1].split())
    described = bool(flags) and not any(flag.startswith(("+", "-")) for flag in flags)
    if described and ("avx" in flags) == ("avx2" in flags) and not any(name in os.environ for name in _OTHER_CPU):
        return ",".join(f"+{flag}" for flag in sorted(flags)), host_platform()
    from numba.core.registry import cpu_target

    codegen = cpu_target.target_context.codegen()
    return str(codegen._tm_features), str(codegen._tm.triple)
