"""onnxruntime's common interface over Basalt, so that a script changes one import: ``import basalt as ort``."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import Any

import numpy as np

from basalt.compiler.files import load
from basalt.compiler.onnx.model import OnnxExecutable
from basalt.errors import UnsupportedError, ValidationError
from basalt.serialization.onnx import OnnxType, OnnxValueInfo

__all__ = [
    "ExecutionMode",
    "GraphOptimizationLevel",
    "InferenceSession",
    "ModelMetadata",
    "NodeArg",
    "RunOptions",
    "SessionOptions",
    "get_available_providers",
    "get_device",
]

CPU = "CPUExecutionProvider"


class GraphOptimizationLevel(IntEnum):
    """Accepted and without effect: graphs are always optimised; ``BASALT_DEBUG`` shows and limits what is done."""

    ORT_DISABLE_ALL = 0
    ORT_ENABLE_BASIC = 1
    ORT_ENABLE_EXTENDED = 2
    ORT_ENABLE_LAYOUT = 3
    ORT_ENABLE_ALL = 99


class ExecutionMode(IntEnum):
    """Accepted and without effect: operators run one after another, each on all threads."""

    ORT_SEQUENTIAL = 0
    ORT_PARALLEL = 1


class SessionOptions:
    """The options of a session. Those that say how results are computed, but not which, may have no effect.

    ``intra_op_num_threads`` sets the threads (0: the process's setting); sizes given by
    ``add_free_dimension_override_by_name`` replace symbolic dimensions.
    """

    def __init__(self) -> None:
        self.intra_op_num_threads = 0
        self.inter_op_num_threads = 0
        self.graph_optimization_level = GraphOptimizationLevel.ORT_ENABLE_ALL
        self.execution_mode = ExecutionMode.ORT_SEQUENTIAL
        self.enable_cpu_mem_arena = True
        self.enable_mem_pattern = True
        self.enable_mem_reuse = True
        self.enable_profiling = False
        self.optimized_model_filepath = ""
        self.profile_file_prefix = "basalt_profile_"
        self.log_severity_level = -1
        self.log_verbosity_level = 0
        self.logid = ""
        self.use_deterministic_compute = False
        self._entries: dict[str, str] = {}
        self._dimensions: dict[str, int] = {}

    def add_session_config_entry(self, key: str, value: str) -> None:
        """Keep an entry; none has an effect."""
        self._entries[key] = value

    def get_session_config_entry(self, key: str) -> str:
        """The entry of a key.

        Raises:
            ValidationError: if there is none.
        """
        if key not in self._entries:
            raise ValidationError(f"the session options have no entry {key!r}")
        return self._entries[key]

    def add_free_dimension_override_by_name(self, name: str, size: int) -> None:
        """Give a symbolic dimension a size."""
        self._dimensions[name] = int(size)

    def register_custom_ops_library(self, path: str) -> None:
        """Refused: native operators of onnxruntime cannot be called."""
        raise UnsupportedError(f"custom operators of onnxruntime ({path}) cannot be loaded")


class RunOptions:
    """Accepted and without effect."""

    def __init__(self) -> None:
        self.log_severity_level = -1
        self.log_verbosity_level = 0
        self.logid = ""
        self.terminate = False
        self.only_execute_path_to_fetches = False

    def add_run_config_entry(self, key: str, value: str) -> None:
        """Has no effect."""


class NodeArg:
    """An input or output: ``name``, ``type`` (``tensor(float)``) and ``shape`` (sizes, names, None)."""

    def __init__(self, value: OnnxValueInfo) -> None:
        self.name = value.name
        self.type = _type_text(value.type)
        shape = value.type.shape if value.type is not None else None
        self.shape: list[int | str | None] = list(shape or ())

    def __repr__(self) -> str:
        return f"NodeArg(name={self.name!r}, type={self.type!r}, shape={self.shape})"


class ModelMetadata:
    """What a file says of itself."""

    def __init__(self, model: OnnxExecutable) -> None:
        source = model.onnx
        self.producer_name = source.producer_name
        self.graph_name = source.graph.name
        self.domain = source.domain
        self.description = source.doc_string
        self.graph_description = source.graph.doc_string
        self.version = source.model_version
        self.custom_metadata_map: dict[str, str] = dict(source.metadata_props)


class InferenceSession:
    """A model ready to run, with the methods of onnxruntime's class that scripts use.

    Args:
        path_or_bytes: a file's path, or a model's bytes.
        sess_options: options.
        providers: names of execution providers, in order of preference; the CPU's must be among them, others are
            passed over.
        provider_options: accepted and without effect.

    Raises:
        ValidationError: for providers of which none is the CPU's.
        UnsupportedError: for operators that Basalt lacks; lists them all.
        ModelFormatError: for a file that is no model.
    """

    def __init__(
        self,
        path_or_bytes: str | bytes | os.PathLike[str],
        sess_options: SessionOptions | None = None,
        providers: Sequence[Any] | None = None,
        provider_options: Sequence[Mapping[str, Any]] | None = None,
        **kwargs: Any,
    ) -> None:
        self._options = sess_options or SessionOptions()
        self.set_providers(providers, provider_options)
        model = load(path_or_bytes, threads=self._options.intra_op_num_threads or None)
        if not isinstance(model, OnnxExecutable):
            raise ValidationError(f"got a file of another kind ({type(model).__name__}), expected an ONNX model")
        self._model = model
        self._names = [spec.name for spec in model.outputs]

    def run(
        self, output_names: Sequence[str] | None, input_feed: Mapping[str, Any], run_options: RunOptions | None = None
    ) -> list[Any]:
        """The outputs of the given names (None or empty: all), in that order.

        Raises:
            ValidationError: for unknown or missing names, and values of other types or shapes.
        """
        names = list(output_names) if output_names else self._names
        unknown = [name for name in names if name not in self._names]
        if unknown:
            raise ValidationError(f"no output is named {unknown[0]!r}; the outputs are {self._names}")
        results = self._model.run(input_feed)
        return [results[name] for name in names]

    def get_inputs(self) -> list[NodeArg]:
        """The inputs that must be fed."""
        return [self._overridden(NodeArg(v)) for v in self._model.onnx.inputs]

    def get_outputs(self) -> list[NodeArg]:
        """The outputs."""
        return [self._overridden(NodeArg(v)) for v in self._model.onnx.outputs]

    def get_overridable_initializers(self) -> list[NodeArg]:
        """The inputs with a default."""
        fed = {v.name for v in self._model.onnx.inputs}
        return [NodeArg(v) for v in self._model.onnx.graph.inputs if v.name not in fed]

    def get_modelmeta(self) -> ModelMetadata:
        """What the file says of itself."""
        return ModelMetadata(self._model)

    def get_session_options(self) -> SessionOptions:
        """The options."""
        return self._options

    def get_providers(self) -> list[str]:
        """The CPU's provider."""
        return [CPU]

    def get_provider_options(self) -> dict[str, dict[str, Any]]:
        """No options."""
        return {CPU: {}}

    def set_providers(
        self, providers: Sequence[Any] | None = None, provider_options: Sequence[Mapping[str, Any]] | None = None
    ) -> None:
        """Check that the CPU's provider is among the given ones."""
        names = [p[0] if isinstance(p, tuple) else p for p in providers or [CPU]]
        if CPU not in names:
            raise ValidationError(f"providers are {names}, of which none is {CPU}, the only one there is")

    def disable_fallback(self) -> None:
        """Has no effect: there is nothing to fall back to."""

    def enable_fallback(self) -> None:
        """Has no effect."""

    def end_profiling(self) -> str:
        """Refused: ``bslc show --explain`` tells where time goes."""
        raise UnsupportedError("sessions write no profiles; bslc shows where time goes")

    def io_binding(self) -> IOBinding:
        """Inputs and outputs bound to a session's run."""
        return IOBinding(self)

    def run_with_iobinding(self, iobinding: IOBinding, run_options: RunOptions | None = None) -> None:
        """Run on what is bound; the results are in the binding."""
        iobinding.run(self._model)

    def _overridden(self, arg: NodeArg) -> NodeArg:
        sizes = self._options._dimensions
        arg.shape = [sizes.get(d, d) if isinstance(d, str) else d for d in arg.shape]
        return arg


class IOBinding:
    """Values bound to inputs, and arrays bound to outputs."""

    def __init__(self, session: InferenceSession) -> None:
        self._inputs: dict[str, Any] = {}
        self._outputs: dict[str, np.ndarray | None] = {}
        self._names = [arg.name for arg in session.get_outputs()]
        self._results: dict[str, Any] = {}

    def bind_cpu_input(self, name: str, array: np.ndarray) -> None:
        """Feed an array, which is read when the session runs."""
        self._inputs[name] = array

    def bind_output(self, name: str, device_type: str = "cpu", **kwargs: Any) -> None:
        """Ask for an output."""
        if device_type != "cpu":
            raise ValidationError(f"output {name!r}: device is {device_type!r}, expected cpu")
        self._outputs[name] = None

    def clear_binding_inputs(self) -> None:
        """Forget the inputs."""
        self._inputs.clear()

    def clear_binding_outputs(self) -> None:
        """Forget the outputs."""
        self._outputs.clear()

    def copy_outputs_to_cpu(self) -> list[Any]:
        """The results, in the order of binding."""
        return [self._results[name] for name in self._outputs or self._names]

    def run(self, model: OnnxExecutable) -> None:
        """Compute the results."""
        self._results = model.run(self._inputs)


def get_available_providers() -> list[str]:
    """The CPU's provider."""
    return [CPU]


def get_device() -> str:
    """``"CPU"``."""
    return "CPU"


_TYPES = {"float32": "float", "float64": "double"}


def _type_text(declared: OnnxType | None) -> str:
    """A type as onnxruntime writes it: ``tensor(float)``, ``seq(map(int64,tensor(float)))``."""
    if declared is None:
        return ""
    if declared.kind == "tensor":
        name = _TYPES.get(declared.dtype, declared.dtype.replace("_", ""))
        return f"tensor({name})"
    inner = _type_text(declared.element)
    if declared.kind == "map":
        return f"map({_TYPES.get(declared.key_dtype, declared.key_dtype)},{inner})"
    return f"{'seq' if declared.kind == 'sequence' else declared.kind}({inner})"
