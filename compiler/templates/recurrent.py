"""Recurrent networks: the input's products for all steps first, then one kernel that walks the sequence.

The second kernel's unit is one row of the batch in one direction: rows do not depend on each other, steps do. States
and sums are float32 (float64 for float64 operands), and are rounded where they are stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..codegen.kernel import KernelBuilder
from ..codegen.lowering import Lowering
from ..codegen.registry import template
from ..codegen.terms import SUFFIX
from ..codegen.tiling import register_type
from ..ir import Node
from ..views import View, row_major

_ACTIVATIONS = {"relu": "max_f32({}, const_f32(0.0))", "sigmoid": "sigmoid_f32({})", "tanh": "tanh_f32({})"}


@template("lstm", "lstm_cell")
def lstm(node: Node, lowering: Lowering) -> None:
    """Long short-term memory, with or without peepholes."""
    _Walk(node, lowering, ("hidden", "cell")).write(_lstm_gates)


@template("gru", "gru_cell")
def gru(node: Node, lowering: Lowering) -> None:
    """Gated recurrent units, the reset gate before or after the product."""
    _Walk(node, lowering, ("hidden",)).write(_gru_gates)


class _Walk:
    """The operands of a recurrent operator as [directions, ...] views, a cell being a sequence of one step."""

    def __init__(self, node: Node, lowering: Lowering, states: Sequence[str]) -> None:
        self.node, self.lowering, self.states = node, lowering, states
        self.cell = node.op.endswith("_cell")
        self.attrs = node.attrs
        self.layout: str = node.attrs["layout"]
        self.hidden: int = node.attrs["hidden_size"]
        names = _operand_names(node.op)
        self.views = {n: self._led(lowering.read_contiguous(v)) for n, v in zip(names, node.inputs) if v is not None}
        self.input = self.views["input"]
        self.suffix = SUFFIX[self.input.dtype]
        self.register = register_type(self.input.dtype)
        self.steps, self.batch, self.features = self.input.shape
        self.directions = self.views["weight"].shape[0]
        self.width = len(self.layout) * self.hidden
        self.kernel = KernelBuilder(f"{node.op.removesuffix('_cell')} steps")

    def _led(self, view: View) -> View:
        """A cell's operand with a leading dimension of 1 (steps or directions)."""
        if not self.cell:
            return view
        shape = (1, *view.shape)
        return replace(view, shape=shape, strides=row_major(shape))

    def write(self, gates) -> None:  # type: ignore[no-untyped-def]
        """Add both kernels."""
        projected = self._project()
        kernel = self.kernel
        kernel.source("proj", projected)
        kernel.source("weight", self.views["recurrent_weight"])
        for name in ("recurrent_bias", "peephole_weight"):
            if name in self.views:
                kernel.source(name, self.views[name])
        self._declare_sizes()
        self._declare_states()
        results = [self.lowering.write_contiguous(v) for v in self.node.outputs]
        for name, view in zip([*self.states, "every"], results):
            kernel.target(f"{name}_out", view)
        with kernel.block("for u in range(start, stop)"):
            kernel.line("d = u // batch")
            kernel.line("b = u - d * batch")
            kernel.line("row = u * size")
            self._initial_states()
            with kernel.block("for s in range(steps)"):
                kernel.line(f"t = s + {self._backward()} * (steps - 1 - 2 * s)")
                kernel.line("p = ((d * steps + t) * batch + b) * width")
                gates(self)
                if len(results) > len(self.states):
                    self._store("every_out", "((t * directions + d) * batch + b) * size", "hidden")
            for name in self.states:
                self._store(f"{name}_out", "row", name)
        work = self.directions * self.batch * self.steps * self.width * self.hidden
        self._widen(kernel)
        self.lowering.add(kernel.call(self.directions * self.batch, work * 0.15 + 50.0))

    def line(self, text: str) -> None:
        self.kernel.line(text)

    def product(self, first: int, count: int, state: str) -> None:
        """Write ``sums[q] = recurrent_bias[q] + weight[q] . state`` for some gates' rows ``q``."""
        kernel, t = self.kernel, self.suffix
        with kernel.block(f"for q in range({first} * size, {first + count} * size)"):
            kernel.line("acc = const_f32(0.0)")
            kernel.line("w = (d * width + q) * size")
            with kernel.block("for k in range(size)"):
                kernel.line(f"acc = radd_f32(acc, rmul_f32(load_{t}(weight, w + k), loadrw_f32({state}, row + k)))")
            if "recurrent_bias" in self.views:
                kernel.line(f"acc = add_f32(acc, load_{t}(recurrent_bias, d * width + q))")
            kernel.line("storerw_f32(sums, u * width + q, acc)")

    def gate(self, letter: str) -> tuple[str, str]:
        """The source of a gate's projected input and of its recurrent sum, at feature ``j``."""
        at = self.layout.index(letter)
        place = "j" if at == 0 else f"{at} * size + j"
        return f"load_f32(proj, p + {place})", f"loadrw_f32(sums, u * width + {place})"

    def activate(self, index: int, text: str) -> str:
        """The source of one of the operator's activations applied to a value."""
        return _ACTIVATIONS[self.attrs["activations"][index]].format(text)

    def _declare_sizes(self) -> None:
        for name, value in (
            ("size", self.hidden),
            ("width", self.width),
            ("steps", self.steps),
            ("batch", self.batch),
            ("directions", self.directions),
        ):
            self.kernel.parameter(name, value)

    def _declare_states(self) -> None:
        rows = self.directions * self.batch
        for name in self.states:
            self.kernel.target(name, self.lowering.scratch(self.register, (rows, self.hidden)))
            if f"initial_{name}_state" in self.views:
                self.kernel.source(f"{name}_in", self.views[f"initial_{name}_state"])
        self.kernel.target("sums", self.lowering.scratch(self.register, (rows, self.width)))
        if self.states == ("hidden",) and not self.attrs["reset_after"]:
            self.kernel.target("reset", self.lowering.scratch(self.register, (rows, self.hidden)))

    def _initial_states(self) -> None:
        with self.kernel.block("for j in range(size)"):
            for name in self.states:
                given = f"initial_{name}_state" in self.views
                value = f"load_{self.suffix}({name}_in, row + j)" if given else "const_f32(0.0)"
                self.kernel.line(f"storerw_f32({name}, row + j, {value})")

    def _store(self, pointer: str, base: str, state: str) -> None:
        self.kernel.line(f"o = {base}")
        with self.kernel.block("for j in range(size)"):
            self.kernel.line(f"store_{self.suffix}({pointer}, o + j, loadrw_f32({state}, row + j))")

    def _backward(self) -> str:
        return {"forward": "0", "backward": "1", "both": "d"}[self.attrs.get("direction", "forward")]

    def _widen(self, kernel: KernelBuilder) -> None:
        """Have a kernel, written for float32 registers, compute in float64 where the operands are float64."""
        if self.register == "float64":
            kernel.lines[:] = [line.replace("_f32", "_f64") for line in kernel.lines]

    def _project(self) -> View:
        """Add the kernel of the input's products; a unit is one direction, step and row of the batch."""
        result = self.lowering.scratch(self.register, (self.directions, self.steps, self.batch, self.width))
        kernel, t = KernelBuilder("recurrent input product"), self.suffix
        kernel.source("x", self.input)
        kernel.source("weight", self.views["weight"])
        kernel.target("y", result)
        rows, features, width = (
            kernel.parameter(n, v)
            for n, v in (("rows", self.steps * self.batch), ("features", self.features), ("width", self.width))
        )
        if "bias" in self.views:
            kernel.source("bias", self.views["bias"])
        with kernel.block("for u in range(start, stop)"):
            kernel.line(f"d = u // {rows}")
            kernel.line(f"x_b = (u - d * {rows}) * {features}")
            with kernel.block(f"for q in range({width})"):
                kernel.line(f"w = (d * {width} + q) * {features}")
                kernel.line("acc = const_f32(0.0)")
                with kernel.block(f"for k in range({features})"):
                    kernel.line(f"acc = radd_f32(acc, rmul_f32(load_{t}(x, x_b + k), load_{t}(weight, w + k)))")
                if "bias" in self.views:
                    kernel.line(f"acc = add_f32(acc, load_{t}(bias, d * {width} + q))")
                kernel.line(f"store_f32(y, u * {width} + q, acc)")
        units = self.directions * self.steps * self.batch
        self._widen(kernel)
        self.lowering.add(kernel.call(units, units * self.width * self.features * 0.15 + 20.0))
        return result


