"""The pipeline: which passes a graph goes through, in which order, and why."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from basalt.errors import BasaltError, InvalidStateError, ValidationError

from .ir import Constants, Graph
from .passes.canonicalise import canonicalise
from .passes.common_subexpressions import common_subexpressions
from .passes.context import Context, Debug
from .passes.dead_code import dead_code
from .passes.dequantise_late import dequantise_late
from .passes.fold_constants import fold_constants
from .passes.fold_inputs import fold_inputs
from .passes.fold_normalisation import fold_normalisation
from .passes.fuse import fuse
from .passes.fuse_attention import fuse_attention
from .passes.infer_shapes import infer_shapes
from .passes.integer_products import integer_products
from .passes.separate_outputs import separate_outputs
from .passes.simplify import simplify
from .passes.sink_movement import sink_movement
from .passes.widen_products import widen_products
from .text import diff_graphs
from .verify import VerifyError, verify


@dataclass(frozen=True, slots=True)
class Pass:
    """An entry of the pipeline: a pure function, why it stands where it does, and the passes that must come before it.

    The code generator needs what a ``required`` one does; others make programs faster or smaller.
    """

    name: str
    function: Callable[[Graph, Context], Graph]
    why: str
    after: tuple[str, ...] = ()
    required: bool = False


PASSES: tuple[Pass, ...] = (
    Pass("infer_shapes", infer_shapes, "all rely on types and attributes as the rules give them", (), True),
    Pass("dequantise_late", dequantise_late, "as long as weights are still quantised", ("infer_shapes",)),
    Pass("integer_products", integer_products, "products then read quantised operands", ("dequantise_late",)),
    Pass("fold_constants", fold_constants, "what is known shows what does nothing", ("integer_products",)),
    Pass("simplify", simplify, "next passes look for neighbours, which this makes of others", ("fold_constants",)),
    Pass("sink_movement", sink_movement, "normalizations then follow convolutions", ("simplify",)),
    Pass("fold_normalisation", fold_normalisation, "as long as normalizations are whole", ("sink_movement",)),
    Pass("fold_inputs", fold_inputs, "weights have taken what follows them", ("fold_normalisation",)),
    Pass("fuse_attention", fuse_attention, "as long as softmax is whole", ("simplify",)),
    Pass(
        "canonicalise",
        canonicalise,
        "the rest knows core operators only",
        ("fold_inputs", "fuse_attention"),
        True,
    ),
    Pass("fold_core", fold_constants, "normalizations leave factors that may be known", ("canonicalise",)),
    Pass("simplify_core", simplify, "the core forms leave reshapes and casts that do nothing", ("fold_core",)),
    Pass("widen_products", widen_products, "what moves narrow floats has gone", ("simplify_core",)),
    Pass("common_subexpressions", common_subexpressions, "nodes have their final form", ("widen_products",)),
    Pass("dead_code", dead_code, "earlier passes left nodes without readers", ("common_subexpressions",)),
    Pass("separate_outputs", separate_outputs, "nothing may merge outputs again", ("common_subexpressions",), True),
    Pass("fuse", fuse, "groups are of nodes that stay", ("dead_code", "separate_outputs")),
)
"""THE list: each pass runs once, in this order."""


class PassError(BasaltError):
    """A pass that failed; the message names it."""


@dataclass(frozen=True, slots=True)
class Stage:
    """What one pass did: the graph after it, the time that it took, the rewrites that it applied."""

    name: str
    graph: Graph
    seconds: float
    rewrites: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PipelineResult:
    """The final graph; ``stages`` has one entry for each pass that ran if they were asked for, else none."""

    graph: Graph
    constants: Constants
    stages: tuple[Stage, ...] = ()

    def after(self, name: str) -> Graph:
        """The graph after a pass.

        Raises:
            ValidationError: if that pass was not recorded.
        """
        for stage in self.stages:
            if stage.name == name:
                return stage.graph
        raise ValidationError(f"no graph is recorded after {name!r}; recorded are {[s.name for s in self.stages]}")


def check_order(passes: Sequence[Pass]) -> None:
    """Check that each pass stands after those that it names.

    Raises:
        ValueError: for a name used twice, an unknown name in ``after``, or an entry before one that it must follow.
    """
    names = [p.name for p in passes]
    for place, each in enumerate(passes):
        if each.name in names[:place]:
            raise ValueError(f"two passes are called {each.name}")
        for other in each.after:
            if other not in names:
                raise ValueError(f"{each.name} must come after {other!r}, which is no pass; passes are {names}")
            if other not in names[:place]:
                raise ValueError(f"{each.name} must come after {other}, but stands before it")


check_order(PASSES)


def run_pipeline(
    graph: Graph,
    constants: Constants,
    *,
    until: str | None = None,
    skip: Iterable[str] = (),
    record: bool = False,
    debug: Debug | None = None,
    context: Context | None = None,
) -> PipelineResult:
    """Run the passes.

    Args:
        graph: a graph all of whose sizes are known (see :func:`.passes.specialise.specialise`).
        constants: the arrays beside it; passes add to them.
        until: the last pass to run; None for all.
        skip: passes to leave out, for debugging: what they would have done may be what later ones rely on.
        record: keep the graph after each pass.
        debug: what to check and print beside; ``BASALT_DEBUG`` says if None.
        context: the passes' surroundings, to limit or read what they do; a new one if None.

    Raises:
        ValidationError: for an unknown pass.
        InvalidStateError: for a graph with symbolic sizes.
        PassError: if a pass fails, or leaves a graph that the verifier refuses; names the pass.
    """
    chosen = _chosen(until, skip)
    if not graph.is_static:
        raise InvalidStateError(f"the graph's sizes {sorted(graph.symbols())} are not known; specialise it first")
    debug = Debug.from_environment() if debug is None else debug
    context = context or Context(constants)
    context.collect_notes = context.collect_notes or debug.passes
    stages: list[Stage] = []
    for each in chosen:
        before, applied, start = graph, len(context.applied), time.perf_counter()
        graph = _run(each, before, context, debug)
        if record or debug.passes:
            seconds = time.perf_counter() - start
            stages.append(Stage(each.name, graph, seconds, tuple(context.applied[applied:])))
        if debug.passes:
            print(_report(stages[-1], before, context), file=sys.stderr)
            context.notes.clear()
    return PipelineResult(graph, constants, tuple(stages) if record else ())


def lowered_graph(graph: Graph, constants: Constants, *, optimise: bool = True) -> Graph:
    """The graph as the code generator takes it; without ``optimise`` only the required passes run.

    Raises:
        InvalidStateError: for a graph with symbolic sizes.
        PassError: if a pass fails.
    """
    skip = () if optimise else [p.name for p in PASSES if not p.required]
    return run_pipeline(graph, constants, skip=skip).graph


def graph_after(graph: Graph, constants: Constants, name: str) -> Graph:
    """The graph after the pass of a name, or after all passes (``"all"``).

    Raises:
        ValidationError: for an unknown pass.
        InvalidStateError: for a graph with symbolic sizes.
        PassError: if a pass fails.
    """
    return run_pipeline(graph, constants, until=None if name == "all" else name).graph


def _chosen(until: str | None, skip: Iterable[str]) -> list[Pass]:
    names = [p.name for p in PASSES]
    skipped = set(skip)
    for name in [*sorted(skipped), *([] if until is None else [until])]:
        if name not in names:
            raise ValidationError(f"there is no pass {name!r}; passes are {names}")
    last = len(PASSES) if until is None else names.index(until) + 1
    return [p for p in PASSES[:last] if p.name not in skipped]


def _run(each: Pass, graph: Graph, context: Context, debug: Debug) -> Graph:
    try:
        after = each.function(graph, context)
        if debug.verify:
            verify(after, context.constants, each.name)
    except VerifyError as error:
        raise PassError(str(error)) from error
    except Exception as error:
        raise PassError(f"pass {each.name} failed: {error}") from error
    return after


def _report(stage: Stage, before: Graph, context: Context) -> str:
    """What a pass did, for people."""
    change = len(stage.graph.nodes) - len(before.nodes)
    lines = [f"--- {stage.name}: {len(stage.graph.nodes)} nodes ({change:+d}), {stage.seconds * 1e3:.1f} ms"]
    if difference := diff_graphs(before, stage.graph, context.constants):
        lines.append(difference)
    lines += (f"  near miss: {note}" for note in context.notes)
    return "\n".join(lines)
