"""ONNX Runtime: models as they are; estimators through skl2onnx, in float32 (``ort``) or doubles (``ort-f64``)."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from . import CannotRun, Prepared, Task, installed
from .files import feeds_of, fitted, flat_outputs, kind_of, rows_of

__all__ = ["prepare", "session", "versions"]

_OUTPUTS = {"predict_proba": "probabilities", "predict": "label", "decision_function": "probabilities"}
_ERRORS_ONLY = 3


def versions() -> dict[str, str]:
    """ONNX Runtime and the converter."""
    return installed("onnxruntime", "skl2onnx", "onnx")


def session(model: bytes | str, threads: int, *, exact: bool = False) -> Any:
    """A session on a number of threads, with all optimisations.

    Where ``exact``, sums of products of bytes are not cut to 16 bits, which they are by default on CPUs without VNNI.
    """
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = _ERRORS_ONLY
    if exact:
        options.add_session_config_entry("session.x64quantprecision", "1")
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def prepare(task: Task) -> Prepared:
    """A session for the problem."""
    if kind_of(task) == "estimator":
        return _estimator(task)
    if kind_of(task) != "onnx" or task.contender != "ort":
        raise CannotRun(f"{task.contender} does not run a problem of kind {kind_of(task)}")
    exact = bool(task.params.get("exact"))
    running, feeds = session(str(task.folder / "model.onnx"), task.threads, exact=exact), feeds_of(task)
    names = [output.name for output in running.get_outputs()]

    def outputs() -> dict[str, np.ndarray]:
        return flat_outputs(dict(zip(names, running.run(None, feeds), strict=True)))

    if task.params.get("bound"):
        return Prepared(_bound(running, feeds, outputs()), outputs, "buffers bound")
    return Prepared(lambda: running.run(None, feeds), outputs)


def _bound(running: Any, feeds: dict[str, np.ndarray], results: dict[str, np.ndarray]) -> Callable[[], Any]:
    """A call that reads and writes buffers given once."""
    import onnxruntime

    binding = running.io_binding()
    for name, array in feeds.items():
        binding.bind_ortvalue_input(name, onnxruntime.OrtValue.ortvalue_from_numpy(array))
    for name, array in results.items():
        binding.bind_ortvalue_output(name, onnxruntime.OrtValue.ortvalue_from_numpy(array))
    return lambda: running.run_with_iobinding(binding)


def _estimator(task: Task) -> Prepared:
    from skl2onnx import convert_sklearn
    from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType
    from skl2onnx.helpers.onnx_helper import select_model_inputs_outputs

    _accept_booleans()
    estimator = fitted(task)
    doubles = task.contender.endswith("f64")
    rows = rows_of(task, np.float64 if doubles else np.float32)
    kind = DoubleTensorType if doubles else FloatTensorType
    options: dict[str, Any] = {"zipmap": False} if hasattr(estimator, "predict_proba") else {}
    if task.params["method"] == "decision_function":
        options = {"zipmap": False, "raw_scores": True}
    try:
        model = convert_sklearn(
            estimator, initial_types=[("X", kind([None, rows.shape[1]]))], options={id(estimator): options}
        )
        output = _OUTPUTS[task.params["method"]]
        running = session(select_model_inputs_outputs(model, [output]).SerializeToString(), task.threads)
    except Exception as error:
        raise CannotRun(f"skl2onnx and ONNX Runtime: {error}") from error
    wanted, feeds = [output], {"X": rows}

    def outputs() -> dict[str, np.ndarray]:
        (result,) = running.run(wanted, feeds)
        # Of two classes ONNX gives both scores, scikit-learn that of the second.
        if task.params["method"] == "decision_function":
            result = result[:, -1]
        return {"y": result}

    return Prepared(lambda: running.run(wanted, feeds), outputs, f"skl2onnx, {rows.dtype} rows")


@functools.cache
def _accept_booleans() -> None:
    """Let attributes hold booleans as whole numbers.

    skl2onnx 1.20 gives booleans where a node of histogram boosting says which way missing values go; newer versions of
    protobuf refuse them.
    """
    from onnx import helper

    make = helper.make_attribute

    def made(key: str, value: Any, *others: Any, **named: Any) -> Any:
        if isinstance(value, (list, tuple)) and any(isinstance(each, (bool, np.bool_)) for each in value):
            value = [int(each) for each in value]
        return make(key, value, *others, **named)

    helper.make_attribute = made
