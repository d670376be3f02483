"""Ensembles of trees: several walks at once, so that the loads of one do not wait for those of another.

A walk is a load of a record, a load of the row's element and a choice between two children, without branches; those
that have come to a leaf stay there until all have. Many rows walk one tree after another in blocks; a few rows walk
several trees at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from basalt.errors import UnsupportedError
from basalt.ops import get
from basalt.ops.extension.trees import Trees, check_trees

from ..codegen.kernel import Call, KernelBuilder
from ..codegen.lowering import Lowering
from ..codegen.registry import template
from ..codegen.terms import SUFFIX
from ..ir import Node
from .tree_blocks import block_call, form
from .tree_packing import EQUAL, NAN_TRUE, pack_trees
from .tree_plan import plan_blocks

WALKS = 16
"""Walks at once: as many as hide the latency of a load."""
FEW_ROWS = 8
"""Rows up to which the trees are walked side by side."""


@template("tree_ensemble")
def tree_ensemble(node: Node, lowering: Lowering) -> None:
    """A unit is a block of rows, or one of a few rows."""
    ensemble = _Ensemble(node, lowering)
    lowering.add(ensemble.blocks() or _Writer(ensemble).write())


class _Ensemble:
    """A node's checked trees, and what both kinds of kernels need of it."""

    def __init__(self, node: Node, lowering: Lowering) -> None:
        self.node, self.lowering = node, lowering
        operator = get(node.op)
        names = [o.name for o in operator.operands]
        missing = [n for n, v in zip(names[1:], node.inputs[1:]) if v is not None and not v.is_constant]
        if missing:
            raise UnsupportedError(f"{node!r}: {missing[0]} is computed at run time, expected a constant")
        arrays = [None if v is None else lowering.constants.array(v) for v in node.inputs[1:]]
        bound = operator.bind([None, *arrays])
        self.trees = Trees.of(bound)
        self.base = None if bound.base is None else np.asarray(bound.base)
        self.source, self.target = lowering.read(node.present[0]), lowering.write(node.output)
        self.rows, features = self.source.shape
        if features > NAN_TRUE:
            raise UnsupportedError(f"{node!r}: the input has {features} features, expected at most {NAN_TRUE}")
        self.aggregate, self.targets = node.attrs["aggregate"], node.attrs["targets"]
        self.made(("tree check", features, self.targets), lambda: check_trees(self.trees, features, self.targets))
        self.value, self.weight = SUFFIX[self.source.dtype], SUFFIX[self.target.dtype]
        self.total = "f64" if node.attrs["accumulate_float64"] else self.weight

    def made(self, what: tuple[object, ...], make: Callable[[], Any]) -> Any:
        """What is made of the trees, once for all programs of the graph."""
        constants = [v for v in self.node.inputs[1:] if v is not None]
        latest = max(constants, key=lambda v: v.constant or 0)
        box = np.empty((), object)

        def boxed(_: np.ndarray) -> np.ndarray:
            box[()] = make()
            return box

        layout = (*what, *(v.constant for v in constants))
        return self.lowering.constants.derived(latest, layout, boxed)[()]

    def blocks(self) -> Call | None:
        """The kernel for many rows, where there is one."""
        if self.rows <= FEW_ROWS or self.aggregate not in ("sum", "average"):
            return None
        total, has_gathers = np.float64 if self.total == "f64" else np.float32, form() == "avx512"
        layout = ("tree blocks", self.targets, self.total, has_gathers)
        plan = self.made(layout, lambda: plan_blocks(self.trees, self.targets, total, has_gathers))
        if plan is None:
            return None
        base = None if self.base is None else self.lowering.add_constant(self.base)
        suffixes = self.value, self.total, self.weight
        is_average = self.aggregate == "average"
        return block_call(plan, self.lowering, self.source, self.target, base, suffixes, is_average)


