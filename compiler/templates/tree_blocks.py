"""Ensembles of trees for many rows: a block's values become codes, then the block goes through one tree after another.

A row's result is added up in the order of the trees, as by the kernel for a few rows.
"""

from __future__ import annotations

from ..codegen.kernel import Call, KernelBuilder
from ..codegen.lowering import Lowering
from ..kernels.sizes import STACK_LIMIT, TREE_ROWS, reach_bytes
from ..kernels.target import target
from ..views import View
from .tree_channels import ABOVE, IN_SET, UNORDERED
from .tree_plan import BlockPlan

__all__ = ["block_call", "form"]

_KINDS = {ABOVE: "above", UNORDERED: "unordered", IN_SET: "member"}


def form() -> str:
    """The form of the micro-kernels for the CPU that is compiled for."""
    return "avx512" if target().bits == 512 else "plain"


def block_call(
    plan: BlockPlan, lowering: Lowering, source: View, result: View, base: View | None, suffixes: tuple[str, str, str],
    is_average: bool,
) -> Call:  # fmt: skip
    """The kernel over blocks of rows; ``suffixes`` are those of rows, totals and results."""
    return _Writer(plan, lowering, source, result, base, suffixes, is_average).write()


class _Writer:
    def __init__(
        self, plan: BlockPlan, lowering: Lowering, source: View, result: View, base: View | None,
        suffixes: tuple[str, str, str], is_average: bool,
    ) -> None:  # fmt: skip
        self.kernel = kernel = KernelBuilder("tree blocks")
        self.plan, self.form, self.is_average, self.based = plan, form(), is_average, base is not None
        self.value, self.total, self.weight = suffixes
        self.rows, self.targets = result.shape
        kernel.source("x", source)
        self.x = [kernel.integer(f"x_s{i}", s) for i, s in enumerate(source.strides)]
        tables = {"search": plan.searches, "value": plan.values, "lookup": plan.lookups, "member": plan.sets}
        tables |= {"limit": plan.limits, "link": plan.links, "size": plan.sizes, "tree": plan.trees}
        tables |= {"weight": plan.weights} | ({} if plan.words is None else {"word": plan.words.table})
        for name, array in tables.items():
            if array.size:
                kernel.source(name, lowering.add_constant(array))
        if base is not None:
            kernel.source("base", base)
        kernel.target("y", result)
        self.y = [kernel.integer(f"y_s{i}", s) for i, s in enumerate(result.strides)]
        self.span = _span(self.rows, plan.pitch)
        sizes = {"rows": self.rows, "span": self.span, "pitch": plan.pitch, "targets": self.targets}
        sizes |= {"trees": len(plan.trees), "searches": len(plan.searches), "lookups": len(plan.lookups)}
        if plan.words is not None:
            sizes |= {"plane_shift": plan.words.plane_shift, "plane_bits": plan.words.plane_bits}
            sizes |= {"child_shift": plan.words.child_shift, "pitch_bits": plan.pitch.bit_length() - 1}
        for name, number in sizes.items():
            kernel.parameter(name, number)

    def write(self) -> Call:
        kernel, plan = self.kernel, self.plan
        code_bytes, total_bytes = int(plan.code[1:]) // 8, 8 if self.total == "f64" else 4
        # Gathers read words of 4 bytes, also those that begin with the last code.
        kernel.line(f"codes = stack_{_rounded(plan.channels * code_bytes * plan.pitch + 4)}()")
        held = plan.width if plan.width > 1 else self.targets
        kernel.line(f"totals = stack_{_rounded(held * total_bytes * plan.pitch)}()")
        kernel.line(f"reach = stack_{reach_bytes(self.form)}()")
        kernel.line(f"states = stack_{TREE_ROWS}()")
        kernel.line(f"leaves = stack_{4 * TREE_ROWS}()")
        with kernel.block("for u in range(start, stop)"):
            kernel.line("top = u * span")
            kernel.line("count = min(span, rows - top)")
            if plan.channels:
                with kernel.block(f"for g in range(0, count, {TREE_ROWS})"):
                    self._code()
            zero = f"const_{self.total}(0.0)"
            with kernel.block(f"for i in range({'pitch * targets' if plan.width == 1 else f'pitch * {plan.width}'})"):
                kernel.line(f"storerw_{self.total}(totals, i, {zero})")
            with kernel.block("for t in range(trees)"):
                self._tree()
            self._finish()
        per_row = 5.0 * len(plan.searches) + len(plan.lookups) + len(plan.trees) * (1.0 + 0.5 * plan.width)
        per_row += 0.05 * len(plan.limits) + 8.0 * float((plan.trees[:, 2] >= 0).sum())
        return kernel.call(-(-self.rows // self.span), self.rows * per_row)

    def _code(self) -> None:
        """The codes of up to 64 rows in all channels."""
        kernel, plan = self.kernel, self.plan
        if len(plan.searches):
            with kernel.block("for c in range(searches)"):
                for i, name in enumerate(("feature", "kind", "first", "steps", "known")):
                    kernel.line(f"{name} = cast_i32_i64(load_i32(search, 5 * c + {i}))")
                kernel.line(f"from_x = (top + g) * {self.x[0]} + feature * {self.x[1]}")
                kinds = sorted(set(plan.searches[:, 1].tolist()))
                arguments = f"x, from_x, {self.x[0]}, min({TREE_ROWS}, count - g), value, first, steps, known"
                for kind in kinds:
                    call = f"treecode_{_KINDS[kind]}_{self.value}_{plan.code}_{self.form}"
                    with kernel.block(f"if kind == {kind}"):
                        kernel.line(f"{call}({arguments}, codes, c * pitch + g)")
        if len(plan.lookups):
            with kernel.block("for c in range(lookups)"):
                kernel.line("place = cast_i32_i64(load_i32(lookup, 2 * c)) * pitch + g")
                kernel.line("first = cast_i32_i64(load_i32(lookup, 2 * c + 1))")
                kernel.line("to = (searches + c) * pitch + g")
                with kernel.block(f"for r in range({TREE_ROWS})"):
                    kernel.line(f"known = cast_{plan.code}_i64(loadrw_{plan.code}(codes, place + r))")
                    outside = "load_u8(member, first + known)"
                    stored = outside if plan.code == "u8" else f"cast_u8_{plan.code}({outside})"
                    kernel.line(f"storerw_{plan.code}(codes, to + r, {stored})")

    def _tree(self) -> None:
        """The leaves of all rows of the block in a tree, and their weights."""
        kernel, plan = self.kernel, self.plan
        for i, name in enumerate(("crown", "nodes", "lower", "leaf", "goal")):
            kernel.line(f"{name} = cast_i32_i64(load_i32(tree, 5 * t + {i}))")
        with kernel.block(f"for g in range(0, count, {TREE_ROWS})"):
            kernel.line(f"treecrown_{plan.code}_{self.form}(codes, g, limit, link, size, crown, nodes, reach, states)")
            if plan.words is None:
                self._add("states", "u8")
                return
            with kernel.block("if lower >= 0"):
                form_ = "wide" if plan.words.is_wide else "narrow"
                shifts = "plane_shift, plane_bits, child_shift, pitch_bits"
                kernel.line(f"treewalk_{plan.code}_{form_}(codes, g, word, lower, states, leaves, {shifts})")
                self._add("leaves", "u32")
            if (plan.trees[:, 2] < 0).any():
                with kernel.block("if lower < 0"):
                    self._add("states", "u8")

    def _add(self, leaves: str, kind: str) -> None:
        width = self.plan.width
        place = "goal * pitch + g" if width == 1 else f"g * {width}"
        call = f"treesum_{self.total}_{width}_{kind}_{self.form}"
        self.kernel.line(f"{call}(totals, {place}, weight, leaf * {width}, {leaves})")

    def _finish(self) -> None:
        kernel, t = self.kernel, self.total
        with kernel.block("for r in range(count)"), kernel.block("for c in range(targets)"):
            place = "c * pitch + r" if self.plan.width == 1 else f"r * {self.plan.width} + c"
            kernel.line(f"v = loadrw_{t}(totals, {place})")
            if self.is_average:
                kernel.line(f"v = div_{t}(v, cast_i64_{t}(trees))")
            if self.based:
                base = f"load_{self.weight}(base, c)"
                kernel.line(f"v = add_{t}(v, {base if t == self.weight else f'cast_f32_f64({base})'})")
            result = "v" if t == self.weight else "cast_f64_f32(v)"
            kernel.line(f"store_{self.weight}(y, (top + r) * {self.y[0]} + c * {self.y[1]}, {result})")


def _span(rows: int, pitch: int) -> int:
    """Rows of a unit: fewer than a block has where that gives more units to share."""
    groups = -(-rows // TREE_ROWS)
    return max(1, min(pitch // TREE_ROWS, -(-groups // 8))) * TREE_ROWS


def _rounded(size: int) -> int:
    """One of two sizes, so that most ensembles share a kernel."""
    return STACK_LIMIT // 4 if size <= STACK_LIMIT // 4 else STACK_LIMIT
