"""What ``basalt.from_sklearn`` and ``basalt.load`` give: an estimator's methods over compiled graphs."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from basalt.errors import UnsupportedError, ValidationError
from basalt.serialization import EstimatorData, Kind, TensorSpec

from ..exchange import to_data
from ..executable import Executable
from ..ir import Constants, Graph
from .checks import checked_graph, look_of
from .chunks import Chunks, row_executable
from .emitter import INPUT, INVERSE_INPUT
from .facts import CHECK_OUTPUTS, Facts
from .finishes import FINISHES
from .pruning import pruned
from .registry import kind_of
from .rows import numbers

__all__ = ["Estimator"]


class Estimator:
    """A fitted estimator that needs Basalt alone.

    It has the methods of the estimator that it was made from, of these: predict, predict_proba, predict_log_proba,
    decision_function, transform, inverse_transform, score_samples, kneighbors. Each takes rows [rows, features] as an
    array, as lists or as a DataFrame, and gives what scikit-learn's gives; transformers give dense arrays. Rows that
    scikit-learn refuses (NaN where it is not taken, unknown categories) raise ValidationError.

    Many rows are computed in chunks, in bounded memory. A row's results are the same bits whichever rows stand beside
    it and whatever ran before; for that reason it never runs through NumPy (``eager`` has no effect).

    ``classes_``, ``n_features_in_``, ``feature_names_in_`` and ``get_feature_names_out`` are there where the estimator
    has them. Several threads may use it at once. It pickles no code: ``save`` writes a ``.bsl`` file.
    """

    def __init__(
        self,
        graph: Graph,
        constants: Constants,
        facts: Facts,
        *,
        threads: int | None = None,
        eager: bool | None = None,
    ) -> None:
        self._graph = graph
        self._constants = constants
        self._facts = facts
        self._threads = threads
        self._executables: dict[tuple[str, ...], Executable] = {}
        self.n_features_in_ = facts.n_features
        classes: Any = list(facts.class_lists) if facts.class_lists else facts.classes
        if classes is not None:
            self.classes_ = classes
        if facts.names_out is not None:
            self.get_feature_names_out = self._names_out
        if facts.feature_names is not None:
            self.feature_names_in_ = np.array(facts.feature_names, object)
        for name in facts.methods:
            setattr(self, name, self._inverse if name == "inverse_transform" else self._method(name))

    @property
    def class_name(self) -> str:
        """The name of the class that it was made from."""
        return self._facts.class_name

    @property
    def kind(self) -> Kind:
        """The kind of its ``.bsl`` file: its family's."""
        return self._facts.kind or kind_of(self.class_name)

    @property
    def dtype(self) -> str:
        """The data type that it computes in."""
        return self._facts.dtype

    @property
    def methods(self) -> tuple[str, ...]:
        """The names of its methods."""
        return tuple(self._facts.methods)

    @property
    def facts(self) -> Facts:
        """What a file says of it beside its graph."""
        return self._facts

    @property
    def graph(self) -> Graph:
        """The graph of all methods: an output each."""
        return self._graph

    @property
    def constants(self) -> Constants:
        """The arrays beside the graph."""
        return self._constants

    @functools.cached_property
    def inputs(self) -> tuple[TensorSpec, ...]:
        """The input of ``run``."""
        return self.executable().inputs

    @functools.cached_property
    def outputs(self) -> tuple[TensorSpec, ...]:
        """The outputs of ``run``: one for each method, but for inverse_transform."""
        return self.executable().outputs

    def run(self, feeds: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """The raw outputs of every method for rows ``{"X": rows}``, of the graph's data type.

        ``predict`` gives places in ``classes_`` where these are neither int64 nor int32, ``pair_probability`` what an
        SVC's probabilities are made of. Nothing is refused but other shapes and types.

        Raises:
            ValidationError: for wrong names, shapes and data types.
        """
        rows = feeds.get(INPUT) if isinstance(feeds, Mapping) and len(feeds) == 1 else None
        if not isinstance(rows, np.ndarray) or rows.ndim != 2 or rows.dtype != self._facts.dtype:
            return self.executable().run(feeds)
        if rows.shape[1] != self.n_features_in_:
            return self.executable().run(feeds)
        return dict(zip((spec.name for spec in self.outputs), self._whole.run(rows)))

    @functools.cached_property
    def _whole(self) -> Chunks:
        return Chunks(self.executable(), len(self.outputs))

    def to_data(self) -> EstimatorData:
        """The plain data of the estimator, which a ``.bsl`` file of its kind holds; arrays are shared.

        Raises:
            UnsupportedError: for classes or categories that no file holds.
        """
        return EstimatorData(self._facts.to_plain(), to_data(self._graph, self._constants), self.kind)

    @property
    def name(self) -> str:
        """The graph's name."""
        return self._graph.name

    def executable(self, methods: Iterable[str] | None = None) -> Executable:
        """The compiled graph of some methods' outputs; of all that take rows by default.

        Raises:
            ValidationError: for a method that the estimator lacks.
        """
        return self._executable(self._outputs_of(methods))

    def graph_of(self, methods: Iterable[str] | None = None) -> Graph:
        """The graph of some methods' outputs as it was translated, over ``constants``; as :meth:`executable`."""
        return pruned(self._graph, self._outputs_of(methods))

    def _outputs_of(self, methods: Iterable[str] | None) -> tuple[str, ...]:
        wanted = [n for n in self._facts.methods if n != "inverse_transform"] if methods is None else list(methods)
        for name in wanted:
            if name not in self._facts.methods:
                raise ValidationError(f"{self.class_name} has no {name}; it has {', '.join(self.methods)}")
        return tuple(dict.fromkeys(o for name in wanted for o in self._facts.methods[name]))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to a ``.bsl`` file; under a name that ends in ``.onnx``, as an ONNX model (``OnnxConverter``)."""
        if os.path.splitext(os.fsdecode(path))[1].lower() == ".onnx":
            from ..onnx_converter import OnnxConverter

            OnnxConverter.export(self, None, path)
            return
        from .files import save_estimator

        save_estimator(self, path)

    def _executable(self, outputs: tuple[str, ...]) -> Executable:
        found = self._executables.get(outputs)
        if found is None:
            found = row_executable(pruned(self._graph, outputs), self._constants, self._threads)
            self._executables[outputs] = found
        return found

    def _chunks(self, name: str) -> Chunks:
        """What computes a method's outputs."""
        outputs = self._facts.methods[name]
        graph = checked_graph(self._graph, outputs)
        look = look_of(graph, self._facts, name, self._is_refused)
        return Chunks(row_executable(graph, self._constants, self._threads), len(outputs), look)

    def _method(self, name: str) -> Callable[[Any], Any]:
        facts, chunks = self._facts, self._chunks(name)
        dtype, ready, look = chunks.dtype, chunks.ready, chunks.look
        classes = facts.classes if name == "predict" and facts.looks_up_classes else None
        finish = FINISHES[facts.finishes[name]] if name in facts.finishes else None
        lists = facts.class_lists if name == "predict" else ()
        outputs = facts.methods[name]
        kept = 0 if len(outputs) == 1 and outputs[0] != f"{name}.0" else len(outputs)
        together = tuple if name == "kneighbors" else list
        encodes = bool(facts.vocabularies)

        def method(X: Any) -> Any:
            found = None
            if type(X) is np.ndarray and X.dtype is dtype and not encodes:
                compute = ready.get(X.shape)
                if compute is not None:
                    found = compute((X,))
                    if found is not None and look is not None:
                        look(X, found)
            if found is None:
                found = chunks.run(numbers(X, facts))
            if kept:
                return together(found[:kept])
            result = found[0] if finish is None else finish(found[0])
            if lists:
                return _labelled(result, lists)
            return result if classes is None else classes[result]

        method.__name__ = name
        method.__doc__ = (
            f"{facts.class_name}.{name} of rows [rows, {facts.n_features}]: an array, lists or a DataFrame."
        )
        return method

    def _is_refused(self, rows: np.ndarray) -> bool:
        """Whether the estimator takes no such rows, by the graph's own word on it."""
        name = CHECK_OUTPUTS["refused"]
        return bool(self._executable((name,)).run({INPUT: rows})[name][0])

    def _inverse(self, X: Any) -> np.ndarray:
        given = np.asarray(X, self._facts.dtype)
        (entry,) = [v for v in self._graph.inputs if v.name == INVERSE_INPUT]
        if given.ndim != 2 or given.shape[1] != entry.shape[1]:
            raise ValidationError(
                f"inverse_transform: X has shape {list(given.shape)}, expected rows of {entry.shape[1]}"
            )
        return self._inverse_chunks.run(given)[0]

    @functools.cached_property
    def _inverse_chunks(self) -> Chunks:
        return Chunks(self._executable(("inverse_transform",)), 1)

    def _names_out(self, input_features: Any = None) -> np.ndarray:
        """The names of the features that ``transform`` gives, an array of str objects; those that it takes are fixed.

        Raises ValidationError for ``input_features`` that are not the estimator's own.
        """
        own = self._facts.feature_names
        if input_features is not None and (own is None or [str(n) for n in input_features] != list(own)):
            raise ValidationError("get_feature_names_out: input_features differ from those that it was fitted with")
        return np.array(self._facts.names_out, object)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(
            f"{type(self).__name__} of {self.__dict__.get('_facts') and self.class_name} has no {name!r}"
        )

    def __reduce__(self) -> Any:
        raise UnsupportedError("an Estimator is not pickled; basalt.save writes it to a file that is safe to load")

    def __repr__(self) -> str:
        return f"<Estimator {self.class_name} of {self.n_features_in_} features: {', '.join(self.methods)}>"


def _labelled(places: np.ndarray, classes: Sequence[np.ndarray]) -> np.ndarray:
    """The classes of each target, [rows, targets], of the data type of the first target's."""
    found = np.empty(places.shape, classes[0].dtype)
    for target, labels in enumerate(classes):
        found[:, target] = labels[places[:, target]]
    return found
