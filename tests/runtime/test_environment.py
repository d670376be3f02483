"""What the runtime finds out about the machine: object layouts, cores, quotas, CPU, versions."""

from __future__ import annotations

import importlib.metadata
import os
import sys
from pathlib import Path

import numpy as np
import pytest
from runtime_programs import run_python

from basalt.runtime import cpus, environment, host, tbb, versions
from basalt.runtime.cpus import cgroup_quota, usable_cores
from basalt.runtime.environment import environment as find_environment
from basalt.runtime.host import host_cpu, host_platform, parse_cpuinfo
from basalt.runtime.layout import Env
from basalt.runtime.versions import package_version


@pytest.mark.skipif(sys.implementation.name != "cpython", reason="only CPython's objects are read directly")
def test_this_python_is_read_directly() -> None:
    block, readable = find_environment()
    assert readable and block[Env.ARRAY_TYPE] == id(np.ndarray) and block.ctypes.data % 64 == 0


def test_other_layouts_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert environment._objects_are_as_expected()
    monkeypatch.setattr(environment, "_matches", lambda array, body: False)
    assert not environment._objects_are_as_expected()
    monkeypatch.undo()
    monkeypatch.setattr(environment, "OBJECT_HEADS", (8,))
    assert not environment._objects_are_as_expected()
    monkeypatch.undo()
    monkeypatch.setattr(environment.sys.implementation, "name", "pypy")
    assert not environment._objects_are_as_expected()


WITHOUT = """
import numpy as np
from basalt.runtime import environment
environment._objects_are_as_expected = lambda: False
from runtime_programs import chain, program, ramp, tensors
from basalt.errors import BasaltError, ValidationError
from basalt.runtime.spec import Row, Slot
long = chain(20, 5000, 1e6, threads=2)
for shift in range(5):
    assert (long.run({"x": ramp(5000) + shift})["y"] == ramp(5000) + 20 + shift).all()
assert long._idle[0].call is None
y = np.zeros(5000, np.float32)
assert long.run({"x": ramp(5000)[::1]}, out={"y": y})["y"] is y and (y == ramp(5000) + 20).all()
memory = np.concatenate([ramp(), ramp()])
copy = program(Row(1, (Slot.input(0), Slot.output(0), Slot.real(1.0)), 0, 16, 1.0))
copy.run({"x": memory[:16]}, out={"y": memory[1:17]})
assert (memory[1:17] == ramp() + 1).all()
for wrong, kind in (({"x": ramp(3)}, ValidationError), ({}, ValidationError)):
    try:
        copy.run(wrong)
    except kind:
        continue
    raise AssertionError(wrong)
checked = program(Row(3, (Slot.input(0), Slot.output(0)), 0, 16, 1.0, label="root"))
try:
    checked.run({"x": -ramp()})
except BasaltError as error:
    print(error)
"""


def test_arrays_are_bound_by_python_where_they_cannot_be_read() -> None:
    assert run_python(WITHOUT).strip() == "operator 'root' (kernel 'checked') failed with status 1"
    assert "status 1" in run_python(WITHOUT, BASALT_THREADING_LAYER="workqueue")


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_quotas_of_control_groups_v2(tmp_path: Path) -> None:
    write(tmp_path / "self", "0::/a/b\n")
    quota = lambda: cgroup_quota(str(tmp_path / "fs"), str(tmp_path / "self"))  # noqa: E731
    assert quota() is None
    write(tmp_path / "fs/a/b/cpu.max", "max 100000\n")
    assert quota() is None
    write(tmp_path / "fs/a/cpu.max", "250000 100000\n")
    assert quota() == 2.5
    write(tmp_path / "fs/cpu.max", "50000 100000\n")
    assert quota() == 0.5
    write(tmp_path / "fs/cpu.max", "nonsense\n")
    assert quota() == 2.5


def test_quotas_of_control_groups_v1(tmp_path: Path) -> None:
    write(tmp_path / "self", "5:cpu,cpuacct:/docker/x\n3:memory:/docker/x\n")
    group = tmp_path / "fs" / "cpu,cpuacct"
    write(group / "docker/x/cpu.cfs_quota_us", "-1\n")
    write(group / "docker/x/cpu.cfs_period_us", "100000\n")
    assert cgroup_quota(str(tmp_path / "fs"), str(tmp_path / "self")) is None
    # In a container, the group's own files are at the mount's root.
    write(group / "cpu.cfs_quota_us", "150000\n")
    write(group / "cpu.cfs_period_us", "100000\n")
    assert cgroup_quota(str(tmp_path / "fs"), str(tmp_path / "self")) == 1.5


