"""Threading layers: our own threads, or one of Numba's, loaded without importing it.

A layer of Numba's is an extension module that exports addresses: ``launch_threads(n)`` and ``parallel_for``. It is used
where it is asked for, by Basalt's or Numba's settings, or where our own threads cannot be had. A process should run one
of them only, so one that Numba has launched is adopted then, and one that we launch first is made known to Numba. Our
own threads, which sleep while there is nothing to do, get on with any.
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
from typing import Any, Literal

from basalt.errors import ValidationError

from .cpus import usable_cores
from .executor import Executor
from .own_threads import OwnThreads
from .tbb import load_tbb

__all__ = ["ORDER", "Layer", "launch_layer", "numba_uses"]

ORDER = ("basalt", "tbb", "omp", "workqueue")
"""Layers from best to worst: a launch costs 2, 6, 35 and 80 us with two threads; workqueue bears one team at a time."""
_NUMBAS = ("tbb", "omp", "workqueue")

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
    is_own: Literal[False] = False

    @property
    def exclusive(self) -> bool:
        """Whether two launches at once would end the process."""
        return self.name == "workqueue"

    def grow(self, threads: int) -> None:
        """Numba's layers start what is missing by themselves."""

    def relaunch(self, threads: int) -> None:
        """Starts the threads anew in a forked child."""
        _launch_threads(self.module, threads)


def launch_layer(threads: int, executor: Executor) -> Layer | OwnThreads | None:
    """Launches the best layer for about ``threads`` threads; None if none can be loaded.

    ``executor`` has the code of our own threads.

    BASALT_THREADING_LAYER forces one; ValidationError if that is unknown or cannot be loaded. Where it is one of
    Numba's and Numba runs another already, that is taken over, with a warning.
    """
    asked = os.environ.get("BASALT_THREADING_LAYER", "").strip().lower()
    if asked and asked not in ORDER:
        raise ValidationError(f"BASALT_THREADING_LAYER is {asked!r}, expected one of {', '.join(ORDER)}")
    numba = _numba_parallel()
    for name in (asked,) if asked else _preferred():
        if name == "basalt":
            own = _own_threads(executor)
            if own is not None:
                return own
            continue
        if numba is not None and numba._is_initialized:
            return _adopt(numba, asked)
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
    threads = max(threads, usable_cores())  # later runs may want more, which not every layer can start
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
    name = next((known for known in _NUMBAS if name.startswith(known)), name)
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
    """Layers in the order to try; a choice made for Numba, other than its default order, comes first."""
    config = _numba_config()
    if config is not None:
        chosen, listed = str(config.THREADING_LAYER).lower(), list(config.THREADING_LAYER_PRIORITY)
    else:
        chosen = os.environ.get("NUMBA_THREADING_LAYER", "").strip().lower()
        listed = os.environ.get("NUMBA_THREADING_LAYER_PRIORITY", "").lower().split()
    order = (*listed, "basalt") if set(listed) == set(_NUMBAS) and tuple(listed) != _NUMBAS else ORDER
    return (chosen, *(name for name in order if name != chosen)) if chosen in _NUMBAS else order


def _own_threads(executor: Executor) -> OwnThreads | None:
    """Our own threads, or None where this system lacks what they need."""
    try:
        return OwnThreads(executor)
    except (AttributeError, OSError, MemoryError):
        return None


def _load(name: str) -> ModuleType | None:
    """The layer's extension module, or None if it or a library it needs is missing or not as expected."""
    if name not in _NUMBAS or (name == "tbb" and not load_tbb()):
        return None
    module = sys.modules.get(f"numba.np.ufunc.{_MODULES[name]}")
    if module is None:
        with _passive_waiting(name):
            module = _load_extension(_MODULES[name])
    return module if _is_layer(module) else None


def _is_layer(module: ModuleType | None) -> bool:
    """Whether a module has what is called here: another Numba than those known may have changed it."""
    addresses = [getattr(module, name, None) for name in ("launch_threads", "set_num_threads", "parallel_for")]
    return all(isinstance(address, int) and address > 0 for address in addresses)


def _load_extension(name: str) -> ModuleType | None:
    folder = _ufunc_folder()
    if folder is None:
        return None
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
            except Exception:  # whatever a damaged or foreign extension raises
                return None
            return module
    return None


def _ufunc_folder() -> str | None:
    """The folder of Numba's layers; None if Numba is not installed as a package of files."""
    try:
        found = importlib.util.find_spec("numba")
    except (ImportError, ValueError):
        return None
    if found is None or not found.submodule_search_locations:
        return None
    return os.path.join(found.submodule_search_locations[0], "np", "ufunc")


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
