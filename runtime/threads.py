"""The number of threads, and the process's one team of them."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Any

from basalt.errors import ValidationError

from .environment import environment, set_parallel_for
from .executor import Executor
from .layout import Env

if TYPE_CHECKING:
    from .layers import Layer
    from .own_threads import OwnThreads

__all__ = ["THREADS", "Threads", "get_num_threads", "set_num_threads", "thread_count"]

_MOST = 1024
"""Most threads of a team: a layer ends the process if the system denies it a thread."""


class Threads:
    """The process's threads.

    ``epoch`` grows whenever a program must look again at how many threads it may use. ``guard`` is None, or a lock to
    be held (taken without waiting) while a team runs, for a layer that cannot bear two teams at once.
    """

    def __init__(self) -> None:
        self.epoch = 0
        self.guard: threading.Lock | None = None
        self._count: int | None = None
        self._layer: Layer | OwnThreads | None = None
        self._launched = False
        self._serial = False
        self._lock = threading.RLock()
        self._fork_is_safe = True
        self._launcher = 0
        self._needs_relaunch = False

    @property
    def count(self) -> int:
        """Threads that programs use unless they were given a number of their own."""
        if self._count is None:
            self._count = _count_from_environment() or _cores()
        return self._count

    @count.setter
    def count(self, value: int) -> None:
        self._count = value
        self.epoch += 1

    @property
    def layer_name(self) -> str | None:
        """The threading layer that was launched; None before the first use, or if there is none."""
        return self._layer.name if self._layer else None

    def may_clash(self) -> bool:
        """Whether another Python thread may use the layer through Numba at this moment, which no lock can prevent."""
        if self._layer is None or self._layer.is_own or threading.active_count() == 1:
            return False
        from .layers import numba_uses

        return numba_uses(self._layer)

    def team(self, wanted: int, executor: Executor) -> int:
        """How many threads a program may use now that asks for ``wanted`` and is run by ``executor``.

        More than one only once a layer runs: the first call launches it.
        """
        size = min(wanted, _MOST)
        if size <= 1 or self._serial:
            return 1
        with self._lock:
            self._launch(size, executor)
            if self._layer is None:
                return 1
            self._layer.grow(size)
            most = self._layer.max_threads
            return size if most is None else min(size, most)

    def _launch(self, size: int, executor: Executor) -> None:
        if self._needs_relaunch and self._layer is not None and not self._layer.is_own:
            self._layer.relaunch(self._layer.max_threads or size)
            self._needs_relaunch = False
        if self._launched:
            return
        from .layers import launch_layer

        layer = launch_layer(min(max(size, self.count), _MOST), executor)
        if layer is not None:
            set_parallel_for(layer.parallel_for)
            self.guard = threading.Lock() if layer.exclusive else None
            self._launcher = threading.get_ident()
        self._layer = layer
        self._launched = True

    def before_fork(self) -> None:
        """Notes, in the parent, whether a child can use the threads: not while a team runs or off the launching thread.

        TBB takes its threads down before a fork and up after it only on the thread that launched it.
        """
        self._lock.acquire()
        idle = int(environment()[0][Env.ACTIVE]) == 0
        self._fork_is_safe = idle and threading.get_ident() == self._launcher

    def after_fork_in_parent(self) -> None:
        self._lock.release()

    def after_fork_in_child(self) -> None:
        """Goes on with one thread unless the layer survives the fork. libgomp never does."""
        self._lock = threading.RLock()
        environment()[0][Env.ACTIVE] = 0
        self.epoch += 1
        if self._layer is None:
            return
        if self._layer.is_own:
            self._layer.after_fork_in_child()
        elif self._layer.name == "workqueue":
            self._needs_relaunch = True
            self.guard = threading.Lock()
        elif self._layer.name != "tbb" or not self._fork_is_safe:
            self._serial = True


def _cores() -> int:
    from .cpus import usable_cores

    return usable_cores()


def _count_from_environment() -> int | None:
    text = os.environ.get("BASALT_NUM_THREADS", "").strip()
    if not text:
        return None
    if not text.isdigit() or int(text) < 1:
        raise ValidationError(f"BASALT_NUM_THREADS is {text!r}, expected a whole number of at least 1")
    return int(text)


THREADS = Threads()
"""The threads of this process."""

if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=lambda: THREADS.before_fork(),
        after_in_parent=lambda: THREADS.after_fork_in_parent(),
        after_in_child=lambda: THREADS.after_fork_in_child(),
    )


def set_num_threads(count: int) -> None:
    """Sets how many threads programs use that were not given a number of their own.

    Takes effect at the next run. Raises ValidationError unless ``count`` is a whole number of at least 1.
    """
    THREADS.count = thread_count(count)


def thread_count(count: Any) -> int:
    """``count`` as a Python int. Raises ValidationError unless it is a whole number of at least 1."""
    if isinstance(count, bool) or not hasattr(count, "__index__") or count.__index__() < 1:
        raise ValidationError(f"number of threads: {count!r} given, expected a whole number of at least 1")
    return int(count.__index__())


def optional_thread_count(count: Any) -> int | None:
    """As :func:`thread_count`; None, which leaves the number to the process, stays None."""
    return None if count is None else thread_count(count)


def get_num_threads() -> int:
    """Number of threads that programs use: what :func:`set_num_threads` set, else the environment variable
    BASALT_NUM_THREADS, else the physical cores that this process may use (affinity mask, container's CPU quota).
    """
    return THREADS.count
