"""Class labels that are strings: the class is chosen by compiled code, the host looks up its label."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from basalt.serialization.onnx import OnnxAttribute, OnnxNode

from ...registry import ML, expands

_INTEGERS = {"LinearClassifier": "classlabels_ints", "SVMClassifier": "classlabels_ints"}


def _expand(node: OnnxNode, attributes: Mapping[str, Any], opset: int) -> Sequence[OnnxNode] | None:
    labels = attributes.get("classlabels_strings")
    if not labels or not node.outputs or not node.outputs[0]:
        return None
    name = _INTEGERS.get(node.op_type, "classlabels_int64s")
    kept = {key: a for key, a in node.attributes.items() if key not in ("classlabels_strings", name)}
    places = tuple(range(len(labels)))
    chosen = f"{node.outputs[0]}/place"
    classifier = OnnxNode(
        node.op_type,
        node.inputs,
        (chosen, *node.outputs[1:]),
        {**kept, name: OnnxAttribute(name, "INTS", places)},
        node.domain,
        node.name,
    )
    texts = tuple(label.encode("utf-8", "surrogateescape") for label in labels)
    if opset < 2:
        lookup = {"classes_strings": OnnxAttribute("classes_strings", "STRINGS", texts)}
    else:
        lookup = {
            "keys_int64s": OnnxAttribute("keys_int64s", "INTS", places),
            "values_strings": OnnxAttribute("values_strings", "STRINGS", texts),
        }
    label = f"{node.name or node.outputs[0]}/labels"
    return [classifier, OnnxNode("LabelEncoder", (chosen,), (node.outputs[0],), lookup, ML, label)]


for _name in ("LinearClassifier", "TreeEnsembleClassifier"):
    expands(_name, ML)(_expand)
