"""Extension operators are found, documented, and no part of the standard's language."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import basalt
from basalt import ops
from basalt.ops.limits import op_support_limits
from basalt.ops.tables import render


def test_they_stand_apart_from_the_standards_operators() -> None:
    extensions = ops.extension_operators()
    assert not extensions.keys() & ops.all_operators().keys()
    assert not extensions.keys() & op_support_limits().keys()
    for name, operator in extensions.items():
        assert operator.webnn is None
        assert ops.get(name) is operator


def test_they_are_declared_when_they_are_first_asked_for() -> None:
    code = (
        "import sys, basalt.ops as o; assert 'basalt.ops.extension' not in sys.modules; "
        "o.get('relu'); assert 'basalt.ops.extension' not in sys.modules; print(o.get('mod').name)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "mod\n"


def test_unknown_names_are_still_unknown() -> None:
    with pytest.raises(KeyError):
        ops.get("convolve")


def test_everything_is_documented() -> None:
    for operator in ops.extension_operators().values():
        assert operator.__doc__, operator.name
        for part in (*operator.operands, *operator.arguments, *operator.options):
            assert part.doc, (operator.name, part.name)
        assert f"## {operator.name}\n" in render()


def test_an_extended_builder_offers_them() -> None:
    context = basalt.MLContext()
    with pytest.raises(AttributeError, match="no operator or method 'mod'"):
        _ = basalt.MLGraphBuilder(context).mod  # type: ignore[attr-defined]
    builder = basalt.MLGraphBuilder(context, extended=True)
    x = builder.input("x", "int32", (3,))
    graph = builder.build({"y": builder.mod(x, builder.constant("int32", 3), label="rest")})  # type: ignore[attr-defined]
    np.testing.assert_array_equal(graph.run({"x": np.array([-1, 0, 7], np.int32)})["y"], [2, 0, 1])
