"""Levels of x86-64: what code for them needs, and which of them this CPU and its system offer.

A level is a set of instructions that compilers agree on (System V ABI, AMD64 supplement, "Low Level System
Information"). Features are named as in Linux's ``/proc/cpuinfo`` or as LLVM does, both are understood.
"""

from __future__ import annotations

import functools
import os
import platform
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from basalt.errors import UnsupportedError, ValidationError

from .host import cpu_flags
from .tile_registers import may_use_tiles

__all__ = ["LEVELS", "NATIVE", "CodeLevel", "choose", "code_features", "features_missing", "host_levels", "lacks"]

LEVELS = ("x86-64-v2", "x86-64-v3", "x86-64-v4")
"""Levels that code is made for; each includes those before it."""
NATIVE = "native"
"""Code for just the features that its :class:`CodeLevel` lists, those of the CPU that it was compiled on."""

_ADDED = {
    "x86-64-v2": ("cx16", "lahflm", "popcnt", "sse3", "sse41", "sse42", "ssse3"),
    "x86-64-v3": ("avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "lzcnt", "movbe", "xsave"),
    "x86-64-v4": ("avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl"),
}
_ALIASES = {
    "pni": "sse3",
    "abm": "lzcnt",
    "bmi": "bmi1",
    "sahf": "lahflm",
    "crc32": "sse42",
    "rdrand": "rdrnd",
    "shani": "sha",
    "pclmulqdq": "pclmul",
    "3dnowprefetch": "prfchw",
}
_BASELINE = ("sse", "sse2")
# What compilers make use of by themselves. The other flags of a CPU say nothing about whether code can run.
# fmt: off
_FAMILIES = (
    "sse", "ssse", "avx", "amx", "apx", "fma", "bmi", "aes", "vaes", "vpclmul", "sm3", "sm4", "sha512", "push2pop2",
)
_INSTRUCTIONS = frozenset([
    "adx", "ccmp", "cf", "cx16", "egpr", "f16c", "gfni", "lahflm", "lzcnt", "movbe", "ndd", "nf", "pclmul", "popcnt",
    "ppx", "prfchw", "sha", "tbm", "xop", "xsave", "zu",
])
# fmt: on
_SAVED_BY_SYSTEM = ("avx", "fma", "f16c", "xop", "vaes", "vpclmul")
_PUNCTUATION = str.maketrans("", "", "+-_. ")
_X86 = ("x86_64", "amd64")


class CodeLevel(NamedTuple):
    """What machine code needs: a level (one of LEVELS, or NATIVE), and features beside it, such as ``amx-int8``."""

    name: str
    features: tuple[str, ...] = ()


def host_levels() -> tuple[str, ...]:
    """The levels that this CPU and its system offer, best first; none on other architectures.

    BASALT_CPU_LEVEL sets the highest. Raises ValidationError if it names no level.
    """
    offered = _offered()
    return tuple(level for level in reversed(LEVELS) if _needed(level) <= offered)


def features_missing(required: Iterable[str]) -> list[str]:
    """Which of some features this CPU or its system lacks, by the names given; names of mere properties are skipped.

    Code for tile registers needs leave of the system, which this asks for if nothing else is missing.
    """
    names = {_canonical(name): name for name in required if not name.startswith("-")}
    wanted = _instructions(names)
    missing = sorted(names[feature] for feature in wanted - _offered())
    tiles = sorted(names[feature] for feature in wanted if feature.startswith("amx"))
    if missing or not tiles or may_use_tiles():
        return missing
    return tiles


def code_features(features: Iterable[str]) -> tuple[str, ...]:
    """Those of a CPU's features that compiled code may use, in one spelling: what :class:`CodeLevel` records."""
    return tuple(sorted(_instructions({_canonical(name) for name in features if not name.startswith("-")})))


def choose(available: Sequence[CodeLevel]) -> int:
    """Number of the best code that this CPU and its system can run: native code before levels, more features first.

    Raises UnsupportedError, saying what each needs, if none can; ValidationError as :func:`host_levels` does.
    """
    for index in sorted(range(len(available)), key=lambda i: _rank(available[i]), reverse=True):
        if not lacks(available[index]):
            return index
    levels = host_levels()
    limit = f" (limited by BASALT_CPU_LEVEL={_limit()})" if _limit() else ""
    offers = f"offers {', '.join(levels)}" if levels else "offers none of the levels"
    needs = "; ".join(f"{level.name} also needs {', '.join(lacks(level))}" for level in available) or "there is no code"
    raise UnsupportedError(f"no machine code fits: this CPU ({_name()}) {offers}{limit}, but {needs}")


def lacks(level: CodeLevel) -> list[str]:
    """What this CPU or its system lacks for some code; nothing if it can run. Raises as :func:`host_levels` does."""
    if level.name == NATIVE:
        return features_missing(level.features)
    if level.name in LEVELS and _is_x86():
        return features_missing([*sorted(_needed(level.name)), *level.features])
    return ["an x86-64 CPU" if level.name in LEVELS else "a later version of Basalt"]


def _rank(level: CodeLevel) -> tuple[int, int]:
    order = [*LEVELS, NATIVE]
    return (order.index(level.name) if level.name in order else -1, len(level.features))


def _needed(level: str) -> frozenset[str]:
    """Features of a level and all below it."""
    return frozenset([*_BASELINE, *(name for lower in LEVELS[: LEVELS.index(level) + 1] for name in _ADDED[lower])])


def _canonical(name: str) -> str:
    """One spelling for Linux's and LLVM's names: ``sse4_2`` and ``+sse4.2``, ``avx512_vnni`` and ``avx512vnni``."""
    plain = name.lower().translate(_PUNCTUATION)
    return _ALIASES.get(plain, plain)


def _instructions(names: Iterable[str]) -> set[str]:
    if not _is_x86():
        return set(names)
    return {name for name in names if name in _INSTRUCTIONS or name.startswith(_FAMILIES)}


def _is_x86() -> bool:
    return platform.machine().lower() in _X86


def _offered() -> frozenset[str]:
    limit = _limit()
    return _found() & _needed(limit) if limit else _found()


@functools.cache
def _found() -> frozenset[str]:
    """Linux leaves out what it does not save when it switches threads, but a hypervisor may leave out xsave alone."""
    found = {_canonical(name) for name in cpu_flags()[1]}
    if _is_x86() and "xsave" not in found:
        found = {name for name in found if not name.startswith(_SAVED_BY_SYSTEM)}
    return frozenset(found)


def _limit() -> str:
    text = os.environ.get("BASALT_CPU_LEVEL", "").strip().lower()
    if not text:
        return ""
    level = text if text.startswith("x86-64-") else f"x86-64-{text}"
    if level not in LEVELS:
        raise ValidationError(f"BASALT_CPU_LEVEL is {text!r}, expected one of {', '.join(LEVELS)}")
    return level


def _name() -> str:
    return cpu_flags()[0].rpartition("/")[2] or platform.machine()
