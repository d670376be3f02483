"""``torch.compile(model, backend="basalt")``: graphs that TorchDynamo captures, run by Basalt for inference."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from basalt.errors import BasaltError

from ..executable import Executable
from . import registry
from .arrays import as_array, as_tensor
from .exporting import operator_named
from .program import translate
from .requirement import require_torch

__all__ = ["torch_backend"]


def torch_backend(graph_module: Any, example_inputs: Sequence[Any], *, options: Any = None) -> Callable[..., Any]:
    """A backend for ``torch.compile``, for inference: ``torch.compile(model, backend="basalt")``.

    Graphs that need gradients, or have operators that Basalt lacks, are run by torch itself after a warning; call the
    model under ``torch.no_grad()`` or ``torch.inference_mode()``. Parameters and buffers become constants of the
    program, which is made anew when they change.

    Args:
        graph_module: the graph that Dynamo captured.
        example_inputs: its inputs at the first call.
        options: ``{"threads": n}`` to run on other threads than the process's setting.

    Raises:
        UnsupportedError: if torch is not installed.
    """
    require_torch("torch_backend")
    from torch._dynamo.backends.common import aot_autograd

    lifted = len(list(graph_module.parameters())) + len(list(graph_module.buffers()))
    constants = [*range(lifted), *[lifted + i for i in _constant_places(graph_module, example_inputs)]]
    threads = (options or {}).get("threads")
    compiler = aot_autograd(
        fw_compiler=_training,
        bw_compiler=_eager,
        inference_compiler=partial(_inference, frozenset(constants), threads),
        decompositions=_decompositions(),
    )
    compiled: Callable[..., Any] = compiler(graph_module, example_inputs)
    return compiled


def _constant_places(graph_module: Any, example_inputs: Sequence[Any]) -> list[int]:
    """The places of parameters and buffers among the inputs."""
    import torch

    nodes = [node for node in graph_module.graph.nodes if node.op == "placeholder"]
    return [
        i
        for i, (node, value) in enumerate(zip(nodes, example_inputs))
        if isinstance(value, torch.nn.Parameter)
        or (node.meta.get("tensor_dict") or {}).get("_dynamo_static_input_type") is not None
    ]


def _decompositions() -> Any:
    import torch

    table = dict(torch._decomp.core_aten_decompositions())
    for name in registry.names():
        table.pop(operator_named(name), None)
    return table


def _eager(graph_module: Any, example_inputs: Sequence[Any]) -> Callable[..., Any]:
    from torch._functorch.aot_autograd import make_boxed_func

    boxed: Callable[..., Any] = make_boxed_func(graph_module.forward)
    return boxed


def _training(graph_module: Any, example_inputs: Sequence[Any]) -> Callable[..., Any]:
    _warn("the graph needs gradients, and Basalt is for inference: call the model under torch.no_grad()")
    return _eager(graph_module, example_inputs)


def _inference(
    constants: frozenset[int], threads: int | None, graph_module: Any, example_inputs: Sequence[Any]
) -> Callable[..., Any]:
    from torch._functorch.aot_autograd import make_boxed_func

    boxed: Callable[..., Any] = make_boxed_func(_Captured(graph_module, constants, threads))
    return boxed


def _warn(reason: str) -> None:
    warnings.warn(f"basalt: torch itself runs a part of the model: {reason}", RuntimeWarning, stacklevel=2)


class _Captured:
    """A graph of ATen operators, translated at its first call, when the constants' elements are there."""

    def __init__(self, graph_module: Any, constants: frozenset[int], threads: int | None) -> None:
        self._module, self._threads = graph_module, threads
        nodes = [node for node in graph_module.graph.nodes if node.op == "placeholder"]
        self._constants = [(i, node.name) for i, node in enumerate(nodes) if i in constants]
        self._inputs = [
            (i, node.name)
            for i, node in enumerate(nodes)
            if i not in constants and hasattr(node.meta.get("val"), "dtype")
        ]
        (output,) = [node for node in graph_module.graph.nodes if node.op == "output"]
        self._outputs = list(output.args[0])
        self._executable: Executable | None = None
        self._seen: Any = None
        self._eager = False

    def __call__(self, *args: Any) -> list[Any]:
        if not self._eager and (self._executable is None or self._seen != self._state(args)):
            self._translate(args)
        if self._eager or self._executable is None:
            return list(self._module(*args))
        try:
            results = self._executable.run({name: as_array(args[i]) for i, name in self._inputs})
        except BasaltError as error:
            self._give_up(error)
            return list(self._module(*args))
        return [self._result(i, node, results) for i, node in enumerate(self._outputs)]

    def _result(self, place: int, node: Any, results: Any) -> Any:
        if not hasattr(node, "meta"):
            return node
        array = results[f"output_{place}"]
        return as_tensor(array) if hasattr(node.meta.get("val"), "dtype") else array.item()

    def _translate(self, args: Sequence[Any]) -> None:
        known = {name: as_array(args[i]) for i, name in self._constants}
        outputs = [(f"output_{i}", node) for i, node in enumerate(self._outputs) if hasattr(node, "meta")]
        try:
            made = translate(self._module.graph, known, {name: name for _, name in self._inputs}, outputs, {})
            self._executable = Executable(made.graph, made.constants, threads=self._threads)
        except BasaltError as error:
            self._give_up(error)
        self._seen = self._state(args)

    def _give_up(self, error: BasaltError) -> None:
        _warn(str(error))
        self._eager = True

    def _state(self, args: Sequence[Any]) -> Any:
        """What tells whether constants are the same as when they were read."""
        return [(args[i].data_ptr(), _version(args[i])) for i, _ in self._constants]


def _version(tensor: Any) -> int:
    # Tensors of inference mode count no versions, and cannot be changed outside of it.
    return 0 if tensor.is_inference() else int(tensor._version)
