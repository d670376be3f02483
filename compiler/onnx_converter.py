"""``basalt.OnnxConverter``: fitted estimators, modules and graphs as ONNX models."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from typing import Any

from basalt.errors import UnsupportedError, ValidationError
from basalt.serialization.onnx import OnnxModel

from .estimators import Estimator, from_sklearn
from .estimators.emitter import INPUT
from .executable import Executable
from .ir import Graph, Value, substitute
from .model import Model

__all__ = ["OnnxConverter"]

ONNX_INPUT = "input"


class OnnxConverter:
    """Exports estimators, PyTorch modules and graphs to ONNX, and loads ONNX models; it has no instances.

    The model of an estimator has the input ``input`` [rows, n_features] and an output for each method, named after it,
    of declared shape. ``predict`` of a classifier gives the class itself where classes are int64 or int32, else its
    place in the metadata entry ``classes``. Nodes of a pipeline are named after their step: ``step0``, ``step1``,
    ``est``.
    """

    @staticmethod
    def to_onnx(
        source: Any,
        example: Any = None,
        *,
        dtype: str | None = None,
        methods: Iterable[str] | None = None,
        dynamic_shapes: Any = None,
        opset: int = 17,
    ) -> OnnxModel:
        """An estimator, module or graph as an ONNX model in memory: IR version 8 at opset 17.

        Args:
            source: a fitted scikit-learn estimator or an Estimator; a ``torch.nn.Module``; a model or graph.
            example: of an estimator the columns of the input, by default those that it was fitted with; of a module
                its inputs, as for ``from_torch``.
            dtype: float32, the default for scikit-learn's estimators, or float64; an Estimator has its own.
            methods: the methods to export; by default all that take rows, but for the probabilities of an SVC.
            dynamic_shapes: which sizes of a module's inputs may change, as for ``from_torch``.
            opset: the version of ai.onnx to write.

        ``dtype`` and ``methods`` are an estimator's.

        Raises:
            ValidationError: as ``from_sklearn``; for methods that the estimator lacks, and for another data type or
                number of features than an Estimator has.
            UnsupportedError: for what cannot be translated, and for categories that are no numbers, which ONNX models
                of numbers do not take.
        """
        from .onnx.export import to_onnx

        if _is_module(source) or isinstance(source, Executable):
            return to_onnx(_graph_of(source, example, dynamic_shapes), opset=opset)
        made = _estimator(source, example, dtype)
        if made.facts.vocabularies:
            raise UnsupportedError(
                f"{made.class_name}: columns {sorted(made.facts.vocabularies.columns())} hold categories that are no "
                f"numbers; the exported model would take numbers only"
            )
        chosen = made.graph_of(_graphed(made, methods))
        return to_onnx(Model(_renamed(chosen), made.constants, _metadata(made)), opset=opset, name=made.class_name)

    @staticmethod
    def export(
        source: Any,
        example: Any,
        path: str | os.PathLike[str],
        *,
        dtype: str | None = None,
        methods: Iterable[str] | None = None,
        dynamic_shapes: Any = None,
        opset: int = 17,
    ) -> None:
        """Write an estimator, module or graph to an ``.onnx`` file, as :meth:`to_onnx` says it.

        Raises:
            ValidationError, UnsupportedError: as :meth:`to_onnx`, before anything is written.
            OSError: if the file cannot be written.
        """
        model = OnnxConverter.to_onnx(
            source, example, dtype=dtype, methods=methods, dynamic_shapes=dynamic_shapes, opset=opset
        )
        model.save(path)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Any:
        """The model in an ``.onnx`` file, ready to run; as ``basalt.load``."""
        from .onnx.model import load

        return load(path)


def _is_module(source: Any) -> bool:
    """Whether something is a ``torch.nn.Module`` or an ``ExportedProgram``, told without torch."""
    return any(c.__module__.split(".")[0] == "torch" for c in type(source).__mro__)


def _graph_of(source: Any, example: Any, dynamic_shapes: Any) -> Any:
    if isinstance(source, Executable):
        return source
    from .modules.convert import from_torch

    return from_torch(source, () if example is None else example, dynamic_shapes)


def _estimator(given: Any, n_features: int | None, dtype: str | None) -> Estimator:
    if not isinstance(given, Estimator):
        return from_sklearn(given, n_features, dtype=dtype or "float32")
    if dtype not in (None, given.dtype):
        raise ValidationError(f"to_onnx: dtype is {dtype!r}, but the estimator computes in {given.dtype}")
    if n_features not in (None, given.n_features_in_):
        raise ValidationError(f"to_onnx: n_features is {n_features!r}, but the estimator takes {given.n_features_in_}")
    return given


def _graphed(estimator: Estimator, methods: Iterable[str] | None) -> list[str]:
    """The methods to export, which the graph computes to their end."""
    finishes = estimator.facts.finishes
    if methods is None:
        return [n for n in estimator.methods if n != "inverse_transform" and n not in finishes]
    wanted = list(methods)
    for name in wanted:
        if name in finishes:
            raise UnsupportedError(f"{estimator.class_name}.{name} iterates until each row's probabilities agree")
    return wanted


def _renamed(graph: Graph) -> Graph:
    """The graph with its input under the name that it has in ONNX."""
    replaced = {v: Value(v.type, ONNX_INPUT if v.name == INPUT else v.name) for v in graph.inputs}
    found = substitute(graph, replaced)
    return Graph(tuple(replaced.values()), found.outputs, found.nodes, graph.name)


def _metadata(estimator: Estimator) -> dict[str, str]:
    facts = estimator.facts
    found = {"estimator": facts.class_name}
    if facts.classes is not None:
        found["classes"] = json.dumps(facts.classes.tolist(), default=str)
    if facts.feature_names is not None:
        found["feature_names"] = json.dumps(list(facts.feature_names))
    return found
