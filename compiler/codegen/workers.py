"""Worker processes that compile kernels beside this one, where many are missing.

Compiling holds the interpreter's lock, here and in LLVM, so that threads do not help. A worker is this Python again
with the same module path; it is sent kernels' source and gives object code back. Whatever goes wrong with one (it
cannot be started, dies, or compiles for another target) only means that its kernels are compiled here.
"""

from __future__ import annotations

import contextlib
import json
import os
import struct
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import IO

from basalt.runtime.cache_files import KernelKey
from basalt.runtime.cpus import usable_cores
from basalt.runtime.spec import KernelCode

from ..kernels.target import Target, compiling_for, target
from .fingerprint import kernel_key, settings_key

Keep = Callable[[KernelKey, bytes], None]
"""Takes object code into a cache."""

__all__ = ["Workers", "serve", "worker_count", "workers_for"]

FEWEST = 8
"""Missing kernels for which a worker pays: starting one takes as long as several kernels."""
_MOST = 8
_HEAD = struct.Struct("<cI")
_CODE, _ERROR = b"c", b"e"
_COMMAND = (
    "import sys, json; sys.path[:] = json.loads(sys.argv[1]); "
    "from basalt.compiler.codegen.workers import serve; serve()"
)


def worker_count(missing: int) -> int:
    """Workers worth starting for so many missing kernels; ``BASALT_COMPILE_WORKERS`` bounds them, 0 forbids them."""
    text = os.environ.get("BASALT_COMPILE_WORKERS", "").strip()
    most = int(text) if text.isdigit() else min(_MOST, usable_cores() - 1)
    if missing < FEWEST or not sys.executable or getattr(sys, "frozen", False):
        return 0
    return max(0, min(most, missing // (FEWEST // 2)))


@contextmanager
def workers_for(codes: Sequence[KernelCode], keep: Keep) -> Iterator[Workers]:
    """Have workers compile some of these kernels, for ``keep``, while the block takes the others."""
    workers = Workers(codes, worker_count(len(codes)), keep)
    try:
        yield workers
    finally:
        workers.close()


class Workers:
    """A queue of kernels that worker processes and the caller take from, all for what is the current target now."""

    def __init__(self, codes: Sequence[KernelCode], count: int, keep: Keep) -> None:
        self._keep = keep
        self._target = target()
        self._queue = deque(codes)
        self._changed = threading.Condition()
        self._in_hand = 0
        self._closed = False
        self._processes: list[subprocess.Popen[bytes]] = []
        self._threads = [threading.Thread(target=self._feed, name="basalt-feeder", daemon=True) for _ in range(count)]
        self.seconds: list[float] = []
        """What each kernel took that workers have compiled."""
        for thread in self._threads:
            thread.start()

    def remaining(self) -> Iterator[KernelCode]:
        """The kernels that the caller is to compile, until none is left and none in a worker's hands."""
        while True:
            with self._changed:
                while not self._queue and self._in_hand:
                    self._changed.wait()
                if not self._queue:
                    return
                code = self._queue.popleft()
            yield code

    def close(self) -> None:
        """End the workers at once; what they have not finished is lost."""
        with self._changed:
            self._closed = True
            self._queue.clear()
            processes = list(self._processes)
        for process in processes:
            with contextlib.suppress(OSError):
                process.kill()
        for thread in self._threads:
            thread.join()

    def _feed(self) -> None:
        """Serve one worker for as long as there are kernels; runs in a thread of its own."""
        with contextlib.suppress(OSError, ValueError, EOFError, struct.error):
            process = _start(self._target)
            with process, self._registered(process):
                assert process.stdin is not None and process.stdout is not None
                kind, greeting = _receive(process.stdout)
                if kind == _CODE and greeting.decode() == settings_key(self._target):
                    self._feed_process(process.stdin, process.stdout)

    @contextmanager
    def _registered(self, process: subprocess.Popen[bytes]) -> Iterator[None]:
        with self._changed:
            self._processes.append(process)
            if self._closed:
                process.kill()
        try:
            yield
        finally:
            with contextlib.suppress(OSError):
                process.kill()

    def _feed_process(self, requests: IO[bytes], answers: IO[bytes]) -> None:
        while True:
            with self._changed:
                if not self._queue:
                    return
                # From the end: the caller takes from the front, and what fails here goes back there.
                code = self._queue.pop()
                self._in_hand += 1
            done, start = False, time.perf_counter()
            try:
                done = self._compile(code, requests, answers)
            finally:
                with self._changed:
                    self._in_hand -= 1
                    if done:
                        self.seconds.append(time.perf_counter() - start)
                    elif not self._closed:
                        self._queue.appendleft(code)
                    self._changed.notify_all()
            if not done:
                return

    def _compile(self, code: KernelCode, requests: IO[bytes], answers: IO[bytes]) -> bool:
        """Whether the worker compiled a kernel; its object code is kept then."""
        _send(requests, _CODE, json.dumps([code.key, code.source, code.names, code.label]).encode())
        kind, content = _receive(answers)
        if kind == _CODE:
            self._keep(kernel_key(code, self._target), content)
        return kind == _CODE


def serve() -> None:
    """What a worker does: compiles the kernels that come on standard input until it ends.

    It compiles for the target that its second argument names.
    """
    import signal

    # Ctrl-C goes to the whole group of processes; the one that started this one decides what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    requests, answers = sys.stdin.buffer, os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    # Whatever prints goes to nobody's terminal and not among the answers.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    from .object_code import compile_source

    with compiling_for(sys.argv[2]), contextlib.suppress(EOFError, BrokenPipeError):
        _send(answers, _CODE, settings_key().encode())
        while True:
            _, content = _receive(requests)
            key, source, names, label = json.loads(content)
            try:
                code = compile_source(KernelCode(key, source, tuple(names), label))
            except Exception as error:
                _send(answers, _ERROR, str(error).encode())
            else:
                _send(answers, _CODE, code)


def _start(goal: Target) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", _COMMAND, json.dumps(sys.path), goal.name],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )


def _send(stream: IO[bytes], kind: bytes, content: bytes) -> None:
    stream.write(_HEAD.pack(kind, len(content)) + content)
    stream.flush()


def _receive(stream: IO[bytes]) -> tuple[bytes, bytes]:
    head = stream.read(_HEAD.size)
    if not head:
        raise EOFError
    kind, size = _HEAD.unpack(head)
    content = stream.read(size)
    if len(content) < size:
        raise EOFError
    return kind, content
