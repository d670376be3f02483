"""Finds the fastest choices for a graph: each trial is a program that chooses otherwise at many nodes at once.

Nodes do not disturb each other, so one program tries an alternative at every node, and is measured row by row in turns
with the one to beat. The choices of a node are gone through one after the other, as later ones may depend on earlier.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from basalt.runtime.profile import profile
from basalt.runtime.program import Program

from ..codegen.choices import Decision, measured
from ..codegen.compile import load_kernels, require_native
from ..codegen.layouts import channels_last
from ..codegen.lowering import Lowering
from ..codegen.signature import node_signature
from ..ir import Constants, Graph
from ..lower import assemble
from ..pipeline import lowered_graph
from .report import Changed, TuningReport
from .table import keep_choices, measured_choices

__all__ = ["tune"]

GAIN = 0.03
"""Part of a node's time that another choice must save, lest noise decide."""
LEAST_SHARE = 0.005
"""Part of the whole time below which a node is left as it is."""
ROUNDS = 4
TURN = 0.03
"""Seconds of a turn, about."""
FEWEST, MOST = 3, 50
"""Runs in a turn."""


@dataclass(frozen=True)
class _Trial:
    """A program, and for each node of the graph the rows that compute it."""

    program: Program
    spans: list[tuple[int, int]]
    decisions: dict[str, list[Decision]]


