"""``basalt.from_torch``: modules to compiled programs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from basalt.errors import UnsupportedError, ValidationError

from .arrays import as_array
from .exporting import export
from .kinds import kind_of
from .module import Module
from .program import translate
from .requirement import require_torch
from .structure import Structure, from_spec

__all__ = ["from_torch"]


def from_torch(
    module: Any,
    example_inputs: Sequence[Any],
    dynamic_shapes: Any = None,
    *,
    kwargs: Mapping[str, Any] | None = None,
    threads: int | None = None,
) -> Module:
    """A module of PyTorch, in evaluation mode, as a compiled program.

    Args:
        module: a ``torch.nn.Module``, whose parameters the program shares and does not expect to change any more, or
            an ``ExportedProgram``, for which no example is needed.
        example_inputs: positional arguments as ``module`` takes them; a tensor alone stands for a tuple of it.
        dynamic_shapes: which of their sizes may change, as for ``torch.export.export``:
            ``({0: torch.export.Dim("batch")},)``. All others are those of the example.
        kwargs: keyword arguments of the example.
        threads: threads to run on; None for the process's setting.

    Returns:
        What is called like the module, and run by names; its inputs are named as the arguments of ``forward``.

    Raises:
        UnsupportedError: for operators that Basalt lacks: it lists all of them, each with the module that has it. Also
            where torch is not installed.
        ValidationError: for anything but a module.
        Whatever ``torch.export`` raises for a module that it cannot export.
    """
    torch = require_torch("from_torch")
    if isinstance(module, torch.export.ExportedProgram):
        from .exporting import decompositions

        program, name = module.run_decompositions(decompositions()), ""
    elif isinstance(module, torch.nn.Module):
        args = (example_inputs,) if isinstance(example_inputs, torch.Tensor) else tuple(example_inputs)
        program, name = export(module, args, kwargs, dynamic_shapes), type(module).__name__
    else:
        raise ValidationError(f"from_torch: got {type(module).__name__}, expected a torch.nn.Module")
    return _converted(program, name, dynamic_shapes, kind=kind_of(module), threads=threads)


def _converted(program: Any, name: str, dynamic_shapes: Any, **options: Any) -> Module:
    signature = program.graph_signature
    changed = sorted({*signature.buffers_to_mutate.values(), *signature.user_inputs_to_mutate.values()})
    if changed:
        raise UnsupportedError(f"from_torch: the module changes {', '.join(changed)} when it runs")
    placeholders = {node.name: node for node in program.graph.nodes if node.op == "placeholder"}
    leaves, inputs = _inputs(signature, placeholders)
    names = _size_names([placeholders[p] for p in inputs], dynamic_shapes)
    results, outputs = _outputs(program)
    translated = translate(program.graph, dict(_known(program)), inputs, outputs, names, name)
    try:
        arguments = from_spec(program.call_spec.in_spec, leaves)
        nested = from_spec(program.call_spec.out_spec, results)
    except UnsupportedError as error:
        raise UnsupportedError(f"from_torch: {error}") from None
    return Module(translated.graph, translated.constants, arguments=arguments, results=nested, **options)


def _inputs(signature: Any, placeholders: Mapping[str, Any]) -> tuple[list[Structure], dict[str, str]]:
    """The leaves of the arguments, and the inputs' names by placeholder."""
    leaves: list[Structure] = []
    inputs: dict[str, str] = {}
    for spec in signature.input_specs:
        if spec.kind.name != "USER_INPUT":
            continue
        value = getattr(spec.arg, "value", None)
        node = placeholders.get(spec.arg.name)
        if type(spec.arg).__name__ == "TensorArgument" and node is not None:
            leaves.append(("tensor", len(inputs)))
            inputs[spec.arg.name] = spec.arg.name
        elif type(spec.arg).__name__ == "ConstantArgument":
            leaves.append(("value", value))
        else:
            raise UnsupportedError(f"from_torch: argument {spec.arg.name} is no tensor, and not constant either")
    return leaves, inputs


def _outputs(program: Any) -> tuple[list[Structure], list[tuple[str, Any]]]:
    """The leaves of the results, and the outputs: name and node."""
    leaves: list[Structure] = []
    found: list[Any] = []
    (output,) = [node for node in program.graph.nodes if node.op == "output"]
    for spec, value in zip(program.graph_signature.output_specs, output.args[0]):
        if spec.kind.name != "USER_OUTPUT":
            raise UnsupportedError(f"from_torch: the module changes {spec.target} when it runs")
        if not hasattr(value, "meta"):
            leaves.append(("value", value))
            continue
        is_tensor = hasattr(value.meta["val"], "dtype")
        leaves.append(("tensor" if is_tensor else "size", len(found)))
        found.append(value)
    if not found:
        raise UnsupportedError("from_torch: the module returns no tensor")
    names = ["output"] if len(found) == 1 else [f"output_{i}" for i in range(len(found))]
    return leaves, list(zip(names, found))


def _known(program: Any) -> Iterator[tuple[str, np.ndarray]]:
    """Parameters, buffers and constant tensors by placeholder; one array for those that are tied."""
    arrays: dict[int, np.ndarray] = {}
    for spec in program.graph_signature.input_specs:
        if spec.kind.name not in ("PARAMETER", "BUFFER", "CONSTANT_TENSOR"):
            continue
        source = program.state_dict if spec.target in program.state_dict else program.constants
        tensor = source[spec.target]
        key = id(tensor)
        if key not in arrays:
            arrays[key] = as_array(tensor)
        yield spec.arg.name, arrays[key]


def _size_names(nodes: Sequence[Any], dynamic_shapes: Any) -> dict[str, str]:
    """A name for each of torch's symbols: the user's own, else that of the first input and axis that has it."""
    stated = list(_leaves(dynamic_shapes))
    names: dict[str, str] = {}
    for place, node in enumerate(nodes):
        dims = stated[place] if len(stated) == len(nodes) else None
        for axis, size in enumerate(node.meta["val"].shape):
            expr = None if isinstance(size, int) else size.node.expr
            if expr is None or not expr.is_Symbol or expr.name in names:
                continue
            name = _stated_name(dims, axis) or f"{node.name}_{axis}"
            names[expr.name] = name if name not in names.values() else f"{name}_{expr.name}"
    return names


def _stated_name(dims: Any, axis: int) -> str:
    """What the user calls a size; no name for Dim.AUTO and the like."""
    entries = dims if isinstance(dims, Mapping) else dict(enumerate(dims or ()))
    dim = entries.get(axis)
    name = getattr(dim, "__name__", "") or getattr(dim, "name", "")
    return name if isinstance(name, str) and name.isidentifier() and name not in ("AUTO", "DYNAMIC", "STATIC") else ""


def _leaves(shapes: Any) -> Iterator[Any]:
    """What is stated of each tensor, in the arguments' order."""
    if shapes is None:
        yield None
    elif isinstance(shapes, Mapping) and not all(isinstance(key, int) for key in shapes):
        for value in shapes.values():
            yield from _leaves(value)
    elif isinstance(shapes, (tuple, list)) and any(isinstance(s, (Mapping, tuple, list)) or s is None for s in shapes):
        for value in shapes:
            yield from _leaves(value)
    else:
        yield shapes