def _lstm_gates(walk: _Walk) -> None:
    walk.product(0, 4, "hidden")
    with walk.kernel.block("for j in range(size)"):
        walk.line("c = loadrw_f32(cell, row + j)")
        for letter in "iofg":
            projected, recurrent = walk.gate(letter)
            walk.line(f"{letter} = add_f32({projected}, {recurrent})")
            if letter != "g" and "peephole_weight" in walk.views:
                place = f"(3 * d + {'iof'.index(letter)}) * size + j"
                walk.line(f"{letter} = fma_f32(load_{walk.suffix}(peephole_weight, {place}), c, {letter})")
            walk.line(f"{letter} = {walk.activate(1 if letter == 'g' else 0, letter)}")
        walk.line("c = add_f32(mul_f32(f, c), mul_f32(i, g))")
        walk.line("storerw_f32(cell, row + j, c)")
        walk.line(f"c = {walk.activate(2, 'c')}")
        walk.line("storerw_f32(hidden, row + j, mul_f32(o, c))")


def _gru_gates(walk: _Walk) -> None:
    (pz, rz), (pr, rr), (pn, rn) = (walk.gate(letter) for letter in "zrn")
    after = walk.attrs["reset_after"]
    n_at = walk.layout.index("n")
    if after:
        walk.product(0, 3, "hidden")
    else:
        walk.product(0, n_at, "hidden")
        with walk.kernel.block("for j in range(size)"):
            walk.line(f"r = {walk.activate(0, f'add_f32({pr}, {rr})')}")
            walk.line("storerw_f32(reset, row + j, mul_f32(r, loadrw_f32(hidden, row + j)))")
        walk.product(n_at, 1, "reset")
    with walk.kernel.block("for j in range(size)"):
        walk.line(f"z = {walk.activate(0, f'add_f32({pz}, {rz})')}")
        walk.line(f"n = {rn}")
        if after:
            walk.line(f"r = {walk.activate(0, f'add_f32({pr}, {rr})')}")
            walk.line("n = mul_f32(r, n)")
        walk.line(f"n = {walk.activate(1, f'add_f32({pn}, n)')}")
        walk.line("h = loadrw_f32(hidden, row + j)")
        walk.line("h = add_f32(mul_f32(z, h), mul_f32(n, sub_f32(const_f32(1.0), z)))")
        walk.line("storerw_f32(hidden, row + j, h)")


def _operand_names(op: str) -> tuple[str, ...]:
    from basalt import ops

    renamed = {"hidden_state": "initial_hidden_state", "cell_state": "initial_cell_state"}
    return tuple(renamed.get(o.name, o.name) for o in ops.get(op).operands)