def tune(
    graph: Graph,
    constants: Constants,
    feeds: Mapping[str, Any],
    *,
    threads: int | None = None,
    seconds: float | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> TuningReport:
    """Measure other choices than the estimated best for a graph, and remember those that are faster.

    Args:
        graph: the graph, its sizes known.
        constants: the arrays beside it, which stay as they are.
        feeds: an array for each input.
        threads: threads to measure with, None for the process's setting.
        seconds: no trial is begun after so many; None for no limit.
        progress: called with the trials done and those expected.

    Raises:
        UnsupportedError: for an operator without a kernel, and while compiling for another target than this machine.
        ValidationError: for wrong feeds.
    """
    require_native("measure choices")
    return _Search(graph, constants, feeds, threads, seconds, progress or _silent).run()


class _Search:
    def __init__(
        self,
        graph: Graph,
        constants: Constants,
        feeds: Mapping[str, Any],
        threads: int | None,
        seconds: float | None,
        progress: Callable[[int, int], None],
    ) -> None:
        self.constants = constants.copy()
        self.graph = lowered_graph(graph, self.constants)
        self.feeds, self.threads, self.progress = feeds, threads, progress
        self.start = time.monotonic()
        self.deadline = float("inf") if seconds is None else self.start + seconds
        last = channels_last(self.graph)
        self.signatures = [node_signature(node, last) for node in self.graph.nodes]
        self.best = dict(measured_choices())
        self.trials = 0

    def run(self) -> TuningReport:
        first = current = self._trial(self.best)
        decided: set[str] = set()
        while (found := self._next(current, decided)) and time.monotonic() < self.deadline:
            decided.update(found)
            winners = self._winners(current, found)
            if winners:
                self.best |= winners
                current = self._trial(self.best)
        return self._finish(first, current)

    def _trial(self, choices: Mapping[str, int]) -> _Trial:
        decisions: list[Decision] = []
        lowering = Lowering(self.graph, self.constants)
        with measured(choices, decisions):
            lowering.run()
        spec = assemble(lowering)
        program = Program(spec, load_kernels(spec.kernels), threads=self.threads)
        by_node: dict[str, list[Decision]] = defaultdict(list)
        for decision in dict.fromkeys(decisions):
            by_node[decision.key.split("/", 1)[0]].append(decision)
        return _Trial(program, lowering.spans, by_node)

    def _next(self, trial: _Trial, decided: set[str]) -> dict[str, Decision]:
        """For each node that takes its time, by signature, the first decision that was not measured yet."""
        times = self._by_signature(trial, _minima(trial.program, self.feeds))
        least = LEAST_SHARE * sum(times.values())
        found = {}
        for signature, taken in times.items():
            for decision in trial.decisions.get(signature, ()):
                if taken >= least and decision.others and decision.key not in decided:
                    found[decision.key] = decision
                    break
        return found

    def _winners(self, current: _Trial, found: Mapping[str, Decision]) -> dict[str, int]:
        """The options that beat those that were made, of the decisions by their keys."""
        best = dict.fromkeys(found, 1.0 - GAIN)
        winners: dict[str, int] = {}
        rounds = max(len(decision.others) for decision in found.values())
        for turn in range(rounds):
            if time.monotonic() > self.deadline:
                break
            tried = {key: d.others[turn] for key, d in found.items() if turn < len(d.others)}
            self.progress(self.trials, self.trials + rounds - turn)
            self.trials += 1
            for key, ratio in self._ratios(current, self._trial({**self.best, **tried}), tried).items():
                if ratio < best[key]:
                    best[key], winners[key] = ratio, tried[key]
        return winners

    def _ratios(self, old: _Trial, new: _Trial, keys: Mapping[str, int]) -> dict[str, float]:
        """The new program's time over the old one's, for the nodes of some decisions."""
        before, after = self._compare(old, new)
        signatures = {key: key.split("/", 1)[0] for key in keys}
        return {key: after[name] / before[name] for key, name in signatures.items() if before[name]}

    def _compare(self, old: _Trial, new: _Trial) -> tuple[dict[str, float], dict[str, float]]:
        """Nanoseconds by signature, measured in turns."""
        turns = [(_minima(old.program, self.feeds), _minima(new.program, self.feeds)) for _ in range(ROUNDS)]
        before, after = ([min(row) for row in zip(*times)] for times in zip(*turns))
        return self._by_signature(old, before), self._by_signature(new, after)

    def _by_signature(self, trial: _Trial, times: Sequence[float]) -> dict[str, float]:
        found: dict[str, float] = defaultdict(float)
        for signature, (start, stop) in zip(self.signatures, trial.spans):
            found[signature] += sum(times[start:stop])
        return found

    def _finish(self, first: _Trial, last: _Trial) -> TuningReport:
        """Measure once more what changed, and keep what is faster still."""
        known = measured_choices()
        changed = {key: option for key, option in self.best.items() if known.get(key) != option}
        if not changed:
            return TuningReport((), self.trials, time.monotonic() - self.start, True)
        before, after = self._compare(first, last)
        kept = {k: o for k, o in changed.items() if after[k.split("/", 1)[0]] < before[k.split("/", 1)[0]]}
        stored = keep_choices(kept) if kept else True
        rows = tuple(self._changes(last, {key.split("/", 1)[0] for key in kept}, before, after))
        return TuningReport(rows, self.trials, time.monotonic() - self.start, stored)

    def _changes(
        self, trial: _Trial, signatures: set[str], before: Mapping[str, float], after: Mapping[str, float]
    ) -> list[Changed]:
        spec = trial.program.spec
        found: dict[str, list[int]] = defaultdict(list)
        for signature, (start, stop) in zip(self.signatures, trial.spans):
            if signature in signatures:
                found[signature] += range(start, stop)
        return [
            Changed(
                label=", ".join(dict.fromkeys(spec.rows[row].label for row in rows if spec.rows[row].label)),
                kernel=spec.kernels[spec.rows[rows[-1]].kernel].label,
                before=before[signature] / 1e9,
                after=after[signature] / 1e9,
            )
            for signature, rows in found.items()
        ]


def _minima(program: Program, feeds: Mapping[str, Any]) -> list[float]:
    """The least nanoseconds of each row in a turn."""
    start = time.perf_counter()
    profile(program, feeds, 1)
    runs = min(max(int(TURN / max(time.perf_counter() - start, 1e-6)), FEWEST), MOST)
    return [row.best for row in profile(program, feeds, runs)]


def _silent(done: int, total: int) -> None:
    pass
