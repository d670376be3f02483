"""The two steps from a graph of known sizes to a program that runs, each imported when it is first needed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from basalt.runtime.feeds import prepare_inputs, prepare_outputs
from basalt.runtime.spec import ProgramSpec, TensorSpec

from . import debug
from .interpret import Interpreter
from .ir import Constants, Graph
from .progress import Progress

__all__ = ["InterpretedProgram", "Plan", "Runnable", "plan_program"]

SECONDS_PER_KERNEL = 0.1
"""What a kernel takes to compile, about (measured: 0.03 to 0.1 s on one core)."""
SECONDS_OF_EXECUTOR = 1.5
"""What the executor takes, once a machine, with importing llvmlite."""


class Runnable(Protocol):
    """What a compilation gives: a :class:`basalt.runtime.Program`, or the same thing through NumPy."""

    def run(self, feeds: Mapping[str, Any], out: Mapping[str, np.ndarray] | None = None) -> dict[str, np.ndarray]: ...


class Plan(Protocol):
    """A program whose kernels are not loaded yet."""

    @property
    def seconds(self) -> float:
        """What :meth:`finish` will take, about."""
        ...

    def finish(self, progress: Progress) -> Runnable:
        """The program, after compiling the kernels that no cache has."""
        ...


class InterpretedProgram:
    """A graph of known sizes that runs through the operators' NumPy semantics, called like a program."""

    seconds = 0.0

    def __init__(self, graph: Graph, constants: Constants) -> None:
        self._interpreter = Interpreter(graph, constants)
        self._inputs = tuple(TensorSpec(v.name, v.dtype, _sizes(v.shape)) for v in graph.inputs)
        self._outputs = tuple(TensorSpec(name, v.dtype, _sizes(v.shape)) for name, v in graph.outputs)

    def finish(self, progress: Progress) -> Runnable:
        return self

    def run(
        self, feeds: Mapping[str, Any], out: Mapping[str, np.ndarray] | None = None, stop: Any = None
    ) -> dict[str, np.ndarray]:
        """As a program's ``run``; ``stop`` is asked before each node, True raising StoppedError.

        Raises:
            ValidationError: for wrong names, data types and shapes.
        """
        inputs = prepare_inputs(self._inputs, feeds)
        _, results = prepare_outputs(self._outputs, out, inputs)
        values = self._interpreter.run(dict(zip((spec.name for spec in self._inputs), inputs)), stop)
        given = out or {}
        for spec, result in zip(self._outputs, results):
            if spec.name in given:
                result[...] = values[spec.name]
                values[spec.name] = given[spec.name]
        return values


class _CompiledPlan:
    """The written kernels of a program, of which some are not compiled yet."""

    def __init__(self, spec: ProgramSpec, threads: int | None) -> None:
        from basalt.runtime.kernel_cache import CACHE

        from .codegen.compile import missing, require_native
        from .codegen.fingerprint import executor_key

        # Asked here, since another thread, whose current target is another, may finish the plan.
        require_native("make a program to run")
        self._spec = spec
        self._threads = threads
        self.seconds = SECONDS_PER_KERNEL * missing(spec.kernels)
        if not CACHE.has(executor_key()):
            self.seconds += SECONDS_OF_EXECUTOR

    def finish(self, progress: Progress) -> Runnable:
        from basalt.runtime.program import Program

        from .codegen.compile import load_kernels

        return Program(self._spec, load_kernels(self._spec.kernels, progress), threads=self._threads)


def plan_program(graph: Graph, constants: Constants, threads: int | None) -> Plan:
    """The program of a graph whose sizes are all known, its kernels written but not compiled.

    Raises:
        UnsupportedError: for an operator without a kernel, and while compiling for another target than this machine.
    """
    if debug.enabled("interpret"):
        return InterpretedProgram(graph, constants)
    return _CompiledPlan(program_spec(graph, constants), threads)


def program_spec(graph: Graph, constants: Constants) -> ProgramSpec:
    """The plain data of a graph's program; the passes' new constants go into a store of their own."""
    from .lower import compile_spec

    return compile_spec(graph, constants.copy())


def _sizes(shape: tuple[Any, ...]) -> tuple[int, ...]:
    return tuple(int(d) for d in shape)
