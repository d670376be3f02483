"""Which functions there are, and how they are found."""

from __future__ import annotations

import numpy as np
import pytest

from basalt.compiler.onnx.host.registry import HostNode, find, host_op
from basalt.errors import UnsupportedError, ValidationError

from .nodes import operators, run

NOT_ALL_VERSIONS = {("", "Equal"): {1}}
"""Versions without a function: Equal-1 knows no strings, and has a way of broadcasting of its own."""


def test_every_since_version_is_registered() -> None:
    onnx = pytest.importorskip("onnx")
    schemas: dict[tuple[str, str], set[int]] = {}
    for schema in onnx.defs.get_all_schemas_with_history():
        schemas.setdefault((schema.domain, schema.name), set()).add(schema.since_version)
    for key, versions in operators().items():
        assert set(versions) == schemas[key] - NOT_ALL_VERSIONS.get(key, set()), key


def test_find_takes_the_newest_version_that_is_not_newer() -> None:
    assert find("TopK", 1) is find("TopK", 9)
    assert find("TopK", 10) is not find("TopK", 9)
    assert find("TopK", 28) is not None
    assert find("NonZero", 8) is None
    assert find("NonZero", 13, "ai.onnx.ml") is None
    assert find("Gradient", 1, "ai.onnx.preview.training") is None


def test_registering_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="twice"):
        host_op("NonZero", 13)(lambda n: None)


def test_errors_name_the_node() -> None:
    node = HostNode("TopK", 11, label="best")
    assert isinstance(node.error("no"), ValidationError)
    assert str(node.error("no")) == "TopK-11 'best': no"
    assert isinstance(node.unsupported("no"), UnsupportedError)
    assert HostNode("ZipMap", 1, "ai.onnx.ml").describe() == "ai.onnx.ml.ZipMap-1"
    with pytest.raises(ValidationError, match="'to' is missing"):
        run("Cast", 13, np.zeros(1))


def test_what_depends_on_attributes_is_made_once() -> None:
    node = HostNode("TreeEnsemble", 5, "ai.onnx.ml")
    made: list[int] = []
    assert node.once("a", lambda: made.append(1) or 7) == 7
    assert node.once("a", lambda: made.append(1) or 8) == 7
    assert made == [1]


def test_scalars_come_back_as_arrays() -> None:
    result = run("Gather", 13, np.array(["a", "b"], dtype=object), np.array(1))
    assert isinstance(result, np.ndarray)
    assert (result.shape, result.dtype, result.item()) == ((), object, "b")
    assert isinstance(run("Cast", 13, np.array(1.5), to=6), np.ndarray)
