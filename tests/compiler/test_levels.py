"""Code for levels of x86-64: its instructions, its results, and that no target's answers reach another's code."""

from __future__ import annotations

import json
import platform
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import basalt
from basalt.compiler.backend import plan_program
from basalt.compiler.codegen import compile as compile_module
from basalt.compiler.codegen.compile import compile_objects, executor_object, load_executor, load_kernels
from basalt.compiler.codegen.fingerprint import kernel_key, settings_key
from basalt.compiler.codegen.object_code import assembly_of, compile_source
from basalt.compiler.codegen.workers import FEWEST, Workers
from basalt.compiler.executable import Executable
from basalt.compiler.kernels.target import LEVELS, NATIVE, compiling_for
from basalt.compiler.templates.fourier_plan import plan_of
from basalt.compiler.tuning import table
from basalt.errors import BasaltError, UnsupportedError, ValidationError
from basalt.runtime.cache_folder import CacheFolder
from basalt.runtime.kernel_cache import KernelCache
from basalt.runtime.levels import host_levels
from basalt.runtime.native.elf import imports_of
from basalt.runtime.spec import KernelCode, ProgramSpec

from .level_samples import SAMPLES, run_for, spec_for

pytestmark = pytest.mark.skipif(
    platform.machine() not in ("x86_64", "AMD64"), reason="levels are those of x86-64, which this machine is not"
)
V2, V3, V4 = LEVELS
HIGH = r"%[xy]mm(?:1[6-9]|2\d|3[01])\b"
_BITS = r"^(andn[lq]\t|bextr|bls[ir]|bzhi|mulx|pdep|pext[lq]\t|rorx|s[ah]rx|shlx)"
_NEWER = (
    "%tmm",
    "^vpdp",
    "bf16",
    r"^v(?!cvtps2ph|cvtph2ps)\S*ph\t",
    "^v?gf2",
    "^vpopcnt[bw]",
    "^vperm(i2|t2)?b",
    "^vpsh[lr]d",
    "^vp(compress|expand)[bw]",
)
BEYOND = {
    V2: re.compile(rf"%[yzt]mm|{HIGH}|%k[0-7]|^v|{_BITS}"),
    V3: re.compile("|".join(("%zmm", HIGH, "%k[0-7]", *_NEWER))),
    V4: re.compile("|".join(_NEWER)),
}
"""Registers and mnemonics that a level lacks."""


def instructions(code: KernelCode, level: str) -> list[str]:
    with compiling_for(level):
        lines = [line.split("#")[0].strip() for line in assembly_of(code).splitlines()]
    return [line for line in lines if line and not line.startswith(".") and not line.endswith(":")]


def adding(count: int) -> list[KernelCode]:
    text = "def kernel(table, start, stop):\n    x = ptr(table, 0)\n    for i in range(start, stop):\n"
    line = "        storerw_f32(x, i, add_f32(loadrw_f32(x, i), const_f32({}.0)))\n"
    names = ("ptr", "storerw_f32", "loadrw_f32", "add_f32", "const_f32")
    return [KernelCode.of(text + line.format(n), names, f"add {n}") for n in range(count)]


def described(spec: ProgramSpec) -> list[object]:
    """All of a program, in a form that can be compared and printed."""
    constants = [(c.dtype.str, c.shape, hash(c.tobytes())) for c in spec.constants]
    return [spec.rows, [k.key for k in spec.kernels], constants, spec.arena_bytes, spec.inputs, spec.outputs]


def alone(script: str) -> str:
    """What a script prints in a process of its own."""
    root = str(Path(__file__).parents[2])
    command = [sys.executable, "-c", f"import sys; sys.path.insert(0, {root!r})\n{script}"]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[KernelCache]:
    empty = KernelCache(CacheFolder(tmp_path))
    monkeypatch.setattr(compile_module, "CACHE", empty)
    yield empty


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("level", LEVELS)
def test_instructions_are_the_levels_own(level: str, name: str) -> None:
    spec = spec_for(level, SAMPLES[name]())
    found = [line for code in spec.kernels for line in instructions(code, level)]
    assert [line for line in found if BEYOND[level].search(line)] == []
    widest = {V2: "%xmm", V3: "%ymm", V4: "%zmm"}[level]
    assert any(widest in line for line in found)
    # A call of another library's function is what LLVM makes of an instruction that is lacking.
    called = {name for code in compile_objects(spec.kernels, level) for name in imports_of(code)}
    assert called <= {"memcpy", "memset"}


