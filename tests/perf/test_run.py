"""``perf run`` from end to end, on something tiny; which cases there are."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from perf.commands import main
from perf.results import load
from perf.run import chosen_cases
from perf.site import ROOT
from perf.suites import SUITES, Case, Options

TIMEOUT = 600


def perf(*arguments: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "perf", *arguments],
        cwd=cwd,
        env={**os.environ},
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )


def test_a_kernel_against_numpy(tmp_path: Path) -> None:
    pytest.importorskip("onnx")
    output = tmp_path / "results.json"
    only = ("--suite", "kernels", "--only", "transpose/1x128", "--against", "numpy")
    done = perf("run", *only, "--threads", "1", "--quick", "--rounds", "3", "--output", str(output))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("kernels/transpose/1x128x12x64")
    results = load(output)
    (case,) = results.cases
    assert {name: entry.state for name, entry in case.entries.items()} == {"basalt": "measured", "numpy": "measured"}
    assert [len(entry.samples[0]) for entry in case.entries.values()] == [3, 3]
    assert all(seconds > 0 for entry in case.entries.values() for seconds in entry.samples[0])
    assert {"basalt", "numpy", "numba"} <= results.versions.keys()
    assert results.machine["cores"] >= 1 and results.commit
    assert results.settings["rounds"] == 3


def test_an_estimator_against_its_library(tmp_path: Path) -> None:
    pytest.importorskip("sklearn")
    output = tmp_path / "results.json"
    only = ("--suite", "sklearn", "--only", "kmeans/1000", "--against", "sklearn")
    done = perf("run", *only, "--threads", "1", "--quick", "--rounds", "3", "--output", str(output))
    assert (done.returncode, done.stderr) == (0, "")
    (case,) = load(output).cases
    assert case.case == "kmeans/1000"
    assert {entry.state for entry in case.entries.values()} == {"measured"}, case.entries


def test_a_model_of_a_folder(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    node = onnx.helper.make_node("Relu", ["x"], ["y"])
    types = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["n", 4]) for name in "xy"]
    graph = onnx.helper.make_graph([node], "relu", types[:1], types[1:])
    onnx.save(
        onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8),
        tmp_path / "relu.onnx",
    )
    only = ("--suite", "models", "--models", str(tmp_path), "--only", "real/relu", "--against", "ort")
    done = perf("run", *only, "--threads", "1", "--quick", "--rounds", "3")
    assert (done.returncode, done.stderr) == (0, "")
    assert "models/real/relu" in done.stdout and " ort " in done.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("run", "--suite", "nothing"), "there is no suite 'nothing'"),
        (("run", "--suite", "kernels", "--only", "nothing"), "no case of kernels matches nothing"),
        (("run", "--suite", "kernels", "--against", "nobody"), "there is no contender 'nobody'"),
        (("run", "--suite", "kernels", "--clock", "cpu", "--threads", "1,2"), "--clock cpu needs --threads 1"),
        (("compare", "no-such-commit", "--quick"), "'no-such-commit' is no commit"),
        (("report", "/nonexistent/results.json"), "No such file"),
    ],
)
def test_errors_are_status_2(arguments: tuple[str, ...], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    assert words in capsys.readouterr().err


def test_cases_have_names_of_their_own_and_survive_json() -> None:
    cases = chosen_cases(SUITES, [], Options())
    assert len({(case.suite, case.name) for case in cases}) == len(cases)
    assert all(Case.from_json(case.to_json()) == case for case in cases)
    suites = {suite: [case.name for case in cases if case.suite == suite] for suite in SUITES}
    assert {"gemm/128x768x768", "conv/7x7s2-224-3-64", "attention/1x12x1024x64", "lstm/64x128"} <= set(
        suites["kernels"]
    )
    estimators = ("logistic", "forest", "histboosting", "kmeans", "svc", "mlp")
    assert set(suites["sklearn"]) == {f"{name}/{rows}" for name in estimators for rows in (1, 10_000, 1_000_000)}
    assert suites["startup"]
    light = [name for name in suites["models"] if name.startswith("light/")]
    assert len(light) in (0, 9)


def test_patterns_choose_cases() -> None:
    names = [case.name for case in chosen_cases(["kernels"], ["gemm/*x64x64", "conv/1x1"], Options())]
    assert names == ["gemm/3136x64x64", "conv/1x1-56-64-256"]
    quick = chosen_cases(["kernels"], [], Options(quick=True))
    assert 0 < len(quick) < len(chosen_cases(["kernels"], [], Options()))
