"""The vector unit that code is written for is the one of the CPU that Numba compiles for."""

from __future__ import annotations

import pytest
from numba.core.registry import cpu_target

from basalt.compiler.kernels import target as module
from basalt.compiler.kernels.target import Target


def numbas() -> Target:
    codegen = cpu_target.target_context.codegen()
    return Target.of(str(codegen._tm_features), str(codegen._tm.triple))


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Nothing remembered, and no variable that speaks of another CPU."""
    for name in module._OTHER_CPU:
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


def test_the_systems_description_and_numba_agree(fresh: pytest.MonkeyPatch) -> None:
    assert module.target.__wrapped__() == numbas()


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ("fpu sse2", Target(128, 16, 1024)),
        ("avx avx2 fma", Target(256, 16, 32)),
        ("avx avx2 avx512f avx512cd", Target(256, 16, 32)),
        ("avx avx2 avx512f avx512vl avx512bw", Target(512, 32, 8)),
    ],
)
def test_described_cpus(fresh: pytest.MonkeyPatch, flags: str, expected: Target) -> None:
    fresh.setattr(module, "host_cpu", lambda: ("a CPU", flags))
    fresh.setattr(module, "host_platform", lambda: "x86_64-linux")
    assert module.target.__wrapped__() == expected


def test_an_arm_cpu(fresh: pytest.MonkeyPatch) -> None:
    fresh.setattr(module, "host_cpu", lambda: ("a CPU", "fp asimd"))
    fresh.setattr(module, "host_platform", lambda: "aarch64-linux")
    assert module.target.__wrapped__() == Target(128, 32, 1024)


@pytest.mark.parametrize("flags", ["", "fpu avx", "+avx,-avx2", "+avx512f,+avx512vl,+avx512bw"])
def test_numba_is_asked_where_the_description_may_mislead(fresh: pytest.MonkeyPatch, flags: str) -> None:
    fresh.setattr(module, "host_cpu", lambda: ("a CPU", flags))
    assert module.target.__wrapped__() == numbas()


@pytest.mark.parametrize("variable", module._OTHER_CPU)
def test_numba_is_asked_where_it_was_told_of_another_cpu(fresh: pytest.MonkeyPatch, variable: str) -> None:
    fresh.setenv(variable, "1")
    fresh.setattr(module, "host_cpu", lambda: ("a CPU", "fpu sse2"))
    assert module.target.__wrapped__() == numbas()
