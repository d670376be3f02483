"""Levels of x86-64: from what the system tells of a CPU to the code that is chosen for it."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest

from basalt.errors import UnsupportedError, ValidationError
from basalt.runtime import host, levels
from basalt.runtime.host import cpu_flags
from basalt.runtime.levels import LEVELS, NATIVE, CodeLevel, choose, code_features, features_missing, host_levels

V1 = "fpu cx8 cmov mmx fxsr sse sse2 syscall nx lm constant_tsc"
V2 = f"{V1} pni ssse3 cx16 sse4_1 sse4_2 popcnt lahf_lm misalignsse"
V3 = f"{V2} fma movbe xsave avx f16c abm bmi1 avx2 bmi2"
V4 = f"{V3} avx512f avx512dq avx512cd avx512bw avx512vl"
TILES = f"{V4} avx512_vnni amx_bf16 amx_tile amx_int8"
ALL = [CodeLevel(level) for level in LEVELS]


def cpuinfo(flags: str, machine: str = "x86_64") -> str:
    if machine == "aarch64":
        return f"processor\t: 0\nFeatures\t: {flags}\nCPU implementer\t: 0x41\nCPU part\t: 0xd40\n"
    head = "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 143\nmodel name\t: Some CPU\n"
    return f"{head}flags\t\t: {flags}\n\nprocessor\t: 1\nflags\t\t: {flags}\n"


@pytest.fixture
def cpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Makes this machine look like another."""
    monkeypatch.delenv("BASALT_CPU_LEVEL", raising=False)

    def become(flags: str, machine: str = "x86_64", tiles: bool = False) -> None:
        forget()
        monkeypatch.setattr(host, "_read_cpuinfo", lambda: host.parse_cpuinfo(cpuinfo(flags, machine)))
        monkeypatch.setattr(platform, "machine", lambda: machine)
        monkeypatch.setattr(levels, "may_use_tiles", lambda: tiles)

    yield become
    forget()


def forget() -> None:
    cpu_flags.cache_clear()
    levels._found.cache_clear()


@pytest.mark.parametrize(("flags", "count"), [(V1, 0), (V2, 1), (V3, 2), (V4, 3), (TILES, 3)])
def test_levels_of_cpus(cpu: Callable[..., None], flags: str, count: int) -> None:
    cpu(flags)
    assert host_levels() == tuple(reversed(LEVELS[:count]))
    if count:
        assert choose(ALL) == count - 1
        assert choose(ALL[::-1]) == 3 - count
    else:
        with pytest.raises(UnsupportedError, match="offers none of the levels, but x86-64-v2 also needs cx16, lahflm"):
            choose(ALL)


@pytest.mark.parametrize("feature", V4.split()[len(V1.split()) :])
def test_every_feature_of_a_level_counts(cpu: Callable[..., None], feature: str) -> None:
    cpu(" ".join(flag for flag in V4.split() if flag != feature))
    if feature == "misalignsse":
        assert host_levels() == LEVELS[::-1]
        return
    level = next(i for i, flags in enumerate((V2, V3, V4)) if feature in flags.split())
    assert host_levels() == LEVELS[:level][::-1]


def test_avx_that_the_system_does_not_save(cpu: Callable[..., None]) -> None:
    # Linux leaves the flags out then; a hypervisor may mask xsave and forget the rest.
    cpu(V4.replace(" xsave", ""))
    assert host_levels() == ("x86-64-v2",)
    assert features_missing(["avx2", "sse4_2", "avx512f", "fma"]) == ["avx2", "avx512f", "fma"]


def test_a_hypervisor_that_masks_a_part(cpu: Callable[..., None]) -> None:
    cpu(V4.replace(" movbe", "") + " hypervisor")
    assert host_levels() == ("x86-64-v2",)
    with pytest.raises(UnsupportedError) as error:
        choose([CodeLevel("x86-64-v3"), CodeLevel("x86-64-v4")])
    assert "this CPU (Some CPU) offers x86-64-v2, but" in str(error.value)
    assert "x86-64-v3 also needs movbe; x86-64-v4 also needs movbe" in str(error.value)


def test_other_architectures(cpu: Callable[..., None]) -> None:
    cpu("fp asimd asimddp sve", machine="aarch64")
    assert host_levels() == ()
    assert features_missing(["asimd", "sve2", "sve"]) == ["sve2"]
    assert choose([CodeLevel("x86-64-v2"), CodeLevel(NATIVE, ("asimd", "sve"))]) == 1
    with pytest.raises(UnsupportedError, match="x86-64-v2 also needs an x86-64 CPU"):
        choose(ALL)


