"""What the target CPU's vector unit looks like, for code that is written for it: width, registers, masked memory."""

from __future__ import annotations

import functools
from typing import NamedTuple

from numba.core.registry import cpu_target

__all__ = ["Target", "target"]


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


@functools.cache
def target() -> Target:
    """The vector unit of the CPU that Numba compiles for."""
    codegen = cpu_target.target_context.codegen()
    return Target.of(str(codegen._tm_features), str(codegen._tm.triple))
