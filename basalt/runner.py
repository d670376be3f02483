"""Running models that were compiled ahead of time: the least that has to be imported for it."""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from basalt.errors import UnsupportedError, ValidationError
from basalt.runtime.stored.model import MODEL, StoredModel, declared_values
from basalt.runtime.stored.signatures import UnseenError
from basalt.runtime.threads import optional_thread_count
from basalt.serialization.program.file import ProgramFile, open_program

if TYPE_CHECKING:
    import numpy as np

    from basalt.runtime.declared import Declared
    from basalt.runtime.trust import Trust
    from basalt.serialization.program.fields import Fields

__all__ = ["NativeCodeWarning", "Runner"]


class NativeCodeWarning(UserWarning):
    """The machine code in a file is not used; the model in it is compiled instead."""


class Runner:
    """A model that was compiled ahead of time (``bslc compile -o``, ``basalt.save_program``), ready to run.

    Several threads may run it at once. It can be pickled if it was opened by path: the other process opens the path.

    Machine code from a file can do anything, so it is used only if the caller says that the file is to be trusted, or
    a trusted key signed it. Else the model that the file holds is compiled here, if it holds it, with a warning.

    Args:
        source: a path (the file is mapped), bytes, a binary file object, or an opened ProgramFile.
        trust_native: the caller's word that the file comes from somebody who may run code here.
        threads: threads to run on, None for the process's number.
        trusted_keys: a file of public keys whose signatures are trusted; None for the user's
            (BASALT_TRUSTED_KEYS, else ``basalt/trusted-keys`` in the user's configuration folder).

    Raises:
        ValidationError: for a number of threads that is none of at least 1.
        ModelFormatError: for a damaged file, or one of another kind.
        UnsupportedError: where neither the code nor the model in the file can be used; says why.
        OSError: if the file cannot be read.
    """

    def __init__(
        self,
        source: Any,
        *,
        trust_native: bool = False,
        threads: int | None = None,
        trusted_keys: str | os.PathLike[str] | None = None,
    ) -> None:
        threads = optional_thread_count(threads)
        self._options = (trust_native, threads, trusted_keys)
        self._threads = threads
        self._file = source if isinstance(source, ProgramFile) else open_program(source)
        self._native: StoredModel | None = None
        self._source: Any = None
        self._lock = threading.RLock()
        self._trust = None if trust_native else _trust_in(self._file, trusted_keys)
        reason = None if self._trust is None else self._trust.refusal
        if reason is None:
            try:
                self._native = StoredModel(self._file, _host_operator, threads=threads)
            except UnsupportedError as error:
                reason = str(error)
        if reason is not None:
            self._use_source(reason)

    @property
    def trust(self) -> Trust:
        """Whether the machine code is trusted, and by what."""
        from basalt.runtime.trust import Trust

        return Trust(None, None) if self._trust is None else self._trust

    @property
    def metadata(self) -> dict[str, str]:
        """What the file says of itself, by name: the model's name, the versions that it was compiled with."""
        return dict(self._file.metadata)

    @property
    def inputs(self) -> tuple[Declared, ...]:
        """Name, data type and shape of each input; a size that each run decides is a name, or None."""
        return self._declared("inputs") if self._native is None else self._native.inputs

    @property
    def outputs(self) -> tuple[Declared, ...]:
        """Name, data type and shape of each output."""
        return self._declared("outputs") if self._native is None else self._native.outputs

    @property
    def level(self) -> str | None:
        """The CPU level whose code is used; None where the file's code is not."""
        return None if self._native is None else self._native.level

    @property
    def signatures(self) -> list[dict[str, tuple[int, ...]]]:
        """The inputs' shapes that the file has programs for."""
        return [] if self._native is None else self._native.signatures

    @property
    def native(self) -> StoredModel | None:
        """The file's programs with machine code, for tools that look at them; None where they are not used."""
        return self._native

    def run(
        self,
        feeds: Mapping[str, Any],
        out: Mapping[str, np.ndarray] | None = None,
        *,
        timeout: float | None = None,
        threads: int | None = None,
    ) -> dict[str, Any]:
        """Compute the outputs.

        Args:
            feeds: for each input an array of its data type and shape; also anything with ``__dlpack__``, a memoryview,
                lists and numbers. What is a C-contiguous array is read where it lies.
            out: C-contiguous arrays to write some or all of the outputs into.
            timeout: the most seconds (> 0) that the run may take; then it stops, and what ``out`` holds is undefined.
            threads: the most threads (>= 1) for this run.

        Returns:
            The outputs by name, those of ``out`` being the given arrays. Inputs of shapes that the file has no program
            for have the model in the file compiled for them, if it is there.

        Raises:
            ValidationError: for missing or unknown names, other data types, shapes that the model or the file does not
                have.
            DeadlineExceeded: if the timeout passes; the model can be run again.
        """
        if self._native is not None:
            try:
                return self._native.run(feeds, out, timeout=timeout, threads=threads)
            except UnseenError:
                if self._source is None:
                    self._use_source(None, feeds)
        return self._run_source(feeds, out, timeout, threads)

    def memory(self) -> dict[str, int]:
        """Bytes of ``weights`` (mapped, shared by all processes that use the file), ``arena`` (of one run), ``code``.

        What was compiled because the file lacks it is not counted.
        """
        return {"weights": 0, "arena": 0, "code": 0} if self._native is None else self._native.memory()

    def limit_memory(self, nbytes: int | None) -> None:
        """Bound the bytes of all arenas of simultaneous runs of one program; further runs wait. None: no bound.

        Raises:
            ValidationError: for less than one arena of some program, which ``memory`` tells after a run.
        """
        if self._native is not None:
            self._native.limit_memory(nbytes)

    def source(self) -> Any:
        """The model that the file was compiled from, as ``basalt.load`` gives it; None if the file does not hold it."""
        with self._lock:
            if self._source is None:
                from basalt.compiler.ahead.source import load_source

                self._source = load_source(self._file, threads=self._threads)
            return self._source

    def _declared(self, name: str) -> tuple[Declared, ...]:
        return declared_values(self._file.record(MODEL), name)

    def _use_source(self, reason: str | None, feeds: Any = None) -> None:
        """Have the model in the file compiled: instead of the code in it, for ``reason``, or for inputs it lacks."""
        try:
            source = self.source()
            why = "the file does not hold the model itself (it was stripped)"
        except ImportError as error:
            source, why = None, f"the model in it cannot be compiled here: {error}"
        if source is None and reason is None:
            raise ValidationError(f"{self._file.name}: {_lack(self.signatures, feeds)}, and {why}")
        if source is None:
            raise UnsupportedError(f"{self._file.name}: {reason}, and {why}")
        if reason is not None:
            message = f"{self._file.name}: {reason}; the model in the file is compiled instead"
            warnings.warn(message, NativeCodeWarning, stacklevel=3)

    def _run_source(self, feeds: Any, out: Any, timeout: float | None, threads: int | None) -> dict[str, Any]:
        model = self._source
        if callable(getattr(model, "executable", None)):
            model = model.executable()
        if (timeout is None and threads is None) or not isinstance(feeds, Mapping):
            results: dict[str, Any] = model.run(feeds, out)
            return results
        from numpy import shape

        try:
            shapes = {name: shape(value) for name, value in feeds.items()}
        except ValueError:  # lists of lists of different lengths: the run says of which input
            return dict(model.run(feeds, out))
        limited: dict[str, Any] = model.compile(shapes).run(feeds, out, timeout=timeout, threads=threads)
        return limited

    def __reduce__(self) -> tuple[Any, ...]:
        if self._file.path is None:
            raise ValidationError("a Runner can be pickled only if it was opened by path")
        return _reopen, (self._file.path, *self._options)

    def __repr__(self) -> str:
        name = self.metadata.get("name")
        shown = f" {name!r}" if name else ""
        return f"<{type(self).__name__}{shown} of {self._file.name!r}, {self.level or 'no code'}>"


def _reopen(path: str, trust_native: bool, threads: int | None, trusted_keys: Any) -> Runner:
    return Runner(path, trust_native=trust_native, threads=threads, trusted_keys=trusted_keys)


def _trust_in(file: ProgramFile, keys: str | os.PathLike[str] | None) -> Trust:
    from basalt.runtime.trust import trust_in

    return trust_in(file, False, keys)


def _lack(signatures: list[dict[str, tuple[int, ...]]], feeds: Any) -> str:
    """What the file has no program for, and what it has some for."""
    given = ", ".join(f"{name} {list(getattr(value, 'shape', ()))}" for name, value in dict(feeds or {}).items())
    known = "; ".join(
        ", ".join(f"{name} {list(shape)}" for name, shape in signature.items()) for signature in signatures[:8]
    )
    return f"there is no program for the inputs {given} (or what their values decide), only for {known}"


def _host_operator(fields: Fields, programs: Any) -> Any:
    from basalt.compiler.onnx.host.calling import stored_operator

    return stored_operator(fields, programs)
