"""ONNX models that run: what ``basalt.load`` gives for an ``.onnx`` file."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from basalt.errors import InvalidStateError, UnsupportedError, ValidationError
from basalt.runtime.declared import Declared, check_known, declared_value
from basalt.runtime.threads import optional_thread_count
from basalt.serialization import TensorSpec
from basalt.serialization.onnx import OnnxModel, OnnxType, OnnxValueInfo

from ..executable import Executable
from ..explain import Explanation
from ..model import Model
from .check import check_model, reordered
from .direct import Direct, direct
from .script import Entry, Script
from .stage import Stage, StageOptions
from .state import Scope
from .steps import Return, describe
from .tensor import UNCARRIED, carrier, onnx_dtype
from .tracer import initial_values

__all__ = ["OnnxExecutable", "load"]


class OnnxExecutable:
    """An ONNX model, ready to run. Several threads may use it at once.

    ``onnx`` is the model as it was read; ``metadata`` what the file says of itself.

    Args:
        source: the model.
        threads: threads to run on, None for the process's setting.
        eager: whether first runs go through NumPy while code is compiled, None to ask BASALT_EAGER.
        general: whether steps are translated for any sizes at once, instead of for those of the first runs.

    Raises:
        UnsupportedError: for operators that Basalt lacks; the message lists them all.
        ModelFormatError: for a model that breaks the standard's rules.
    """

    def __init__(
        self, source: OnnxModel, *, threads: int | None = None, eager: bool | None = None, general: bool = False
    ) -> None:
        check_model(source)
        threads = optional_thread_count(threads)
        self.onnx = source
        self.metadata: dict[str, str] = dict(source.metadata_props)
        self._destroyed = False
        graph = source.graph
        known = initial_values(graph)
        self._defaults = {v.name: known[v.name] for v in graph.inputs if v.name in known}
        self._declared: dict[str, OnnxValueInfo] = {v.name: v for v in source.inputs}
        options = StageOptions(list(dict.fromkeys(v.name for v in graph.outputs)), threads, eager, general)
        opsets = {"" if d == "ai.onnx" else d: v for d, v in source.opset_imports.items()}
        functions = {("" if f.domain == "ai.onnx" else f.domain, f.name, f.overload): f for f in source.functions}
        order = reordered(source)
        scope = Scope(opsets or {"": 1}, functions, order=order)
        nodes = scope.nodes(graph)
        types = {name: _typed(v.type) for name, v in self._declared.items()}
        self._script = Script(Entry(nodes, scope, known, types, options), options)
        self._make_entry = lambda given: Entry(
            nodes,
            scope,
            {k: v for k, v in known.items() if k not in given},
            {**types, **{v.name: _typed(v.type) for v in graph.inputs if v.name in given}},
            options,
        )
        self._overridden: dict[frozenset[str], Script] = {}
        self._direct: Direct | None = None
        self._examined = False

    @functools.cached_property
    def inputs(self) -> tuple[TensorSpec, ...]:
        """Name, data type and shape of each input; a dimension is a size, a name, or "?"."""
        return tuple(_spec(v) for v in self._declared.values())

    @functools.cached_property
    def outputs(self) -> tuple[TensorSpec, ...]:
        """Name, data type and shape of each output as the file declares them."""
        return tuple(_spec(v) for v in self.onnx.outputs)

    @property
    def name(self) -> str:
        """The graph's name."""
        return self.onnx.graph.name

    def like(self, source: OnnxModel) -> OnnxExecutable:
        """Another model to run on as many threads."""
        return OnnxExecutable(source, threads=self._script.options.threads, eager=False)

    @property
    def destroyed(self) -> bool:
        """Whether ``destroy`` was called."""
        return self._destroyed

    def run(self, feeds: Mapping[str, Any], out: Mapping[str, np.ndarray] | None = None) -> dict[str, Any]:
        """Compute the outputs.

        Args:
            feeds: a value for each input: an array of its data type and shape, a list for a sequence, None for an
                empty optional. An input that has a default (an initialiser) may be left out.
            out: C-contiguous arrays to write some or all of the outputs into.

        Returns:
            The outputs by name: arrays, lists for sequences, dictionaries for maps.

        Raises:
            ValidationError: for missing or unknown names, other data types, and shapes that the model does not allow.
            UnsupportedError: for what Basalt lacks.
            InvalidStateError: after ``destroy``.
        """
        if self._direct is not None:
            try:
                return self._direct.run(feeds, out)
            except (ValidationError, InvalidStateError):
                pass
        self.check_usable("run")
        values = self._checked(feeds)
        results = self._chosen(values).run(values, out)
        if not self._examined:
            self._examined = True
            self._direct = self._short_way()
        return {v.name: results[v.name] for v in self.onnx.outputs}

    def compile(self, shapes: Mapping[str, Iterable[int]] | None = None) -> Any:
        """The program for these shapes, compiled now; ``run`` uses it too.

        Args:
            shapes: a shape for each input; those whose sizes the file states may be left out.

        Raises:
            UnsupportedError: for a model that runs in several steps; it compiles as it runs.
        """
        return self._region("compile", shapes).compile(shapes)

    def source(self, shapes: Mapping[str, Iterable[int]] | None = None) -> str:
        """The generated code of the program for these shapes."""
        return self._region("source", shapes).source(shapes)

    def explain(self, shapes: Mapping[str, Iterable[int]] | None = None) -> Explanation:
        """The kernels of the program for these shapes, in order, with the nodes' names."""
        return self._region("explain", shapes).explain(shapes)

    def text(self, after: str | None = None, shapes: Mapping[str, Iterable[int]] | None = None) -> str:
        """The core graph's text (see :meth:`basalt.compiler.executable.Executable.text`)."""
        return self._region("text", shapes).text(after, shapes)

    def html(self, shapes: Mapping[str, Iterable[int]] | None = None) -> str:
        """A page as :meth:`basalt.compiler.executable.Executable.html` gives it.

        Of a model that runs in steps it has a section for each step that runs have translated so far.

        Raises:
            UnsupportedError: for a model of which nothing is translated yet because its sizes must be known.
        """
        from ..inspection.whole import Heading, steps_page

        try:
            region = self._region("html", shapes)
        except UnsupportedError:
            stages = self._script.entry.stages()
            if not stages:
                raise
            return steps_page(stages, Heading(self.name or "model"))
        return region.html(shapes)

    def stages(self) -> list[Stage]:
        """What runs have translated the model to so far, where it begins."""
        return self._script.entry.stages()

    def steps(self) -> str:
        """What runs do, as far as they have translated the model: regions, and the steps between them.

        Where a step's results came in several kinds or sizes, each has what follows it below the step.
        """
        lines = [line for stage in self._script.entry.stages() for line in stage.lines()]
        return "\n".join(lines) or "nothing is translated before the first run"

    def to_model(self, shapes: Mapping[str, Iterable[int]] | None = None) -> Model:
        """The model as one core graph, which ``basalt.save`` writes.

        Raises:
            UnsupportedError: for a model that runs in several steps, or whose sizes must be known and are not given.
        """
        region = self._region("to_model", shapes)
        return Model(region.graph, region.constants, self.metadata, **self._script.options.executable)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a ``.bsl`` file; as ``to_model().save(path)``."""
        self.to_model().save(path)

    def direct_executable(self) -> Executable | None:
        """The one region that the model is, if it takes the inputs and gives the outputs as they are."""
        found = self._short_way()
        return found if isinstance(found, Executable) else None

    def recorded(self, feeds: Sequence[Mapping[str, Any]]) -> Entry:
        """Where the model begins, with what runs on ``feeds`` had to be translated; nothing of earlier runs.

        Raises:
            ValidationError: as ``run``; also for inputs with defaults, which programs ahead of time hold as constants.
        """
        for entry in feeds:
            check_known(entry, self._declared)
        fresh = OnnxExecutable(self.onnx, threads=self._script.options.threads, eager=False, general=True)
        for entry in feeds:
            fresh.run(entry)
        return fresh._script.entry

    def declared_inputs(self) -> list[Declared]:
        """The inputs as the file declares them."""
        return [_declared(v) for v in self._declared.values()]

    def declared_outputs(self) -> list[Declared]:
        """The outputs as the file declares them."""
        return [_declared(v) for v in self.onnx.outputs]

    def destroy(self) -> None:
        """Give the programs back and refuse further use. Idempotent."""
        self._destroyed = True
        self._direct = None

    def check_usable(self, what: str) -> None:
        """Raise InvalidStateError, starting with ``what``, if the model was destroyed."""
        if self._destroyed:
            raise InvalidStateError(f"{what}: {self!r}")

    def _region(self, what: str, shapes: Mapping[str, Iterable[int]] | None) -> Executable:
        """The one region that the whole model is."""
        self.check_usable(what)
        stage = self._script.entry.symbolic_stage()
        if stage is None and shapes is not None:
            stage = self._stage_for(shapes)
        if stage is None:
            raise UnsupportedError(f"{what}: the model needs known sizes; give a shape for each input")
        if not isinstance(stage.step, Return) or stage.executable is None:
            step = describe(stage.step)
            raise UnsupportedError(f"{what}: the model is no single program: {step} needs values of a run")
        return stage.executable

    def _stage_for(self, shapes: Mapping[str, Iterable[int]]) -> Stage:
        env = {}
        for name, value in self._declared.items():
            if name not in shapes:
                raise ValidationError(f"no shape is given for input {name!r}")
            env[name] = np.empty(tuple(shapes[name]), onnx_dtype(value.dtype))
        return self._script.entry.enter(env)

    def _short_way(self) -> Direct | None:
        """What runs the model without steps between, where its inputs and outputs are what callers give and take."""
        if not all(_passes(v) for v in self._declared.values()):
            return None
        stage = self._script.entry.symbolic_stage()
        if stage is not None and isinstance(stage.step, Return) and not all(_passes(v) for v in self.onnx.outputs):
            return None
        return direct(stage, list(self._declared), self._script.options.outputs)

    def _chosen(self, values: Mapping[str, Any]) -> Script:
        """The script for the inputs that are given: those with defaults may be among them."""
        extra = frozenset(name for name in values if name not in self._declared)
        if not extra:
            return self._script
        script = self._overridden.get(extra)
        if script is None:
            script = self._overridden[extra] = Script(self._make_entry(extra), self._script.options)
        return script

    def _checked(self, feeds: Any) -> dict[str, Any]:
        if not isinstance(feeds, Mapping):
            raise ValidationError(f"feeds is {type(feeds).__name__}, expected a dictionary from input names to arrays")
        values = {}
        for name, value in feeds.items():
            info = self._declared.get(name) or next((v for v in self.onnx.graph.inputs if v.name == name), None)
            if info is None:
                raise ValidationError(f"no input is named {name!r}; the inputs are {_listed(self._declared)}")
            values[name] = declared_value(_declared(info), value)
        missing = [name for name in self._declared if name not in values]
        if missing:
            raise ValidationError(f"input {missing[0]!r} is missing; the inputs are {_listed(self._declared)}")
        return values

    def __repr__(self) -> str:
        state = " destroyed" if self._destroyed else ""
        shown = [
            ", ".join(f"{s.name}: {s.dtype}{list(s.shape)}" for s in specs) for specs in (self.inputs, self.outputs)
        ]
        return f"<{type(self).__name__}{f' {self.name!r}' if self.name else ''}{state} ({shown[0]}) -> ({shown[1]})>"


def load(source: Any, *, threads: int | None = None, eager: bool | None = None) -> OnnxExecutable:
    """The model in an ``.onnx`` file; ``source`` and errors as for ``basalt.load``."""
    return OnnxExecutable(OnnxModel.load(source), threads=threads, eager=eager)


def _typed(declared: OnnxType | None) -> OnnxType | None:
    return declared if declared is not None and (declared.kind != "tensor" or declared.dtype != "undefined") else None


def _passes(value: OnnxValueInfo) -> bool:
    """Whether a region takes or gives this value as callers do."""
    if value.type is None or value.type.kind != "tensor" or value.dtype in UNCARRIED:
        return False
    return value.dtype == "bool" or carrier(value.dtype) == value.dtype


def _spec(value: OnnxValueInfo) -> TensorSpec:
    declared = value.type
    if declared is None or declared.kind != "tensor":
        return TensorSpec(value.name, declared.kind if declared else "undefined", ())
    return TensorSpec(value.name, declared.dtype, tuple("?" if d is None else d for d in declared.shape or ()))


def _declared(info: OnnxValueInfo) -> Declared:
    """What a file says of a value, as the runtime checks it."""
    kind = info.type
    if kind is None or kind.kind != "tensor":
        return Declared(info.name, kind.kind if kind else "undefined", "", None)
    return Declared(info.name, "tensor", kind.dtype, kind.shape)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(map(repr, names)) or "none"
