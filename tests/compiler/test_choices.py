"""Choices by size that programs of one graph share."""

from __future__ import annotations

import numpy as np
import pytest

import basalt
from basalt.compiler.codegen.choices import Choices, agree, at_node, choose, prefer, remembering
from basalt.compiler.executable import Executable


def chosen(choices: Choices, size: int, node: str = "n", best: int | None = None) -> int:
    with remembering(choices):
        at_node(node)
        return choose((4, 6, 7), lambda option: -(-size // option) * option, best)


def test_an_earlier_choice_is_kept_while_it_is_good() -> None:
    choices = Choices()
    assert chosen(choices, 14) == 7
    assert chosen(choices, 12) == 7  # 4 and 6 cost 12, this one 14
    assert chosen(choices, 4) == 4  # 7 would be much worse
    assert chosen(choices, 12) == 7
    assert chosen(choices, 12, "other") == 4
    assert chosen(Choices(), 12) == 4
    assert choose((4, 6, 7), lambda option: option) == 4
    assert chosen(choices, 14, "stated", best=6) == 6


def test_one_of_two_ways_is_kept_for_sizes_that_are_not_far() -> None:
    choices = Choices()
    found = []
    for best, size in ((True, 10), (False, 30), (False, 3), (False, 50), (True, 2)):
        with remembering(choices):
            at_node("n")
            found.append(prefer(best, size))
    assert found == [True, True, True, False, True]
    assert prefer(False, 10) is False


def test_programs_for_other_sizes_share_kernels() -> None:
    builder = basalt.MLGraphBuilder(basalt.MLContext(eager_first_run=False))
    x = builder.input("x", "float32", ("rows", 24))
    y = builder.matmul(x, builder.constant(np.ones((24, 40), np.float32)), label="product")
    graph = builder.build({"y": y})
    kernels = {rows: {k.source for k in graph.compile({"x": (rows, 24)}).spec.kernels} for rows in (140, 138, 280)}  # type: ignore[attr-defined]
    assert kernels[140] == kernels[138] == kernels[280]
    for rows in (140, 138, 280):
        result = graph.run({"x": np.ones((rows, 24), np.float32)})["y"]
        assert result.shape == (rows, 40) and (result == 24).all()


def test_only_the_first_size_of_short_rows_is_written_into_a_kernel() -> None:
    builder = basalt.MLGraphBuilder(basalt.MLContext(eager_first_run=False))
    y = builder.softmax(builder.input("x", "float32", (6, "length")), 1, label="scores")
    graph = builder.build({"y": y})
    kernels = [{k.source for k in graph.compile({"x": (6, n)}).spec.kernels} for n in (5, 6, 7)]  # type: ignore[attr-defined]
    assert kernels[0] != kernels[1] == kernels[2]
    for n in (5, 6, 7):
        result = graph.run({"x": np.zeros((6, n), np.float32)})["y"]
        np.testing.assert_allclose(result, 1 / n, rtol=1e-6)


def test_settled_choices_do_not_depend_on_what_came_before() -> None:
    first = Choices()
    assert chosen(first, 14) == 7
    follower = first.following()
    assert chosen(follower, 12) == 7
    assert chosen(follower, 12, "other") == 4
    assert ("other", 0, (4, 6, 7)) not in first.made


def test_agreement_is_kept_where_choices_are_settled() -> None:
    choices = Choices()
    found = []
    for settled in (False, True, True):
        with remembering(choices.following() if settled else choices):
            at_node("n")
            found.append((agree(len(found) == 0), agree(len(found) > 0)))
    assert found == [(True, False), (True, False), (True, False)]
    with remembering(choices):
        at_node("n")
        assert agree(False) is False
    assert agree(True) is True


def test_programs_of_canonical_sizes_do_not_depend_on_which_came_first() -> None:
    builder = basalt.MLGraphBuilder(basalt.MLContext(eager_first_run=False))
    x = builder.input("x", "float32", ("rows", 24))
    y = builder.softmax(builder.matmul(x, builder.constant(np.ones((24, 40), np.float32))), 1)
    graph = builder.build({"y": y})
    orders = ([1, 3, 7, 200], [200, 7, 3, 1], [3, 200, 1, 7])
    found = []
    for order in orders:
        executable = Executable(graph.graph, graph.constants, eager=False, canonical={"rows": 64})
        specs = {rows: executable.compile({"x": (rows, 24)}).spec for rows in order}  # type: ignore[attr-defined]
        found.append({rows: [k.source for k in specs[rows].kernels] for rows in sorted(specs)})
        assert executable.source({"x": (3, 24)})
        assert executable.canonical_spec().inputs[0].shape == (64, 24)
    assert found[0] == found[1] == found[2]
    with pytest.raises(basalt.ValidationError, match="no canonical sizes"):
        graph.canonical_spec()
