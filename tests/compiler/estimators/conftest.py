from __future__ import annotations

import contextlib
import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

# pytest's importlib mode leaves sys.path alone, yet the tests here share a module.
_spec = importlib.util.spec_from_file_location("estimator_checks", Path(__file__).parent / "estimator_checks.py")
assert _spec is not None and _spec.loader is not None
_module = importlib.util.module_from_spec(_spec)
sys.modules["estimator_checks"] = _module
_spec.loader.exec_module(_module)


@pytest.fixture(scope="package", autouse=True)
def _compiled() -> Iterator[None]:
    """Every run is of compiled code, not of the operators' NumPy semantics."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BASALT_EAGER", "0")
        with single_threaded_fits():
            yield


def single_threaded_fits() -> contextlib.AbstractContextManager[object]:
    """OpenMP's threads wait for each other in busy loops, which takes seconds where other work shares the cores."""
    try:
        from threadpoolctl import threadpool_limits
    except ModuleNotFoundError:
        return contextlib.nullcontext()
    return threadpool_limits(1)
