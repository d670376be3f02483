"""``bslc compile -o``, and the other commands with the files that it writes, end to end."""

from __future__ import annotations

import json
import os
import shutil
import signal
import time
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

import basalt
from basalt.runtime.levels import host_levels
from basalt.serialization.program.file import open_program

from ..compiler.onnx.making import model, node, value
from .ahead import LEVELS, X86, damage, unchanged
from .conftest import TIMEOUT, Bslc

X = np.array([[1, 0, -3, 4], [0, -5, 6, 0.5]], np.float32)
Y = np.maximum(2 * X - 1, 0)
UNTRUSTED = "its machine code is not trusted (trust_native=True, --trust) and not signed"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory, models: Mapping[str, Path]) -> Path:
    """``affine`` for n = 1 and n = 2."""
    folder = tmp_path_factory.mktemp("ahead")
    done = Bslc(folder)(
        "compile", models["affine"], "-o", "affine.bsl", "--dim", "n=1", "--dim", "n=2", "--cpu", LEVELS
    )
    assert (done.status, done.err) == (0, "")
    return folder / "affine.bsl"


@pytest.fixture
def program(built: Path, tmp_path: Path) -> Path:
    """A copy that a test may damage."""
    return Path(shutil.copy(built, tmp_path / "program.bsl"))


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory, models: Mapping[str, Path]) -> Path:
    """``affine`` for n = 2, without the model itself."""
    folder = tmp_path_factory.mktemp("bare")
    done = Bslc(folder)("compile", models["affine"], "-o", "bare.bsl", "--shape", "x=2x4", "--strip-source")
    assert done.status == 0 and "without the model itself" in done.out
    return folder / "bare.bsl"


