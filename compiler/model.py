"""Models: what ``basalt.load`` gives."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from basalt.errors import ModelFormatError, ValidationError
from basalt.serialization import GraphData, Kind

from .exchange import from_data, to_data
from .executable import Executable
from .ir import Constants, Graph

__all__ = ["Model"]


class Model(Executable):
    """A graph from a file, or from anywhere else than a builder.

    ``metadata`` is what the file says of itself, free text by name; ``kind`` is that of its ``.bsl`` file.
    """

    kind: Kind = Kind.GRAPH

    def __init__(
        self,
        graph: Graph,
        constants: Constants,
        metadata: Mapping[str, str] | None = None,
        *,
        threads: int | None = None,
        eager: bool | None = None,
        canonical: Mapping[str, int] | None = None,
    ) -> None:
        super().__init__(graph, constants, threads=threads, eager=eager, canonical=canonical)
        self.metadata: dict[str, str] = dict(metadata or {})

    @classmethod
    def from_data(cls, data: GraphData, **options: Any) -> Model:
        """The model in plain data, which need not be trusted; ``options`` as for the constructor.

        Raises:
            ModelFormatError: for data that are no graph of the graph language; names the node.
            UnsupportedError: for an operator that does not exist.
        """
        graph, constants = from_data(data)
        try:
            return cls(graph, constants, data.metadata, **options)
        except ValidationError as error:
            raise ModelFormatError(str(error)) from None

    def like(self, graph: Graph, constants: Constants) -> Model:
        """This model with another graph of the same inputs and outputs."""
        return Model(graph, constants, self.metadata, threads=self._threads, eager=False, canonical=self._canonical)

    def to_data(self) -> Any:
        """The plain data that a ``.bsl`` file of this model holds; arrays are shared."""
        return to_data(self.graph, self.constants, self.metadata)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the graph and its weights to a ``.bsl`` file; as ``basalt.save(model, path)``."""
        from .files import save

        save(self, path)
