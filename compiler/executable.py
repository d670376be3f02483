"""What a built graph and a loaded model share: running, compiling a program a shape signature, and looking inside."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np

from basalt.errors import InvalidStateError, ValidationError
from basalt.runtime.declared import check_feeds, check_known
from basalt.runtime.spec import ProgramSpec
from basalt.runtime.threads import optional_thread_count

from .backend import InterpretedProgram, Plan, Runnable, plan_program, program_spec
from .explain import Explanation, explain, source_of
from .interpret import StoppedError
from .ir import Constants, Graph, Value
from .passes.specialise import specialise
from .program_cache import Pending, ProgramCache, Signature
from .shape_binding import bind_sizes, check_solvable, shape_names
from .text import print_graph

if TYPE_CHECKING:
    from basalt.serialization import TensorSpec

    from .codegen.choices import Choices
    from .tuning.report import TuningReport

__all__ = ["Executable"]

MAX_PROGRAMS = 64
"""The programs that a graph with symbolic dimensions keeps: those of the shapes used last."""


class Executable:
    """A graph that runs: its programs are compiled when they are first needed, one for each combination of shapes.

    Several threads may use it at once. Use :class:`basalt.MLGraphBuilder` or :func:`basalt.load` to make one.
    """

    def __init__(
        self,
        graph: Graph,
        constants: Constants,
        *,
        threads: int | None = None,
        eager: bool | None = None,
        max_programs: int = MAX_PROGRAMS,
        canonical: Mapping[str, int] | None = None,
    ) -> None:
        """
        Args:
            graph: the graph as its user made it.
            constants: the arrays beside it.
            threads: threads to run on, None for the process's setting.
            eager: whether to run through NumPy while compiling takes long; None asks BASALT_EAGER.
            max_programs: the programs to keep for a graph with symbolic dimensions.
            canonical: a size for each symbolic dimension. Choices between kernels by size are then those for these
                sizes, whichever sizes come first, so that results do not depend on what ran before. Without them, they
                are those of the first program. (Runs through NumPy differ by rounding all the same: ``eager=False``.)

        Raises:
            ValidationError: for symbolic dimensions that no input's shape determines, and threads that are none of at
                least 1.
        """
        check_solvable(graph.inputs)
        self._graph = graph
        self._constants = constants
        self._threads = optional_thread_count(threads)
        self._destroyed = False
        self._names = tuple(v.name for v in graph.inputs)
        self._static = graph.is_static
        self._program: Runnable | None = None
        self._programs = ProgramCache(self._plan, _eager(eager), max_programs)
        self._ready = self._programs.ready
        self._choices: dict[str, Choices] = {}
        self._canonical = canonical
        self._canonical_specs: dict[str, ProgramSpec] = {}
        self._output_shapes: dict[Any, dict[str, tuple[int, ...]]] = {}

    @property
    def graph(self) -> Graph:
        """The intermediate representation, for tools that look at it."""
        return self._graph

    @property
    def constants(self) -> Constants:
        """The arrays beside the intermediate representation."""
        return self._constants

    @property
    def name(self) -> str:
        """The graph's name, often empty."""
        return self._graph.name

    @functools.cached_property
    def inputs(self) -> tuple[TensorSpec, ...]:
        """Name, data type and shape of each input; a dimension is a size, or the name of one that each run decides."""
        return _specs((v.name, v) for v in self._graph.inputs)

    @functools.cached_property
    def outputs(self) -> tuple[TensorSpec, ...]:
        """Name, data type and shape of each output; a dimension that depends on the inputs is an expression's text."""
        return _specs(self._graph.outputs)

    @property
    def destroyed(self) -> bool:
        """Whether ``destroy`` was called."""
        return self._destroyed

    def run(self, feeds: Mapping[str, Any], out: Mapping[str, np.ndarray] | None = None) -> dict[str, np.ndarray]:
        """Compute the outputs.

        Args:
            feeds: an array for each input, of its data type and shape. Lists and numbers are converted where nothing
                is lost by it.
            out: C-contiguous arrays to write some or all of the outputs into.

        Returns:
            The outputs by name, those of ``out`` being the given arrays.

        The first run with new shapes compiles. If that would take long, it computes through NumPy meanwhile
        (``eager_first_run``); an error that ends a compilation in the background is raised by the run after it.

        Raises:
            ValidationError: for missing or unknown names, other data types, and shapes that the graph does not allow.
            InvalidStateError: after ``destroy``.
            UnsupportedError: for an operator that cannot be compiled.
        """
        program = self._program
        if program is None:
            try:
                entry = self._ready[tuple([feeds[name].shape for name in self._names])]
            except (KeyError, TypeError, AttributeError):
                return self._run_carefully(feeds, out)
            entry.used = next(self._programs.ticks)
            program = entry.program
        return program.run(feeds, out)

    def compile(self, shapes: Mapping[str, Iterable[int]] | None = None) -> Runnable:
        """The program for these shapes, compiled now if it is not there yet; ``run`` uses it too.

        Args:
            shapes: a shape for each input; those whose sizes are known, or follow from other inputs', may be left out.

        Raises:
            ValidationError: for unknown names and for shapes that the graph does not allow.
            InvalidStateError: after ``destroy``.
            UnsupportedError: for an operator that cannot be compiled.
        """
        program = self._programs.acquire(self._signature(self.sizes_for(shapes)), wait=True)
        assert not isinstance(program, Pending)
        self._keep(program)
        return program

    def tune(
        self,
        feeds: Mapping[str, Any],
        *,
        seconds: float | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> TuningReport:
        """Measure other kernels than those estimated to be best for these inputs; faster ones are used from then on.

        What is found is remembered beside the compiled kernels: any model that holds an equal operator profits, in
        every process. Sums may be taken in another order afterwards, so that results change within rounding.

        Args:
            feeds: an array for each input, such as will be common.
            seconds: no trial begins after so many. None for no limit: some minutes for large models.
            progress: called with the number of trials done and the number expected.

        Raises:
            ValidationError: for missing or unknown names, other data types, and shapes that the graph does not allow.
            InvalidStateError: after ``destroy``.
            UnsupportedError: for an operator that cannot be compiled.
        """
        self.check_usable("tune")
        from .tuning.search import tune

        graph = self._specialized(bind_sizes(self._graph.inputs, self._shapes_of(feeds)))
        report = tune(graph, self._constants, feeds, threads=self._threads, seconds=seconds, progress=progress)
        if report.changed:
            self._program = None
            self._programs.clear()
        return report

    def signatures(self) -> list[Signature]:
        """The shapes of the inputs, in their order, that programs are there for."""
        return list(self._programs.ready)

    def source(self, shapes: Mapping[str, Iterable[int]] | None = None) -> str:
        """The generated code of the program for these shapes (as for ``compile``): Python source for Numba."""
        return source_of(self._spec(shapes))

    def explain(self, shapes: Mapping[str, Iterable[int]] | None = None) -> Explanation:
        """The kernels of the program for these shapes (as for ``compile``), in order, with the user's labels."""
        return explain(self._spec(shapes))

    def text(self, after: str | None = None, shapes: Mapping[str, Iterable[int]] | None = None) -> str:
        """The graph's text.

        Args:
            after: None for the graph as it was built or loaded, else the pass after which to show it, or ``"all"``.
            shapes: as for ``compile``, where ``after`` is given.

        Raises:
            ValidationError: for a name that no pass has, and as ``compile``.
        """
        if after is None:
            return print_graph(self._graph, self._constants)
        from .pipeline import run_pipeline

        constants = self._constants.copy()
        graph = self._specialized(self.sizes_for(shapes))
        return print_graph(run_pipeline(graph, constants, until=None if after == "all" else after).graph, constants)

    def html(self, shapes: Mapping[str, Iterable[int]] | None = None) -> str:
        """A page for a browser, as text to be written to a file: what becomes of the graph for these shapes.

        The shapes are as for ``compile``. The page shows the graph before and after each pass, which nodes became which
        kernel, the program's rows, the plan of its memory, and each kernel's source and assembly. It needs nothing but
        itself.
        """
        from .inspection.whole import Heading, graph_page

        sizes = self.sizes_for(shapes)
        graph = self._specialized(sizes)
        with self._choosing():
            return graph_page(graph, self._constants, sizes, Heading(self.name or "graph"))

    def destroy(self) -> None:
        """Give the programs back and refuse further use; runs under way end as they would. Idempotent."""
        self._destroyed = True
        self._program = None
        self._programs.clear()

    def output_shapes(self, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, tuple[int, ...]]:
        """The outputs' shapes for shapes of the inputs.

        Raises:
            ValidationError: for shapes that the graph does not allow.
        """
        key = tuple([shapes.get(name) for name in self._names])
        found = self._output_shapes.get(key)
        if found is None:
            found = {name: _concrete(v.shape) for name, v in self._specialized(self.sizes_for(shapes)).outputs}
            if len(self._output_shapes) >= MAX_PROGRAMS:
                self._output_shapes.clear()
            self._output_shapes[key] = found
        return found

    def _run_carefully(self, feeds: Mapping[str, Any], out: Mapping[str, np.ndarray] | None) -> dict[str, np.ndarray]:
        """Check the names and shapes, then run what there is: a program, or NumPy while one is being compiled."""
        self.check_usable("run")
        key = self._signature(bind_sizes(self._graph.inputs, self._shapes_of(feeds)))
        while True:
            found = self._programs.acquire(key)
            if not isinstance(found, Pending):
                self._keep(found)
                return found.run(feeds, out)
            assert found.interpreted is not None
            try:
                return found.interpreted.run(feeds, out, stop=lambda pending=found: pending.ready)
            except StoppedError:
                continue

    def _keep(self, program: Runnable) -> None:
        """Have a static graph's runs find the program without looking at shapes."""
        if self._static:
            self._program = program
            if self._destroyed:
                # Another thread destroyed the graph in between.
                self._program = None

    def _shapes_of(self, feeds: Any) -> dict[str, tuple[int, ...]]:
        check_feeds(feeds, self._names)
        return {name: _shape_of(name, feeds[name]) for name in self._names}

    def sizes_for(self, shapes: Mapping[str, Iterable[int]] | None) -> dict[str, int]:
        """The symbolic dimensions' sizes for shapes of the inputs; those that follow from others' may be left out.

        Raises:
            ValidationError: for unknown names, what is no shape, and shapes that the graph does not allow.
            InvalidStateError: after ``destroy``.
        """
        self.check_usable("compile")
        given = {} if shapes is None else shapes
        if not isinstance(given, Mapping):
            raise ValidationError(f"shapes is {shapes!r}, expected a dictionary from input names to shapes")
        check_known(given, self._names)
        return bind_sizes(self._graph.inputs, {name: _stated(name, shape) for name, shape in given.items()})

    def _signature(self, sizes: Mapping[str, int]) -> Signature:
        if self._static:
            return tuple(_concrete(v.shape) for v in self._graph.inputs)
        return tuple(_concrete(_bound(v, sizes)) for v in self._graph.inputs)

    def _specialized(self, sizes: Mapping[str, int]) -> Graph:
        if self._static:
            return self._graph
        try:
            return specialise(self._graph, sizes)
        except ValidationError as error:
            given = ", ".join(f"{name} = {size}" for name, size in sorted(sizes.items()))
            raise ValidationError(f"{error} (with {given})") from None

    def _spec(self, shapes: Mapping[str, Iterable[int]] | None) -> ProgramSpec:
        graph = self._specialized(self.sizes_for(shapes))
        with self._choosing():
            return program_spec(graph, self._constants)

    def _choosing(self) -> AbstractContextManager[None]:
        """What has a program that is looked at follow the choices of the canonical sizes, if there are any."""
        return nullcontext() if self._static or self._canonical is None else self._similar()

    def _plan(self, key: Signature) -> tuple[Plan, Any]:
        self.check_usable("run")
        graph = self._specialized(bind_sizes(self._graph.inputs, dict(zip(self._names, key))))
        if self._static:
            plan = plan_program(graph, self._constants, self._threads)
        else:
            plan = self._similar_plan(graph)
        return plan, lambda: InterpretedProgram(graph, self._constants)

    def _similar_plan(self, graph: Graph) -> Plan:
        """A plan that shares kernels with those for other sizes."""
        with self._similar():
            return plan_program(graph, self._constants, self._threads)

    def _similar(self) -> AbstractContextManager[None]:
        """What has programs follow the choices of the first one, or of the canonical sizes."""
        from .codegen.choices import Choices, remembering
        from .kernels.target import target

        if self._canonical is not None:
            self.canonical_spec()
            return remembering(self._choices[target().name].following())
        return remembering(self._choices.setdefault(target().name, Choices()))

    def canonical_spec(self) -> ProgramSpec:
        """The program of the canonical sizes: written, not compiled.

        Raises:
            ValidationError: without canonical sizes, or for sizes that the graph does not allow.
            UnsupportedError: for an operator that cannot be compiled.
        """
        if self._canonical is None:
            raise ValidationError(f"{self!r} has no canonical sizes")
        from .codegen.choices import Choices, remembering
        from .kernels.target import target

        name = target().name
        if name not in self._canonical_specs:
            choices = Choices()
            with remembering(choices):
                spec = program_spec(self._specialized(self._canonical), self._constants)
            self._choices[name], self._canonical_specs[name] = choices, spec
        return self._canonical_specs[name]

    def check_usable(self, what: str) -> None:
        """Raise InvalidStateError, starting with ``what``, if the graph was destroyed."""
        if self._destroyed:
            raise InvalidStateError(f"{what}: {self!r}")

    def __repr__(self) -> str:
        state = " destroyed" if self._destroyed else ""
        shown = [", ".join(f"{s.name}: {_type_text(s)}" for s in specs) for specs in (self.inputs, self.outputs)]
        return f"<{type(self).__name__}{f' {self.name!r}' if self.name else ''}{state} ({shown[0]}) -> ({shown[1]})>"


def _specs(named: Iterable[tuple[str, Value]]) -> tuple[TensorSpec, ...]:
    from basalt.serialization import TensorSpec

    return tuple(TensorSpec(name, v.dtype, shape_names(v.shape)) for name, v in named)


def _type_text(spec: TensorSpec) -> str:
    return f"{spec.dtype}[{', '.join(map(str, spec.shape))}]"


def _bound(value: Value, sizes: Mapping[str, int]) -> tuple[Any, ...]:
    from basalt.ops import bind_shape

    return bind_shape(value.shape, sizes)


def _concrete(shape: Iterable[Any]) -> tuple[int, ...]:
    return tuple(int(d) for d in shape)


def _shape_of(name: str, value: Any) -> tuple[int, ...]:
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple):
        return tuple(shape)
    try:
        return np.shape(value)
    except ValueError as error:
        raise ValidationError(f"input {name!r}: {error}") from None


def _stated(name: str, shape: Any) -> tuple[int, ...]:
    if isinstance(shape, (str, bytes)) or not isinstance(shape, Iterable):
        raise ValidationError(f"shape of input {name!r}: got {shape!r}, expected a sequence of sizes")
    sizes = tuple(shape)
    for size in sizes:
        if isinstance(size, bool) or not isinstance(size, (int, np.integer)) or size < 0:
            raise ValidationError(f"shape of input {name!r}: {list(sizes)} has {size!r}, expected sizes of 0 or more")
    return tuple(int(size) for size in sizes)


def _eager(given: bool | None) -> bool:
    if given is not None:
        return given
    return os.environ.get("BASALT_EAGER", "1").strip().lower() not in ("0", "false", "no", "off")
