"""How a module's arguments and results nest: tensors in tuples, lists and dictionaries, and what is constant there.

A structure is plain data, so that files can hold it: ``("tensor", i)`` for the i-th input or output, ``("size", i)``
for one that is a number of Python's, ``("value", v)`` for a constant, and ``(kind, *children)`` for the containers,
where a dictionary's children are pairs of key and structure.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from basalt.errors import ModelFormatError, UnsupportedError, ValidationError

__all__ = ["Structure", "check_structure", "collect", "describe", "from_spec", "rebuild"]

Structure = tuple[Any, ...]
_SEQUENCES = {"tuple": tuple, "list": list}
_MAX_DEPTH = 6
"""Levels of containers; a file's attributes nest 16 levels deep, of which a dictionary takes two."""


def from_spec(spec: Any, leaves: Sequence[Structure]) -> Structure:
    """The structure of one of torch's tree specifications.

    Args:
        spec: the specification.
        leaves: the structures of its leaves, in order.

    Raises:
        UnsupportedError: for containers that only their own library can rebuild, and for deep nesting.
    """
    structure, rest = _from_spec(spec, list(leaves), 0)
    assert not rest
    return structure


def _from_spec(spec: Any, leaves: list[Structure], depth: int) -> tuple[Structure, list[Structure]]:
    if spec.is_leaf():
        return leaves[0], leaves[1:]
    if depth == _MAX_DEPTH:
        raise UnsupportedError(f"containers are nested more than {_MAX_DEPTH} levels deep")
    if spec.type is None or (spec.num_children == 0 and spec.type not in (tuple, list, dict)):
        return ("value", None), leaves
    children = []
    for child in spec.children():
        structure, leaves = _from_spec(child, leaves, depth + 1)
        children.append(structure)
    if spec.type in (tuple, list):
        return (spec.type.__name__, *children), leaves
    keys = _keys(spec)
    if keys is not None:
        return ("dict", *zip(keys, children)), leaves
    if spec.type is namedtuple or (isinstance(spec.type, type) and issubclass(spec.type, tuple)):
        return ("tuple", *children), leaves
    raise UnsupportedError(f"{spec.type.__name__} is no tuple, list or dictionary")


def _keys(spec: Any) -> list[str] | None:
    """A dictionary's keys, or those of a class like one (the outputs of transformers' models)."""
    context = spec.context
    if spec.type.__name__ == "defaultdict":
        context = context[1]
    if isinstance(context, tuple) and context and isinstance(context[0], list):
        context = context[0]
    if not isinstance(context, list) or len(context) != spec.num_children:
        return None
    return context if all(isinstance(key, str) for key in context) else None


def rebuild(structure: Structure, tensors: Sequence[Any]) -> Any:
    """Containers as the structure says, with the tensors in their places."""
    kind, *rest = structure
    if kind == "tensor":
        return tensors[rest[0]]
    if kind == "size":
        return tensors[rest[0]].item()
    if kind == "value":
        return rest[0]
    if kind == "dict":
        return {key: rebuild(child, tensors) for key, child in rest}
    return _SEQUENCES[kind](rebuild(child, tensors) for child in rest)


def collect(structure: Structure, value: Any, found: dict[int, Any], path: str = "") -> None:
    """Take the tensors of a value apart, by their places.

    Raises:
        ValidationError: where the value does not have the structure; names the place.
    """
    kind, *rest = structure
    if kind in ("tensor", "size"):
        found[rest[0]] = value
    elif kind == "value":
        if value is not rest[0] and value != rest[0]:
            raise ValidationError(f"{path or 'argument'} is {value!r}, but the module was exported with {rest[0]!r}")
    elif kind == "dict":
        _collect_dict(rest, value, found, path)
    else:
        if not isinstance(value, (tuple, list)) or len(value) != len(rest):
            raise ValidationError(f"{path or 'the arguments'}: {_shown(value)}, expected a {kind} of {len(rest)}")
        for i, (child, item) in enumerate(zip(rest, value)):
            collect(child, item, found, f"{path}[{i}]")


def _collect_dict(entries: Sequence[Any], value: Any, found: dict[int, Any], path: str) -> None:
    keys = [key for key, _ in entries]
    if not isinstance(value, Mapping) or set(value) != set(keys):
        given = sorted(map(str, value)) if isinstance(value, Mapping) else _shown(value)
        raise ValidationError(f"{path or 'keyword arguments'}: {given}, expected the keys {keys}")
    for key, child in entries:
        collect(child, value[key], found, f"{path}[{key!r}]")


def _shown(value: Any) -> str:
    count = f" of {len(value)}" if isinstance(value, (tuple, list, Mapping)) else ""
    return f"{type(value).__name__}{count}"


def describe(structure: Structure, names: Sequence[str]) -> str:
    """A structure for people, such as ``(x, {"mask": mask})``."""
    kind, *rest = structure
    if kind in ("tensor", "size"):
        return names[rest[0]]
    if kind == "value":
        return repr(rest[0])
    if kind == "dict":
        return "{" + ", ".join(f"{key!r}: {describe(child, names)}" for key, child in rest) + "}"
    inside = ", ".join(describe(child, names) for child in rest)
    return f"[{inside}]" if kind == "list" else f"({inside}{',' if len(rest) == 1 else ''})"


def check_structure(structure: Any, count: int, what: str, depth: int = 0) -> None:
    """Refuse what is no structure over ``count`` tensors, as a file may hold it.

    Raises:
        ModelFormatError: names ``what``.
    """
    if not isinstance(structure, tuple) or not structure or depth > _MAX_DEPTH:
        raise ModelFormatError(f"{what}: {structure!r} is no structure")
    kind, *rest = structure
    checks: dict[Any, Callable[[], bool]] = {
        "tensor": lambda: len(rest) == 1 and type(rest[0]) is int and 0 <= rest[0] < count,
        "size": lambda: len(rest) == 1 and type(rest[0]) is int and 0 <= rest[0] < count,
        "value": lambda: len(rest) == 1 and (rest[0] is None or isinstance(rest[0], (bool, int, float, str))),
        "dict": lambda: all(isinstance(e, tuple) and len(e) == 2 and isinstance(e[0], str) for e in rest),
        "tuple": lambda: True,
        "list": lambda: True,
    }
    if not isinstance(kind, str) or kind not in checks or not checks[kind]():
        raise ModelFormatError(f"{what}: {structure!r} is no structure over {count} tensors")
    if kind in ("dict", "tuple", "list"):
        for child in rest:
            check_structure(child[1] if kind == "dict" else child, count, what, depth + 1)
