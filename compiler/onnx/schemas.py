"""What ONNX says of each operator's signature, by domain and version: names, counts, attribute kinds, data types."""

from __future__ import annotations

import bisect
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

__all__ = ["Attribute", "Formal", "Schema", "declare", "latest_opset", "schema_for", "schemas"]

OPTIONAL, VARIADIC = 1, 2


@dataclass(frozen=True, slots=True)
class Formal:
    """An input or output: ``types`` allowed (data types, or ``seq(...)``, ``optional(...)``, ``map(...)`` texts)."""

    name: str
    types: frozenset[str]
    type_variable: str
    option: int = 0
    homogeneous: bool = True

    @property
    def variadic(self) -> bool:
        return self.option == VARIADIC

    @property
    def optional(self) -> bool:
        return self.option == OPTIONAL


@dataclass(frozen=True, slots=True)
class Attribute:
    """An attribute's kind (``INT``, ``FLOATS``, ...), whether it must be there, and its default (None for none)."""

    kind: str
    required: bool = False
    default: Any = None


@dataclass(frozen=True, slots=True)
class Schema:
    """The signature of an operator at one version."""

    name: str
    domain: str
    since: int
    inputs: tuple[Formal, ...]
    outputs: tuple[Formal, ...]
    attributes: Mapping[str, Attribute] = field(default_factory=dict)

    def input(self, place: int) -> Formal | None:
        """The declaration of the input at a place, None where there are not so many."""
        if place < len(self.inputs):
            return self.inputs[place]
        return self.inputs[-1] if self.inputs and self.inputs[-1].variadic else None


_declared: dict[tuple[str, str], dict[int, Schema]] = {}


def declare(schema: Schema) -> None:
    """Add the signature of an operator that the standard's table lacks (of other vendors)."""
    _declared.setdefault((schema.domain, schema.name), {})[schema.since] = schema


def schema_for(domain: str, name: str, opset: int) -> Schema | None:
    """The newest signature of an operator that is not newer than an opset; None if there is none."""
    versions = schemas(domain, name)
    place = bisect.bisect_right([s.since for s in versions], opset)
    return versions[place - 1] if place else None


def schemas(domain: str, name: str) -> Sequence[Schema]:
    """Every version of an operator, oldest first."""
    found = _declared.get((domain, name))
    return tuple(found[v] for v in sorted(found)) if found else _standard(domain, name)


def operators(domain: str) -> tuple[str, ...]:
    """The names of a domain's operators."""
    own = {name for d, name in _declared if d == domain}
    return tuple(sorted(own.union(*(table["domains"].get(domain, ()) for table in _tables()))))


def domains() -> tuple[str, ...]:
    """The domains that have operators; "" is ``ai.onnx``."""
    return tuple(sorted({d for d, _ in _declared}.union(*(table["domains"] for table in _tables()))))


def latest_opset() -> int:
    """The newest version of ``ai.onnx`` in the table."""
    return int(_tables()[0]["opset"])


@cache
def _tables() -> tuple[dict[str, Any], ...]:
    """The standard's signatures and ONNX Runtime's."""
    folder = files(__package__)
    return tuple(json.loads(folder.joinpath(f"{name}.json").read_text()) for name in ("schemas", "schemas_microsoft"))


@cache
def _types(table: int, index: int) -> frozenset[str]:
    return frozenset(_tables()[table]["lists"][index].split("|"))


@cache
def _standard(domain: str, name: str) -> tuple[Schema, ...]:
    found = [
        _schema(domain, name, int(version), entry, i)
        for i, table in enumerate(_tables())
        for version, entry in table["domains"].get(domain, {}).get(name, {}).items()
    ]
    return tuple(sorted(found, key=lambda s: s.since))


def _schema(domain: str, name: str, since: int, entry: Mapping[str, Any], table: int) -> Schema:
    def formals(rows: Any) -> tuple[Formal, ...]:
        return tuple(Formal(n, _types(table, entry["types"][t]), t, option, bool(h)) for n, option, t, h in rows)

    attributes = {
        n: Attribute(kind, bool(required), default) for n, (kind, required, default) in entry["attrs"].items()
    }
    return Schema(name, domain, since, formals(entry["in"]), formals(entry["out"]), attributes)
