"""``torch.compile(model, backend="basalt")``: graphs that TorchDynamo captures, run by Basalt for inference."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from basalt.errors import BasaltError, ValidationError

from ..executable import Executable
from . import registry
from .arrays import as_array, as_tensor, axis_order
from .exporting import operator_named
from .program import translate
from .requirement import require_torch

__all__ = ["torch_backend"]

_PROGRAMS = 8
"""Programs that are kept for numbers among a graph's inputs that no tensor's shape tells."""


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
        ValidationError: for other options.
    """
    require_torch("torch_backend")
    threads = _threads_of(options)
    elsewhere = sorted({str(t.device) for t in example_inputs if hasattr(t, "device") and t.device.type != "cpu"})
    if elsewhere:
        _warn(f"it has tensors on {', '.join(elsewhere)}, and Basalt is for the CPU")
        forward: Callable[..., Any] = graph_module.forward
        return forward
    from torch._dynamo.backends.common import aot_autograd

    lifted = len(list(graph_module.parameters())) + len(list(graph_module.buffers()))
    constants = [*range(lifted), *[lifted + i for i in _constant_places(graph_module, example_inputs)]]
    compiler = aot_autograd(
        fw_compiler=_training,
        bw_compiler=_eager,
        inference_compiler=partial(_inference, frozenset(constants), threads),
        decompositions=_decompositions(),
    )
    compiled: Callable[..., Any] = compiler(graph_module, example_inputs)
    return compiled


def _threads_of(options: Any) -> int | None:
    given = dict(options or {})
    threads = given.pop("threads", None)
    if given:
        raise ValidationError(f"torch_backend: unknown options {sorted(given)}, expected threads")
    if threads is not None and (isinstance(threads, bool) or not isinstance(threads, int) or threads < 1):
        raise ValidationError(f"torch_backend: option threads is {threads!r}, expected a positive int")
    return threads


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
        tensors = [(i, n) for i, n in enumerate(nodes) if i not in constants and hasattr(n.meta.get("val"), "dtype")]
        self._inputs = [(i, node.name) for i, node in tensors]
        self._numbers = _free_numbers(nodes, [node for _, node in tensors])
        (output,) = [node for node in graph_module.graph.nodes if node.op == "output"]
        self._outputs = list(output.args[0])
        self._programs: dict[tuple[int, ...], Executable] = {}
        self._orders: list[tuple[int, ...] | None] = []
        self._seen: Any = None
        self._eager = False

    def __call__(self, *args: Any) -> list[Any]:
        results = None if self._eager else self._run(args)
        if results is None:
            return list(self._module(*args))
        return [self._result(i, node, results) for i, node in enumerate(self._outputs)]

    def _run(self, args: Sequence[Any]) -> Mapping[str, Any] | None:
        """The outputs by name, None where torch must compute them."""
        try:
            program = self._program(args)
            return program.run({name: as_array(args[i]) for i, name in self._inputs})
        except BasaltError as error:
            _warn(str(error))
            self._eager = True
            return None

    def _program(self, args: Sequence[Any]) -> Executable:
        state, numbers = self._state(args), tuple(int(args[i]) for i, _ in self._numbers)
        if state != self._seen:
            self._programs, self._seen = {}, state
        found = self._programs.get(numbers)
        if found is None:
            while len(self._programs) >= _PROGRAMS:
                self._programs.pop(next(iter(self._programs)))
            found = self._programs[numbers] = self._translated(args, numbers)
        return found

    def _translated(self, args: Sequence[Any], numbers: Sequence[int]) -> Executable:
        known = {name: as_array(args[i]) for i, name in self._constants} | _attributes(self._module)
        outputs = [(f"output_{i}", node) for i, node in enumerate(self._outputs) if hasattr(node, "meta")]
        sizes = {symbol: number for (_, symbol), number in zip(self._numbers, numbers)}
        made = translate(self._module.graph, known, {name: name for _, name in self._inputs}, outputs, sizes)
        self._orders = [
            axis_order(node.meta["val"]) if hasattr(node, "meta") and hasattr(node.meta.get("val"), "dtype") else None
            for node in self._outputs
        ]
        return Executable(made.graph, made.constants, threads=self._threads)

    def _result(self, place: int, node: Any, results: Mapping[str, Any]) -> Any:
        if not hasattr(node, "meta"):
            return node
        array = results[f"output_{place}"]
        if not hasattr(node.meta.get("val"), "dtype"):
            return array.item()
        order = self._orders[place]
        if order is None:
            return as_tensor(array)
        # What torch does with the result may follow the strides that it expects.
        return as_tensor(np.ascontiguousarray(array.transpose(order))).permute(tuple(np.argsort(order).tolist()))

    def _state(self, args: Sequence[Any]) -> Any:
        """What tells whether constants are the same as when they were read."""
        return [(args[i].data_ptr(), _version(args[i])) for i, _ in self._constants]


def _free_numbers(nodes: Sequence[Any], tensors: Sequence[Any]) -> list[tuple[int, str]]:
    """The places and symbols of the numbers among the inputs that no tensor's shape tells."""
    shapes = [size for node in tensors for size in node.meta["val"].shape if not isinstance(size, int)]
    told = {size.node.expr.name for size in shapes if size.node.expr.is_Symbol}
    found = []
    for i, node in enumerate(nodes):
        value = node.meta.get("val")
        expr = value.node.expr if type(value).__name__ == "SymInt" else None
        if expr is not None and expr.is_Symbol and expr.name not in told:
            found.append((i, expr.name))
    return found


def _attributes(graph_module: Any) -> dict[str, Any]:
    """The tensors that the graph reads as attributes of its module."""
    import torch

    targets = {node.target for node in graph_module.graph.nodes if node.op == "get_attr"}
    values = {target: getattr(graph_module, target, None) for target in targets}
    return {target: as_array(value) for target, value in values.items() if isinstance(value, torch.Tensor)}


def _version(tensor: Any) -> int:
    # Tensors of inference mode count no versions, and cannot be changed outside of it.
    return 0 if tensor.is_inference() else int(tensor._version)
