"""Small graphs for single rewrites: what each becomes, and where each must not apply."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from basalt.compiler.ir import Graph, Value
from basalt.compiler.passes.context import Context
from basalt.compiler.passes.rewriting import Rewrite, apply_rewrites, index
from basalt.compiler.text import print_graph
from basalt.ops import numpy_dtype
from basalt.ops.types import is_float

from ..graphs import SPECIAL
from ..making import Maker

Build = Callable[[Maker], Any]


@dataclass(frozen=True)
class Example:
    """A graph that one rewrite changes; the file of expected texts says how."""

    rewrite: str
    build: Build


@dataclass(frozen=True)
class Refusal:
    """A graph that one rewrite nearly fits but must leave as it is, and the remark that says why ("" for none)."""

    rewrite: str
    build: Build
    remark: str = ""


def x32(m: Maker, *shape: int, name: str = "x") -> Value:
    """A float32 input."""
    return m.input(name, "float32", shape)


def i32(m: Maker, *shape: int, name: str = "x") -> Value:
    """An int32 input."""
    return m.input(name, "int32", shape)


def u8(m: Maker, *shape: int, name: str = "c") -> Value:
    """A uint8 input."""
    return m.input(name, "uint8", shape)


def number(m: Maker, value: float, dtype: str = "float32", shape: Sequence[int] = ()) -> Value:
    """A constant of one number."""
    return m.constant(np.full(tuple(shape), value), dtype)


def built(example: Example | Refusal) -> tuple[Graph, Maker]:
    m = Maker()
    result = example.build(m)
    values = result if isinstance(result, tuple) else (result,)
    return m.graph(**{f"y{i}" if len(values) > 1 else "y": v for i, v in enumerate(values)}), m


def rewritten(example: Example, rewrites: Sequence[Rewrite], pass_name: str) -> tuple[Graph, Graph, Context]:
    """The graph before and after the one rewrite of the example, and the context that holds its remarks."""
    graph, m = built(example)
    context = Context(m.constants, collect_notes=True)
    rules = index(r for r in rewrites if r.name == example.rewrite)
    return graph, apply_rewrites(graph, context, rules, pass_name), context


def shown(graph: Graph, context: Context) -> str:
    return print_graph(graph, context.constants).strip()


def special_feeds(graph: Graph, seed: int = 0) -> dict[str, np.ndarray]:
    """Arrays for the inputs, with special numbers among floats and all bits among integers."""
    numbers = np.random.default_rng(seed)
    feeds = {}
    for v in graph.inputs:
        shape, kind = v.shape, numpy_dtype(v.dtype)
        if v.dtype == "bool":
            feeds[v.name] = numbers.random(shape) < 0.5
        elif is_float(v.dtype):
            drawn = numbers.normal(size=shape)
            with np.errstate(over="ignore"):
                feeds[v.name] = np.where(numbers.random(shape) < 0.5, numbers.choice(SPECIAL, shape), drawn).astype(
                    kind
                )
        else:
            bounds = np.iinfo(kind)
            feeds[v.name] = numbers.integers(bounds.min, bounds.max, shape, kind, endpoint=True)
    return feeds
