"""Functions that kernels may call: an allow-list, so that object code can never reach for anything else."""

from __future__ import annotations

import ctypes
import functools
import sys

from basalt.errors import UnsupportedError

from ..memory import function_address

__all__ = ["ALLOWED", "check_allowed", "resolve"]

# fmt: off
_LIBM = (
    "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "ceil", "copysign", "cos", "cosh", "erf",
    "erfc", "exp", "exp2", "expm1", "fabs", "fdim", "floor", "fma", "fmax", "fmin", "fmod", "frexp", "hypot", "ldexp",
    "lgamma", "log", "log10", "log1p", "log2", "lrint", "lround", "llrint", "llround", "modf", "nearbyint",
    "nextafter", "pow", "remainder", "rint", "round", "roundeven", "scalbn", "sin", "sinh", "sqrt", "tan", "tanh",
    "tgamma", "trunc",
)
_MEMORY = ("bcmp", "memcmp", "memcpy", "memmove", "memset")
_COMPILER_RT = (
    "__divti3", "__extendhfsf2", "__fixunsdfti", "__fixunssfti", "__floattidf", "__floattisf", "__floatuntidf",
    "__floatuntisf", "__gnu_f2h_ieee", "__gnu_h2f_ieee", "__modti3", "__multi3", "__truncdfbf2", "__truncdfhf2",
    "__truncsfbf2", "__truncsfhf2", "__udivti3", "__umodti3",
)
# fmt: on
# What LLVM calls by itself for the system's sake.
_SYSTEM = {
    "darwin": (
        "__bzero",
        "__sincos_stret",
        "__sincosf_stret",
        "memset_pattern4",
        "memset_pattern8",
        "memset_pattern16",
    ),
    "win32": ("__chkstk", "_fltused"),
}.get(sys.platform, ())

ALLOWED = frozenset([*_LIBM, *(name + "f" for name in _LIBM), *_MEMORY, *_COMPILER_RT, *_SYSTEM])
"""Names that object code may import: C's mathematics, memory functions, and the compiler's own helpers."""


@functools.cache
def _libraries() -> tuple[ctypes.CDLL, ...]:
    if sys.platform == "win32":
        names: tuple[str | None, ...] = ("ucrtbase", "msvcrt", "ntdll")
    elif sys.platform == "darwin":
        names = (None,)
    else:
        names = ("libm.so.6", "libgcc_s.so.1", None)
    found = []
    for name in names:
        try:
            found.append(ctypes.CDLL(name))
        except OSError:
            continue
    return tuple(found)


def check_allowed(name: str) -> None:
    """Raises UnsupportedError if code may not import ``name``."""
    if name not in ALLOWED:
        raise UnsupportedError(f"object code asks for {name!r}, which kernels may not use")


@functools.cache
def resolve(name: str) -> int:
    """Address of the function ``name``. Raises UnsupportedError if it is not allowed or this system lacks it."""
    check_allowed(name)
    for library in _libraries():
        try:
            function = getattr(library, name)
        except AttributeError:
            continue
        address = function_address(function)
        if address:
            return address
    raise UnsupportedError(f"object code asks for {name!r}, which this system does not have")
