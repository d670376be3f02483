"""What code is compiled for: this machine's CPU, or any that has the instructions of a level of x86-64.

One target is the current one in a thread, this machine's unless a block says otherwise (:func:`compiling_for`). All
that is written for a CPU's vector unit, caches and instructions asks :func:`target`, and remembers no answer.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple

from basalt.errors import UnsupportedError, ValidationError
from basalt.runtime.caches import CacheSizes, cache_sizes
from basalt.runtime.host import host_cpu, host_platform
from basalt.runtime.tile_registers import may_use_tiles

from .processor import OTHER_CPU, Features, Processor, native_processor

__all__ = [
    "LEVELS",
    "NATIVE",
    "SPLIT",
    "Target",
    "byte_products",
    "byte_products_of",
    "compiling_for",
    "matrix_products",
    "matrix_products_of",
    "native_target",
    "target",
    "target_named",
]

SPLIT = 8
"""Sums below which a micro-kernel splits each in several: a multiply-add takes four cycles, and two start in each."""

NATIVE = "native"
"""The name of the target that is this machine's CPU."""


class Target(NamedTuple):
    """A CPU: its vector unit, and what else of it decides how kernels are written.

    The vector unit is the bits of a register, the number of registers, and the narrowest element (in bits) of masked
    loads: LLVM writes those of narrower elements one element at a time.
    """

    bits: int
    registers: int
    masked: int
    byte_products: str = "plain"
    """How products of bytes are summed up (see :func:`byte_products_of`)."""
    matrix_products: frozenset[str] = frozenset()
    """The element types whose matrices are multiplied as a whole."""
    name: str = NATIVE
    """``native``, or a level of x86-64's psABI, such as ``x86-64-v3``."""
    usual_caches: CacheSizes | None = None
    """Sizes that CPUs of a level commonly have; None where this machine's are meant."""

    def lanes(self, bits: int) -> int:
        """Elements of some width in one register."""
        return self.bits // bits

    @property
    def widens_halves(self) -> bool:
        """Whether float16 is widened to float32 by one instruction, as CPUs with AVX2 and those of ARM do."""
        return self.bits >= 256 or self.registers >= 32

    @property
    def is_native(self) -> bool:
        """Whether code is compiled for this machine alone."""
        return self.name == NATIVE

    @property
    def caches(self) -> CacheSizes:
        """The sizes of the caches by which kernels divide their work."""
        return self.usual_caches or cache_sizes()

    @property
    def processor(self) -> Processor:
        """The CPU in LLVM's words; imports llvmlite."""
        native = native_processor()
        return native if self.is_native else Processor(native.triple, self.name, "")

    @property
    def features(self) -> Features:
        """What it does in one instruction; imports llvmlite."""
        return self.processor.instructions()

    @staticmethod
    def of(features: str, triple: str) -> Target:
        """A CPU like this machine's.

        Args:
            features: LLVM's list of features, such as ``+avx,+avx2,-avx512f``.
            triple: LLVM's target triple.
        """
        bits, registers, masked = _vector_unit(features, triple)
        return Target(bits, registers, masked, byte_products_of(features, triple), matrix_products_of(features, triple))


def _vector_unit(features: str, triple: str) -> tuple[int, int, int]:
    has = set(features.split(","))
    if {"+avx512f", "+avx512vl", "+avx512bw"} <= has:
        return 512, 32, 8
    if "+avx" in has:
        return 256, 16, 32
    return 128, 32 if triple.startswith(("aarch64", "arm64")) else 16, 1024


_KIB = 1 << 10
LEVELS = {
    level.name: level
    for level in (
        Target(128, 16, 1024, "pairs", name="x86-64-v2", usual_caches=CacheSizes(32 * _KIB, 256 * _KIB)),
        Target(256, 16, 32, "pairs", name="x86-64-v3", usual_caches=CacheSizes(32 * _KIB, 512 * _KIB)),
        Target(512, 32, 8, "pairs", name="x86-64-v4", usual_caches=CacheSizes(32 * _KIB, 1024 * _KIB)),
    )
}
"""The levels of x86-64 by name (System V psABI: v2 has SSE4.2, v3 AVX2, FMA and F16C, v4 AVX-512 F, BW, CD, DQ, VL)."""

