"""Walks a graph of ATen operators and emits core nodes for it."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from basalt.errors import BasaltError, UnsupportedError
from basalt.ops import SymDim

from ..ir import Constants, Graph
from ..onnx.errors import NeedValueError, OnHostError, UnresolvedError
from ..onnx.region import Region
from ..onnx.stage import sources_of
from ..onnx.tensor import UNCARRIED, Tensor, known_tensor
from . import registry
from .arrays import dtype_of
from .context import AtenContext, AtenTracer
from .sizes import SizeNames, dim_of, shape_of

__all__ = ["Translated", "translate"]

_CHECKS = ("_assert", "sym_constrain", "_functional_assert")
"""Starts of the names of operators that only refuse what the example's sizes allow."""
_SHOWN = 20


@dataclass(frozen=True)
class Translated:
    """A core graph; ``outputs`` are the places of the named outputs among what the program returned."""

    graph: Graph
    constants: Constants


def translate(
    graph: Any,
    known: Mapping[str, np.ndarray],
    inputs: Mapping[str, str],
    outputs: Sequence[tuple[str, Any]],
    sizes: SizeNames,
    name: str = "",
) -> Translated:
    """The core graph of one of torch's.

    Args:
        graph: an fx graph of ATen operators with accounts of its values (``meta["val"]``).
        known: arrays by placeholder, or by attribute of the graph's module: parameters, buffers, constants.
        inputs: the names of the other placeholders' tensors, which become inputs.
        outputs: the outputs' names and the nodes that give them.
        sizes: what symbolic sizes are called.
        name: the graph's name.

    Raises:
        UnsupportedError: lists all operators that cannot be translated, with the modules that have them.
    """
    walk = _Walk(graph, known, inputs, sizes)
    walk.run([node for _, node in outputs])
    walk.check()
    tensors = [(output, walk.output(node)) for output, node in outputs]
    region = walk.region
    made = region.graph(tensors, name)
    return Translated(replace(made, inputs=tuple(region.inputs.values())), region.constants)


