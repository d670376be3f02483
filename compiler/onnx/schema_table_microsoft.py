"""Writes ``schemas_microsoft.json``, signatures of ``com.microsoft`` operators, from the installed ``onnxruntime``.

``python -m basalt.compiler.onnx.schema_table_microsoft`` does it again after a new release. The table has the form of
``schemas.json`` (see :mod:`.schema_table`), and only the operators that Basalt has. Two operators of it stand in
``ai.onnx`` too: ONNX Runtime's layer normalisations from before the standard had one, which models still carry.
"""

from __future__ import annotations

from typing import Any

from .host.registry import registered
from .registry import MICROSOFT, translators
from .schema_table import type_name, write

_BEFORE_THE_STANDARD = {("LayerNormalization", 1), ("SimplifiedLayerNormalization", 1)}


def _default(attribute: Any) -> Any:
    from onnx import AttributeProto, helper

    if not attribute._default_value:
        return None
    value = helper.get_attribute_value(AttributeProto.FromString(attribute._default_value))
    if isinstance(value, bytes):
        return value.decode()
    return [v.decode() if isinstance(v, bytes) else v for v in value] if isinstance(value, list) else value


def _parameters(formals: Any) -> list[list[Any]]:
    return [[p.name, int(p.option), p.typeStr, int(p.isHomogeneous)] for p in formals]


def _entry(schema: Any, lists: dict[str, int]) -> dict[str, Any]:
    constraints = {}
    for constraint in schema.type_constraints:
        text = "|".join(sorted(type_name(t) for t in constraint.allowed_type_strs))
        constraints[constraint.type_param_str] = lists.setdefault(text, len(lists))
    for formal in (*schema.inputs, *schema.outputs):
        if formal.typeStr not in constraints:
            constraints[formal.typeStr] = lists.setdefault(type_name(formal.typeStr), len(lists))
    attributes = sorted(schema.attributes.items())
    return {
        "in": _parameters(schema.inputs),
        "out": _parameters(schema.outputs),
        "attrs": {n: [str(a.type).rpartition(".")[2], int(a.required), _default(a)] for n, a in attributes},
        "types": constraints,
    }


def table() -> dict[str, Any]:
    """The whole table: ``lists`` of types, and by domain, operator and version the signature."""
    from onnxruntime.capi.onnxruntime_pybind11_state import get_all_operator_schema

    wanted = {name for domain, name in translators() if domain == MICROSOFT}
    wanted |= {name for domain, name, _ in registered() if domain == MICROSOFT}
    lists: dict[str, int] = {}
    domains: dict[str, dict[str, dict[str, Any]]] = {"": {}, MICROSOFT: {}}
    for schema in sorted(get_all_operator_schema(), key=lambda s: (s.domain, s.name, s.since_version)):
        old = not schema.domain and (schema.name, schema.since_version) in _BEFORE_THE_STANDARD
        if old or (schema.domain == MICROSOFT and schema.name in wanted):
            entry = _entry(schema, lists)
            for domain in ("", MICROSOFT) if old else (MICROSOFT,):
                domains[domain].setdefault(schema.name, {})[str(schema.since_version)] = entry
    return {"lists": list(lists), "domains": domains}


def main() -> None:
    write("schemas_microsoft.json", table())


if __name__ == "__main__":
    main()
