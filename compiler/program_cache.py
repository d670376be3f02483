"""Programs by the shapes of their inputs: each compiled once, whoever asks, and at first in the background."""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Callable
from typing import Any, TypeAlias

from . import background
from .backend import InterpretedProgram, Plan, Runnable
from .progress import reporting

__all__ = ["Entry", "Pending", "ProgramCache", "Signature"]

Signature: TypeAlias = tuple[tuple[int, ...], ...]
"""The shape of each input."""

PATIENCE = 0.5
"""Seconds of compiling that a first run bears before it runs through NumPy."""


class _CancelledError(BaseException):
    """Nobody wants the program any more. No Exception, so that no handler on the way takes it for one."""


class Entry:
    """A program, and when it was last used."""

    __slots__ = ("program", "used")

    def __init__(self, program: Runnable, used: int) -> None:
        self.program = program
        self.used = used


class Pending:
    """The compilation of one signature, from when somebody begins it until its program is there."""

    def __init__(self) -> None:
        self.settled = threading.Event()
        """Set when waiting threads should look again: the program is there, or failed, or goes to the background."""
        self.done = threading.Event()
        self.interpreted: InterpretedProgram | None = None
        """What to run meanwhile; None while the compilation is in the foreground."""
        self.error: BaseException | None = None
        self.cancelled = False

    @property
    def ready(self) -> bool:
        """Whether the program is there."""
        return self.done.is_set() and self.error is None

    def finish(self, error: BaseException | None = None) -> None:
        """Wake whoever waits."""
        self.error = error
        self.done.set()
        self.settled.set()


class ProgramCache:
    """At most ``limit`` programs, those used last.

    Args:
        plan: gives the plan of a signature's program, and the same graph to run through NumPy meanwhile.
        eager: whether a run may go through NumPy while a program is compiled that takes longer than PATIENCE.
        limit: the most programs to keep.
    """

    def __init__(
        self, plan: Callable[[Signature], tuple[Plan, Callable[[], InterpretedProgram]]], eager: bool, limit: int = 64
    ) -> None:
        self.ready: dict[Signature, Entry] = {}
        self.ticks = itertools.count(1)
        self._plan = plan
        self._eager = eager
        self._limit = limit
        self._pending: dict[Signature, Pending] = {}
        self._lock = threading.Lock()
        self._process = os.getpid()

    def acquire(self, key: Signature, *, wait: bool = False) -> Runnable | Pending:
        """The program of a signature, compiled first if need be, or a Pending with a graph to interpret meanwhile.

        Args:
            key: the shape of each input, which the graph allows.
            wait: wait for the program in any case.

        Raises:
            Exception: whatever compiling raised, also when it was in the background and an earlier call began it.
        """
        while True:
            found = self._find(key)
            if found is not None:
                return found
            mine = Pending()
            try:
                pending = self._enlist(key, mine)
                if pending is mine:
                    self._begin(key, mine, wait)
            except BaseException as error:
                # Ctrl-C included: the next caller must not wait for a compilation that nobody does.
                self._drop(key, mine)
                mine.finish(error)
                raise
            pending.settled.wait()
            if pending.interpreted is not None and not pending.done.is_set():
                if not wait:
                    return pending
                pending.done.wait()
            elif isinstance(pending.error, Exception) and pending.interpreted is None:
                raise pending.error

    def _find(self, key: Signature) -> Runnable | None:
        """The program if it is there; raises what ended its compilation in the background."""
        with self._held():
            entry = self.ready.get(key)
            if entry is not None:
                entry.used = next(self.ticks)
                return entry.program
            pending = self._pending.get(key)
            if pending is not None and pending.error is not None:
                del self._pending[key]
                raise pending.error
        return None

    def _enlist(self, key: Signature, mine: Pending) -> Pending:
        """The compilation that has begun, or ``mine``."""
        with self._held():
            return self._pending.setdefault(key, mine)

    def clear(self) -> None:
        """Forget every program and give up what is being compiled."""
        with self._held():
            for pending in self._pending.values():
                pending.cancelled = True
            self.ready.clear()

    def _held(self) -> threading.Lock:
        """The lock, to be entered; a forked child forgets what only its parent's threads would have finished."""
        if self._process != os.getpid():
            self._lock = threading.Lock()
            self._pending = {}
            self._process = os.getpid()
        return self._lock

    def _begin(self, key: Signature, pending: Pending, wait: bool) -> None:
        """Compile here and now, or leave it to the background."""
        plan, interpreted = self._plan(key)
        if self._eager and not wait and plan.seconds > PATIENCE:
            pending.interpreted = interpreted()
            background.submit(lambda: self._finish_later(key, pending, plan))
            pending.settled.set()
            return
        with reporting() as progress:
            program = plan.finish(progress)
        self._store(key, program)
        pending.finish()

    def _finish_later(self, key: Signature, pending: Pending, plan: Plan) -> None:
        try:
            with reporting(background=True) as progress:
                program = plan.finish(lambda *state: self._advance(pending, progress, *state))
        except _CancelledError as error:
            self._drop(key, pending)
            pending.finish(error)
        except BaseException as error:
            error.add_note("raised while the graph was compiled in the background")
            pending.finish(error)
        else:
            self._store(key, program)
            pending.finish()

    @staticmethod
    def _advance(pending: Pending, progress: Callable[..., Any], done: int, total: int, seconds: float) -> None:
        if pending.cancelled or background.stopping():
            raise _CancelledError
        progress(done, total, seconds)

    def _drop(self, key: Signature, pending: Pending) -> None:
        with self._held():
            if self._pending.get(key) is pending:
                del self._pending[key]

    def _store(self, key: Signature, program: Runnable) -> None:
        with self._held():
            pending = self._pending.pop(key, None)
            if pending is not None and pending.cancelled:
                return
            while len(self.ready) >= self._limit:
                del self.ready[min(self.ready, key=lambda k: self.ready[k].used)]
            self.ready[key] = Entry(program, next(self.ticks))