def test_no_description_and_no_llvm(cpu: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    cpu(V4)
    monkeypatch.setattr(host, "_read_cpuinfo", lambda: None)
    monkeypatch.setitem(sys.modules, "llvmlite.binding", None)
    assert host_levels() == ()
    with pytest.raises(UnsupportedError, match=r"this CPU \(x86_64\) offers none"):
        choose(ALL)


def test_names_of_linux_and_of_llvm(cpu: Callable[..., None]) -> None:
    cpu(f"{TILES} avx_vnni sha_ni pclmulqdq 3dnowprefetch", tiles=True)
    names = ["+avx2", "sse4.2", "bmi", "sahf", "lzcnt", "sse3", "amx-int8", "avx512vnni", "avxvnni", "sha", "pclmul"]
    assert features_missing([*names, "crc32", "prfchw", "-avx512fp16", "64bit", "constant_tsc"]) == []
    assert features_missing(["+avx512fp16", "avx512_bf16"]) == ["+avx512fp16", "avx512_bf16"]
    assert code_features(["avx512_vnni", "hypervisor", "-avx2", "+sse4.1"]) == ("avx512vnni", "sse41")


def test_native_code_goes_first_where_it_fits(cpu: Callable[..., None]) -> None:
    available = [*ALL, CodeLevel(NATIVE, ("sse", "avx2", "fma")), CodeLevel(NATIVE, ("avx2", "fma", "gfni", "sse4_2"))]
    cpu(V4)
    assert choose(available) == 3
    cpu(V4 + " gfni")
    assert choose(available) == 4
    cpu(V2)
    assert choose(available) == 0


def test_tile_registers_need_leave(cpu: Callable[..., None]) -> None:
    available = [CodeLevel("x86-64-v4", ("amx-tile", "amx-int8")), CodeLevel("x86-64-v4")]
    cpu(TILES, tiles=True)
    assert choose(available) == 0
    cpu(TILES, tiles=False)
    assert choose(available) == 1
    assert features_missing(["amx-int8", "avx512f"]) == ["amx-int8"]
    with pytest.raises(UnsupportedError, match="also needs amx-int8, amx-tile"):
        choose(available[:1])


def test_leave_is_not_asked_for_in_vain(cpu: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    cpu(TILES)
    monkeypatch.setattr(levels, "may_use_tiles", lambda: pytest.fail("asked"))
    assert features_missing(["amx-int8", "avx10"]) == ["avx10"]
    assert choose([CodeLevel("x86-64-v4"), CodeLevel("x86-64-v3", ("amx-int8", "avx512_fp16"))]) == 0


@pytest.mark.parametrize("text", ["x86-64-v3", "v3", " V3 "])
def test_the_environment_sets_a_limit(cpu: Callable[..., None], monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    cpu(V4)
    monkeypatch.setenv("BASALT_CPU_LEVEL", text)
    assert host_levels() == ("x86-64-v3", "x86-64-v2")
    native = [CodeLevel(NATIVE, ("avx512f",)), CodeLevel(NATIVE, ("sse2", "avx2"))]
    assert choose(ALL + native) == 4
    assert choose(ALL + native[:1]) == 1
    with pytest.raises(UnsupportedError, match="limited by BASALT_CPU_LEVEL=x86-64-v3"):
        choose(ALL[2:])


def test_the_limit_never_raises_the_level(cpu: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    cpu(V2)
    monkeypatch.setenv("BASALT_CPU_LEVEL", "v4")
    assert host_levels() == ("x86-64-v2",)


@pytest.mark.parametrize("text", ["v1", "x86-64", "haswell", "v33"])
def test_limits_that_are_none(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("BASALT_CPU_LEVEL", text)
    with pytest.raises(ValidationError, match=r"BASALT_CPU_LEVEL is '.*', expected one of x86-64-v2, x86-64-v3"):
        host_levels()


def test_unknown_levels_and_none(cpu: Callable[..., None]) -> None:
    cpu(V4)
    assert choose([CodeLevel("x86-64-v5"), CodeLevel("x86-64-v2")]) == 1
    with pytest.raises(UnsupportedError, match="x86-64-v5 also needs a later version"):
        choose([CodeLevel("x86-64-v5")])
    with pytest.raises(UnsupportedError, match="there is no code"):
        choose([])


def test_this_machine_has_what_llvm_says_it_has() -> None:
    import llvmlite.binding as llvm

    features = llvm.get_host_cpu_features()
    assert features_missing(name for name, present in features.items() if present and not name.startswith("amx")) == []
    assert features_missing(cpu_flags()[1]) == [] or "amx" in " ".join(cpu_flags()[1])


@pytest.mark.skipif(not os.path.exists("/lib64/ld-linux-x86-64.so.2"), reason="needs glibc's loader for x86-64")
def test_the_same_levels_as_glibc_finds() -> None:
    text = subprocess.run(
        ["/lib64/ld-linux-x86-64.so.2", "--help"], capture_output=True, text=True, timeout=60, check=True
    ).stdout
    found = tuple(level for level in LEVELS[::-1] if f"{level} (supported" in text)
    if "x86-64-v2" not in text:
        pytest.skip("this glibc does not tell")
    assert host_levels() == found