def test_multiply_adds_are_fused_where_the_level_can() -> None:
    for level, fused in ((V2, False), (V3, True), (V4, True)):
        lines = [line for code in spec_for(level, SAMPLES["rows"]()).kernels for line in instructions(code, level)]
        assert any(line.startswith("vfmadd") for line in lines) == fused
        assert any(line.startswith("mulps") for line in lines) == (not fused)


def test_bytes_are_multiplied_in_pairs() -> None:
    for level in LEVELS:
        lines = [line for code in spec_for(level, SAMPLES["integers"]()).kernels for line in instructions(code, level)]
        assert any(re.match("v?pmadd(wd|ubsw)", line) for line in lines)


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("level", [V2, V3])
def test_results_are_within_rounding_of_native_ones(level: str, name: str) -> None:
    if level not in host_levels():
        pytest.skip(f"this machine has not all instructions of {level}")
    sample = SAMPLES[name]()
    native = run_for(NATIVE, sample)
    for key, result in run_for(level, sample).items():
        assert result.dtype == native[key].dtype
        scale = np.abs(native[key].astype(np.float64)).max()
        error = np.abs(result.astype(np.float64) - native[key].astype(np.float64)).max()
        assert error <= (2e-3 if result.dtype == np.float16 else 1e-5) * scale, key


FRESH = """
import json
from tests.compiler.level_samples import SAMPLES, spec_for
specs = {name: spec_for("x86-64-v3", make()) for name, make in SAMPLES.items()}
print(json.dumps({name: [[k.key for k in spec.kernels], repr(spec.rows)] for name, spec in specs.items()}))
"""


def test_programs_do_not_depend_on_what_was_compiled_for_before() -> None:
    here = {}
    for name, make in SAMPLES.items():
        orders = ([V2, NATIVE, V3, V4], [V3, V4, NATIVE, V2])
        found = [{level: described(spec_for(level, make())) for level in order} for order in orders]
        assert found[0] == found[1]
        assert name not in ("images", "rows") or found[0][V2] != found[0][V4]
        spec = spec_for(V3, make())
        here[name] = [[k.key for k in spec.kernels], repr(spec.rows)]
    assert json.loads(alone(FRESH)) == here


def test_plans_of_transforms_are_the_targets_own() -> None:
    lanes: dict[str, list[list[int]]] = {}
    for level in (V2, V4, V2, V3):
        with compiling_for(level):
            lanes.setdefault(level, []).append([step.lanes for step in plan_of(256, "float32").passes])
    assert lanes[V2][0] == lanes[V2][1]
    assert max(lanes[V2][0]) == 4 and max(lanes[V3][0]) == 8 and max(lanes[V4][0]) == 16


def product() -> Executable:
    builder = basalt.MLGraphBuilder(basalt.MLContext(eager_first_run=False))
    x = builder.input("x", "float32", ("rows", 61))
    y = builder.matmul(x, builder.constant(np.ones((61, 67), np.float32)), label="product")
    return builder.build({"y": y})


def test_choices_of_one_target_do_not_bind_another() -> None:
    graph, shapes = product(), {"x": (35, 61)}
    native = graph.source(shapes)
    graph.compile(shapes)
    canonical = Executable(graph.graph, graph.constants, canonical={"rows": 35})
    assert canonical.canonical_spec() is canonical.canonical_spec()
    with compiling_for(V4):
        written = graph.source(shapes)
        assert written == product().source(shapes) == canonical.source(shapes) != native
    assert graph.source(shapes) == canonical.source(shapes) == native


def test_measured_choices_are_this_machines_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "CACHE", KernelCache(CacheFolder(tmp_path)))
    table.keep_choices({"a node/0/1,2": 2})
    assert table.measured_choices() == {"a node/0/1,2": 2}
    with compiling_for(V3):
        assert table.measured_choices() == {}


