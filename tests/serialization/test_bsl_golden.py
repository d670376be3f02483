"""Files of the past keep their meaning, and today's writer produces the same bytes."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
from bsl_samples import tiny_graph

from basalt.serialization import GraphData, NodeData, TensorSpec, load, save
from basalt.serialization.dtypes import DTYPES

GOLDEN = Path(__file__).parent / "golden"
FORMAT = Path(__file__).parents[2] / "docs" / "bsl-format.md"


def test_the_golden_file_loads() -> None:
    graph = load(GOLDEN / "tiny.bsl", GraphData)
    assert graph == tiny_graph()
    assert graph.constants["weight"] is graph.constants["tied"]
    assert {array.dtype.name for array in graph.constants.values()} == set(DTYPES)


def test_the_golden_file_is_saved_again_bit_for_bit(tmp_path: Path) -> None:
    expected = (GOLDEN / "tiny.bsl").read_bytes()
    for graph in (tiny_graph(), load(GOLDEN / "tiny.bsl")):
        save(tmp_path / "again.bsl", graph)
        assert (tmp_path / "again.bsl").read_bytes() == expected


def test_codes_of_data_types_are_those_of_the_documentation() -> None:
    table = FORMAT.read_text().split("### Data types")[1].split("Elements are")[0]
    cells = re.findall(r"\|\s*(\d+) \| (\w+)\s*\|\s*(1/2|\d+) ", table)
    assert {name: (int(code), 4 if size == "1/2" else 8 * int(size)) for code, name, size in cells} == {
        name: (dtype.code, dtype.bits) for name, dtype in DTYPES.items()
    }


def test_the_documented_example_is_what_is_written(tmp_path: Path) -> None:
    spec = TensorSpec("x", "float32", ("n", 2))
    node = NodeData("matmul", ("x", "w"), (TensorSpec("v", "float32", ("n", 1)),), {"axes": (0, -1)})
    graph = GraphData("ex", (spec,), {"w": np.array([[1], [2]], np.float32)}, (("y", "v"),), (node,))
    save(tmp_path / "ex.bsl", graph)
    documented = bytearray()
    for offset, content in re.findall(r"^ *(\d+)  (\S.{23})  \S", FORMAT.read_text(), re.MULTILINE):
        assert len(documented) == int(offset)
        if until := re.match(r"zeros up to byte (\d+)", content):
            documented += bytes(int(until[1]) - len(documented))
        else:
            documented += bytes.fromhex(content)
    assert (tmp_path / "ex.bsl").read_bytes() == documented
