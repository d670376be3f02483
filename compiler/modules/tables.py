"""Writes docs/torch-operators.md: ``python -m basalt.compiler.modules.tables > docs/torch-operators.md``."""

from __future__ import annotations

from collections import defaultdict

from . import registry

__all__ = ["table"]

_HEAD = """# ATen operators

The operators of PyTorch's graphs that [`basalt.from_torch` and the backend of `torch.compile`](torch.md) translate,
with their overloads. Others are taken apart into these by torch's own decompositions where it has them.
`python -m basalt.compiler.modules.tables` writes this page.

| operator | overloads |
| --- | --- |
"""


def table() -> str:
    """The page, in Markdown."""
    overloads: dict[str, list[str]] = defaultdict(list)
    for name in registry.names():
        operator, _, overload = name.rpartition(".")
        overloads[operator.removeprefix("aten::")].append(overload)
    rows = [f"| `{name}` | {', '.join(sorted(found))} |" for name, found in sorted(overloads.items())]
    return _HEAD + "\n".join(rows) + "\n"


if __name__ == "__main__":
    print(table(), end="")
