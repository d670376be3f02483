"""Whole processes: from the interpreter's start to its end, imports and first results included.

Contenders differ in what they import, not in who measures: a worker runs the command that the case has for it.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from . import Case, Options, models

__all__ = ["PEERS", "build", "cases"]

PEERS = ("numpy", "ort", "openvino", "torch")
_IMPORTS = {
    "basalt": "import basalt; basalt.load, basalt.MLGraphBuilder",
    "numpy": "import numpy",
    "ort": "import onnxruntime",
    "openvino": "import openvino",
    "torch": "import torch",
}
_LOAD = {
    "basalt": "import basalt; r = basalt.load('{model}', threads={threads}).run(feeds)",
    "ort": (
        "import onnxruntime as o; s = o.SessionOptions(); s.intra_op_num_threads = {threads}; "
        "r = o.InferenceSession('{model}', s).run(None, feeds)"
    ),
    "openvino": (
        "import openvino as o; c = o.Core().compile_model('{model}', 'CPU', {{'INFERENCE_NUM_THREADS': {threads}}}); "
        "r = c(feeds)"
    ),
}
_FEEDS = "import numpy as np; feeds = dict(np.load('{feeds}')); "


_COMPILED = {
    **_LOAD,
    "basalt": "import basalt; r = basalt.Runner('{compiled}', trust_native=True, threads={threads}).run(feeds)",
}
STARTED = ("rapid_orient", "minilm_l3", "silero_vad", "ppocr4_rec", "t5_dec_int8")
"""The real models whose first results are measured, from files that were compiled ahead of time."""


def cases(options: Options) -> list[Case]:
    """Imports; first results of a small network, with kernels cached and not, and of real models; the command line."""
    found = [
        _case("import", _IMPORTS),
        _case("first-result/warm", {name: _FEEDS + code for name, code in _LOAD.items()}),
        _case("first-result/cold", {name: _FEEDS + code for name, code in _LOAD.items()}, cold=True),
        _case(
            "bslc-help", {"basalt": "import sys; sys.argv = ['bslc', '--help']; from basalt.cli import main; main()"}
        ),
    ]
    return found[:2] if options.quick else found + _compiled(options)


def _compiled(options: Options) -> list[Case]:
    """First results of real models, each compiled into a file before."""
    paths = {Path(case.params["path"]).stem: case.params["path"] for case in models.cases(options)}
    found = []
    for name in STARTED:
        if name in paths:
            commands = {contender: _FEEDS + code for contender, code in _COMPILED.items()}
            params = {"kind": "process", "commands": commands, "cold": False, "path": paths[name]}
            found.append(Case("startup", f"compiled/{name}", f"compiled-{name}", params))
    return found


def _case(name: str, commands: dict[str, str], cold: bool = False) -> Case:
    return Case("startup", name, "startup", {"kind": "process", "commands": commands, "cold": cold})


def build(case: Case, folder: Path) -> None:
    """A network and its input; nothing is expected: a real one, compiled too, or two convolutions and a product."""
    if "path" in case.params:
        _build_compiled(case, folder)
        return
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    rng = np.random.default_rng(3)
    shapes = {"w1": (16, 1, 3, 3), "w2": (32, 16, 3, 3), "w3": (32 * 64, 10)}
    weights = [numpy_helper.from_array((rng.standard_normal(s) * 0.1).astype(np.float32), n) for n, s in shapes.items()]
    nodes = [
        helper.make_node("Conv", ["x", "w1"], ["a"], pads=[1] * 4),
        helper.make_node("Relu", ["a"], ["b"]),
        helper.make_node("Conv", ["b", "w2"], ["c"], pads=[1] * 4),
        helper.make_node("Relu", ["c"], ["d"]),
        helper.make_node("Flatten", ["d"], ["e"]),
        helper.make_node("Gemm", ["e", "w3"], ["f"]),
        helper.make_node("Softmax", ["f"], ["y"]),
    ]
    entry = helper.make_tensor_value_info("x", TensorProto.FLOAT, (1, 1, 8, 8))
    result = helper.make_tensor_value_info("y", TensorProto.FLOAT, (1, 10))
    graph = helper.make_graph(nodes, "digits", [entry], [result], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, folder / "model.onnx")
    np.savez(folder / "feeds.npz", x=rng.random((1, 1, 8, 8), np.float32))
    np.savez(folder / "expected.npz", status=np.zeros(1, np.int64))


def _build_compiled(case: Case, folder: Path) -> None:
    import basalt

    models.build(case, folder)
    feeds = dict(np.load(folder / "feeds.npz"))
    model = basalt.load(case.params["path"], eager_first_run=False)
    basalt.save_program(model, folder / "model.bsl", feeds=feeds)
    np.savez(folder / "expected.npz", status=np.zeros(1, np.int64))
