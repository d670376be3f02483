"""A processor as LLVM describes it, and which instructions it has."""

from __future__ import annotations

import functools
import os
from typing import Any, NamedTuple

__all__ = ["OTHER_CPU", "Features", "Processor", "native_processor"]

OTHER_CPU = ("NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES", "NUMBA_ENABLE_AVX")
"""Variables that ask for code for another processor than this one."""

_NEEDS_AVX = ("avx", "f16c", "fma", "vaes", "vpclmulqdq", "xop")
"""How the features begin whose instructions are encoded as AVX's."""


class Features(NamedTuple):
    """What the target does in one instruction; everything else is written without it."""

    fma: bool
    half: bool  # float16 <-> float32 conversion
    scale: bool  # multiplication by a power of two, to and from the subnormals
    round: bool  # rounding to an integer

    @staticmethod
    def probe(machine: Any) -> Features:
        """Ask LLVM: an operation that becomes a call is one the target lacks."""
        import llvmlite.binding as llvm

        module = llvm.parse_assembly(_PROBE)
        module.triple = str(machine.triple)
        assembly = str(machine.emit_assembly(module))
        return Features(*(name not in assembly for name in ("fmaf", "extendhfsf2", "ldexpf", "rintf")))


_PROBE = """
declare float @llvm.fma.f32(float, float, float)
declare float @llvm.ldexp.f32.i32(float, i32)
declare float @llvm.rint.f32(float)
define float @a(float %x) { %y = call float @llvm.fma.f32(float %x, float %x, float %x) ret float %y }
define float @b(i16 %x) { %h = bitcast i16 %x to half %y = fpext half %h to float ret float %y }
define float @c(float %x, i32 %n) { %y = call float @llvm.ldexp.f32.i32(float %x, i32 %n) ret float %y }
define float @d(float %x) { %y = call float @llvm.rint.f32(float %x) ret float %y }
"""


class Processor(NamedTuple):
    """A processor: LLVM's target triple, its name for the model, and its list of features (``+avx,-avx512f``).

    The model's own features count where the list does not name them.
    """

    triple: str
    cpu: str
    features: str

    def machine(self) -> Any:
        """LLVM's target machine, whose objects :mod:`basalt.runtime.elf` places."""
        return _machine(self)

    def instructions(self) -> Features:
        """What it does in one instruction."""
        # A list of features names all of them, but is empty when only a model was given.
        listed = set(self.features.split(","))
        needed = ("fma", "f16c", "avx512f", "sse4.1")
        if all({f"+{name}", f"-{name}"} & listed for name in needed):
            fma, half, avx512, round_ = (f"+{name}" in listed for name in needed)
            return Features(fma, half, avx512 and "+avx512vl" in listed, round_)
        return _probed(self)


@functools.cache
def native_processor() -> Processor:
    """This machine's processor, or the one that NUMBA_CPU_NAME and NUMBA_CPU_FEATURES name.

    AVX is left alone where NUMBA_ENABLE_AVX is 0, and on the first processors that had it, which lacked AVX2.
    """
    import llvmlite.binding as llvm

    named = os.environ.get("NUMBA_CPU_NAME")
    features = os.environ.get("NUMBA_CPU_FEATURES")
    if features is None:
        features = "" if named is not None and named.lower() == "generic" else _host_features()
    return Processor(llvm.get_process_triple(), named or llvm.get_host_cpu_name(), features)


def _host_features() -> str:
    import llvmlite.binding as llvm

    try:
        features = llvm.get_host_cpu_features()
    except RuntimeError:
        return ""
    if os.environ.get("NUMBA_ENABLE_AVX", "").strip() == "0" or not features.get("avx2", True):
        features.update({name: False for name in features if name.startswith(_NEEDS_AVX)})
    return str(features.flatten())


@functools.cache
def _machine(processor: Processor) -> Any:
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    x86 = processor.triple.startswith(("x86", "i686", "amd64"))
    return llvm.Target.from_triple(processor.triple).create_target_machine(
        cpu=processor.cpu,
        features=processor.features,
        opt=3,
        reloc="static" if x86 else "default",
        codemodel="jitdefault",
        jit=True,
    )


@functools.cache
def _probed(processor: Processor) -> Features:
    return Features.probe(processor.machine())
