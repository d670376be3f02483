"""The ONNX package's Backend interface (``onnx.backend.base``), so that its test suite and tools can run Basalt.

This module needs the ``onnx`` package; the rest of Basalt does not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

try:
    from onnx import ModelProto, NodeProto, TensorProto, helper
    from onnx.backend.base import Backend as _Backend
    from onnx.backend.base import BackendRep as _BackendRep
    from onnx.backend.base import Device, DeviceType, namedtupledict
except ImportError as error:  # pragma: no cover - depends on the installation
    raise ImportError("basalt.onnx_backend needs the onnx package: pip install 'basalt-compiler[onnx]'") from error

from basalt.compiler.onnx.model import OnnxExecutable
from basalt.serialization.onnx import OnnxModel

__all__ = ["Backend", "BackendRep", "prepare", "run_model", "run_node", "supports_device"]


class BackendRep(_BackendRep):
    """A model that is ready to run."""

    def __init__(self, model: OnnxExecutable) -> None:
        super().__init__()
        self.model = model

    def run(self, inputs: Any, **kwargs: Any) -> tuple[Any, ...]:
        """The outputs in the model's order.

        Args:
            inputs: the values of the inputs without a default, in the model's order, a mapping by name, or, for a
                model with one input, its value.

        Raises:
            BasaltError: as ``OnnxExecutable.run``.
        """
        names = [spec.name for spec in self.model.inputs]
        if isinstance(inputs, Mapping):
            feeds = dict(inputs)
        elif isinstance(inputs, np.ndarray) and len(names) == 1:
            feeds = {names[0]: inputs}
        else:
            feeds = dict(zip(self._named(names, inputs), inputs))
        results = self.model.run(feeds)
        outputs = [spec.name for spec in self.model.outputs]
        return namedtupledict("Outputs", outputs)(*[results[name] for name in outputs])

    def _named(self, names: Sequence[str], inputs: Sequence[Any]) -> Sequence[str]:
        """Which inputs positional values are for: with as many values as all inputs, those with defaults too."""
        every = [v.name for v in self.model.onnx.graph.inputs]
        return every if len(inputs) > len(names) and len(inputs) <= len(every) else names


class Backend(_Backend):
    """Basalt as an ONNX backend, on the CPU."""

    @classmethod
    def is_compatible(cls, model: ModelProto, device: str = "CPU", **kwargs: Any) -> bool:
        """Whether the model can be prepared."""
        from basalt.errors import BasaltError

        try:
            cls.prepare(model, device)
        except (BasaltError, ValueError):
            return False
        return True

    @classmethod
    def prepare(cls, model: ModelProto, device: str = "CPU", **kwargs: Any) -> BackendRep:
        """The model, checked and ready; ``kwargs`` as the options of ``basalt.load``.

        Raises:
            UnsupportedError: for operators that Basalt lacks.
            ModelFormatError: for a model that breaks the standard's rules.
            ValueError: for another device than the CPU.
        """
        if not cls.supports_device(device):
            raise ValueError(f"device is {device!r}, expected CPU")
        source = OnnxModel.load(model if isinstance(model, (bytes, str)) else model.SerializeToString())
        # Results must be those of compiled code, also in a first run.
        eager = kwargs.get("eager_first_run", False)
        return BackendRep(OnnxExecutable(source, threads=kwargs.get("threads"), eager=eager))

    @classmethod
    def run_model(cls, model: ModelProto, inputs: Any, device: str = "CPU", **kwargs: Any) -> tuple[Any, ...]:
        """The outputs of a model; see :meth:`BackendRep.run`."""
        return cls.prepare(model, device, **kwargs).run(inputs)

    @classmethod
    def run_node(
        cls, node: NodeProto, inputs: Any, device: str = "CPU", outputs_info: Any = None, **kwargs: Any
    ) -> tuple[Any, ...]:
        """The outputs of one node for its inputs, given in order; ``opset_version`` says which version it is of."""
        present = [name for name in node.input if name]
        arrays = dict(zip(present, inputs))
        graph = helper.make_graph(
            [node],
            node.name or node.op_type,
            [
                helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(np.asarray(a).dtype), np.shape(a))
                for n, a in arrays.items()
            ],
            [helper.make_tensor_value_info(n, TensorProto.UNDEFINED, None) for n in node.output if n],
        )
        opset = kwargs.pop("opset_version", None)
        imports = [helper.make_opsetid(node.domain, opset)] if opset else None
        return cls.run_model(helper.make_model(graph, opset_imports=imports), arrays, device, **kwargs)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Whether a device string of ONNX names the CPU."""
        return bool(Device(device).type == DeviceType.CPU)


prepare = Backend.prepare
run_model = Backend.run_model
run_node = Backend.run_node
supports_device = Backend.supports_device
