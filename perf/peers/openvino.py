"""OpenVINO's CPU plugin, in float32 and with one stream: its settings for latency."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import CannotRun, Prepared, Task, installed
from .files import feeds_of, kind_of

__all__ = ["prepare", "versions"]


def versions() -> dict[str, str]:
    """OpenVINO."""
    return installed("openvino")


def prepare(task: Task) -> Prepared:
    """A compiled model and its request."""
    import openvino

    if kind_of(task) != "onnx":
        raise CannotRun("openvino runs ONNX models only")
    feeds = feeds_of(task)
    core = openvino.Core()
    try:
        model = core.read_model(task.folder / "model.onnx")
        model.reshape({name: openvino.PartialShape(list(array.shape)) for name, array in feeds.items()})
        settings: dict[str, Any] = {
            "INFERENCE_NUM_THREADS": task.threads,
            "PERFORMANCE_HINT": "LATENCY",
            "INFERENCE_PRECISION_HINT": "f32",
            "NUM_STREAMS": 1,
        }
        if task.params.get("level") == 0:
            # Products with weights of 4 bits would else round activations to 8 bits, which this case does not allow.
            settings["DYNAMIC_QUANTIZATION_GROUP_SIZE"] = 0
        compiled = core.compile_model(model, "CPU", settings)
    except RuntimeError as error:
        raise CannotRun(str(error).strip().splitlines()[-1]) from error
    request = compiled.create_infer_request()

    def outputs() -> dict[str, np.ndarray]:
        found = request.infer(feeds, share_inputs=True)
        return {name: np.array(found[port]) for port in compiled.outputs for name in port.get_names()}

    if task.params.get("bound"):
        outputs()
        for name, array in feeds.items():
            request.set_tensor(name, openvino.Tensor(array, shared_memory=True))
        return Prepared(request.infer, outputs, "buffers bound")
    return Prepared(lambda: request.infer(feeds, share_inputs=True), outputs)
