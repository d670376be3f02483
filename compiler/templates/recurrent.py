"""Recurrent networks: the input's products for all steps first, then kernels that walk the sequence.

A unit of a walk is a few rows of the batch in one direction, whose products with the state's weights are one block of
a micro-kernel. States and sums are float32 (float64 for float64 operands), rounded where they are stored.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from basalt.ops import TensorType, get
from basalt.ops.extension.recurrent import GATES

from ..codegen.elementwise import elementwise_call
from ..codegen.epilogue import Epilogue
from ..codegen.kernel import Call, KernelBuilder
from ..codegen.lowering import Lowering
from ..codegen.registry import template
from ..codegen.terms import SUFFIX
from ..codegen.tiling import register_type
from ..ir import Node, Value
from ..views import View
from .matmul import Side, lower_product
from .recurrent_cells import CELLS, Cell
from .recurrent_products import StateProducts


@template("recurrent")
def recurrent(node: Node, lowering: Lowering) -> None:
    """One walk for both directions, or one for each if their activations differ."""
    walk = _Walk(node, lowering)
    count = len(node.attrs["activations"]) // walk.directions
    functions = [
        [
            node.attrs[name][d * count : (d + 1) * count]
            for name in ("activations", "activation_alpha", "activation_beta")
        ]
        for d in range(walk.directions)
    ]
    alike = all(f == functions[0] for f in functions)
    for d in range(1 if alike else walk.directions):
        lowering.add(walk.write(d, walk.directions if alike else 1, list(zip(*functions[d]))))


class _Walk:
    """The operands of a node, and the scratch memory that its kernels share."""

    def __init__(self, node: Node, lowering: Lowering) -> None:
        self.node, self.lowering, self.attrs = node, lowering, node.attrs
        self.mode: str = node.attrs["mode"]
        self.hidden: int = node.attrs["hidden_size"]
        names = [o.name for o in get(node.op).operands]
        self.values = {n: v for n, v in zip(names, node.inputs) if v is not None}
        self.dtype = self.values["input"].dtype
        self.register = register_type(self.dtype)
        self.steps, self.batch, _ = self.values["input"].shape
        self.directions = self.values["weight"].shape[0]
        self.gates = GATES[self.mode]
        self.width = self.gates * self.hidden
        self.products = StateProducts.of(lowering, self.values["recurrent_weight"], self.register, self.batch)
        # The last block of a phase may begin anywhere, and is written as a whole.
        self.pitch = self.width + self.products.tile.columns
        self.blocks = -(-self.batch // self.products.rows)
        self.results = [lowering.write_contiguous(v) for v in node.outputs]
        self.projected = self._project()
        read = {n: v for n, v in self.values.items() if n not in ("input", "weight", "recurrent_weight")}
        self.views = {n: lowering.read_contiguous(v) for n, v in read.items()}
        rows, room = self.directions * self.batch, self.directions * self.blocks * self.products.room
        self.scratch = {"h": (rows, self.hidden), "sums": (room, self.pitch)}
        if self.mode == "lstm":
            self.scratch["c"] = (rows, self.hidden)
        if self.mode == "gru" and not self.attrs["linear_before_reset"]:
            self.scratch["reset"] = (rows, self.hidden)
        self.places = {n: lowering.scratch(self.register, shape) for n, shape in self.scratch.items()}

    def _project(self) -> View:
        """The products of the input with its weights: [directions, steps * batch, gates * hidden]."""
        lowering = self.lowering
        if self.steps * self.batch == 0:
            return lowering.scratch(self.register, (self.directions, 0, self.width))
        source = self._wide_view("input")
        flat = (1, self.steps * self.batch, source.shape[-1])
        x = Value(TensorType(self.register, flat))
        seen = source.reshaped(flat)
        assert seen is not None
        lowering.bind(x, seen)
        w = self._wide_value("weight")
        result = Value(TensorType(self.register, (self.directions, flat[1], self.width)))
        epilogue = Epilogue(lowering, Node("matmul", (x, w), (result,)))
        lower_product(lowering, epilogue, Side(x, True), Side(w, True), {})
        return lowering.read(result)

    def _wide_view(self, name: str) -> View:
        """An operand in row-major order and in the register's data type."""
        view = self.lowering.read_contiguous(self.values[name])
        return view if self.dtype == self.register else self._cast(self.values[name], view)

    def _wide_value(self, name: str) -> Value:
        value = self.values[name]
        if self.dtype == self.register:
            return value
        if value.is_constant:
            array = self.lowering.constants.array(value)
            return self.lowering.constants.add(array.astype(np.float32))
        wide = Value(TensorType(self.register, value.shape))
        self.lowering.bind(wide, self._cast(value, self.lowering.read(value)))
        return wide

    def _cast(self, value: Value, view: View) -> View:
        wide = Value(TensorType(self.register, value.shape))
        target = self.lowering.scratch(self.register, value.shape)
        node = Node("cast", (value,), (wide,), {"data_type": self.register})
        self.lowering.add(elementwise_call([node], [(value, view)], [(wide, target)], ""))
        return target

    def write(self, first: int, directions: int, functions: Sequence[tuple[str, float, float]]) -> Call:
        """The walk of some directions, whose activations are the same."""
        kernel, t = KernelBuilder(f"recurrent {self.mode}"), SUFFIX[self.register]
        self._declare(kernel, first)
        cell = CELLS[self.mode](kernel, t, SUFFIX[self.dtype], self.attrs, functions, frozenset(self.views))
        parts = [(low, high) for low, high, *_ in cell.phases()]
        self.products.declare(kernel, parts, self.hidden)
        rows = self.products.rows
        kernel.line(f"lengths = stack_{8 * rows}()")
        with kernel.block("for u in range(start, stop)"):
            kernel.line("q = u // blocks")
            kernel.line("d = first_direction + q")
            kernel.line(f"b0 = (u - q * blocks) * {rows}")
            kernel.line(f"count = min({rows}, batch - b0)")
            kernel.line("row = d * batch + b0")
            kernel.line(f"sum_row = (d * blocks + u - q * blocks) * {self.products.room} * pitch")
            self._begin(kernel, t)
            with kernel.block("for s in range(longest)"):
                self._step(kernel, cell)
            self._end(kernel, t)
        units = directions * self.blocks
        work = directions * self.batch * self.steps * self.width * (self.hidden * 0.05 + 1.5)
        return kernel.call(units, work + 50.0)

    def _declare(self, kernel: KernelBuilder, first: int) -> None:
        kernel.source("proj", self.projected)
        for name, view in self.views.items():
            kernel.source(name, view)
        for name, view in self.places.items():
            kernel.target(name, view)
            if name != "sums":
                kernel.target(f"{name}_next", view)
        for name, view in zip(("every", "last_h", "last_c"), self.results):
            kernel.target(name, view)
        sizes = {"size": self.hidden, "width": self.width, "steps": self.steps, "batch": self.batch}
        sizes |= {"directions": self.directions, "pitch": self.pitch, "blocks": self.blocks, "first_direction": first}
        for name, value in sizes.items():
            kernel.parameter(name, value)

    def _begin(self, kernel: KernelBuilder, t: str) -> None:
        """Each row's number of steps and first state."""
        kernel.line("longest = 0")
        with kernel.block("for i in range(count)"):
            kernel.line("length = steps")
            if "sequence_lens" in self.views:
                suffix = SUFFIX[self.views["sequence_lens"].dtype]
                loaded = f"load_{suffix}(sequence_lens, b0 + i)"
                wide = loaded if suffix == "i64" else f"cast_{suffix}_i64({loaded})"
                kernel.line(f"length = clamp_i64({wide}, 0, steps)")
            kernel.line("storerw_i64(lengths, i, length)")
            kernel.line("longest = max(longest, length)")
            with kernel.block("for j in range(size)"):
                for state in ("h", "c") if self.mode == "lstm" else ("h",):
                    begin = f"const_{t}(0.0)"
                    if f"initial_{state}" in self.views:
                        loaded = f"load_{SUFFIX[self.dtype]}(initial_{state}, (row + i) * size + j)"
                        begin = f"select_{t}(gt_i64(length, 0), {loaded}, {begin})"
                    kernel.line(f"storerw_{t}({state}, (row + i) * size + j, {begin})")

    def _step(self, kernel: KernelBuilder, cell: Cell) -> None:
        """One step of all rows; those that have come to their end only take part in products."""
        back = {"forward": "0", "reverse": "1", "bidirectional": "d"}[self.attrs["direction"]]
        for low, high, state, write in cell.phases():
            self.products.write(kernel, low, high, state)
            with kernel.block("for i in range(count)"):
                kernel.line("length = loadrw_i64(lengths, i)")
                with kernel.block("if s < length"):
                    kernel.line(f"t = s + {back} * (length - 1 - 2 * s)")
                    kernel.line("p = ((d * steps + t) * batch + b0 + i) * width")
                    kernel.line("own = (row + i) * size")
                    kernel.line("own_sum = sum_row + i * pitch")
                    kernel.line("to_y = ((t * directions + d) * batch + b0 + i) * size")
                    with kernel.block("for j in range(size)"):
                        write()

    def _end(self, kernel: KernelBuilder, t: str) -> None:
        suffix = SUFFIX[self.dtype]
        with kernel.block("for i in range(count)"):
            with kernel.block("for j in range(size)"):
                for state in ("h", "c") if self.mode == "lstm" else ("h",):
                    loaded = f"loadrw_{t}({state}, (row + i) * size + j)"
                    kernel.line(f"store_{suffix}(last_{state}, (row + i) * size + j, {loaded})")
            with kernel.block("for t in range(loadrw_i64(lengths, i), steps)"):
                kernel.line("to_y = ((t * directions + d) * batch + b0 + i) * size")
                with kernel.block("for j in range(size)"):
                    kernel.line(f"storeonly_{suffix}(every, to_y + j, const_{t}(0.0))")