class _Writer:
    """The kernel for a few rows, or for many of an ensemble without a plan for blocks."""

    def __init__(self, ensemble: _Ensemble) -> None:
        self.kernel = kernel = KernelBuilder("tree_ensemble")
        lowering, trees = ensemble.lowering, ensemble.trees
        self.aggregate, self.targets = ensemble.aggregate, ensemble.targets
        source, target = ensemble.source, ensemble.target
        self.packed = packed = ensemble.made(("tree records",), lambda: pack_trees(trees))
        self.rows, self.across = ensemble.rows, "trees" if ensemble.rows <= FEW_ROWS else "rows"
        self.single = bool((np.diff(trees.leaf_first) == 1).all())
        self.value, self.weight, self.total = ensemble.value, ensemble.weight, ensemble.total
        wide = "float64" if self.total == "f64" else "float32"
        kernel.source("x", source)
        for name, array in (("record", packed.records), ("roots", packed.roots), ("weight", trees.leaf_weight)):
            kernel.source(name, lowering.add_constant(array))
        if self.value == "f64":
            kernel.source("limit", lowering.add_constant(packed.thresholds))
        if self.targets > 1 or not self.single:
            kernel.source("goal", lowering.add_constant(trees.leaf_target))
        if not self.single:
            kernel.source("first", lowering.add_constant(trees.leaf_first))
        self.based = ensemble.base is not None
        if ensemble.base is not None:
            kernel.source("base", lowering.add_constant(ensemble.base))
        self.counted = self.aggregate in ("min", "max")
        kernel.target("totals", lowering.scratch(wide, (self.rows, self.targets)))
        if self.counted:
            kernel.target("given", lowering.scratch("int32", (self.rows, self.targets)))
        kernel.target("y", target)
        self.x = [kernel.integer(f"x_s{i}", s) for i, s in enumerate(source.strides)]
        self.y = [kernel.integer(f"y_s{i}", s) for i, s in enumerate(target.strides)]
        sizes = {"rows": self.rows, "targets": self.targets, "trees": len(packed.roots)}
        for name, value in sizes.items():
            kernel.parameter(name, value)
        kernel.typed_integer("inner", packed.inner, "i32")

    def write(self) -> Call:
        kernel = self.kernel
        kernel.line(f"walk = stack_{4 * WALKS}()")
        kernel.line(f"row = stack_{8 * WALKS}()")
        with kernel.block("for u in range(start, stop)"):
            if self.across == "rows":
                self._rows()
            else:
                self._trees()
        depth = max(1.0, np.log2(len(self.packed.records) / max(1, len(self.packed.roots)) + 1))
        units = -(-self.rows // WALKS) if self.across == "rows" else self.rows
        return kernel.call(units, self.rows * len(self.packed.roots) * (depth * 1.5 + 3.0) + 20.0)

    def _rows(self) -> None:
        """A block of rows through one tree after another."""
        kernel = self.kernel
        kernel.line(f"top = u * {WALKS}")
        kernel.line(f"count = min({WALKS}, rows - top)")
        with kernel.block(f"for k in range({WALKS})"):
            kernel.line(f"storerw_i64(row, k, (top + min(k, count - 1)) * {self.x[0]})")
        self._begin("top", "top + count")
        with kernel.block("for t in range(trees)"):
            kernel.line("root = load_i32(roots, t)")
            with kernel.block(f"for k in range({WALKS})"):
                kernel.line("storerw_i32(walk, k, root)")
            self._walk("root")
            with kernel.block("for k in range(count)"):
                self._leaf("top + k")
        self._finish("top", "top + count")

    def _trees(self) -> None:
        """One row through several trees at once."""
        kernel = self.kernel
        with kernel.block(f"for k in range({WALKS})"):
            kernel.line(f"storerw_i64(row, k, u * {self.x[0]})")
        self._begin("u", "u + 1")
        with kernel.block(f"for top in range(0, trees, {WALKS})"):
            kernel.line(f"count = min({WALKS}, trees - top)")
            kernel.line("root = inner")
            with kernel.block(f"for k in range({WALKS})"):
                kernel.line("begin = load_i32(roots, top + min(k, count - 1))")
                kernel.line("root = min_i32(root, begin)")
                kernel.line("storerw_i32(walk, k, begin)")
            self._walk("root")
            with kernel.block("for k in range(count)"):
                self._leaf("u")
        self._finish("u", "u + 1")

    def _walk(self, lowest: str) -> None:
        """All walks to their leaves."""
        kernel, v = self.kernel, self.value
        kernel.line(f"lowest = {lowest}")
        with kernel.block("while lt_i32(lowest, inner)"):
            kernel.line("lowest = inner")
            with kernel.block(f"for k in range({WALKS})"):
                kernel.line("at = cast_i32_i64(loadrw_i32(walk, k))")
                kernel.line("what = load_i32(record, 4 * at)")
                limit = "load_f32(record, 4 * at + 3)" if v == "f32" else "load_f64(limit, at)"
                kernel.line(f"limit_k = {limit}")
                feature = "what" if self.packed.plain else f"bitand_i32(what, const_i32({NAN_TRUE - 1}))"
                place = f"loadrw_i64(row, k) + cast_i32_i64({feature}) * {self.x[1]}"
                kernel.line(f"value = load_{v}(x, {place})")
                kernel.line(f"holds = {self._holds()}")
                kernel.line("yes = load_i32(record, 4 * at + 1)")
                kernel.line("no = load_i32(record, 4 * at + 2)")
                kernel.line("after = select_i32(holds, yes, no)")
                kernel.line("storerw_i32(walk, k, after)")
                kernel.line("lowest = min_i32(lowest, after)")

    def _holds(self) -> str:
        kernel, v = self.kernel, self.value
        if self.packed.plain:
            return f"le_{v}(value, limit_k)"
        kernel.line(f"asks_equal = ne_i32(bitand_i32(what, const_i32({EQUAL})), const_i32(0))")
        kernel.line(f"asks_nan = bool_u8(ne_i32(bitand_i32(what, const_i32({NAN_TRUE})), const_i32(0)))")
        equal, below = f"bool_u8(eq_{v}(value, limit_k))", f"bool_u8(le_{v}(value, limit_k))"
        compared = f"select_u8(asks_equal, {equal}, {below})"
        return f"u8_bool(or_u8({compared}, and_u8(asks_nan, bool_u8(isnan_{v}(value)))))"

    def _begin(self, low: str, high: str) -> None:
        kernel, t = self.kernel, self.total
        infinity = f"bits_{t}({0x7F800000 if t == 'f32' else 0x7FF0000000000000})"
        start = {"min": infinity, "max": f"neg_{t}({infinity})"}.get(self.aggregate, f"const_{t}(0.0)")
        with kernel.block(f"for i in range(({low}) * targets, ({high}) * targets)"):
            kernel.line(f"storerw_{t}(totals, i, {start})")
            if self.counted:
                kernel.line("storerw_i32(given, i, const_i32(0))")

    def _leaf(self, row: str) -> None:
        """Give a walk's leaf to its row's targets."""
        kernel = self.kernel
        kernel.line("leaf = cast_i32_i64(sub_i32(loadrw_i32(walk, k), inner))")
        if self.single:
            self._add(row, "leaf")
            return
        kernel.line("end = cast_i32_i64(load_i32(first, leaf + 1))")
        with kernel.block("for w in range(cast_i32_i64(load_i32(first, leaf)), end)"):
            self._add(row, "w")

    def _add(self, row: str, weight: str) -> None:
        kernel, t = self.kernel, self.total
        goal = f" + cast_i32_i64(load_i32(goal, {weight}))" if self.targets > 1 or not self.single else ""
        kernel.line(f"i = ({row}) * targets{goal}")
        loaded = f"load_{self.weight}(weight, {weight})"
        term = loaded if t == self.weight else f"cast_f32_f64({loaded})"
        combine = {"min": "min", "max": "max"}.get(self.aggregate, "add")
        kernel.line(f"storerw_{t}(totals, i, {combine}_{t}(loadrw_{t}(totals, i), {term}))")
        if self.counted:
            kernel.line("storerw_i32(given, i, const_i32(1))")

    def _finish(self, low: str, high: str) -> None:
        kernel, t = self.kernel, self.total
        with kernel.block(f"for r in range({low}, {high})"), kernel.block("for c in range(targets)"):
            kernel.line(f"v = loadrw_{t}(totals, r * targets + c)")
            if self.counted:
                absent = "eq_i32(loadrw_i32(given, r * targets + c), const_i32(0))"
                kernel.line(f"v = select_{t}({absent}, const_{t}(0.0), v)")
            if self.aggregate == "average":
                kernel.line(f"v = div_{t}(v, cast_i64_{t}(max(trees, 1)))")
            if self.based:
                base = f"load_{self.weight}(base, c)"
                kernel.line(f"v = add_{t}(v, {base if t == self.weight else f'cast_f32_f64({base})'})")
            result = "v" if t == self.weight else "cast_f64_f32(v)"
            kernel.line(f"store_{self.weight}(y, r * {self.y[0]} + c * {self.y[1]}, {result})")
