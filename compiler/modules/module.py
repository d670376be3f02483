"""Modules that run: what ``basalt.from_torch`` gives."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from basalt.errors import ModelFormatError, ValidationError
from basalt.serialization import Kind, ModuleData

from .. import debug
from ..exchange import to_data
from ..ir import Constants, Graph
from ..model import Model
from .arrays import as_array, as_tensor, is_tensor
from .canonical import canonical_sizes
from .kinds import kind_of_name
from .structure import Structure, check_structure, collect, describe, rebuild

__all__ = ["Module"]


class Module(Model):
    """A module of PyTorch as a compiled program, called like the module: ``module(x, mask=mask)``.

    It has all that a :class:`basalt.Model` has (``run`` by names, ``compile``, ``explain``, ``save``), and needs no
    torch. Several threads may use it at once.

    Args:
        graph, constants, metadata: as for a Model.
        arguments: how the arguments nest: a structure of (positional, keywords by name).
        results: how the results nest.
        kind: the kind of its file: its class's family.
        threads: threads to run on, None for the process's setting.
        eager: whether first runs go through NumPy while code is compiled, None to ask BASALT_EAGER.
    """

    def __init__(
        self,
        graph: Graph,
        constants: Constants,
        metadata: Mapping[str, str] | None = None,
        *,
        arguments: Structure,
        results: Structure,
        kind: Kind = Kind.MODULE,
        threads: int | None = None,
        eager: bool | None = None,
    ) -> None:
        super().__init__(graph, constants, metadata, threads=threads, eager=eager, canonical=canonical_sizes(graph))
        self._arguments, self._results = arguments, results
        self.kind = kind
        self._output_names = tuple(name for name, _ in graph.outputs)
        self._keywords = tuple(key for key, _ in arguments[2][1:])

    def _similar(self) -> AbstractContextManager[None]:
        # Without kernels there are no choices between them.
        return nullcontext() if debug.enabled("interpret") else super()._similar()

    @property
    def signature(self) -> str:
        """How arguments and results nest, for people: ``(x, mask=mask) -> (y, [z])``."""
        positional = [describe(a, self._names) for a in self._arguments[1][1:]]
        keywords = [f"{key}={describe(a, self._names)}" for key, a in self._arguments[2][1:]]
        return f"({', '.join(positional + keywords)}) -> {describe(self._results, self._output_names)}"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The results in the module's own structure.

        Args:
            args, kwargs: tensors of torch or arrays where the example had tensors, nested as there. Keyword arguments
                may be given by position, positional ones not by name.

        Returns:
            Tensors of torch if any argument is one, else arrays; dictionaries, lists and tuples as the module has
            them. Memory is shared with NumPy, not copied.

        Raises:
            ValidationError: for arguments that nest otherwise than the example, and as ``run``.
        """
        found: dict[int, Any] = {}
        extra = args[len(self._arguments[1]) - 1 :]
        if extra and len(extra) <= len(self._keywords):
            kwargs = {**dict(zip(self._keywords, extra)), **kwargs}
            args = args[: len(args) - len(extra)]
        collect(self._arguments, (args, kwargs), found)
        torch_given = any(map(is_tensor, found.values()))
        feeds = {self._names[i]: as_array(v) if is_tensor(v) else np.asarray(v) for i, v in found.items()}
        results = self.run(feeds)
        arrays = [results[name] for name in self._output_names]
        return rebuild(self._results, [as_tensor(a) for a in arrays] if torch_given else arrays)

    def like(self, graph: Graph, constants: Constants) -> Module:
        """This module with another graph of the same inputs and outputs."""
        nested: dict[str, Any] = {"arguments": self._arguments, "results": self._results, "kind": self.kind}
        return Module(graph, constants, self.metadata, **nested, threads=self._threads, eager=False)

    def to_data(self) -> ModuleData:
        """The plain data of the module, which a ``.bsl`` file of its kind holds; arrays are shared."""
        graph = to_data(self.graph, self.constants, self.metadata)
        return ModuleData(graph, self._arguments, self._results, self.kind)

    @classmethod
    def from_module_data(cls, data: ModuleData, **options: Any) -> Module:
        """The module in plain data, which need not be trusted; ``options`` as for the constructor.

        Raises:
            ModelFormatError: for data that are no module, and for a kind that is not of its class's family.
            UnsupportedError: for an operator that does not exist.
        """
        from ..exchange import from_data

        if data.kind not in (kind_of_name(data.graph.name), Kind.MODULE):
            raise ModelFormatError(
                f"the file is of kind {int(data.kind)} ({data.kind.name}), but holds a module {data.graph.name!r}"
            )
        graph, constants = from_data(data.graph)
        check_structure(data.arguments, len(graph.inputs), "arguments")
        check_structure(data.results, len(graph.outputs), "results")
        kind, *parts = data.arguments
        if kind != "tuple" or [part[0] for part in parts if isinstance(part, tuple)] != ["tuple", "dict"]:
            raise ModelFormatError(f"arguments: {data.arguments!r} is no pair of a tuple and a dictionary")
        try:
            nested: dict[str, Any] = {"arguments": data.arguments, "results": data.results, "kind": data.kind}
            return cls(graph, constants, data.graph.metadata, **nested, **options)
        except ValidationError as error:
            raise ModelFormatError(str(error)) from None

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the module, weights and structure included, to a ``.bsl`` file; as ``basalt.save(module, path)``."""
        from ..files import save

        save(self, path)
