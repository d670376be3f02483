"""Ensembles of trees, against walks in Python; and arrays that are no trees."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from basalt.errors import ValidationError

from ..calling import infer, output
from .forests import Forest

ARGUMENTS = ("feature", "threshold", "mode", "true_child", "false_child", "missing_true", "leaf_first", "leaf_target",
             "leaf_weight", "roots")  # fmt: skip
KINDS = [((0,), False), ((1,), True), ((2, 3), True), ((4, 5, 6), True), (tuple(range(7)), True)]


def predict(rows: np.ndarray, operands: dict[str, np.ndarray], targets: int, **options: object) -> np.ndarray:
    positional = [operands[name] for name in ARGUMENTS]
    optional = {name: v for name, v in operands.items() if name not in ARGUMENTS}
    return output("tree_ensemble", rows, *positional, targets, **optional, **options)


@pytest.mark.parametrize("aggregate", ["sum", "average", "min", "max"])
@pytest.mark.parametrize(("modes", "many"), KINDS)
def test_walks(aggregate: str, modes: tuple[int, ...], many: bool) -> None:
    for seed, trees in itertools.product(range(2), (1, 9)):
        forest = Forest(seed, trees=trees, depth=5, features=4, targets=3, modes=modes, many=many)
        rows = forest.rows(30)
        got = predict(rows, forest.operands(), 3, aggregate=aggregate)
        np.testing.assert_allclose(got, forest.predict(rows, aggregate), rtol=1e-5, atol=1e-6)


def test_trees_of_leaves_alone_and_no_trees() -> None:
    forest = Forest(0, trees=2, depth=0, features=1, targets=2, modes=(0,), many=False)
    rows = forest.rows(3)
    np.testing.assert_allclose(predict(rows, forest.operands(), 2), forest.predict(rows, "sum"), rtol=1e-6)
    bare = {**forest.operands(), "roots": np.zeros(0, np.int32)}
    for aggregate in ("sum", "average", "min"):
        np.testing.assert_array_equal(predict(rows, bare, 2, aggregate=aggregate), np.tile(forest.base, (3, 1)))


def test_float64_keeps_what_float32_loses() -> None:
    operands = Forest(0, trees=1, depth=0, features=1, targets=1, modes=(0,), many=False).operands()
    operands |= {"leaf_first": np.arange(4, dtype=np.int32), "leaf_target": np.zeros(3, np.int32)}
    operands |= {"leaf_weight": np.float32([1e8, 1, -1e8]), "roots": np.int32([-1, -2, -3]), "base": np.float32([0])}
    row = np.zeros((1, 1), np.float32)
    assert predict(row, operands, 1)[0, 0] == 0
    assert predict(row, operands, 1, accumulate_float64=True)[0, 0] == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"feature": 4}, "feature.0. is 4, expected 0 to 3"),
        ({"mode": 7}, "mode.0. is 7, expected 0 to 6"),
        ({"true_child": 0}, "nodes lie on a cycle"),
        ({"false_child": 10**6}, "false_child.0. is 1000000"),
        ({"roots": -(10**6)}, "roots.0. is -1000000"),
        ({"leaf_target": 3}, "leaf_target.0. is 3, expected 0 to 2"),
        ({"leaf_first": 1}, "leaf_first goes from 1"),
    ],
)
def test_what_is_no_forest_is_refused(change: dict[str, int], message: str) -> None:
    forest = Forest(0, trees=3, depth=4, features=4, targets=3, modes=(0,), many=False)
    operands = forest.operands()
    for name, value in change.items():
        operands[name][0] = value
    with pytest.raises(ValidationError, match=message):
        predict(forest.rows(2), operands, 3)


def test_a_long_cycle_is_found_and_shared_nodes_are_no_cycle() -> None:
    forest = Forest(0, trees=1, depth=1, features=2, targets=1, modes=(0,), many=False)
    n = 1000
    operands = forest.operands()
    operands |= {"feature": np.zeros(n, np.int32), "threshold": np.zeros(n, np.float32)}
    operands |= {"mode": np.zeros(n, np.uint8), "missing_true": np.zeros(n, np.uint8)}
    down = np.arange(-1, n - 1, dtype=np.int32)
    operands |= {"true_child": down, "false_child": down.copy(), "roots": np.int32([n - 1])}
    assert predict(forest.rows(2), operands, 1).shape == (2, 1)
    operands["true_child"][0] = n - 1
    with pytest.raises(ValidationError, match="1000 nodes lie on a cycle"):
        predict(forest.rows(2), operands, 1)


def test_shapes() -> None:
    types = ["float32[r, 4]", "int32[7]", "float32[7]", "uint8[7]", "int32[7]", "int32[7]", "uint8[7]", "int32[9]",
             "int32[8]", "float32[8]", "int32[2]"]  # fmt: skip
    assert infer("tree_ensemble", *types, positional=(3,)) == ["float32[r, 3]"]
    with pytest.raises(ValidationError, match="threshold has shape"):
        infer("tree_ensemble", *types[:2], "float32[6]", *types[3:], positional=(3,))
    with pytest.raises(ValidationError, match="one of members and member_first is missing"):
        infer("tree_ensemble", *types, None, "float32[3]", positional=(3,))
