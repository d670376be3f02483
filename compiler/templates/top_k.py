"""The best elements of each line: a heap of the best so far, whose worst the rest of the line has to beat.

Elements are compared as integers that are ordered as they are, NaN above all. Up to 32 bits, an element's position is
packed below it into one int64, so that one comparison orders equals as well; the heap lies in the output of positions.
Wider ones have their integers in the output of values meanwhile.
"""

from __future__ import annotations

import math

from ..codegen.kernel import Call, KernelBuilder
from ..codegen.lowering import Lowering
from ..codegen.registry import template
from ..codegen.terms import SUFFIX
from ..ir import Node
from ..views import View
from .elementwise import decode

BLOCK = 64
"""Elements whose greatest is found before any of them is looked at: most blocks hold nothing better."""
_LOW = (1 << 32) - 1
_SIGNLESS = {"float32": 0x7F800000, "float16": 0x7C00, "bfloat16": 0x7F80, "float64": 0x7FF0000000000000}
"""An infinity's bits: greater ones, without their sign, are NaN's."""


@template("top_k")
def top_k(node: Node, lowering: Lowering) -> None:
    """A unit is a line along the axis."""
    source = lowering.read(node.present[0])
    values, indices = (lowering.write(v) for v in node.outputs)
    lowering.add(_Writer(node, source, values, indices).write())


