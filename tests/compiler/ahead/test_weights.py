"""Weights that are stored narrow: of graphs and of ONNX models, what stays as it is, and what files come to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import basalt
from basalt.compiler.ahead.weights import with_weights
from basalt.compiler.exchange import to_data
from basalt.compiler.model import Model
from basalt.compiler.modules.module import Module
from basalt.compiler.narrow import FORMS
from basalt.errors import UnsupportedError, ValidationError
from basalt.ops import numpy_dtype
from basalt.serialization import ModuleData

RNG = np.random.default_rng(5)
W, U = (RNG.normal(size=shape).astype(np.float32) for shape in ((48, 64), (64, 32)))


def rounded(array: np.ndarray, dtype: str) -> np.ndarray:
    return array.astype(numpy_dtype(dtype)).astype(np.float32)


def network(w: np.ndarray = W, u: np.ndarray = U) -> basalt.MLGraph:
    b = basalt.MLGraphBuilder(basalt.MLContext(eager_first_run=False))
    hidden = b.relu(b.matmul(b.input("x", "float32", ("rows", w.shape[0])), b.constant(w)))
    return b.build({"y": b.add(b.matmul(hidden, b.constant(u)), b.constant(np.ones(u.shape[1], np.float32)))})


def tensors(model: Any) -> dict[str, tuple[str, tuple[int, ...]]]:
    return {t.name: (t.dtype, t.dims) for t in model.onnx.graph.initializers}


def loaded(
    nodes: list[onnx.NodeProto], initialisers: dict[str, np.ndarray], opset: int = 17, **options: Any
) -> basalt.OnnxExecutable:
    """A model from x [rows, 48] to y [rows, 32]."""
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["rows", 48])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["rows", 32])
    given = [numpy_helper.from_array(array, name) for name, array in initialisers.items()]
    inputs = [x, *(helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in options.pop("inputs", ()))]
    outputs = [y, *(helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in options.pop("outputs", ()))]
    graph = helper.make_graph(nodes, "g", inputs, outputs, given)
    imports = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=imports, ir_version=8, **options)
    found: basalt.OnnxExecutable = basalt.load(model.SerializeToString())
    return found


def two_products(opset: int = 17, **more: Any) -> basalt.OnnxExecutable:
    nodes = [helper.make_node("MatMul", ["x", "w"], ["h"]), helper.make_node("MatMul", ["h", "u"], ["y"])]
    return loaded(nodes, {"w": W, "u": U}, opset, **more)


def feeds(rows: int = 3) -> dict[str, np.ndarray]:
    return {"x": RNG.normal(size=(rows, 48)).astype(np.float32)}


@pytest.mark.parametrize("dtype", FORMS)
def test_a_graph_computes_with_rounded_weights(dtype: str) -> None:
    model, done = with_weights(network(), dtype)
    assert (done.tensors, done.numbers, done.kept) == (2, W.size + U.size, [])
    given = feeds()
    np.testing.assert_array_equal(model.run(given)["y"], network(rounded(W, dtype), rounded(U, dtype)).run(given)["y"])
    stored = sorted(c.dtype for c in model.graph.constants() if c.type.size > 100)
    assert stored == [dtype, dtype]


@pytest.mark.parametrize("dtype", FORMS)
@pytest.mark.parametrize("opset", [9, 17])
def test_an_onnx_model_computes_with_rounded_weights(dtype: str, opset: int) -> None:
    model, done = with_weights(two_products(opset), dtype)
    assert (done.tensors, done.kept) == (2, [])
    given = feeds()
    wanted = rounded(W, dtype), rounded(U, dtype)
    np.testing.assert_allclose(model.run(given)["y"], given["x"] @ wanted[0] @ wanted[1], rtol=2e-5, atol=2e-4)
    # An old Cast lacks bfloat16.
    casts = dtype == "float16" or opset >= 13
    assert {kind for kind, _ in tensors(model).values()} == {dtype if casts else "float32"}
    onnx.checker.check_model(onnx.load_model_from_string(model.onnx.to_bytes()))


def test_models_stay_of_their_kind() -> None:
    """A module is called as before, metadata stay."""
    data = to_data(network().graph, network().constants, {"author": "somebody"})
    arguments = ("tuple", ("tuple", ("tensor", 0)), ("dict",))
    made = Module.from_module_data(ModuleData(data, arguments, ("tensor", 0)))
    module, done = with_weights(made, "float16")
    assert isinstance(module, Module) and done.tensors == 2
    x = feeds()["x"]
    wanted = network(rounded(W, "float16"), rounded(U, "float16")).run({"x": x})["y"]
    np.testing.assert_allclose(module(x), wanted, rtol=1e-5, atol=1e-4)
    model, _ = with_weights(Model.from_data(data), "float16")
    assert model.metadata == {"author": "somebody"}


def test_nothing_to_do_gives_the_model_itself() -> None:
    model = two_products()
    assert with_weights(model, "float32")[0] is model
    short = loaded([helper.make_node("Gemm", ["x", "w"], ["y"])], {"w": W[:, :1] * np.ones((1, 20), np.float32)})
    found, done = with_weights(short, "float16")
    assert found is short and (done.tensors, done.kept) == (0, [])


def test_constants_in_nodes_branches_and_functions() -> None:
    value = numpy_helper.from_array(U, "")
    branch = helper.make_graph(
        [helper.make_node("Constant", [], ["inner"], value=value), helper.make_node("MatMul", ["h", "inner"], ["b"])],
        "branch",
        [],
        [helper.make_tensor_value_info("b", TensorProto.FLOAT, None)],
    )
    other = helper.make_graph(
        [helper.make_node("MatMul", ["h", "own"], ["e"])],
        "other",
        [],
        [helper.make_tensor_value_info("e", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(-U, "own")],
    )
    nodes = [
        helper.make_node("Constant", [], ["w"], value=numpy_helper.from_array(W, "")),
        helper.make_node("MatMul", ["x", "w"], ["h"]),
        helper.make_node("ReduceSum", ["h"], ["total"], keepdims=0),
        helper.make_node("Greater", ["total", "zero"], ["positive"]),
        helper.make_node("If", ["positive"], ["y"], then_branch=branch, else_branch=other),
    ]
    model, done = with_weights(loaded(nodes, {"zero": np.zeros((), np.float32)}), "float16")
    assert (done.tensors, done.kept) == (3, [])
    given, w, u = feeds(), rounded(W, "float16"), rounded(U, "float16")
    for x in (given["x"], -given["x"]):
        h = x @ w
        np.testing.assert_allclose(model.run({"x": x})["y"], h @ (u if h.sum() > 0 else -u), rtol=2e-5, atol=2e-4)


def test_constants_of_a_function() -> None:
    function = helper.make_function(
        "own",
        "dense",
        ["a"],
        ["b"],
        [
            helper.make_node("Constant", [], ["w"], value=numpy_helper.from_array(W[:, :32].copy(), "")),
            helper.make_node("MatMul", ["a", "w"], ["b"]),
        ],
        [helper.make_opsetid("", 17)],
    )
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["rows", 48])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["rows", 32])
    graph = helper.make_graph([helper.make_node("dense", ["x"], ["y"], domain="own")], "g", [x], [y])
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
    made = helper.make_model(graph, opset_imports=imports, ir_version=8, functions=[function])
    model, done = with_weights(basalt.load(made.SerializeToString()), "float16")
    given = feeds()
    assert done.tensors == 1
    wanted = given["x"] @ rounded(W[:, :32], "float16")
    np.testing.assert_allclose(model.run(given)["y"], wanted, rtol=2e-5, atol=2e-4)


def test_scales_of_what_is_quantised_stay() -> None:
    codes = RNG.integers(-127, 127, (48, 2048)).astype(np.int8)
    scales = RNG.uniform(0.01, 0.02, (2, 2048)).astype(np.float32)
    nodes = [
        helper.make_node("DequantizeLinear", ["codes", "scales"], ["w"], axis=0, block_size=24),
        helper.make_node("MatMul", ["x", "w"], ["h"]),
        helper.make_node("MatMul", ["h", "u"], ["y"]),
    ]
    u = RNG.normal(size=(2048, 32)).astype(np.float32)
    model, done = with_weights(loaded(nodes, {"codes": codes, "scales": scales, "u": u}, opset=21), "float16")
    kinds = {name: kind for name, (kind, _) in tensors(model).items()}
    assert kinds == {"codes": "int8", "scales": "float32", "u_float16": "float16"} and done.tensors == 1
    b = basalt.MLGraphBuilder(basalt.MLContext())
    x = b.input("x", "float32", (1, 48))
    w = b.dequantize_linear(b.constant(codes), b.constant(scales), b.constant(np.zeros((2, 2048), np.int8)))
    _, done = with_weights(b.build({"y": b.matmul(x, w)}), "float16")
    assert done.tensors == 0


def test_numbers_that_the_type_lacks_stay() -> None:
    large, small = W.copy(), U * 1e-9
    large[3, 4] = 7e4
    for build in (network, lambda w, u: _products(w, u)):
        _, done = with_weights(build(large, small), "float16")
        assert done.tensors == 0 and len(done.kept) == 2
        _, done = with_weights(build(large, small), "bfloat16")
        assert done.tensors == 2 and done.kept == []
    model, done = with_weights(_products(large, U), "float16")
    assert done.kept == ["w"] and set(tensors(model)) == {"w", "u_float16"}


def _products(w: np.ndarray, u: np.ndarray) -> basalt.OnnxExecutable:
    nodes = [helper.make_node("MatMul", ["x", "w"], ["h"]), helper.make_node("MatMul", ["h", "u"], ["y"])]
    return loaded(nodes, {"w": w, "u": u})


def test_what_callers_see_stays() -> None:
    """Inputs with defaults, constants that are outputs, vectors, and other data types."""
    model, done = with_weights(two_products(inputs=[("w", [48, 64])], outputs=[("u", [64, 32])]), "float16")
    assert done.tensors == 0 and tensors(model) == {"w": ("float32", (48, 64)), "u": ("float32", (64, 32))}
    b = basalt.MLGraphBuilder(basalt.MLContext())
    w, vector = b.constant(W), b.constant(np.ones(4096, np.float32))
    graph = b.build({"y": b.matmul(b.input("x", "float32", (1, 48)), w), "w": b.identity(w), "v": b.identity(vector)})
    found, done = with_weights(graph, "float16")
    assert done.tensors == 1
    np.testing.assert_array_equal(found.run({"x": np.zeros((1, 48), np.float32)})["v"], np.ones(4096))


def test_names_that_are_taken() -> None:
    nodes = [
        helper.make_node("Identity", ["x"], ["w_float16"]),
        helper.make_node("MatMul", ["w_float16", "w"], ["h"]),
        helper.make_node("MatMul", ["h", "u"], ["y"]),
    ]
    model, _ = with_weights(loaded(nodes, {"w": W, "u": U}), "float16")
    assert set(tensors(model)) == {"w_float16_", "u_float16"}
    model.run(feeds())


@pytest.mark.parametrize("source", [True, False])
def test_files_take_half_the_bytes(tmp_path: Path, source: bool) -> None:
    w, u = (RNG.normal(size=shape).astype(np.float32) for shape in ((256, 512), (512, 128)))
    sizes = {}
    for dtype in ("float32", *FORMS):
        path = tmp_path / f"{dtype}.bsl"
        basalt.save_program(network(w, u), path, {"x": (2, 256)}, dtype=dtype, source=source)
        sizes[dtype] = path.stat().st_size
        given = {"x": RNG.normal(size=(2, 256)).astype(np.float32)}
        runner = basalt.Runner(path, trust_native=True)
        wanted = (network(w, u) if dtype == "float32" else network(rounded(w, dtype), rounded(u, dtype))).run(given)
        np.testing.assert_array_equal(runner.run(given)["y"], wanted["y"])
        if source:
            other = {"x": RNG.normal(size=(5, 256)).astype(np.float32)}
            wanted = (network(w, u) if dtype == "float32" else network(rounded(w, dtype), rounded(u, dtype))).run(other)
            np.testing.assert_allclose(runner.run(other)["y"], wanted["y"], rtol=1e-5, atol=1e-4)
    narrow = (w.nbytes + u.nbytes) // 2 * (2 if source else 1)
    for dtype in FORMS:
        assert sizes["float32"] - sizes[dtype] > 0.95 * narrow


def test_what_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValidationError, match=r"'int8', expected one of float32, float16, bfloat16"):
        basalt.save_program(network(), tmp_path / "a.bsl", {"x": (1, 48)}, dtype="int8")
    from sklearn.linear_model import LogisticRegression

    fitted = LogisticRegression().fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(UnsupportedError, match="are stored as they are, expected a graph"):
        basalt.save_program(basalt.from_sklearn(fitted), tmp_path / "a.bsl", dtype="float16")
    assert not (tmp_path / "a.bsl").exists()
