"""One thread that compiles while programs run through NumPy; it exists only while there is something to do.

When the interpreter exits, what is being compiled is given up at the next kernel.
"""

from __future__ import annotations

import atexit
import os
import threading
from collections import deque
from collections.abc import Callable

__all__ = ["stopping", "submit"]

Task = Callable[[], None]
"""Must not raise."""

_tasks: deque[Task] = deque()
_lock = threading.Lock()
_thread: threading.Thread | None = None
_stopping = False
_registered = False


def submit(task: Task) -> None:
    """Have a task done after those submitted before."""
    global _thread, _registered
    with _lock:
        if not _registered:
            # Only now: exit functions run in reverse order, and this one must come before those of Numba.
            atexit.register(_stop)
            _registered = True
        _tasks.append(task)
        if _thread is None and not _stopping:
            # A daemon thread, since the interpreter would otherwise wait for all of its tasks before _stop is called.
            thread = threading.Thread(target=_work, name="basalt-compiler", daemon=True)
            thread.start()
            _thread = thread


def stopping() -> bool:
    """Whether the interpreter is about to exit."""
    return _stopping


def _work() -> None:
    global _thread
    while True:
        with _lock:
            if _stopping or not _tasks:
                _thread = None
                return
            task = _tasks.popleft()
        task()


def _stop() -> None:
    """Wait for the task at hand: the interpreter must not go away under a thread inside LLVM."""
    global _stopping
    _stopping = True
    thread = _thread
    if thread is not None:
        thread.join()


def _forget() -> None:
    """A forked child has neither the thread nor what it was doing."""
    global _lock, _thread
    _lock = threading.Lock()
    _thread = None
    _tasks.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