class _Walk:
    def __init__(
        self, graph: Any, known: Mapping[str, np.ndarray], inputs: Mapping[str, str], sizes: SizeNames
    ) -> None:
        self._graph, self._sizes = graph, sizes
        self._values: dict[Any, Any] = {}
        self._faults: dict[str, list[str]] = {}
        self.inputs: list[Tensor] = []
        for node in graph.nodes:
            if node.op == "placeholder" and node.name in known:
                self._values[node] = known_tensor(known[node.name])
            elif node.op == "placeholder" and node.name in inputs:
                self._values[node] = self._input(node, inputs[node.name])
            elif node.op == "get_attr" and node.target in known:
                self._values[node] = known_tensor(known[node.target])
        self.region = Region(sources_of(self.inputs))
        for tensor in self.inputs:
            # Inputs stand in the arguments' order, whether and when ever they are read.
            self.region.value(tensor)
        self._tracer = AtenTracer(self.region)

    def _input(self, node: Any, name: str) -> Tensor:
        value = node.meta["val"]
        dtype = dtype_of(value.dtype)
        if dtype in UNCARRIED:
            raise UnsupportedError(f"input {name!r} is {dtype}, which is not supported")
        tensor = Tensor(dtype, shape_of(value.shape, self._sizes), slot=name)
        self.inputs.append(tensor)
        return tensor

    def run(self, wanted: Sequence[Any]) -> None:
        needed = _needed(self._graph, wanted)
        for node in self._graph.nodes:
            if node in needed and node not in self._values:
                self._values[node] = self._value(node)

    def check(self) -> None:
        """Raise what was found."""
        if not self._faults:
            return
        lines = [f"{fault}, in {', '.join(dict.fromkeys(places))}" for fault, places in self._faults.items()]
        more = [f"and {len(lines) - _SHOWN} more"] if len(lines) > _SHOWN else []
        listed = "\n  ".join(lines[:_SHOWN] + more)
        raise UnsupportedError(f"the module has operators that are not supported:\n  {listed}")

    def output(self, node: Any) -> Tensor:
        value = self._values[node]
        if isinstance(value, Tensor):
            return value
        context = self._context("output", node, "")
        return context.constant(value) if not isinstance(value, SymDim) else context.size_tensor((value,), ())

    def _value(self, node: Any) -> Any:
        place = _place(node)
        try:
            if node.op == "get_attr":
                raise UnsupportedError(f"{node.target}: control flow over subgraphs")
            value = node.meta.get("val")
            if _is_size(value):
                return dim_of(value, self._sizes)
            if node.target is operator.getitem:
                return self._values[node.args[0]][node.args[1]]
            return self._translated(node, place)
        except UnsupportedError as error:
            self._faults.setdefault(str(error), []).append(place)
        except (NeedValueError, OnHostError, UnresolvedError) as error:
            self._faults.setdefault(f"{node.target}: {error or 'not compiled for these operands'}", []).append(place)
        except BasaltError:
            raise
        except (ArithmeticError, LookupError, TypeError, ValueError, AttributeError) as error:
            # What a translator did not foresee must name its node all the same.
            raise UnsupportedError(f"{node.target} at {place}: {type(error).__name__}: {error}") from error
        return self._stand_in(node)

    def _translated(self, node: Any, place: str) -> Any:
        name = node.target.name() if hasattr(node.target, "name") and callable(node.target.name) else str(node.target)
        name = name if "." in name.partition("::")[2] else f"{name}.default"
        translator = registry.find(name)
        if translator is None:
            raise UnsupportedError(name)
        context = self._context(name, node, place)
        args, kwargs = self._resolved(node.args), self._resolved(node.kwargs)
        return _checked(context, translator(context, *args, **kwargs), node.meta.get("val"))

    def _context(self, name: str, node: Any, place: str) -> AtenContext:
        label = f"{place}/{node.name}" if place else node.name
        return AtenContext(name, label, node, self._sizes, self.region, self._tracer)

    def _resolved(self, arg: Any) -> Any:
        """A node's argument with values for nodes."""
        if isinstance(arg, (list, tuple)):
            return [self._resolved(a) for a in arg]
        if isinstance(arg, Mapping):
            return {key: self._resolved(a) for key, a in arg.items()}
        try:
            return self._values.get(arg, arg)
        except TypeError:
            return arg

    def _stand_in(self, node: Any) -> Any:
        """Something to go on with, so that further faults are found."""

        def one(value: Any) -> Any:
            if value is None or not hasattr(value, "dtype"):
                return 1
            shape = tuple(
                d if isinstance(d, int) else SymDim({(("sym", f"{node.name}_{i}"),): 1})
                for i, d in enumerate(value.shape)
            )
            return Tensor(dtype_of(value.dtype), shape, slot=f"?{node.name}")

        value = node.meta.get("val")
        return tuple(map(one, value)) if isinstance(value, (tuple, list)) else one(value)


def _checked(n: AtenContext, made: Any, account: Any) -> Any:
    """A translator's results in the data types and ranks that torch's account states."""
    if isinstance(account, (tuple, list)):
        return tuple(m if m is None else _one(n, m, a) for m, a in zip(made, account))
    return _one(n, made, account)


def _one(n: AtenContext, made: Tensor, account: Any) -> Tensor:
    if account is None or not hasattr(account, "dtype"):
        return made
    result = n.cast(made, dtype_of(account.dtype))
    shape = shape_of(account.shape, n.names)
    known = zip(result.shape, shape)
    wrong = any(isinstance(a, int) and isinstance(b, int) and a != b for a, b in known)
    if wrong or len(shape) != result.rank:
        raise UnsupportedError(f"{n.describe()} gives {result}, but torch says {list(shape)}")
    return result


def _is_size(value: Any) -> bool:
    return type(value) is int or type(value).__name__ == "SymInt"


def _needed(graph: Any, wanted: Sequence[Any]) -> set[Any]:
    """The nodes that some depend on."""
    needed = set(wanted)
    for node in reversed(graph.nodes):
        # Sizes are read from torch's account of them.
        if node in needed and not _is_size(node.meta.get("val")):
            needed.update(node.all_input_nodes)
    return needed


def _place(node: Any) -> str:
    """The module that a node comes from, as its user knows it: ``encoder.layers.0 (Linear)``."""
    stack = node.meta.get("nn_module_stack") or {}
    for path, kind in reversed(list(stack.values())):
        shown = str(kind).rpartition(".")[2].rstrip("'>")
        path = str(path).removeprefix("L['self'].").removeprefix("L['self']")
        return f"{path or 'the module itself'} ({shown})"
    return "the module itself"