class _Writer:
    def __init__(self, node: Node, source: View, values: View, indices: View) -> None:
        self.kernel = kernel = KernelBuilder("top_k")
        self.dtype, self.largest, self.axis = source.dtype, node.attrs["largest"], node.attrs["axis"]
        self.packed, self.raw = source.itemsize <= 4, source.raw().dtype
        self.lines = [d for i, d in enumerate(source.shape) if i != self.axis]
        self.size, self.k = source.shape[self.axis], values.shape[self.axis]
        kernel.source("x", source)
        kernel.target("v", values)
        kernel.target("p", indices)
        self.strides = {
            name: [kernel.integer(f"{name}_s{i}", s) for i, s in enumerate(view.strides)]
            for name, view in (("x", source), ("v", values), ("p", indices))
        }
        kernel.parameter("n", self.size)
        kernel.parameter("k", self.k)

    def write(self) -> Call:
        kernel = self.kernel
        sizes = [kernel.parameter(f"d{i}", d) for i, d in enumerate(self.lines)]
        with kernel.block("for u in range(start, stop)"):
            indices = decode(kernel, "u", sizes) if sizes else {}
            for name, strides in self.strides.items():
                outer = [s for i, s in enumerate(strides) if i != self.axis]
                kernel.line(f"{name}_b = " + (" + ".join(f"{i} * {outer[a]}" for a, i in indices.items()) or "0"))
            self._fill()
            self._scan()
            self._sort()
            self._finish()
        work = self.size * 0.6 + self.k * (math.log2(self.k + 1) + 1) * 6
        return kernel.call(math.prod(self.lines), math.prod(self.lines) * work + 10.0)

    def _fill(self) -> None:
        """The first k elements as a heap: its root is the worst of them."""
        kernel = self.kernel
        with kernel.block("for j in range(k)"):
            self._item("item", "j")
            self._put("j", "item")
        with kernel.block("for h in range(k // 2 - 1, -1, -1)"):
            self._take("moved", "h")
            self._sift("h", "k")

    def _scan(self) -> None:
        """What beats the worst takes its place; a later element that equals it does not."""
        kernel = self.kernel
        self._take("root", "0")
        with kernel.block(f"for first in range(k, n, {BLOCK})"):
            kernel.line(f"last = min(first + {BLOCK}, n)")
            register = "i32" if self.packed else "i64"
            kernel.line(f"top = const_{register}({-(2**31) if self.packed else -(2**63)})")
            with kernel.block("for j in range(first, last)"):
                kernel.line(f"top = rmax_{register}(top, {self._key('j')})")
            worst = "cast_i32_i64(top) > (root >> 32)" if self.packed else "top > root"
            with kernel.block(f"if {worst}"), kernel.block("for j in range(first, last)"):
                self._item("moved", "j")
                with kernel.block("if moved > root"):
                    self._sift("0", "k")
                    self._take("root", "0")

    def _sort(self) -> None:
        """The worst of what is left goes to the end, again and again."""
        kernel = self.kernel
        with kernel.block("for end in range(k - 1, 0, -1)"):
            self._take("moved", "end")
            self._take("root", "0")
            self._put("end", "root")
            self._sift("0", "end")

    def _finish(self) -> None:
        kernel = self.kernel
        bits = SUFFIX[self.raw]
        with kernel.block("for j in range(k)"):
            kernel.line(f"place = loadrw_i64(p, {self._at('p', 'j')})")
            if self.packed:
                kernel.line(f"place = {_LOW} - (place & {_LOW})")
                kernel.line(f"storerw_i64(p, {self._at('p', 'j')}, place)")
            kernel.line(f"storerw_{bits}(v, {self._at('v', 'j')}, loadrw_{bits}(x, {self._at('x', 'place')}))")

    def _sift(self, start: str, size: str) -> None:
        """Sink what ``moved`` holds from a place of the heap until nothing below it is worse."""
        kernel = self.kernel
        kernel.line(f"at = {start}")
        with kernel.block("while 2 * at + 1 < " + size):
            kernel.line("child = 2 * at + 1")
            self._take("item", "child")
            with kernel.block(f"if child + 1 < {size}"):
                self._take("other", "child + 1")
                with kernel.block(f"if {self._worse('other', 'item')}"):
                    self._copy("item", "other")
                    kernel.line("child += 1")
            with kernel.block(f"if not ({self._worse('item', 'moved')})"):
                kernel.line("break")
            self._put("at", "item")
            kernel.line("at = child")
        self._put("at", "moved")

    def _worse(self, a: str, b: str) -> str:
        return f"{a} < {b}" if self.packed else f"{a} < {b} or ({a} == {b} and {a}_p > {b}_p)"

    def _copy(self, to: str, source: str) -> None:
        self.kernel.line(f"{to} = {source}")
        if not self.packed:
            self.kernel.line(f"{to}_p = {source}_p")

    def _item(self, name: str, j: str) -> None:
        """An element of the line, in the form that is compared."""
        if self.packed:
            self.kernel.line(f"{name} = (cast_i32_i64({self._key(j)}) << 32) + ({_LOW} - {j})")
        else:
            self.kernel.line(f"{name} = {self._key(j)}")
            self.kernel.line(f"{name}_p = {j}")

    def _take(self, name: str, place: str) -> None:
        if self.packed:
            self.kernel.line(f"{name} = loadrw_i64(p, {self._at('p', place)})")
        else:
            self.kernel.line(f"{name} = loadrw_i64(v, {self._at('v', place)})")
            self.kernel.line(f"{name}_p = loadrw_i64(p, {self._at('p', place)})")

    def _put(self, place: str, name: str) -> None:
        if self.packed:
            self.kernel.line(f"storerw_i64(p, {self._at('p', place)}, {name})")
        else:
            self.kernel.line(f"storerw_i64(v, {self._at('v', place)}, {name})")
            self.kernel.line(f"storerw_i64(p, {self._at('p', place)}, {name}_p)")

    def _at(self, name: str, place: str) -> str:
        stride = self.strides[name][self.axis]
        return f"{name}_b + {place}" if stride == "1" else f"{name}_b + ({place}) * {stride}"

    def _key(self, j: str) -> str:
        """The source of an element as an integer: the greater the better."""
        at, kernel = self._at("x", j), self.kernel
        wide = "i32" if self.packed else "i64"
        if self.dtype in _SIGNLESS:
            narrow = {"float16": "i16", "bfloat16": "i16"}.get(self.dtype, wide)
            loaded = f"loadrw_{narrow}(x, {at})"
            bits = kernel.define(loaded if narrow == wide else f"cast_{narrow}_{wide}({loaded})", "bits")
            top = (1 << 15) - 1 if narrow == "i16" else (1 << (31 if wide == "i32" else 63)) - 1
            size = kernel.define(f"bitand_{wide}({bits}, const_{wide}({top}))", "size")
            greatest = (1 << (31 if wide == "i32" else 63)) - 1
            signed = f"select_{wide}(lt_{wide}({bits}, const_{wide}(0)), neg_{wide}({size}), {size})"
            isnan = f"gt_{wide}({size}, const_{wide}({_SIGNLESS[self.dtype]}))"
            key = f"select_{wide}({isnan}, const_{wide}({greatest}), {signed})"
        else:
            suffix = "u8" if self.dtype == "bool" else SUFFIX[self.dtype]
            loaded = f"loadrw_{suffix}(x, {at})"
            key = loaded if suffix == wide else f"cast_{suffix}_{wide}({loaded})"
            if suffix in ("u32", "u64"):
                key = f"bitxor_{wide}({key}, const_{wide}({-(2**31) if wide == 'i32' else -(2**63)}))"
        return key if self.largest else f"bitnot_{wide}({key})"
