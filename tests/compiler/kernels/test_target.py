"""What code is written for: this machine's CPU as LLVM sees it, or a level of x86-64."""

from __future__ import annotations

import platform
import threading

import pytest
from numba.core.registry import cpu_target

from basalt.compiler.kernels import processor as processor_module
from basalt.compiler.kernels import target as module
from basalt.compiler.kernels.emit import Features
from basalt.compiler.kernels.processor import Processor, native_processor
from basalt.compiler.kernels.target import LEVELS, NATIVE, Target, compiling_for, native_target, target, target_named
from basalt.errors import UnsupportedError, ValidationError

V3 = "x86-64-v3"
on_x86 = pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="levels are those of x86-64")


def described_by_llvm() -> Target:
    native = native_processor.__wrapped__()
    return Target.of(native.features, native.triple)


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Nothing remembered, no variable that speaks of another CPU, and no tile registers."""
    for name in processor_module.OTHER_CPU:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(module, "may_use_tiles", lambda: True)
    monkeypatch.setattr(module, "native_processor", native_processor.__wrapped__)
    return monkeypatch


def test_the_processor_is_the_one_that_numba_sees(fresh: pytest.MonkeyPatch) -> None:
    codegen, native = cpu_target.target_context.codegen(), native_processor.__wrapped__()
    assert native.triple == str(codegen._tm.triple)
    assert native.features == str(codegen._tm_features)
    assert str(native.machine().target_data) == codegen._data_layout


def test_the_systems_description_and_llvm_agree(fresh: pytest.MonkeyPatch) -> None:
    assert native_target.__wrapped__() == described_by_llvm()


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ("fpu sse2", Target(128, 16, 1024, "pairs")),
        ("avx avx2 fma", Target(256, 16, 32, "pairs")),
        ("avx avx2 avx_vnni", Target(256, 16, 32, "vnni")),
        ("avx avx2 avx512f avx512cd", Target(256, 16, 32, "pairs")),
        ("avx avx2 avx512f avx512vl avx512bw", Target(512, 32, 8, "pairs")),
        (
            "avx avx2 avx512f avx512vl avx512bw avx512_vnni amx_tile amx_int8",
            Target(512, 32, 8, "vnni", frozenset({"int8"})),
        ),
    ],
)
def test_described_cpus(fresh: pytest.MonkeyPatch, flags: str, expected: Target) -> None:
    fresh.setattr(module, "host_cpu", lambda: ("a CPU", flags))
    fresh.setattr(module, "host_platform", lambda: "x86_64-linux")
    assert native_target.__wrapped__() == expected


def test_tiles_that_may_not_be_used_do_not_count(fresh: pytest.MonkeyPatch) -> None:
    flags = "avx avx2 avx512f avx512vl avx512bw avx512_vnni amx_tile amx_int8 amx_bf16"
    fresh.setattr(module, "host_cpu", lambda: ("a CPU", flags))
    fresh.setattr(module, "host_platform", lambda: "x86_64-linux")
    assert native_target.__wrapped__().matrix_products == {"int8", "bfloat16"}
    fresh.setattr(module, "may_use_tiles", lambda: False)
    assert not native_target.__wrapped__().matrix_products


def test_an_arm_cpu(fresh: pytest.MonkeyPatch) -> None:
    fresh.setattr(module, "host_cpu", lambda: ("a CPU", "fp asimd"))
    fresh.setattr(module, "host_platform", lambda: "aarch64-linux")
    assert native_target.__wrapped__() == Target(128, 32, 1024, "plain")
    with pytest.raises(UnsupportedError, match="x86-64-v3 is a level of x86-64, and this machine is aarch64-linux"):
        target_named(V3)


@pytest.mark.parametrize("flags", ["", "fpu avx", "+avx,-avx2", "+avx512f,+avx512vl,+avx512bw"])
def test_llvm_is_asked_where_the_description_may_mislead(fresh: pytest.MonkeyPatch, flags: str) -> None:
    fresh.setattr(module, "host_cpu", lambda: ("a CPU", flags))
    assert native_target.__wrapped__() == described_by_llvm()


@pytest.mark.parametrize("variable", processor_module.OTHER_CPU)
def test_llvm_is_asked_where_it_was_told_of_another_cpu(fresh: pytest.MonkeyPatch, variable: str) -> None:
    fresh.setenv(variable, "1")
    fresh.setattr(module, "host_cpu", lambda: ("a CPU", "fpu sse2"))
    assert native_target.__wrapped__() == described_by_llvm()


def test_variables_name_another_processor(fresh: pytest.MonkeyPatch) -> None:
    fresh.setenv("NUMBA_CPU_NAME", "skylake-avx512")
    fresh.setenv("NUMBA_CPU_FEATURES", "+avx,+avx2,+avx512f,+avx512vl,+avx512bw")
    assert native_processor.__wrapped__()[1:] == ("skylake-avx512", "+avx,+avx2,+avx512f,+avx512vl,+avx512bw")
    assert native_target.__wrapped__().bits == 512
    fresh.delenv("NUMBA_CPU_FEATURES")
    fresh.setenv("NUMBA_CPU_NAME", "generic")
    assert native_processor.__wrapped__()[1:] == ("generic", "")


@on_x86
def test_without_avx_nothing_is_left_that_needs_it(fresh: pytest.MonkeyPatch) -> None:
    fresh.setenv("NUMBA_ENABLE_AVX", "0")
    native = native_processor.__wrapped__()
    assert native_target.__wrapped__().bits == 128
    assert not any(f.startswith(("+avx", "+fma", "+f16c")) for f in native.features.split(","))
    assert native.instructions() == Features(False, False, False, True)


@on_x86
@pytest.mark.parametrize(
    ("name", "features"),
    [
        ("x86-64-v2", Features(False, False, False, True)),
        ("x86-64-v3", Features(True, True, False, True)),
        ("x86-64-v4", Features(True, True, True, True)),
    ],
)
def test_levels(name: str, features: Features) -> None:
    level = target_named(name)
    assert level.name == name and not level.is_native
    assert level.processor == Processor(native_processor().triple, name, "")
    assert level.features == features
    assert level.byte_products == "pairs" and not level.matrix_products
    assert 0 < level.caches.first < level.caches.second


def test_other_names_are_refused() -> None:
    with pytest.raises(ValidationError, match="no target 'x86-64-v5', expected one of native, x86-64-v2, x86-64-v3"):
        target_named("x86-64-v5")


@on_x86
def test_the_current_target_is_the_blocks_own() -> None:
    assert target() is native_target()
    with compiling_for(V3) as outer:
        assert outer is target() is LEVELS[V3]
        with compiling_for(NATIVE):
            assert target() is native_target()
        with pytest.raises(ZeroDivisionError), compiling_for("x86-64-v2"):
            raise ZeroDivisionError
        assert target() is outer
        found: list[Target] = []
        thread = threading.Thread(target=lambda: found.append(target()))
        thread.start()
        thread.join()
        assert found == [native_target()]
    assert target() is native_target()
