"""Models compiled ahead of time: what their files give, with code that is trusted and without."""

from __future__ import annotations

import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import basalt
from basalt.errors import UnsupportedError, ValidationError
from basalt.runtime.stored.code import levels_of
from basalt.serialization.program.file import open_program

RNG = np.random.default_rng(7)


def network(**options: Any) -> basalt.MLGraph:
    """softmax(relu(x w) u + b) for any number of rows."""
    b = basalt.MLGraphBuilder(basalt.MLContext(eager_first_run=False, **options))
    rng = np.random.default_rng(1)
    x = b.input("x", "float32", ("rows", 24))
    w, u = (b.constant(rng.standard_normal(shape).astype(np.float32)) for shape in ((24, 40), (40, 7)))
    hidden = b.relu(b.matmul(x, w), label="hidden")
    y = b.softmax(b.add(b.matmul(hidden, u, label="out"), b.constant(rng.standard_normal(7).astype(np.float32))), 1)
    return b.build({"y": y, "hidden": hidden})


def rows(count: int) -> dict[str, np.ndarray]:
    return {"x": RNG.standard_normal((count, 24)).astype(np.float32)}


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The network for 1 and 5 rows, with the model itself."""
    path = tmp_path_factory.mktemp("ahead") / "n.bsl"
    basalt.save_program(network(), path, [{"x": (1, 24)}, {"x": (5, 24)}])
    return path


@pytest.fixture(scope="module")
def stripped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("ahead") / "s.bsl"
    basalt.save_program(network(), path, {"x": (5, 24)}, source=False)
    return path


def same(left: dict[str, Any], right: dict[str, Any]) -> None:
    assert left.keys() == right.keys()
    for name, got in left.items():
        np.testing.assert_array_equal(got, right[name])


@pytest.mark.parametrize("count", [1, 5])
def test_results_are_those_of_the_model(saved: Path, count: int) -> None:
    feeds = rows(count)
    same(basalt.load(saved, trust_native=True).run(feeds), network().run(feeds))


def test_other_shapes_are_compiled_from_the_model(saved: Path) -> None:
    runner = basalt.Runner(saved, trust_native=True)
    assert runner.signatures == [{"x": (1, 24)}, {"x": (5, 24)}]
    feeds = rows(3)
    got, wanted = runner.run(feeds), network().run(feeds)
    np.testing.assert_allclose(got["y"], wanted["y"], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(runner.run(feeds, timeout=60, threads=1)["y"], wanted["y"], rtol=1e-5, atol=1e-6)


def test_other_shapes_need_the_model(stripped: Path) -> None:
    runner = basalt.Runner(stripped, trust_native=True)
    assert runner.source() is None
    with pytest.raises(ValidationError, match=r"no program for the inputs x \[3, 24\].*only for x \[5, 24\].*stripped"):
        runner.run(rows(3))
    same(runner.run(feeds := rows(5)), network().run(feeds))


def test_without_trust_the_model_is_compiled(saved: Path) -> None:
    with pytest.warns(basalt.NativeCodeWarning, match="not trusted .* the model in the file is compiled instead"):
        model = basalt.load(saved)
    assert isinstance(model, basalt.Model)
    with pytest.warns(basalt.NativeCodeWarning):
        runner = basalt.Runner(saved)
    assert runner.level is None and runner.memory() == {"weights": 0, "arena": 0, "code": 0}
    feeds = rows(5)
    np.testing.assert_allclose(runner.run(feeds)["y"], model.run(feeds)["y"], rtol=1e-5, atol=1e-6)


def test_without_trust_and_model_nothing_runs(stripped: Path) -> None:
    with pytest.raises(UnsupportedError, match=r"not trusted .* does not hold the model"):
        basalt.load(stripped)


def test_trusted_files_give_no_warning(saved: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        basalt.load(saved, trust_native=True).run(rows(5))


def test_bytes_and_file_objects_are_taken(saved: Path) -> None:
    feeds = rows(5)
    wanted = network().run(feeds)
    same(basalt.load(saved.read_bytes(), trust_native=True).run(feeds), wanted)
    with saved.open("rb") as file:
        same(basalt.load(file, trust_native=True).run(feeds), wanted)


def test_a_symbolic_size_that_nobody_gave_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValidationError, match="rows"):
        basalt.save_program(network(), tmp_path / "n.bsl")
    with pytest.raises(ValidationError, match="'x'"):
        basalt.save_program(network(), tmp_path / "n.bsl", {"x": (1, 25)})
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("cpu", ["v9", [], ["native", "avx"]])
def test_unknown_levels_are_refused(tmp_path: Path, cpu: Any) -> None:
    with pytest.raises(ValidationError, match="CPU level"):
        basalt.save_program(network(), tmp_path / "n.bsl", {"x": (1, 24)}, cpu=cpu)


def test_a_program_is_saved_by_itself(tmp_path: Path) -> None:
    program = network().compile({"x": (4, 24)})
    program.save(tmp_path / "p.bsl")
    feeds = rows(4)
    same(basalt.load(tmp_path / "p.bsl", trust_native=True).run(feeds), program.run(feeds))


def test_equal_models_give_equal_files(tmp_path: Path) -> None:
    for name in ("a", "b"):
        basalt.save_program(network(), tmp_path / f"{name}.bsl", {"x": (5, 24)})
    assert (tmp_path / "a.bsl").read_bytes() == (tmp_path / "b.bsl").read_bytes()


@pytest.mark.skipif("x86-64-v3" not in basalt.runtime.levels.host_levels(), reason="this CPU has no AVX2")
def test_every_level_gives_the_same_within_rounding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "n.bsl"
    basalt.save_program(network(), path, {"x": (5, 24)}, cpu=["v2", "v3", "v4"])
    assert [level.name for _, level in levels_of(open_program(path).record("model"))] == [
        "x86-64-v2",
        "x86-64-v3",
        "x86-64-v4",
    ]
    feeds = rows(5)
    wanted = network().run(feeds)
    for level in ("v2", "v3"):
        monkeypatch.setenv("BASALT_CPU_LEVEL", level)
        runner = basalt.Runner(path, trust_native=True)
        assert runner.level == f"x86-64-{level}"
        for name, got in runner.run(feeds).items():
            np.testing.assert_allclose(got, wanted[name], rtol=2e-6, atol=2e-6)


def test_levels_share_what_is_equal(tmp_path: Path) -> None:
    basalt.save_program(network(), tmp_path / "n.bsl", {"x": (5, 24)}, cpu=["v2", "v3", "v4"], source=False)
    sizes = open_program(tmp_path / "n.bsl").parts
    assert sizes["weights"] >= 7 * 4, "the last addition's operand is the same for all"


def test_a_level_that_no_cpu_here_has_is_never_run(
    saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    basalt.save_program(network(), tmp_path / "n.bsl", {"x": (5, 24)}, cpu=["v4"], source=False)
    monkeypatch.setenv("BASALT_CPU_LEVEL", "v3")
    with pytest.raises(UnsupportedError, match=r"no machine code fits: .*x86-64-v4 also needs avx512bw"):
        basalt.Runner(tmp_path / "n.bsl", trust_native=True)


# ---------------------------------------------------------------------------------------------------------------------


def onnx_file(tmp_path: Path, nodes: list[Any], inputs: Any, outputs: Any, weights: dict[str, np.ndarray]) -> Path:
    values = [[helper.make_tensor_value_info(n, t, s) for n, t, s in entries] for entries in (inputs, outputs)]
    tensors = [numpy_helper.from_array(array, name) for name, array in weights.items()]
    graph = helper.make_graph(nodes, "g", *values, tensors)
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid("ai.onnx.ml", 3)]
    path = tmp_path / "m.onnx"
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=9), path)
    return path


def test_branches_that_were_taken_are_stored_and_others_compiled(tmp_path: Path) -> None:
    branches = []
    for op in ("Exp", "Neg"):
        out = helper.make_tensor_value_info("t", TensorProto.FLOAT, ["n"])
        branches.append(helper.make_graph([helper.make_node(op, ["x"], ["t"])], op, [], [out]))
    nodes = [
        helper.make_node("ReduceSum", ["x"], ["s"], keepdims=0),
        helper.make_node("Greater", ["s", "zero"], ["c"]),
        helper.make_node("If", ["c"], ["y"], then_branch=branches[0], else_branch=branches[1]),
    ]
    path = onnx_file(
        tmp_path,
        nodes,
        [("x", TensorProto.FLOAT, ["n"])],
        [("y", TensorProto.FLOAT, ["n"])],
        {"zero": np.zeros((), np.float32)},
    )
    model = basalt.load(path, eager_first_run=False)
    up, down = (np.full(4, v, np.float32) for v in (1, -1))
    with pytest.raises(UnsupportedError, match="has several steps, which runs decide: give inputs"):
        basalt.save_program(model, tmp_path / "m.bsl", {"x": (4,)})
    basalt.save_program(model, tmp_path / "m.bsl", feeds={"x": up})
    runner = basalt.Runner(tmp_path / "m.bsl", trust_native=True)
    np.testing.assert_allclose(runner.run({"x": up})["y"], np.exp(up), rtol=1e-6)
    assert runner._source is None, "nothing had to be compiled"
    np.testing.assert_array_equal(runner.run({"x": down})["y"], -down)
    basalt.save_program(model, tmp_path / "s.bsl", feeds=[{"x": up}, {"x": down}], source=False)
    both = basalt.Runner(tmp_path / "s.bsl", trust_native=True)
    for x in (up, down):
        np.testing.assert_array_equal(both.run({"x": x})["y"], runner.run({"x": x})["y"])
    with pytest.raises(ValidationError, match="no program for the inputs"):
        both.run({"x": np.ones(5, np.float32)})


def test_host_operators_run_between_programs(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Mul", ["x", "two"], ["a"]),
        helper.make_node("ZipMap", ["a"], ["z"], domain="ai.onnx.ml", classlabels_strings=["no", "yes"]),
        helper.make_node("NonZero", ["a"], ["i"]),
        helper.make_node("Transpose", ["i"], ["places"]),
        helper.make_node("StringNormalizer", ["words"], ["upper"], case_change_action="UPPER"),
    ]
    outputs = [("places", TensorProto.INT64, [None, 2]), ("upper", TensorProto.STRING, [None])]
    path = onnx_file(
        tmp_path,
        nodes,
        [("x", TensorProto.FLOAT, ["n", 2]), ("words", TensorProto.STRING, ["k"])],
        outputs,
        {"two": np.array(2, np.float32)},
    )
    proto = onnx.load(path)
    proto.graph.output.append(
        helper.make_value_info(
            "z",
            helper.make_sequence_type_proto(
                helper.make_map_type_proto(TensorProto.STRING, helper.make_tensor_type_proto(TensorProto.FLOAT, []))
            ),
        )
    )
    onnx.save(proto, path)
    feeds = {"x": np.array([[1, 0], [0, 3]], np.float32), "words": np.array(["a", "gr\u00fc\u00df"], object)}
    basalt.save_program(basalt.load(path, eager_first_run=False), tmp_path / "m.bsl", feeds=feeds, source=False)
    script = (
        "import sys, numpy as np, basalt\n"
        f"r = basalt.Runner({str(tmp_path / 'm.bsl')!r}, trust_native=True)\n"
        "words = np.array(['a', 'gr\\u00fc\\u00df'], object)\n"
        "y = r.run({'x': np.array([[1, 0], [0, 3]], np.float32), 'words': words})\n"
        "assert y['places'].tolist() == [[0, 0], [1, 1]], y\n"
        "assert y['upper'].tolist() == ['A', 'GR\\u00dcSS'], y\n"
        "assert y['z'] == [{'no': 2.0, 'yes': 0.0}, {'no': 0.0, 'yes': 6.0}], y\n"
        "assert not {'numba', 'llvmlite', 'onnx'} & set(sys.modules)\n"
        "assert not [m for m in sys.modules if m.startswith('basalt.compiler.codegen')]\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=120)


def test_bodies_are_repeated_by_the_host(tmp_path: Path) -> None:
    """x doubled until its sum passes a limit: how often is decided by values, and each iteration's sum is kept."""
    values = [
        helper.make_tensor_value_info(n, t, s)
        for n, t, s in (
            ("i", TensorProto.INT64, []),
            ("go", TensorProto.BOOL, []),
            ("v", TensorProto.FLOAT, ["n"]),
            ("on", TensorProto.BOOL, []),
            ("w", TensorProto.FLOAT, ["n"]),
            ("sum", TensorProto.FLOAT, []),
        )
    ]
    nodes = [
        helper.make_node("Add", ["v", "v"], ["w"]),
        helper.make_node("ReduceSum", ["w"], ["sum"], keepdims=0),
        helper.make_node("Less", ["sum", "limit"], ["on"]),
    ]
    body = helper.make_graph(nodes, "body", values[:3], values[3:])
    path = onnx_file(
        tmp_path,
        [helper.make_node("Loop", ["", "yes", "x"], ["y", "sums"], body=body)],
        [("x", TensorProto.FLOAT, ["n"]), ("limit", TensorProto.FLOAT, [])],
        [("y", TensorProto.FLOAT, ["n"]), ("sums", TensorProto.FLOAT, [None])],
        {"yes": np.array(True)},
    )
    feeds = {"x": np.array([1, 2], np.float32), "limit": np.array(20, np.float32)}
    basalt.save_program(basalt.load(path, eager_first_run=False), tmp_path / "m.bsl", feeds=feeds, source=False)
    runner = basalt.Runner(tmp_path / "m.bsl", trust_native=True)
    for limit, sums in ((20, [6, 12, 24]), (50, [6, 12, 24, 48, 96]), (1, [6])):
        got = runner.run({"x": np.array([1, 2], np.float32), "limit": np.array(limit, np.float32)})
        assert got["sums"].tolist() == sums
        assert got["y"].tolist() == [sums[-1] / 3, sums[-1] * 2 / 3]


