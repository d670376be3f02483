"""``bslc show MODEL.onnx``: what the file holds, and how it runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import basalt
from basalt.cli.output import print_json, print_table, size_text

if TYPE_CHECKING:
    from basalt.compiler.onnx.model import OnnxExecutable
    from basalt.serialization.onnx import OnnxGraph, OnnxNode

__all__ = ["show_onnx"]


def show_onnx(model: OnnxExecutable, as_json: bool) -> None:
    """Print a model's inputs, outputs, operators with versions, parameters, and the plan of its memory."""
    description = _description(model)
    if as_json:
        print_json(description)
        return
    rows = [
        [kind, entry["name"], entry["dtype"], f"[{', '.join(map(str, entry['shape']))}]"]
        for kind in ("input", "output")
        for entry in description[f"{kind}s"]
    ]
    print_table(["", "name", "data type", "shape"], rows)
    opsets = ", ".join(f"{domain or 'ai.onnx'} {version}" for domain, version in description["opsets"].items())
    print(f"\nmodel       {description['name'] or 'unnamed'}, IR {description['ir_version']}, opset {opsets}")
    if description["producer"]:
        print(f"producer    {description['producer']}")
    operators = ", ".join(f"{count} {name}" for name, count in description["operators"].items())
    print(f"nodes       {sum(description['operators'].values())}: {operators or 'none'}")
    print(f"parameters  {description['parameters']:,} ({size_text(description['parameter_bytes'])})")
    print(f"runs        {_plan_text(description['plan'])}")
    for key, text in description["metadata"].items():
        print(f"{key}: {text}")


def _description(model: OnnxExecutable) -> dict[str, Any]:
    source = model.onnx
    graphs = list(_graphs(source.graph))
    tensors = [t for graph in graphs for t in graph.initializers]
    return {
        "name": model.name,
        "inputs": [asdict(spec) for spec in model.inputs],
        "outputs": [asdict(spec) for spec in model.outputs],
        "ir_version": source.ir_version,
        "opsets": dict(source.opset_imports),
        "producer": source.producer,
        "operators": dict(Counter(_name(node) for graph in graphs for node in graph.nodes).most_common()),
        "parameters": sum(t.size for t in tensors),
        "parameter_bytes": sum(t.array().nbytes for t in tensors),
        "functions": [f"{f.domain}.{f.name}" for f in source.functions],
        "plan": _plan(model),
        "metadata": model.metadata,
    }


def _name(node: OnnxNode) -> str:
    return f"{node.domain}.{node.op_type}" if node.domain not in ("", "ai.onnx") else node.op_type


def _graphs(graph: OnnxGraph) -> Iterator[OnnxGraph]:
    """A graph and the bodies in it."""
    yield graph
    for node in graph.nodes:
        for attribute in node.attributes.values():
            if attribute.kind == "GRAPH":
                yield from _graphs(attribute.value)  # type: ignore[arg-type]


def _plan(model: OnnxExecutable) -> dict[str, Any]:
    """How the model runs: as one program, with the sizes that its plan assumes, or in steps, and why."""
    from basalt.cli import models

    try:
        graph = model.to_model()
    except basalt.UnsupportedError as error:
        return {"steps": True, "why": str(error)}
    sizes = models.resolve(graph, (), ())
    spec = models.plan(graph, sizes)
    from basalt.compiler.explain import explain

    explanation = explain(spec)
    return {
        "steps": False,
        "sizes": sizes.dims,
        "calls": len(explanation),
        "kernels": explanation.kernels,
        "constant_bytes": explanation.constant_bytes,
        "arena_bytes": explanation.arena_bytes,
    }


def _plan_text(plan: dict[str, Any]) -> str:
    if plan["steps"]:
        return f"in steps ({plan['why'].partition(': ')[2]})"
    sizes = ", ".join(f"{name} = {size}" for name, size in plan["sizes"].items())
    memory = f"constants {size_text(plan['constant_bytes'])}, arena {size_text(plan['arena_bytes'])}"
    return f"{plan['calls']} calls of {plan['kernels']} kernels; {memory}{f', for {sizes}' if sizes else ''}"