@pytest.mark.parametrize(("quota", "cores"), [(None, 8), (100.0, 8), (2.5, 3), (0.1, 1)])
def test_the_quota_bounds_the_cores(monkeypatch: pytest.MonkeyPatch, quota: float | None, cores: int) -> None:
    monkeypatch.setattr(cpus, "_affinity_cores", lambda: 8)
    monkeypatch.setattr(cpus, "cgroup_quota", lambda: quota)
    assert usable_cores() == cores


def test_hardware_threads_of_one_core_count_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpus.os, "sched_getaffinity", lambda pid: {0, 1, 2, 4, 5}, raising=False)
    siblings = {0: "0,4", 4: "0,4", 1: "1,5", 5: "1,5", 2: "2,6"}
    monkeypatch.setattr(cpus, "_read", lambda path: siblings[int(str(path).split("/cpu")[-1].split("/")[0])])
    assert cpus._affinity_cores() == 3
    monkeypatch.setattr(cpus, "_read", lambda path: None)
    assert cpus._affinity_cores() == 5


X86 = """processor\t: 0
vendor_id\t: GenuineIntel
cpu family\t: 6
model\t\t: 143
model name\t: Xeon
flags\t\t: sse2 fpu avx

processor\t: 1
vendor_id\t: Other
"""
ARM = """processor\t: 0
BogoMIPS\t: 50.00
Features\t: fp asimd
CPU implementer\t: 0x41
CPU architecture: 8
CPU variant\t: 0x3
CPU part\t: 0xd0c
"""


def test_cpus_are_recognised() -> None:
    assert parse_cpuinfo(X86) == ("GenuineIntel/6/143/Xeon", "avx fpu sse2")
    assert parse_cpuinfo(ARM) == ("0x41/8/0x3/0xd0c", "asimd fp")
    assert parse_cpuinfo("") is None and parse_cpuinfo("processor: 0\n") is None


def test_llvm_is_asked_where_linux_does_not_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host, "parse_cpuinfo", lambda text: None)
    name, features = host._detect()
    assert name and features


def test_the_cpu_can_be_chosen_for_numba(monkeypatch: pytest.MonkeyPatch) -> None:
    found = host_cpu()
    assert all(found) and host_platform().endswith(sys.platform)
    monkeypatch.setenv("NUMBA_CPU_NAME", "x86-64-v3")
    assert host_cpu.__wrapped__() == ("x86-64-v3", found[1] if "NUMBA_CPU_FEATURES" not in os.environ else "")
    monkeypatch.setenv("NUMBA_CPU_FEATURES", "")
    assert host_cpu.__wrapped__() == ("x86-64-v3", "")


def test_versions_are_those_that_are_installed() -> None:
    for name in ("numba", "llvmlite", "numpy"):
        assert package_version(name) == importlib.metadata.version(name)
    with pytest.raises(ImportError):
        package_version("no_such_package_here")


def test_versions_without_import_and_without_a_folder_beside(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delitem(versions.sys.modules, "numba", raising=False)
    assert package_version.__wrapped__("numba") == importlib.metadata.version("numba")
    monkeypatch.setattr(versions, "_version_beside", lambda folder, name: None)
    assert package_version.__wrapped__("numba") == importlib.metadata.version("numba")
    monkeypatch.undo()
    assert versions._version_beside(str(tmp_path / "absent"), "numba") is None
    for version in ("1.0", "2.0"):
        (tmp_path / f"numba-{version}.dist-info").mkdir()
    assert versions._version_beside(str(tmp_path), "numba") is None


def test_no_tbb_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tbb, "_NAMES", {})
    assert not tbb.load_tbb()
    monkeypatch.setattr(tbb, "_NAMES", {sys.platform: "libabsent_tbb.so.99"})
    assert not tbb.load_tbb()
    monkeypatch.undo()
    monkeypatch.setattr(tbb, "_OLDEST_INTERFACE", 1 << 30)
    assert not tbb.load_tbb()
