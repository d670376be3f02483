"""The frames that a program holds: idle ones to be used again, and a bound on how many there may be."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable
from weakref import WeakSet

from basalt.errors import DeadlineExceeded

from .deadlines import now
from .frame import Frame

__all__ = ["FramePool"]

_IDLE_BYTES = 256 << 20
"""Most bytes of arenas that a program keeps between runs, beyond one arena."""
_PATIENCE = 1.0
"""Seconds after which a waiting run looks by itself whether a frame was lost (to an interrupt between two steps)."""


def _cores() -> int:
    """Cores that the process may use, roughly and at once: more than so many runs make no way together."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class _Ticket:
    """A run's place in the queue for a frame; ``ready`` is released when there is news."""

    __slots__ = ("frame", "ready")

    def __init__(self) -> None:
        self.frame: Frame | None = None
        self.ready = threading.Lock()
        self.ready.acquire()


class FramePool:
    """The frames of one program.

    The fast ways are left to the caller: ``idle.pop()`` while nobody is ``waiting``; ``idle.append(frame)`` while there
    are fewer than ``most_idle``, then :meth:`hand_over` if somebody is. The rest takes a lock.
    """

    def __init__(self, make: Callable[[], Frame], arena_bytes: int) -> None:
        self.idle: list[Frame] = []
        self.waiting: deque[_Ticket] = deque()
        self._make = make
        self._arena_bytes = arena_bytes
        self._usual_idle = self.most_idle = max(1, min(_cores(), _IDLE_BYTES // max(arena_bytes, 1)))
        self._limit: int | None = None
        self._frames: WeakSet[Frame] = WeakSet()
        self._coming = 0
        self._forks = _forks

    @property
    def held(self) -> int:
        """How many frames there are, idle or in use."""
        with _lock:
            self._notice_fork()
            return len(self._frames)

    def limit(self, frames: int | None) -> None:
        """Sets the most frames that may exist, at least 1; None for no bound. Idle ones beyond it are freed."""
        with _lock:
            self._limit = frames
            self.most_idle = self._usual_idle if frames is None else min(self._usual_idle, frames)
            del self.idle[self.most_idle :]
            for ticket in self.waiting:
                if ticket.ready.locked():
                    ticket.ready.release()

    def take(self, deadline: int) -> Frame:
        """A frame for the caller alone, an idle one or a new one; waits for one where the bound is reached.

        Those who wait are served in their order. ``deadline`` is in nanoseconds of the clock, 0 for none; raises
        DeadlineExceeded when it passes.
        """
        ticket, reserved = None, False
        try:
            with _lock:
                self._notice_fork()
                if self.idle and not self.waiting:
                    return self.idle.pop()
                reserved = self._reserve()
                if not reserved:
                    ticket = _Ticket()
                    self.waiting.append(ticket)
                    self.hand_over()
            if ticket is not None:
                frame = self._wait(ticket, deadline)
                if frame is not None:
                    return frame
                reserved = True
            frame = self._make()
            with _lock:
                self._frames.add(frame)
            return frame
        except BaseException:
            self._withdraw(ticket)
            raise
        finally:
            if reserved:
                with _lock:
                    self._coming -= 1

    def hand_over(self) -> None:
        """Gives idle frames to those who wait."""
        with _lock:
            self._notice_fork()
            while self.waiting and self.idle:
                frame = self.idle.pop()
                ticket = self.waiting.popleft()
                ticket.frame = frame
                if ticket.ready.locked():
                    ticket.ready.release()

    def _reserve(self) -> bool:
        """Whether one more frame may be made; if so, it is counted from now on."""
        if self._limit is not None and len(self._frames) + self._coming >= self._limit:
            return False
        self._coming += 1
        return True

    def _wait(self, ticket: _Ticket, deadline: int) -> Frame | None:
        """The frame that the ticket gets, or None if a new one may be made (and is counted)."""
        while True:
            patience = _PATIENCE if deadline == 0 else min(_PATIENCE, max(deadline - now(), 0) * 1e-9)
            ticket.ready.acquire(timeout=patience)
            with _lock:
                if ticket.frame is not None:
                    return ticket.frame
                if self._reserve():
                    self.waiting.remove(ticket)
                    return None
            if deadline and now() >= deadline:
                raise DeadlineExceeded("no memory became free for the run within its timeout: see Program.limit_memory")

    def _withdraw(self, ticket: _Ticket | None) -> None:
        """For a run that gives up: leaves the queue, or passes on the frame that it got meanwhile."""
        if ticket is None:
            return
        with _lock:
            if ticket in self.waiting:
                self.waiting.remove(ticket)
            elif ticket.frame is not None:
                self.idle.append(ticket.frame)
                self.hand_over()

    def _notice_fork(self) -> None:
        """In a forked child, forgets the frames that runs of the parent's other threads use, and who waits there."""
        if self._forks != _forks:
            self._forks = _forks
            self._coming = 0
            self.waiting.clear()
            self._frames = WeakSet(self.idle)


_lock = threading.RLock()
_forks = 0


def _after_fork_in_child() -> None:
    global _lock, _forks
    _lock = threading.RLock()
    _forks += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=lambda: _lock.acquire(), after_in_parent=lambda: _lock.release(), after_in_child=_after_fork_in_child
    )
