"""``import basalt``: the public names, and how little they load."""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys

import pytest

import basalt


def modules_after(statement: str) -> set[str]:
    code = f"{statement}\nimport sys\nprint('\\n'.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_every_public_name_is_there() -> None:
    assert {name for name in basalt.__all__ if name != "__version__"} == basalt._HOMES.keys()
    assert basalt.__all__ == sorted(basalt.__all__)
    for name in basalt.__all__:
        assert getattr(basalt, name) is not None
        assert name in dir(basalt)


def test_public_names_have_docstrings() -> None:
    for name in basalt._HOMES:
        assert getattr(basalt, name).__doc__, name


def test_names_live_where_they_are_looked_for() -> None:
    from basalt.compiler.builder import MLGraphBuilder

    assert basalt.MLGraphBuilder is MLGraphBuilder
    assert basalt.compiler.builder.MLGraphBuilder is MLGraphBuilder


def test_unknown_names_are_attribute_errors() -> None:
    with pytest.raises(AttributeError, match="module 'basalt' has no attribute 'MLGraphBuidler'"):
        basalt.MLGraphBuidler  # noqa: B018
    with pytest.raises(ImportError):
        from basalt import nothing  # noqa: F401


def test_the_version_is_the_packages() -> None:
    assert basalt.__version__ == importlib.metadata.version("basalt-compiler")


def test_importing_loads_next_to_nothing() -> None:
    loaded = modules_after("import basalt")
    assert not loaded & {"numpy", "numba", "llvmlite", "onnx", "ml_dtypes", "basalt.compiler", "basalt.runtime"}


@pytest.mark.parametrize(
    "statement",
    [
        "import basalt; basalt.MLGraphBuilder(basalt.MLContext())",
        "import basalt; basalt.load, basalt.save, basalt.Model, basalt.MLGraph, basalt.Program",
        "import basalt; basalt.set_num_threads, basalt.cache_info",
    ],
)
def test_using_the_interface_loads_no_compiler(statement: str) -> None:
    assert not modules_after(statement) & {"numba", "llvmlite", "onnx", "ml_dtypes", "scipy"}


def test_building_and_running_through_numpy_loads_no_compiler() -> None:
    statement = """
import os; os.environ["BASALT_DEBUG"] = "interpret"
import basalt, numpy
b = basalt.MLGraphBuilder(basalt.MLContext())
x = b.input("x", "float32", ("n",))
g = b.build({"y": b.relu(x)})
g.run({"x": numpy.ones(3, numpy.float32)})
"""
    assert not modules_after(statement) & {"numba", "llvmlite", "ml_dtypes"}
