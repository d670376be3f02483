"""Numba's threading layers: choosing one, loading it without importing Numba, agreeing with Numba where it is there.

A layer is an extension module of Numba's that exports addresses: ``launch_threads(n)`` and ``parallel_for``. A process
should run one layer only, so a layer that Numba has launched is adopted, and one that we launch first is the one that
Numba would choose.
"""

from __future__ import annotations

import ctypes
import importlib.machinery
import importlib.util
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from basalt.errors import ValidationError

from .tbb import load_tbb

__all__ = ["ORDER", "Layer", "launch_layer", "numba_uses"]

ORDER = ("tbb", "omp", "workqueue")
"""Layers from best to worst, as measured: tbb is the steadiest under load, workqueue the slowest to start work."""

_MODULES = {"tbb": "tbbpool", "omp": "omppool", "workqueue": "workqueue"}


@dataclass(frozen=True, slots=True)
class Layer:
    """A launched layer."""

    name: str
    parallel_for: int
    """Address of the function that runs work on the threads."""
    max_threads: int | None
    """Most threads that may be asked for; None if there is no bound."""
    module: ModuleType

    @property
    def exclusive(self) -> bool:
        """Whether two launches at once would end the process."""
        return self.name == "workqueue"

    def relaunch(self, threads: int) -> None:
        """Starts the threads anew in a forked child."""
        _launch_threads(self.module, threads)


def launch_layer(threads: int) -> Layer | None:
    """Launches the best layer for about ``threads`` threads; None if none can be loaded.

    BASALT_THREADING_LAYER forces one; ValidationError if that is unknown or cannot be loaded. A layer that Numba runs
    already is taken over in any case (with a warning if another one was asked for).
    """
    asked = os.environ.get("BASALT_THREADING_LAYER", "").strip().lower()
    if asked and asked not in ORDER:
        raise ValidationError(f"BASALT_THREADING_LAYER is {asked!r}, expected one of {', '.join(ORDER)}")
    numba = _numba_parallel()
    if numba is not None and numba._is_initialized:
        return _adopt(numba, asked)
    for name in (asked,) if asked else _preferred():
        module = _load(name)
        if module is not None:
            return _launch(name, module, threads, numba)
    if asked:
        raise ValidationError(f"BASALT_THREADING_LAYER is {asked!r}, but that layer cannot be loaded on this system")
    return None


def numba_uses(layer: Layer) -> bool:
    """Whether Numba has launched its threads too, so that the user's own parallel functions may be running."""
    numba = _numba_parallel()
    return numba is not None and bool(numba._is_initialized) and layer.name in str(numba.threading_layer())


def _launch(name: str, module: ModuleType, threads: int, numba: Any) -> Layer:
    if name != "workqueue":
        if numba is None or not _launch_through_numba(numba, name):
            _launch_threads(module, threads)
        return Layer(name, module.parallel_for, None, module)
    # Its threads are made once. Numba, if it comes later, will not ask how many there are, and needs its own number of
    # them; and it is not told of these, so that its own launch shows that somebody else uses them.
    most = max(threads, _numba_threads(numba))
    _launch_threads(module, most)
    config = _numba_config()
    if config is not None and config.THREADING_LAYER == "default":
        config.THREADING_LAYER = name
    return Layer(name, module.parallel_for, most, module)


def _numba_threads(numba: Any) -> int:
    """The number of threads that Numba uses or would use."""
    if numba is not None:
        return int(numba.NUM_THREADS)
    chosen = os.environ.get("NUMBA_NUM_THREADS", "")
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return int(chosen) if chosen.isdigit() else available


def _numba_parallel() -> Any:
    """Numba's own module on threads, if Numba was imported (whole); never imports it."""
    module = sys.modules.get("numba.np.ufunc.parallel")
    complete = all(hasattr(module, name) for name in ("_is_initialized", "_launch_threads", "NUM_THREADS"))
    return module if complete else None


def _numba_config() -> Any:
    """Numba's settings, if Numba was imported."""
    return None if _numba_parallel() is None else sys.modules["numba.core.config"]


def _adopt(numba: Any, asked: str) -> Layer | None:
    name = str(numba.threading_layer())
    name = next((known for known in ORDER if name.startswith(known)), name)
    module = sys.modules.get(f"numba.np.ufunc.{_MODULES.get(name, name)}")
    if module is None or not hasattr(module, "parallel_for"):
        return None
    if asked and asked != name:
        warnings.warn(
            f"BASALT_THREADING_LAYER is {asked!r}, but Numba runs {name!r} in this process already: using that",
            RuntimeWarning,
            stacklevel=2,
        )
    most = int(numba.NUM_THREADS) if name == "workqueue" else None
    return Layer(name, module.parallel_for, most, module)


def _preferred() -> tuple[str, ...]:
    """Layers in the order to try; a choice made for Numba comes first."""
    config = _numba_config()
    if config is not None:
        chosen, listed = str(config.THREADING_LAYER).lower(), list(config.THREADING_LAYER_PRIORITY)
    else:
        chosen = os.environ.get("NUMBA_THREADING_LAYER", "").strip().lower()
        listed = os.environ.get("NUMBA_THREADING_LAYER_PRIORITY", "").lower().split()
    order = tuple(listed) if set(listed) == set(ORDER) else ORDER
    return (chosen, *(name for name in order if name != chosen)) if chosen in ORDER else order


def _load(name: str) -> ModuleType | None:
    """The layer's extension module, or None if it or a library it needs is missing."""
    if name == "tbb" and not load_tbb():
        return None
    known = sys.modules.get(f"numba.np.ufunc.{_MODULES[name]}")
    if known is not None:
        return known
    with _passive_waiting(name):
        return _load_extension(_MODULES[name])


def _load_extension(name: str) -> ModuleType | None:
    found = importlib.util.find_spec("numba")
    if found is None or not found.submodule_search_locations:
        return None
    folder = os.path.join(found.submodule_search_locations[0], "np", "ufunc")
    for suffix in importlib.machinery.EXTENSION_SUFFIXES:
        path = os.path.join(folder, name + suffix)
        if os.path.exists(path):
            full_name = f"{__package__}.{name}"
            loader = importlib.machinery.ExtensionFileLoader(full_name, path)
            spec = importlib.util.spec_from_loader(full_name, loader, origin=path)
            if spec is None:
                return None
            try:
                module = importlib.util.module_from_spec(spec)
                loader.exec_module(module)
            except ImportError:
                return None
            return module
    return None


@contextmanager
def _passive_waiting(name: str) -> Iterator[None]:
    """While OpenMP's library loads, asks it not to spin between launches, which under load costs milliseconds."""
    variable = "OMP_WAIT_POLICY"
    ours = name == "omp" and variable not in os.environ
    if ours:
        os.environ[variable] = "passive"
    try:
        yield
    finally:
        if ours:
            os.environ.pop(variable, None)


def _launch_through_numba(parallel: Any, name: str) -> bool:
    """Lets an imported Numba launch the layer, so that it knows; False if it could not."""
    config = _numba_config()
    before = config.THREADING_LAYER
    config.THREADING_LAYER = name
    try:
        parallel._launch_threads()
    except (ImportError, ValueError):
        return False
    finally:
        config.THREADING_LAYER = before
    return bool(parallel._is_initialized)


def _launch_threads(module: ModuleType, threads: int) -> None:
    ctypes.CFUNCTYPE(None, ctypes.c_int)(module.launch_threads)(threads)
    ctypes.CFUNCTYPE(None, ctypes.c_int)(module.set_num_threads)(threads)