def test_types_that_programs_hold_otherwise_come_back(tmp_path: Path) -> None:
    path = onnx_file(
        tmp_path,
        [helper.make_node("And", ["a", "b"], ["c"]), helper.make_node("Not", ["c"], ["d"])],
        [("a", TensorProto.BOOL, [3]), ("b", TensorProto.BOOL, [3])],
        [("c", TensorProto.BOOL, [3]), ("d", TensorProto.BOOL, [3])],
        {},
    )
    feeds = {"a": np.array([True, False, True]), "b": np.array([True, True, False])}
    basalt.save_program(basalt.load(path), tmp_path / "m.bsl", feeds=feeds, source=False)
    got = basalt.Runner(tmp_path / "m.bsl", trust_native=True).run(feeds)
    assert got["c"].dtype == bool and got["c"].tolist() == [True, False, False]
    assert got["d"].tolist() == [False, True, True]


def test_estimators_and_modules_run_as_their_graphs(tmp_path: Path) -> None:
    sklearn = pytest.importorskip("sklearn.linear_model")
    rows = RNG.standard_normal((30, 4))
    fitted = sklearn.LogisticRegression().fit(rows, rows[:, 0] > 0)
    estimator = basalt.from_sklearn(fitted)
    basalt.save_program(estimator, tmp_path / "e.bsl", {"X": (30, 4)})
    runner = basalt.load(tmp_path / "e.bsl", trust_native=True)
    np.testing.assert_allclose(runner.run({"X": rows})["predict_proba"], fitted.predict_proba(rows), rtol=1e-12)
    assert isinstance(runner.source(), basalt.Estimator)
    with pytest.warns(basalt.NativeCodeWarning):
        loaded = basalt.load(tmp_path / "e.bsl")
    np.testing.assert_array_equal(loaded.predict(rows), fitted.predict(rows))
    np.testing.assert_allclose(runner.run({"X": rows[:7]})["predict_proba"], fitted.predict_proba(rows[:7]), rtol=1e-12)