@pytest.fixture(scope="module")
def steps(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An ONNX model whose values decide what it computes: the places of numbers other than 0, twice."""
    nodes = [node("NonZero", "x", "places", name="find"), node("Add", "places places", "y")]
    path = tmp_path_factory.mktemp("steps") / "steps.onnx"
    model(nodes, [value("x", shape=("n", 4))], [value("y", "int64", (2, None))]).save(path)
    return path


def saved(folder: Path) -> np.ndarray:
    with np.load(folder / "out.npz") as outputs:
        return np.asarray(outputs["y"])


def test_what_is_compiled_runs_with_trust(bslc: Bslc, program: Path) -> None:
    for rows in (1, 2):
        np.save(bslc.folder / "x.npy", X[:rows])
        done = bslc("run", program, "--trust", "--input", "x.npy", "--output", "out.npz", "--json")
        assert (done.status, done.err) == (0, "")
        report = json.loads(done.out)
        assert report["machine_code"] == (host_levels()[0] if X86 else "native")
        assert report["compiled"] == 0
        np.testing.assert_array_equal(saved(bslc.folder), Y[:rows], strict=True)


def test_without_trust_a_note_says_what_happens(bslc: Bslc, program: Path) -> None:
    np.save(bslc.folder / "x.npy", X)
    done = bslc("run", program, "--input", "x.npy", "--output", "out.npz", "--json")
    assert done.status == 0
    assert done.err == f"note: {program}: {UNTRUSTED}; the model in the file is compiled instead\n"
    assert json.loads(done.out)["machine_code"] is None
    np.testing.assert_array_equal(saved(bslc.folder), Y, strict=True)


def test_sizes_that_nobody_gives_are_those_of_the_first_program_that_fits(bslc: Bslc, program: Path) -> None:
    done = bslc("run", program, "--trust", "--random", "--json")
    assert json.loads(done.out)["shapes"] == {"x": [1, 4]}
    assert done.err == "note: x=1x4, the first of 2 programs (--dim or --shape says otherwise)\n"
    done = bslc("run", program, "--trust", "--random", "--dim", "n=2", "--json")
    assert (json.loads(done.out)["shapes"], done.err) == ({"x": [2, 4]}, "")


def test_other_sizes_are_compiled_from_the_model_in_the_file(bslc: Bslc, program: Path) -> None:
    done = bslc("run", program, "--trust", "--random", "--dim", "n=7", "--json")
    assert (done.status, done.err) == (0, "")
    assert json.loads(done.out)["outputs"][0]["shape"] == [7, 4]


def test_what_the_table_says(bslc: Bslc, models: Mapping[str, Path]) -> None:
    done = bslc("compile", models["affine"], "-o", "o.bsl", "--dim", "n=3", "--cpu", LEVELS)
    lines = done.out.splitlines()
    levels = [f"x86-64-{level}" for level in LEVELS.split(",")] if X86 else ["native"]
    assert [line.split()[:2] for line in lines[1 : 1 + len(levels)]] == [[level, "1"] for level in levels]
    assert lines[0].split() == ["CPU", "programs", "compiled", "cached", "code", "own", "weights", "time"]
    assert lines[-2] == "for x=3x4" and lines[-1].endswith(" in all")
    report = json.loads(bslc("compile", models["affine"], "-o", "o.bsl", "--dim", "n=3", "--cpu", LEVELS, "--json").out)
    assert report["nbytes"] == (bslc.folder / "o.bsl").stat().st_size
    assert report["signatures"] == [{"x": [3, 4]}]
    assert [level["level"] for level in report["levels"]] == levels
    for level in report["levels"]:
        assert (level["programs"], level["compiled"], level["kernels"]) == (1, 0, 1)
        assert level["code_bytes"] > 0


def test_weights_of_half_the_bytes(bslc: Bslc) -> None:
    random = np.random.default_rng(3)
    b = basalt.MLGraphBuilder(basalt.MLContext())
    w, u = (random.normal(size=s).astype(np.float32) for s in ((64, 300), (300, 8)))
    u[4, 2] = 1e6
    hidden = b.matmul(b.input("x", "float32", (2, 64)), b.constant(w), label="hidden")
    basalt.save(b.build({"y": b.matmul(hidden, b.constant(u))}), bslc.folder / "net.bsl")
    done = bslc("compile", "net.bsl", "-o", "narrow.bsl", "--dtype", "float16")
    assert (done.status, done.err) == (0, "")
    assert "19,200 numbers of 1 weights are stored as float16; as they were" in done.out
    report = json.loads(bslc("compile", "net.bsl", "-o", "wide.bsl", "--json").out)
    assert report["weights"] is None
    report = json.loads(bslc("compile", "net.bsl", "-o", "narrow.bsl", "--dtype", "bfloat16", "--json").out)
    assert report["weights"] == {"dtype": "bfloat16", "tensors": 2, "numbers": 21_600, "kept": []}
    sizes = [(bslc.folder / name).stat().st_size for name in ("wide.bsl", "narrow.bsl")]
    assert sizes[0] - sizes[1] > 2 * 2 * 21_000
    x = random.normal(size=(2, 64)).astype(np.float32)
    np.save(bslc.folder / "x.npy", x)
    for trust in (["--trust"], []):
        done = bslc("run", "narrow.bsl", *trust, "--input", "x=x.npy", "--output", "y.npz")
        assert done.status == 0
        got = np.load(bslc.folder / "y.npz")["y"]
        np.testing.assert_allclose(got, x @ w @ u, rtol=0, atol=2e-2 * np.abs(x @ w @ u).max())


def test_several_inputs_have_their_shapes_in_turn(bslc: Bslc, models: Mapping[str, Path]) -> None:
    def signatures(*options: str) -> list[dict[str, list[int]]]:
        done = bslc("compile", models["pair"], "-o", "o.bsl", "--json", *options)
        assert (done.status, done.err) == (0, "")
        found: list[dict[str, list[int]]] = json.loads(done.out)["signatures"]
        return found

    both = [{"a": [2, 3], "k": [2]}, {"a": [4, 3], "k": [4]}]
    assert signatures("--shape", "a=2x3", "--shape", "k=2", "--shape", "a=4x3", "--shape", "k=4") == both
    assert signatures("--dim", "n=2", "--dim", "m=3", "--dim", "n=4") == both
    assert signatures("--shape", "a=2x3", "--shape", "a=4x3") == both
    np.savez(bslc.folder / "one.npz", a=np.zeros((2, 3), np.float32), k=np.zeros(2, np.int32))
    np.savez(
        bslc.folder / "two.npz", **{"in:a": np.zeros((4, 3), np.float32), "in:k": np.zeros(4), "out:x": np.zeros(1)}
    )
    assert signatures("--shapes-from", "one.npz", "--shapes-from", "two.npz") == both
    assert signatures("--dim", "n=2", "--dim", "m=3", "--shapes-from", "two.npz") == both


def test_options_that_do_not_fit(bslc: Bslc, models: Mapping[str, Path], bare: Path) -> None:
    shutil.copy(models["pair"], bslc.folder / "pair.bsl")
    np.savez(bslc.folder / "odd.npz", b=np.zeros(3))
    np.savez(bslc.folder / "none.npz")
    (bslc.folder / "text.npz").write_text("no archive")
    (bslc.folder / "link.bsl").symlink_to("pair.bsl")
    refused = {
        ("-o", "pair.bsl"): "is MODEL itself",
        ("-o", "link.bsl"): "is MODEL itself",
        ("-o", "o.onnx"): "does not end in .bsl",
        ("-o", "no/o.bsl"): "no",
        ("-o", "o.bsl", "--cpu", "v3,v5"): "there is no CPU 'v5', expected some of native, v2, v3, v4",
        ("-o", "o.bsl", "--dtype", "int8"): "'int8' is not one of 'float32', 'float16', 'bfloat16'",
        ("--dtype", "float16"): "give -o OUT.bsl too",
        (
            "-o",
            "o.bsl",
            "--dim",
            "n=1",
            "--dim",
            "n=2",
            *["--dim", "m=1"] * 3,
        ): "--dim n is given 2 times and --dim m 3",
        ("-o", "o.bsl", "--shapes-from", "odd.npz"): "the model has no input 'b'; its inputs are a, k",
        ("-o", "o.bsl", "--shapes-from", "none.npz"): "holds no array, expected a, k",
        ("-o", "o.bsl", "--tune", "--cpu", "v2"): "--cpu native",
        ("-o", "o.bsl", "--tune-seconds", "1"): "give --tune too",
        ("--cpu", "v3"): "give -o OUT.bsl too",
        ("--strip-source",): "give -o OUT.bsl too",
        ("--shapes-from", "odd.npz", "--shapes-from", "none.npz"): "makes several programs, which need -o OUT.bsl",
    }
    with unchanged(bslc.folder / "pair.bsl"):
        for options, message in refused.items():
            done = bslc("compile", "pair.bsl", *options)
            assert done.status == 2 and message in done.err, (options, done.err)
        failed = bslc("compile", "pair.bsl", "-o", "o.bsl", "--shapes-from", "text.npz")
        assert failed.status == 1 and "not a readable .npz file" in failed.err
        failed = bslc("compile", bare, "-o", "o.bsl")
        assert failed.status == 1 and "holds machine code alone, not the model itself" in failed.err


def test_a_file_is_compiled_anew_for_other_sizes(bslc: Bslc, program: Path) -> None:
    done = bslc("compile", program, "-o", "other.bsl", "--dim", "n=3", "--json")
    assert done.status == 0 and json.loads(done.out)["signatures"] == [{"x": [3, 4]}]
    assert "model    a .bsl file" in bslc("show", "other.bsl").out


def test_without_the_model_only_what_was_compiled_runs(bslc: Bslc, bare: Path) -> None:
    done = bslc("run", bare, "--trust", "--random", "--json")
    assert done.status == 0 and json.loads(done.out)["shapes"] == {"x": [2, 4]}
    done = bslc("run", bare, "--random")
    assert (done.status, done.out) == (1, "")
    assert done.err == f"error: {bare}: {UNTRUSTED}, and the file does not hold the model itself (--strip-source)\n"
    done = bslc("run", bare, "--trust", "--random", "--dim", "n=3")
    assert done.status == 1 and "there is no program for the inputs x [3, 4]" in done.err and "x [2, 4]" in done.err
    for command in ("export", "show --explain", "bench --trust --against ort"):
        first, *rest = command.split()
        done = bslc(first, bare, *rest, *(["-o", "o.onnx"] if first == "export" else []))
        assert done.status == 1 and "holds machine code alone, not the model itself" in done.err


@pytest.mark.skipif(not X86, reason="levels of x86-64")
def test_code_for_levels_that_this_machine_lacks(bslc: Bslc, models: Mapping[str, Path]) -> None:
    bslc("compile", models["affine"], "-o", "v3.bsl", "--dim", "n=2", "--cpu", "v3", "--strip-source")
    limited = {"BASALT_CPU_LEVEL": "v2"}
    done = bslc("run", "v3.bsl", "--trust", "--random", environment=limited)
    assert done.status == 1
    assert "no machine code fits: this CPU" in done.err and "but x86-64-v3 also needs avx" in done.err
    shown = bslc("show", "v3.bsl", environment=limited)
    assert shown.status == 0 and "no, lacks avx, avx2" in shown.out
    bslc("compile", models["affine"], "-o", "v3.bsl", "--dim", "n=2", "--cpu", "x86-64-v3")
    done = bslc("run", "v3.bsl", "--trust", "--random", environment=limited)
    assert done.status == 0
    assert done.err.startswith("note: v3.bsl: no machine code fits") and "compiled instead\n" in done.err


def test_a_changed_byte_is_found(bslc: Bslc, program: Path) -> None:
    level = open_program(program).record("model").values("levels")[-1]["name"]  # type: ignore[index,call-overload]
    parts = ["model", "source content", f"code:{level}"]
    whole = program.read_bytes()
    for part in parts:
        program.write_bytes(whole)
        damage(program, part)
        checked = bslc("verify", program)
        assert checked.status == 1 and "NOT OK" in checked.out, part
    for part, *arguments in (
        ("model", "run", program, "--random", "--trust"),
        ("model", "show", program),
        (f"code:{level}", "run", program, "--random", "--trust"),
        ("source content", "run", program, "--random"),
    ):
        program.write_bytes(whole)
        damage(program, part)
        done = bslc(*arguments)
        assert done.status == 1 and f"error: {program}" in done.err and "CRC32C" in done.err


def test_a_model_that_values_decide(bslc: Bslc, steps: Path) -> None:
    done = bslc("compile", steps, "-o", "steps.bsl", "--dim", "n=2")
    assert done.status == 0
    assert "note: what the model computes depends on values; it was run on random ones for x" in done.err
    np.savez(bslc.folder / "x.npz", x=X)
    done = bslc("compile", steps, "-o", "steps.bsl", "--shapes-from", "x.npz", "--strip-source")
    assert (done.status, done.err) == (0, "")
    np.save(bslc.folder / "x.npy", X)
    done = bslc("run", "steps.bsl", "--trust", "--input", "x.npy", "--output", "out.npz")
    assert (done.status, done.err) == (0, "")
    np.testing.assert_array_equal(saved(bslc.folder), 2 * np.array(np.nonzero(X)))
    done = bslc("run", "steps.bsl", "--trust", "--random")
    assert done.status == 1 and "there is no program for the inputs x [2, 4] (or what their values decide)" in done.err
    shown = json.loads(bslc("show", "steps.bsl", "--json").out)
    assert shown["shapes"] == [{"x": [2, 4]}] and shown["source"] is None
    profiled = bslc("profile", "steps.bsl", "--trust", "--repeats", "2", "--json")
    assert profiled.status == 0 and "each program in the file is measured" in profiled.err
    assert json.loads(profiled.out)["rows"]


def test_show(bslc: Bslc, program: Path) -> None:
    done = bslc("show", program)
    assert (done.status, done.err) == (0, "")
    lines = [" ".join(line.split()) for line in done.out.splitlines()]
    for line in ("input x float32 [n, 4]", "output y float32 [n, 4]", "kind PROGRAM (2)", "signed by nobody"):
        assert line in lines
    for line in ("for x=1x4", "for x=2x4", "model a .bsl file", f"basalt: {basalt.__version__}"):
        assert line in lines
    facts = json.loads(bslc("show", program, "--json").out)
    assert facts["parts"] == open_program(program).parts
    assert facts["bytes"] == program.stat().st_size
    assert facts["levels"][-1]["missing"] == [] or X86
    assert "scale" in bslc("show", program, "--after", "fuse", "--dim", "n=2").out


def test_show_needs_no_compiler_and_maps_no_code(bslc: Bslc, program: Path) -> None:
    damage(program, next(name for name in open_program(program).parts if name.startswith("code:")))
    assert bslc("show", program).status == 0, "the code is not even read"


def test_bench_profile_and_compare(bslc: Bslc, program: Path, models: Mapping[str, Path]) -> None:
    done = bslc("bench", program, "--trust", "--dim", "n=2", "--rounds", "5", "--json")
    assert done.status == 0 and json.loads(done.out)["shapes"] == {"x": [2, 4]}
    done = bslc("profile", program, "--trust", "--dim", "n=2", "--repeats", "2", "--json")
    assert done.status == 0 and "scale" in json.loads(done.out)["rows"][0]["label"]
    done = bslc("compare", models["affine"], program, "--trust", "--dim", "n=2")
    assert done.status == 0 and f"the machine code in {program}: 1 output agrees" in done.out
    done = bslc("compare", program, "numpy", "--trust")
    assert (done.status, done.err) == (0, "")
    other = bslc("compare", program, models["pair"], "--trust")
    assert other.status == 1 and "the inputs differ" in other.err


def test_bench_against_onnxruntime(bslc: Bslc, steps: Path) -> None:
    pytest.importorskip("onnxruntime")
    np.save(bslc.folder / "x.npy", X)
    assert bslc("compile", steps, "-o", "steps.bsl", "--input", "x.npy").status == 0
    done = bslc("bench", "steps.bsl", "--trust", "--input", "x.npy", "--against", "ort", "--rounds", "5", "--json")
    assert (done.status, done.err) == (0, "")
    assert json.loads(done.out)["ratio"]["error"] == 0


def test_rows_of_a_table_go_through_the_model_in_the_file(bslc: Bslc, program: Path) -> None:
    (bslc.folder / "rows.csv").write_text("1,0,-3,4\n0,-5,6,0.5\n")
    done = bslc("run", program, "--csv", "rows.csv", "--no-header", "--output", "y.npy")
    assert done.status == 0
    np.testing.assert_array_equal(np.load(bslc.folder / "y.npy"), Y)
    done = bslc("run", program, "--csv", "rows.csv", "--no-header", "--trust")
    assert done.status == 2 and "--trust" in done.err


def test_progress_is_shown_on_a_terminal_only(bslc: Bslc, models: Mapping[str, Path]) -> None:
    shown = bslc.on_terminal("compile", models["affine"], "-o", "o.bsl", "--dim", "n=2")
    assert shown.status == 0 and "of 1 kernels" in shown.out and "native" in shown.out


def test_an_interrupt_leaves_the_folder_as_it_was(bslc: Bslc, models: Mapping[str, Path], own_cache: Path) -> None:
    environment = {"BASALT_CACHE_DIR": str(own_cache)}
    (bslc.folder / "out").mkdir()
    process = bslc.start("compile", models["many"], "-o", "out/o.bsl", environment=environment)
    deadline = time.monotonic() + TIMEOUT
    while process.poll() is None and len(list(own_cache.glob("*.kernel"))) < 2 and time.monotonic() < deadline:
        time.sleep(0.005)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=TIMEOUT)
    assert (process.returncode, out, err.strip()) == (130, b"", b"interrupted")
    assert os.listdir(bslc.folder / "out") == []


def test_tuning_comes_first(bslc: Bslc, models: Mapping[str, Path], own_cache: Path) -> None:
    options = ["--dim", "n=64", "--tune", "--tune-seconds", "0", "--threads", "1"]
    done = bslc("compile", models["affine"], "-o", "o.bsl", *options, environment={"BASALT_CACHE_DIR": str(own_cache)})
    assert done.status == 0 and (bslc.folder / "o.bsl").exists()
