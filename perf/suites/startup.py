"""Whole processes: from the interpreter's start to its end, imports and first results included.

Contenders differ in what they import, not in who measures: a worker runs the command that the case has for it.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from . import Case, Options

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


def cases(options: Options) -> list[Case]:
    """Imports; a small network's first result, with kernels in the cache and without; the command's help."""
    found = [
        _case("import", _IMPORTS),
        _case("first-result/warm", {name: _FEEDS + code for name, code in _LOAD.items()}),
        _case("first-result/cold", {name: _FEEDS + code for name, code in _LOAD.items()}, cold=True),
        _case(
            "bslc-help", {"basalt": "import sys; sys.argv = ['bslc', '--help']; from basalt.cli import main; main()"}
        ),
    ]
    return found[:2] if options.quick else found


def _case(name: str, commands: dict[str, str], cold: bool = False) -> Case:
    return Case("startup", name, "startup", {"kind": "process", "commands": commands, "cold": cold})


def build(case: Case, folder: Path) -> None:
    """A network of two convolutions and a product, its input, and nothing that is expected."""
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
