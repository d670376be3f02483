"""The onnx package's own cases for every operator that has a host function."""

from __future__ import annotations

import re
import warnings
from collections import defaultdict
from functools import cache
from typing import Any

import numpy as np
import pytest

from basalt.compiler.onnx.host.registry import HostNode

from .nodes import close, operators, run_node

onnx = pytest.importorskip("onnx")

RANDOM = {"Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"}
"""Only shape and type of their results are fixed."""
WITHOUT_CASES = {
    "CastMap", "CategoryMapper", "ConcatFromSequence", "DictVectorizer", "FeatureVectorizer", "Imputer",
    "LinearClassifier", "LinearRegressor", "Multinomial", "Normalizer", "OneHotEncoder", "Optional",
    "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "SVMClassifier", "SVMRegressor",
    "Scaler", "SequenceAt", "SequenceConstruct", "SequenceEmpty", "SequenceErase", "SequenceLength",
    "TreeEnsembleClassifier", "TreeEnsembleRegressor", "ZipMap",
}  # fmt: skip
"""Operators that stand alone in none of onnx's cases; the other files here test them."""
TRAINING = re.compile("^test_training_dropout(?!.*zero_ratio)")


@cache
def cases() -> dict[tuple[str, str], list[Any]]:
    """Cases of one node, by (domain, operator)."""
    from onnx.backend.test.case.node import collect_testcases

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = defaultdict(list)
        for case in collect_testcases(None):
            if len(case.model.graph.node) == 1:
                node = case.model.graph.node[0]
                found[node.domain, node.op_type].append(case)
    return found


def decoded(attribute: Any) -> Any:
    """An attribute as the importer decodes it."""
    value = onnx.helper.get_attribute_value(attribute)
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, onnx.TensorProto):
        return onnx.numpy_helper.to_array(value)
    if isinstance(value, list):
        return tuple(v.decode() if isinstance(v, bytes) else v for v in value)
    return value


def host_node(model: Any) -> HostNode:
    """The model's only node as the importer hands it over, with the schema's defaults."""
    node = model.graph.node[0]
    opset = next(
        o.version for o in model.opset_import if o.domain in (node.domain, "ai.onnx" if not node.domain else "")
    )
    schema = onnx.defs.get_schema(node.op_type, opset, node.domain)
    attributes = {name: decoded(a.default_value) for name, a in schema.attributes.items() if a.default_value.type} | {
        a.name: decoded(a) for a in node.attribute
    }
    rng = np.random.default_rng(0)
    return HostNode(node.op_type, schema.since_version, node.domain, node.name, attributes, len(node.output), rng=rng)


def by_position(names: Any, given: Any, values: list[Any]) -> list[Any]:
    """The values that belong to the node's names; None for the name of what is left out."""
    table = dict(zip([g.name for g in given], values, strict=True))
    return [table[name] if name else None for name in names]


def as_value(value: Any) -> Any:
    """Strings as object arrays, scalars as arrays."""
    if isinstance(value, list):
        return [as_value(v) for v in value]
    if value is None or isinstance(value, dict):
        return value
    array = onnx.numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else np.asarray(value)
    return array.astype(object) if array.dtype.kind == "U" else array


def check(case: Any, node: HostNode) -> None:
    graph = case.model.graph
    shapes_only = node.op_type in RANDOM or (node.op_type == "Dropout" and TRAINING.search(case.name))
    for inputs, outputs in case.data_sets:
        fed = by_position(graph.node[0].input, graph.input, [as_value(v) for v in inputs])
        wanted = by_position(graph.node[0].output, graph.output, [as_value(v) for v in outputs])
        result = run_node(node, *fed)
        results = result if isinstance(result, tuple) else (result,)
        assert len(results) >= len(wanted)
        for name, actual, expected in zip(graph.node[0].output, results, wanted, strict=False):
            if shapes_only:
                assert (actual.dtype, actual.shape) == (expected.dtype, expected.shape)
            elif name:
                close(actual, expected, case.rtol or 1e-3, case.atol or 1e-7)


@pytest.mark.parametrize(("domain", "op_type"), operators())
def test_node_cases(domain: str, op_type: str) -> None:
    found = cases().get((domain, op_type), [])
    assert bool(found) == (op_type not in WITHOUT_CASES)
    for case in found:
        node = host_node(case.model)
        try:
            check(case, node)
        except Exception as error:
            error.add_note(f"in {case.name}")
            raise
