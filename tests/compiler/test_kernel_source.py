"""Generated kernels as text, so that how they read is looked at whenever they change.

To accept a change: ``BASALT_UPDATE_SOURCES=1 pytest tests/compiler/test_kernel_source.py``, then review the diff.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from basalt.compiler.ir import Value
from basalt.compiler.lower import compile_spec

from .making import Maker

FOLDER = Path(__file__).with_name("kernel_sources")
UPDATE = "BASALT_UPDATE_SOURCES"


def add_relu(m: Maker) -> Value:
    return m.relu(m.add(m.input("x", "float32", (100, 300)), m.input("bias", "float32", (300,))))


def add_transposed(m: Maker) -> Value:
    return m.add(m.transpose(m.input("x", "float32", (300, 100))), m.input("y", "float32", (100, 300)))


def softmax_of_rows(m: Maker) -> Value:
    return m.softmax(m.input("x", "float32", (50, 200)), 1)


def mean_of_columns(m: Maker) -> Value:
    return m.reduce_mean(m.input("x", "float32", (50, 200)), axes=[0])


KERNELS: list[Callable[[Maker], Value]] = [add_relu, add_transposed, softmax_of_rows, mean_of_columns]


def sources(make: Callable[[Maker], Value]) -> str:
    maker = Maker()
    graph = maker.graph(y=make(maker))
    return "\n".join(kernel.source for kernel in compile_spec(graph, maker.constants).kernels)


@pytest.mark.parametrize("make", KERNELS, ids=lambda make: make.__name__)
def test_source(make: Callable[[Maker], Value]) -> None:
    path = FOLDER / f"{make.__name__}.txt"
    if os.environ.get(UPDATE):
        path.write_text(sources(make))
    assert sources(make) == path.read_text(), f"set {UPDATE}=1 to accept the new text, then review it"


def test_sources_do_not_depend_on_sizes() -> None:
    """Other sizes of the same form share the kernel."""

    def wider(m: Maker) -> Value:
        return m.relu(m.add(m.input("x", "float32", (77, 123)), m.input("bias", "float32", (123,))))

    assert sources(wider) == sources(add_relu)