def test_caches_are_changed_in_place(tmp_path: Path) -> None:
    """One array for an input and an output: only what is new is written, by a file's program too."""
    path = onnx_file(
        tmp_path,
        [helper.make_node("ScatterElements", ["cache", "place", "new"], ["kept"], axis=0)],
        [
            ("cache", TensorProto.FLOAT, [8, 4]),
            ("place", TensorProto.INT64, [1, 4]),
            ("new", TensorProto.FLOAT, [1, 4]),
        ],
        [("kept", TensorProto.FLOAT, [8, 4])],
        {},
    )
    basalt.save_program(basalt.load(path), tmp_path / "m.bsl", source=False)
    runner = basalt.Runner(tmp_path / "m.bsl", trust_native=True)
    cache = np.zeros((8, 4), np.float32)
    for step in range(8):
        feeds = {"cache": cache, "place": np.full((1, 4), step), "new": np.full((1, 4), step + 1, np.float32)}
        assert runner.run(feeds, {"kept": cache})["kept"] is cache
    np.testing.assert_array_equal(cache[:, 0], np.arange(1, 9))
    (program,) = runner._native.programs()  # type: ignore[union-attr]
    assert list(program.spec.carried) == [(0, 0)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"shapes": {"x": (1, 24), "z": (2,)}}, "no input is named 'z'; the inputs are 'x'"),
        ({"shapes": {"x": (1.5, 24)}}, r"\[1.5, 24\] has 1.5, expected sizes"),
        ({"shapes": {"x": ("1", 24)}}, "has '1', expected sizes"),
        ({"shapes": {"x": 4}}, "got 4, expected a sequence of sizes"),
        ({"shapes": "x=1x24"}, "shapes is 'x=1x24', expected a dictionary"),
        ({"shapes": ["x"]}, "expected a dictionary from input names, or a list of such"),
        ({"feeds": 3}, "feeds is 3, expected a dictionary"),
        ({"feeds": {"x": np.zeros((1, 24)), "z": 1}}, "no input is named 'z'"),
        ({"feeds": {}}, "input 'x' is missing"),
        ({"shapes": {"x": (1, 24)}, "cpu": 3}, "cpu is 3, expected a name"),
    ],
)
def test_what_is_no_signature(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        basalt.save_program(network(), tmp_path / "o.bsl", **options)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("model", [None, "model.onnx", 5])
def test_what_is_no_model(tmp_path: Path, model: Any) -> None:
    with pytest.raises(ValidationError, match="cannot be compiled, expected a graph"):
        basalt.save_program(model, tmp_path / "o.bsl")


@pytest.mark.parametrize("threads", [0, -1, 1.5, "2", True])
def test_numbers_of_threads(saved: Path, threads: Any) -> None:
    for load in (basalt.load, basalt.Runner):
        with pytest.raises(ValidationError, match="number of threads"):
            load(saved, trust_native=True, threads=threads)


def test_bounds_that_are_none(saved: Path) -> None:
    runner = basalt.Runner(saved, trust_native=True)
    for bound in (-1, "1", 1.5, True):
        with pytest.raises(ValidationError, match="bytes given, expected at least"):
            runner.limit_memory(bound)