def test_objects_come_from_the_cache_and_are_not_loaded(cache: KernelCache, monkeypatch: pytest.MonkeyPatch) -> None:
    codes = adding(2)
    told: list[tuple[int, int]] = []
    first = compile_objects([*codes, codes[0]], V4, lambda done, total, seconds: told.append((done, total)))
    assert first[0] == first[2] != first[1] and told == [(1, 2), (2, 2)]
    assert not cache._loaded
    monkeypatch.setattr(compile_module, "compile_kernel", lambda code: pytest.fail("compiled again"))
    assert compile_objects(codes, V4) == first[:2]
    with compiling_for(V4):
        assert cache.find(kernel_key(codes[0])) == first[0]


def test_each_target_has_keys_of_its_own() -> None:
    (code,) = adding(1)
    assert len({kernel_key(code, goal).name for goal in (None, *LEVELS.values())}) == 4
    with compiling_for(V3):
        assert kernel_key(code) == kernel_key(code, LEVELS[V3])
        assert settings_key() == settings_key(LEVELS[V3]) != settings_key(LEVELS[V2])


def test_workers_compile_for_the_callers_target(cache: KernelCache) -> None:
    codes = adding(3)
    with compiling_for(V2):
        workers = Workers(codes, 1, cache.keep)
    try:
        while len(workers.seconds) < len(codes):
            threading.Event().wait(0.01)
    finally:
        workers.close()
    for code in codes:
        with compiling_for(V2):
            assert cache.find(kernel_key(code)) == compile_source(code) != None  # noqa: E711
        assert cache.find(kernel_key(code)) is None


def test_many_missing_objects(cache: KernelCache, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BASALT_COMPILE_WORKERS", "1")
    codes = adding(FEWEST)
    found = compile_objects(codes, V3)
    assert len(set(found)) == FEWEST
    with compiling_for(V3):
        assert found == [compile_source(code) for code in codes]


def test_the_executor_is_the_same_for_all_targets() -> None:
    with compiling_for(V2):
        assert executor_object() == load_executor().code


def test_nothing_runs_while_another_target_is_compiled_for() -> None:
    graph, constants, _ = SAMPLES["functions"]()
    builder = basalt.MLGraphBuilder(basalt.MLContext(eager_first_run=False))
    built = builder.build({"y": builder.neg(builder.input("x", "float32", (4,)))})
    with compiling_for(V2):
        with pytest.raises(UnsupportedError, match="cannot load kernels while compiling for x86-64-v2"):
            load_kernels(adding(1))
        with pytest.raises(UnsupportedError, match="cannot make a program to run while compiling for x86-64-v2"):
            plan_program(graph, constants, 1)
        with pytest.raises(UnsupportedError, match="cannot measure choices"):
            built.tune({"x": np.zeros(4, np.float32)})


def test_unknown_targets_are_named() -> None:
    with pytest.raises(ValidationError, match="no target 'v3', expected one of native, x86-64-v2"):
        compile_objects(adding(1), "v3")


def test_instructions_that_a_target_lacks_end_no_process() -> None:
    with compiling_for(V4):
        codes = [c for c in spec_for(V4, SAMPLES["integers"]()).kernels if "bytetile" in c.source]
    assert codes
    for level in (V2, V3):
        with pytest.raises(BasaltError, match=rf"it uses 'llvm\.x86\.avx512.*', which {level} CPUs lack"):
            compile_objects(codes, level)


def test_what_only_numba_compiles_is_refused_for_a_level() -> None:
    text = "def kernel(table, start, stop):\n    a, b = start, stop\n    storerw_i64(ptr(table, 0), a, b)\n"
    code = KernelCode.of(text, ("ptr", "storerw_i64"), "odd")
    assert compile_objects([code], NATIVE)[0]
    with pytest.raises(UnsupportedError, match="kernel 'odd' does not compile: for x86-64-v3 sources must be plainer"):
        compile_objects([code], V3)


def test_numba_is_not_imported_to_compile() -> None:
    script = """
import sys
import numpy as np
from tests.compiler.level_samples import SAMPLES, spec_for
from basalt.compiler.codegen.executor import compile_executor
from basalt.compiler.codegen.object_code import compile_source
from basalt.compiler.executable import Executable
from basalt.compiler.kernels.target import compiling_for
for level in ("native", "x86-64-v2"):
    spec = spec_for(level, SAMPLES["functions"]())
    with compiling_for(level):
        assert all(map(compile_source, spec.kernels))
assert compile_executor()
assert "llvmlite" in sys.modules and "numba" not in sys.modules
"""
    alone(script)
