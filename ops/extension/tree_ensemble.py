"""Ensembles of decision trees: forests and boosted trees."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..convert import boolean, enum, integer
from ..registry import register_extension
from ..schema import Arrays, Attrs, Operand, Operator, Option, Output, Types, fail
from ..shapes import check_shape, expect_shape
from ..types import TensorType
from .trees import EQ, GT, GTE, LEQ, LT, MEMBER, NEQ, Trees, check_trees

_REAL = frozenset({"float32", "float64"})
_INDEX = frozenset({"int32"})
_BYTE = frozenset({"uint8"})


@register_extension
class TreeEnsemble(Operator):
    """What the trees of an ensemble give for each row of a matrix [rows, features]: [rows, targets].

    The trees are constants, flattened. Inner node ``i`` compares the row's element ``feature[i]`` with
    ``threshold[i]`` as ``mode[i]`` says (0: <=, 1: <, 2: >=, 3: >, 4: ==, 5: !=, 6: is a member of a set) and goes on
    to ``true_child[i]`` or ``false_child[i]``: an inner node, or leaf ``-1 - c`` for a negative child ``c``. A NaN
    meets no comparison but !=, and goes to the true child where ``missing_true[i]`` is 1. The set of node ``i`` are the
    ``members`` from ``member_first[i]`` to ``member_first[i + 1]``.

    Leaf ``l`` gives its targets ``leaf_target[k]`` the weights ``leaf_weight[k]``, k from ``leaf_first[l]`` to
    ``leaf_first[l + 1]``. ``roots`` names the node (or, negative, the leaf) where each tree begins. A target's result
    is the sum, the average over the trees, the smallest or the greatest of its weights (0 if it was given none), plus
    its base value. Weights are added in the order of the trees, in their own data type or in float64.
    """

    name = "tree_ensemble"
    operands = (
        Operand("input", _REAL, 2, doc="the rows, [rows, features]"),
        Operand("feature", _INDEX, 1, doc="the feature that each node looks at, [nodes]"),
        Operand("threshold", "input", 1, doc="what it is compared with, [nodes]"),
        Operand("mode", _BYTE, 1, doc="how it is compared, [nodes]"),
        Operand("true_child", _INDEX, 1, doc="where to go if the comparison holds, [nodes]"),
        Operand("false_child", _INDEX, 1, doc="where to go if it does not, [nodes]"),
        Operand("missing_true", _BYTE, 1, doc="whether a NaN goes to the true child, [nodes]"),
        Operand("leaf_first", _INDEX, 1, doc="where the weights of each leaf begin, and at last end, [leaves + 1]"),
        Operand("leaf_target", _INDEX, 1, doc="the target of each weight, [weights]"),
        Operand("leaf_weight", _REAL, 1, doc="the weights, [weights]; the output has their data type"),
        Operand("roots", _INDEX, 1, doc="where each tree begins, [trees]"),
        Operand("base", "leaf_weight", 1, optional=True, doc="added to each target, [targets]"),
        Operand("members", "input", 1, optional=True, doc="the elements of all sets"),
        Operand(
            "member_first",
            _INDEX,
            1,
            optional=True,
            doc="where the set of each node begins, and at last ends, [nodes + 1]",
        ),
    )
    arguments = (Option("targets", integer(1, 2**31 - 1), doc="the number of targets"),)
    options = (
        Option("aggregate", enum("sum", "average", "min", "max"), "sum", "what is made of a target's weights"),
        Option("accumulate_float64", boolean, False, "whether float32 weights are added up in float64"),
    )
    outputs = (Output(dtypes="leaf_weight", rank=2),)

    def infer(self, t: Types, a: Attrs) -> Sequence[TensorType]:
        for name in ("input", "leaf_weight"):
            if getattr(t, name).dtype not in _REAL:
                fail(f"{name} is {getattr(t, name).dtype}, expected float32 or float64")
        (nodes,) = t.feature.shape
        for name in ("threshold", "mode", "true_child", "false_child", "missing_true"):
            expect_shape(name, getattr(t, name).shape, (nodes,), "one for each node")
        expect_shape("leaf_target", t.leaf_target.shape, t.leaf_weight.shape, "one for each weight")
        if t.leaf_first.shape[0] == 0:
            fail("leaf_first is empty, expected one number more than there are leaves")
        if t.base is not None:
            expect_shape("base", t.base.shape, (a["targets"],), "one for each target")
        if (t.members is None) != (t.member_first is None):
            fail("one of members and member_first is missing")
        if t.member_first is not None:
            expect_shape("member_first", t.member_first.shape, (nodes + 1,), "one more than there are nodes")
        return [TensorType(t.leaf_weight.dtype, check_shape((t.input.shape[0], a["targets"]), zero=True))]

    def evaluate(self, x: Arrays, a: Attrs, out: Sequence[TensorType]) -> Sequence[np.ndarray]:
        trees = Trees.of(x)
        rows = np.asarray(x.input)
        check_trees(trees, rows.shape[1], a["targets"])
        kind = np.float64 if a["accumulate_float64"] else trees.leaf_weight.dtype.type
        lowest = {"min": np.inf, "max": -np.inf}.get(a["aggregate"], 0.0)
        totals = np.full((rows.shape[0], a["targets"]), lowest, kind)
        seen = np.zeros(totals.shape, bool)
        combine = {"min": np.minimum, "max": np.maximum}.get(a["aggregate"], np.add)
        with np.errstate(all="ignore"):
            for root in trees.roots:
                leaves = _leaves(trees, rows, int(root))
                first, count = trees.leaf_first[leaves], np.diff(trees.leaf_first)[leaves]
                for k in range(int(count.max(initial=0))):
                    chosen = np.flatnonzero(count > k)
                    weights = first[chosen] + k
                    at = chosen, trees.leaf_target[weights]
                    totals[at] = combine(totals[at], trees.leaf_weight[weights].astype(kind))
                    seen[at] = True
            totals = np.where(seen, totals, kind(0))
            if a["aggregate"] == "average":
                totals = totals / kind(max(1, len(trees.roots)))
            if x.base is not None:
                totals = totals + np.asarray(x.base).astype(kind)
        return [totals.astype(trees.leaf_weight.dtype)]


def _leaves(trees: Trees, rows: np.ndarray, root: int) -> np.ndarray:
    """The leaf that each row comes to."""
    node = np.full(rows.shape[0], root, np.int64)
    while (going := np.flatnonzero(node >= 0)).size:
        at = node[going]
        values = rows[going, trees.feature[at]]
        chosen = np.where(_holds(trees, at, values), trees.true_child[at], trees.false_child[at])
        node[going] = chosen
    return -1 - node


def _holds(trees: Trees, at: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Whether the comparisons of some nodes hold for some values."""
    threshold, mode = trees.threshold[at], trees.mode[at]
    tests = {
        LEQ: values <= threshold, LT: values < threshold, GTE: values >= threshold, GT: values > threshold,
        EQ: values == threshold, NEQ: values != threshold,
    }  # fmt: skip
    held = np.select([mode == code for code in tests], list(tests.values()), False)
    for i in np.flatnonzero(mode == MEMBER):
        held[i] = np.any(trees.members_of(int(at[i])) == values[i])
    return held | (np.isnan(values) & (trees.missing_true[at] != 0))
