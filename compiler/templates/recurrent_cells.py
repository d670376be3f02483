"""What one feature of a recurrent network's state becomes in a step: the source of each kind of cell."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..codegen.kernel import KernelBuilder

Function = tuple[str, float, float]
"""An activation, its alpha and its beta."""
Phase = tuple[int, int, str, Callable[[], None]]
"""Gates (from, to) whose products with a state are made, the state, and what writes the source of feature ``j``."""


class Cell:
    """Writes the lines of a kernel for feature ``j`` of row ``i`` at place ``own`` of the states.

    ``register`` and ``stored`` are the suffixes of registers and of operands; ``given`` the operands that there are.
    A feature reads and writes only its own element of the states, which have one pointer to be read and another to be
    written: a loop over features then needs no checks of what overlaps, which LLVM would make for all steps at once,
    and which fail where a sequence is walked backwards.
    """

    def __init__(
        self,
        kernel: KernelBuilder,
        register: str,
        stored: str,
        attrs: Mapping[str, Any],
        functions: Sequence[Function],
        given: frozenset[str],
    ) -> None:
        self.kernel, self.t, self.stored, self.attrs = kernel, register, stored, attrs
        self.functions, self.given = functions, given
        clip = attrs["clip"]
        self.clip = None if clip is None else kernel.real("clip", clip, register)
        self.numbers = [
            (kernel.real(f"alpha{i}", alpha, register), kernel.real(f"beta{i}", beta, register))
            if name in _WITH_NUMBERS
            else ("", "")
            for i, (name, alpha, beta) in enumerate(functions)
        ]

    def phases(self) -> list[Phase]:
        """The products of a step and what is done with each, in order."""
        raise NotImplementedError

    def call(self, name: str, *operands: str) -> str:
        """A primitive of the register's type; the result gets a name."""
        return self.kernel.define(f"{name}_{self.t}({', '.join(operands)})", "e")

    def gate(self, index: int, text: str) -> str:
        """A gate's activation of what goes into it."""
        if self.clip is not None:
            text = self.call("clamp", text, self.call("neg", self.clip), self.clip)
        return self.activate(index, text)

    def activate(self, index: int, x: str) -> str:
        """An activation of a value."""
        alpha, beta = self.numbers[index]
        zero, one = f"const_{self.t}(0.0)", f"const_{self.t}(1.0)"
        match self.functions[index][0]:
            case "relu":
                return self.call("max", x, zero)
            case "affine":
                return self.call("add", self.call("mul", alpha, x), beta)
            case "leaky_relu":
                return self._select(f"lt_{self.t}({x}, {zero})", self.call("mul", alpha, x), x)
            case "thresholded_relu":
                return self._select(f"gt_{self.t}({x}, {alpha})", x, zero)
            case "scaled_tanh":
                return self.call("mul", alpha, self.call("tanh", self.call("mul", beta, x)))
            case "hard_sigmoid":
                line = self.call("add", self.call("mul", alpha, x), beta)
                return self.call("min", self.call("max", line, zero), one)
            case "elu":
                return self._select(f"lt_{self.t}({x}, {zero})", self.call("mul", alpha, self.call("expm1", x)), x)
            case "softsign":
                return self.call("div", x, self.call("add", one, self.call("abs", x)))
            case name:
                return self.call(name, x)

    def _select(self, condition: str, x: str, y: str) -> str:
        return self.kernel.define(f"select_{self.t}({condition}, {x}, {y})", "e")

    def projected(self, gate: int) -> str:
        """The input's part of a gate, with its bias."""
        value = f"load_{self.t}(proj, p + {gate} * size + j)"
        if "bias" not in self.given:
            return self.kernel.define(value, "e")
        return self.call("add", value, f"load_{self.stored}(bias, 2 * d * width + {gate} * size + j)")

    def product(self, gate: int) -> str:
        """The state's part of a gate, with its bias."""
        value = f"load_{self.t}(sums, own_sum + {gate} * size + j)"
        if "bias" not in self.given:
            return self.kernel.define(value, "e")
        return self.call("add", value, f"load_{self.stored}(bias, (2 * d + 1) * width + {gate} * size + j)")

    def total(self, gate: int) -> str:
        """What goes into a gate."""
        return self.call("add", self.projected(gate), self.product(gate))

    def state(self, name: str) -> str:
        return self.kernel.define(f"load_{self.t}({name}, own + j)", "e")

    def keep(self, name: str, value: str) -> None:
        self.kernel.line(f"store_{self.t}({name}_next, own + j, {value})")

    def finish(self, value: str) -> None:
        """Store a new hidden state."""
        self.keep("h", value)
        self.kernel.line(f"storeonly_{self.stored}(every, to_y + j, {value})")


class _Rnn(Cell):
    def phases(self) -> list[Phase]:
        return [(0, 1, "h", lambda: self.finish(self.gate(0, self.total(0))))]


class _Gru(Cell):
    def phases(self) -> list[Phase]:
        if self.attrs["linear_before_reset"]:
            return [(0, 3, "h", self._after)]
        return [(0, 2, "h", self._reset), (2, 3, "reset", self._before)]

    def _reset(self) -> None:
        r = self.gate(0, self.total(1))
        self.keep("reset", self.call("mul", r, self.state("h")))

    def _before(self) -> None:
        self._mix(self.gate(0, self.total(0)), self.gate(1, self.total(2)))

    def _after(self) -> None:
        z, r = self.gate(0, self.total(0)), self.gate(0, self.total(1))
        n = self.call("add", self.projected(2), self.call("mul", r, self.product(2)))
        self._mix(z, self.gate(1, n))

    def _mix(self, z: str, n: str) -> None:
        rest = self.call("sub", f"const_{self.t}(1.0)", z)
        self.finish(self.call("add", self.call("mul", rest, n), self.call("mul", z, self.state("h"))))


class _Lstm(Cell):
    def phases(self) -> list[Phase]:
        return [(0, 4, "h", self._write)]

    def _write(self) -> None:
        c = self.state("c")
        i = self.gate(0, self._seen(0, self.total(0), c))
        if self.attrs["input_forget"]:
            f = self.call("sub", f"const_{self.t}(1.0)", i)
        else:
            f = self.gate(0, self._seen(2, self.total(2), c))
        g = self.gate(1, self.total(3))
        new = self.call("add", self.call("mul", f, c), self.call("mul", i, g))
        self.keep("c", new)
        o = self.gate(0, self._seen(1, self.total(1), c if self.attrs["peephole_previous"] else new))
        self.finish(self.call("mul", o, self.activate(2, new)))

    def _seen(self, place: int, total: str, c: str) -> str:
        """What goes into a gate, with what its peephole sees of a cell state."""
        if "peephole" not in self.given:
            return total
        weight = f"load_{self.stored}(peephole, (3 * d + {place}) * size + j)"
        return self.call("add", total, self.call("mul", weight, c))


_WITH_NUMBERS = frozenset({"affine", "leaky_relu", "thresholded_relu", "scaled_tanh", "hard_sigmoid", "elu"})
CELLS: dict[str, type[Cell]] = {"rnn": _Rnn, "gru": _Gru, "lstm": _Lstm}