_current: ContextVar[Target | None] = ContextVar("basalt_target", default=None)


def target() -> Target:
    """What this thread compiles for."""
    return _current.get() or native_target()


@contextmanager
def compiling_for(wanted: str | Target) -> Iterator[Target]:
    """Have the block compile for a target, given or named as for :func:`target_named`.

    It holds for this thread alone: what the block has other threads or processes do must be told the target.
    """
    found = target_named(wanted) if isinstance(wanted, str) else wanted
    token = _current.set(found)
    try:
        yield found
    finally:
        _current.reset(token)


def target_named(name: str) -> Target:
    """The target called ``native`` or like one of :data:`LEVELS`.

    Raises:
        ValidationError: for another name.
        UnsupportedError: for a level of x86-64 where this machine is of another architecture.
    """
    if name == NATIVE:
        return native_target()
    if name not in LEVELS:
        raise ValidationError(f"there is no target {name!r}, expected one of {', '.join([NATIVE, *LEVELS])}")
    if not host_platform().startswith(("x86_64", "amd64")):
        raise UnsupportedError(f"{name} is a level of x86-64, and this machine is {host_platform()}")
    return LEVELS[name]


@functools.cache
def native_target() -> Target:
    """This machine's CPU, or the one that Numba's variables name (see :func:`native_processor`)."""
    found = Target.of(*_described())
    if found.matrix_products and not may_use_tiles():
        return found._replace(matrix_products=frozenset())
    return found


def byte_products() -> str:
    """How the CPU that is compiled for sums up products of bytes (see :func:`byte_products_of`)."""
    return target().byte_products


def byte_products_of(features: str, triple: str) -> str:
    """The form of :mod:`basalt.compiler.kernels.byte_tiles` for a CPU, given as for :meth:`Target.of`.

    ``vnni`` where four products of bytes are added up by one instruction, ``pairs`` where two of 16 bits are, else
    ``plain``.
    """
    has = {feature.replace("_", "") for feature in features.split(",")}
    bits, *_ = _vector_unit(features, triple)
    if (bits == 512 and "+avx512vnni" in has) or (bits == 256 and "+avxvnni" in has):
        return "vnni"
    x86 = triple.startswith(("x86", "i686", "amd64"))
    return "pairs" if x86 and (bits != 256 or "+avx2" in has) else "plain"


def matrix_products() -> frozenset[str]:
    """The element types whose matrices the CPU that is compiled for multiplies as a whole."""
    return target().matrix_products


def matrix_products_of(features: str, triple: str) -> frozenset[str]:
    """What of ``int8`` and ``bfloat16`` a CPU, given as for :meth:`Target.of`, multiplies tiles of (Intel's AMX)."""
    has = {feature.replace("_", "").replace("-", "") for feature in features.split(",") if feature[:1] == "+"}
    bits, *_ = _vector_unit(features, triple)
    if bits != 512 or "+amxtile" not in has or "+avx512vnni" not in has:
        return frozenset()
    return frozenset(kind for kind, name in (("int8", "+amxint8"), ("bfloat16", "+amxbf16")) if name in has)


def _described() -> tuple[str, str]:
    """Features and triple of this machine's CPU.

    LLVM is asked only if it may see another one than the system's description says: with a warm cache, importing it
    would take longer than everything else.
    """
    flags = set(host_cpu()[1].split())
    described = bool(flags) and not any(flag.startswith(("+", "-")) for flag in flags)
    if described and ("avx" in flags) == ("avx2" in flags) and not any(name in os.environ for name in OTHER_CPU):
        return ",".join(f"+{flag}" for flag in sorted(flags)), host_platform()
    native = native_processor()
    return native.features, native.triple
