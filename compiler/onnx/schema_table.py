"""Writes ``schemas.json``, the operators' signatures by version, from the installed ``onnx`` package.

``python -m basalt.compiler.onnx.schema_table`` does it again after a new release of ONNX. The table holds names,
numbers and data types only: what :mod:`.schemas` needs to check a node before it is translated.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

_TYPES = {"float": "float32", "double": "float64"}
_FLOATS = re.compile(r"^float(4|6|8)e")


def type_name(text: str) -> str:
    """ONNX's name of a type (``tensor(float)``, ``seq(tensor(int64))``) in the project's data type names."""

    def rename(match: re.Match[str]) -> str:
        name = match[1]
        if _FLOATS.match(name):
            name = name.replace("e", "_e", 1)
            name += {"e2m1": "fn", "e2m3": "fn", "e3m2": "fn", "e8m0": "fnu"}.get(name[-4:], "")
        return f"({_TYPES.get(name, name)})"

    return (
        re.sub(r"\((\w+)\)", rename, text).removeprefix("tensor(").removesuffix(")")
        if text.startswith("tensor(")
        else re.sub(r"\((\w+)\)", rename, text)
    )


def _default(attribute: Any) -> Any:
    from onnx import helper

    if not attribute.default_value.type:
        return None
    value = helper.get_attribute_value(attribute.default_value)
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, (list, tuple)):
        return [v.decode() if isinstance(v, bytes) else v for v in value]
    return value if isinstance(value, (int, float, str)) else None


def _parameters(formals: Any) -> list[list[Any]]:
    return [[p.name, int(p.option.value), p.type_str, int(p.is_homogeneous)] for p in formals]


def _entry(schema: Any, lists: dict[str, int]) -> dict[str, Any]:
    """One version: inputs and outputs as [name, option, type, homogeneous], attributes as [kind, required, default]."""
    constraints = {}
    for constraint in schema.type_constraints:
        text = "|".join(sorted(type_name(t) for t in constraint.allowed_type_strs))
        constraints[constraint.type_param_str] = lists.setdefault(text, len(lists))
    for formal in (*schema.inputs, *schema.outputs):
        if formal.type_str not in constraints:
            constraints[formal.type_str] = lists.setdefault(type_name(formal.type_str), len(lists))
    return {
        "in": _parameters(schema.inputs),
        "out": _parameters(schema.outputs),
        "attrs": {n: [a.type.name, int(a.required), _default(a)] for n, a in sorted(schema.attributes.items())},
        "types": constraints,
    }


def table() -> dict[str, Any]:
    """The whole table: ``lists`` of types, and by domain, operator and since-version the signature."""
    import onnx

    lists: dict[str, int] = {}
    domains: dict[str, dict[str, dict[str, Any]]] = {}
    for schema in sorted(onnx.defs.get_all_schemas_with_history(), key=lambda s: (s.domain, s.name, s.since_version)):
        versions = domains.setdefault(schema.domain, {}).setdefault(schema.name, {})
        versions[str(schema.since_version)] = _entry(schema, lists)
    return {"opset": onnx.defs.onnx_opset_version(), "lists": list(lists), "domains": domains}


def write(name: str, content: dict[str, Any]) -> None:
    """Write a table beside this module, an operator a line."""
    path = Path(__file__).with_name(name)
    lines = []
    for domain, operators in content.pop("domains").items():
        rows = [f"{json.dumps(n)}: {json.dumps(v, separators=(',', ':'))}" for n, v in operators.items()]
        lines.append(f"{json.dumps(domain)}: {{\n" + ",\n".join(rows) + "\n}")
    head = json.dumps(content, indent=0)[1:-1].strip()
    path.write_text("{\n" + head + ',\n"domains": {\n' + ",\n".join(lines) + "\n}\n}\n")
    print(f"{path.name}: {path.stat().st_size} bytes")


def main() -> None:
    write("schemas.json", table())


if __name__ == "__main__":
    main()
