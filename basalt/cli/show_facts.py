"""What a ``.bsl`` file says of itself beside its graph: its kind, and an estimator's facts."""

from __future__ import annotations

from typing import Any

import basalt

__all__ = ["fact_lines", "facts_of"]

MOST = 12
"""Names and classes that a line holds."""


def facts_of(loaded: Any) -> dict[str, Any]:
    """The kind and what else there is, as JSON holds it."""
    facts: dict[str, Any] = {"kind": getattr(loaded, "kind", basalt.Kind.GRAPH).name}
    if isinstance(loaded, basalt.Module):
        facts["signature"] = loaded.signature
    if isinstance(loaded, basalt.Estimator):
        classes: Any = loaded.facts.classes
        facts |= {
            "estimator": loaded.class_name,
            "methods": list(loaded.methods),
            "classes": classes.tolist() if hasattr(classes, "tolist") else classes,
            "feature_names": None if loaded.facts.feature_names is None else list(loaded.facts.feature_names),
            "categories": {str(column): known for column, known in loaded.facts.vocabularies.columns().items()},
        }
    return facts


def fact_lines(facts: dict[str, Any]) -> list[str]:
    """The same as lines of text, without what is not there."""
    lines = [f"kind     {facts['kind']} ({int(basalt.Kind[facts['kind']])})"]
    lines += [f"class    {facts['estimator']}"] if "estimator" in facts else []
    lines += [f"called   {facts['signature']}"] if "signature" in facts else []
    for label, key in (("methods ", "methods"), ("classes ", "classes"), ("features", "feature_names")):
        if facts.get(key) is not None:
            lines.append(f"{label} {_listed(facts[key])}")
    lines += [f"column {int(column) + 1} of {_listed(known)}" for column, known in facts.get("categories", {}).items()]
    return lines


def _listed(values: list[Any]) -> str:
    more = f" and {len(values) - MOST} more" if len(values) > MOST else ""
    return ", ".join(map(str, values[:MOST])) + more
