"""Fourier transforms: passes over two planes of numbers that change places, which stay in the nearest cache.

A unit is one transform, so that none depends on how many there are. Real signals of even length are transformed as half
as many complex numbers; lengths with large prime factors by way of a convolution.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from basalt.ops import numpy_dtype

from ..codegen.kernel import KernelBuilder
from ..codegen.lowering import Lowering
from ..codegen.registry import template
from ..codegen.terms import SUFFIX
from ..codegen.units import decode
from ..ir import Node
from ..kernels.sizes import STACK_LIMIT
from ..views import View, collapse, row_major
from .fourier_plan import Plan, chirp_of, convolved, half_factors, lanes_up_to, plan_of, radices

GROUPS = 16
"""Shares of the transforms that are too long for the stack; each has its place in the arena."""
_SPARE = 48
"""Numbers between planes: powers of two apart, they would compete for the same places in the cache."""


@template("dft")
def dft(node: Node, lowering: Lowering) -> None:
    """One transform for each line of the input."""
    attrs, length = node.attrs, node.attrs["length"]
    back = attrs["inverse"] and attrs["onesided"]
    source = lowering.read(node.present[0])
    parts = 2 if attrs["inverse"] else source.shape[-1]
    source = _prepared(lowering, source, length // 2 + 1 if back else length, parts)
    kind = "half" if back else "real" if source.shape[-1] == 1 else "complex"
    _lower(node, lowering, source, None, kind, attrs["inverse"])


@template("stft")
def stft(node: Node, lowering: Lowering) -> None:
    """The stretches of a signal overlap in memory."""
    signal, *window = (lowering.read(v) for v in node.present)
    batch, _, parts = signal.shape
    if signal.strides[1:] != (parts, 1):
        signal = lowering.contiguous(signal)
    frames, length, step = node.output.shape[1], node.attrs["length"], node.attrs["step"]
    strides = (signal.strides[0], step * signal.strides[1], *signal.strides[1:])
    source = replace(signal, shape=(batch, frames, length, parts), strides=strides)
    factors = window[0] if window else None
    if factors is not None and not factors.is_contiguous:
        factors = lowering.contiguous(factors)
    _lower(node, lowering, source, factors, "real" if parts == 1 else "complex", False)


def _prepared(lowering: Lowering, view: View, rows: int, parts: int) -> View:
    """As many numbers of as many parts side by side: cut off, or with zeros behind them."""
    *outer, given, own = view.shape
    start = (0,) * len(view.shape)
    ones = (1,) * len(view.shape)
    if given > rows:
        view = view.sliced(start, (*outer, rows, own), ones)
    if given < rows or own != parts:
        held = lowering.scratch(view.dtype, (*outer, rows, parts))
        lowering.fill(held, 0.0)
        if given:
            lowering.copy(view, held.sliced(start, view.shape, ones))
        return held
    natural = all(d == 1 or s == n for d, s, n in zip(view.shape[-2:], view.strides[-2:], (parts, 1)))
    return view if natural else lowering.contiguous(view)


def _lower(node: Node, lowering: Lowering, source: View, window: View | None, kind: str, inverse: bool) -> None:
    target = lowering.write(node.output)
    natural = row_major(target.shape)[-2:]
    if any(d != 1 and s != n for d, s, n in zip(target.shape[-2:], target.strides[-2:], natural)):
        held = lowering.scratch(target.dtype, target.shape)
        lowering.copy_later(held, target)
        target = held
    _Writer(lowering, source, target, window, kind, node.attrs["length"], inverse).write()


class _Writer:
    """Writes the kernel: numbers are read into planes, pass by pass transformed, and stored."""

    def __init__(
        self, lowering: Lowering, source: View, target: View, window: View | None, kind: str, length: int, inverse: bool
    ) -> None:
        self.lowering, self.source, self.target, self.window = lowering, source, target, window
        self.kind, self.length, self.inverse = kind, length, inverse
        self.dtype, self.t = source.dtype, SUFFIX[source.dtype]
        self.halved = kind != "complex" and length % 2 == 0
        self.count = length // 2 if self.halved else length
        """Complex numbers that are transformed."""
        self.convolves = radices(self.count) is None
        self.size = convolved(self.count) if self.convolves else self.count
        self.plan: Plan = plan_of(self.size, self.dtype)
        self.pitch = -(-self.size // 16) * 16 + _SPARE
        shape = source.shape[:-2]
        self.lines, self.strides = collapse(shape, [source.strides[:-2], target.strides[:-2]])
        self.rows = math.prod(self.lines)
        self.kernel = KernelBuilder("fft")
        self.planes = (0, 1)
        """The planes of the buffer that hold real and imaginary parts now."""

    def write(self) -> None:
        kernel, bytes_ = self.kernel, numpy_dtype(self.dtype).itemsize
        for name, view in (("x", self.source), ("window", self.window)):
            if view is not None:
                kernel.source(name, view)
        kernel.target("y", self.target)
        for name, value in (("count", self.count), ("size", self.size), ("pitch", self.pitch), ("rows", self.rows)):
            kernel.parameter(name, value)
        self._tables()
        need = 4 * self.pitch * bytes_
        if need <= STACK_LIMIT:
            units, groups = self.rows, "rows"
            kernel.line(f"work = stack_{self._stack(need)}()")
        else:
            units = min(self.rows, GROUPS)
            place = self.lowering.scratch(self.dtype, (units, 4 * self.pitch))
            kernel.target("works", place)
            groups = kernel.parameter("groups", units)
        strides = [[kernel.parameter(f"{n}_{i}", s) for i, s in enumerate(own)] for n, own in zip("xy", self.strides)]
        sizes = [kernel.parameter(f"d{i}", d) for i, d in enumerate(self.lines)]
        with kernel.block("for u in range(start, stop)"):
            if need > STACK_LIMIT:
                kernel.line(f"work = offset(works, u * pitch * {4 * bytes_})")
            with kernel.block(f"for row in range(u, rows, {groups})"):
                indices = decode(kernel, "row", sizes)
                for name, own in zip("xy", strides):
                    kernel.line(f"{name}_at = " + " + ".join(f"{indices[i]} * {s}" for i, s in enumerate(own)))
                self._store(self._transformed())
        cost = self.rows * (30 + 0.25 * self.size * max(1.0, math.log2(self.size)) * (2.5 if self.convolves else 1.0))
        self.lowering.add(kernel.call(units, cost))

    @staticmethod
    def _stack(need: int) -> int:
        """Few sizes, so that transforms of many lengths share their kernels."""
        return next(size for size in (1 << 12, 1 << 14, STACK_LIMIT) if need <= size)

    def _tables(self) -> None:
        kernel, plan = self.kernel, self.plan
        kernel.source("factors", self._constant(("factors", self.size), lambda: plan.factors))
        for i, step in enumerate(plan.passes):
            kernel.parameter(f"factors{i}", step.factors)
            kernel.parameter(f"s{i}", step.s)
            kernel.parameter(f"m{i}", step.m)
        if plan.places.size:
            kernel.source("places", self._constant(("places", self.size), lambda: plan.places))
        if self.halved:
            back = self.kind == "half"
            factors = self._constant(("half", self.length, back), lambda: half_factors(self.length, back))
            kernel.source("half", factors)
        if self.convolves:
            chirp, spectrum = chirp_of(self.count, self.size)
            kernel.source("chirp", self._constant(("chirp", self.count), lambda: chirp))
            kernel.source("spectrum", self._constant(("spectrum", self.count), lambda: spectrum))

    def _constant(self, key: tuple[object, ...], make: Callable[[], np.ndarray]) -> View:
        def add() -> View:
            array = make()
            return self.lowering.add_constant(array if array.dtype == np.int32 else array.astype(self.dtype))

        view: View = self.lowering.shared(("fourier", self.dtype, *key), add)
        return view

    # What becomes of one line

    def _transformed(self) -> int:
        """Write everything up to the last pass; returns the buffer that holds the result."""
        form = self._first_form()
        if form:
            return self._passes(0, form)
        self._load()
        if not self.convolves:
            return self._passes(0)
        self._times("chirp", 0, "count")
        self._clear(0)
        buffer = self._passes(0)
        self._times("spectrum", buffer, "size")
        # The way back is the same transform with real and imaginary parts exchanged.
        self.planes = self.planes[::-1]
        buffer = self._passes(buffer)
        self.planes = self.planes[::-1]
        self._times("chirp", buffer, "count")
        return buffer

    def _first_form(self) -> str:
        """The form of a first pass that reads the input itself, if there is one."""
        direct = (self.halved and self.kind == "real") or (self.kind == "complex" and self.window is None)
        if self.convolves or not direct or not self.plan.passes or self.plan.passes[0].form != "along1":
            return ""
        return "window" if self.window is not None else "turned" if self.inverse else "pairs"

    def _passes(self, buffer: int, first: str = "") -> int:
        """All passes, from one buffer to the other and back; returns where the result is."""
        for i, step in enumerate(self.plan.passes):
            form = first if first and i == 0 else step.form
            source = f"x, x_at, x_at, work, {self._places(0)}" if first and i == 0 else ""
            if not source:
                source = f"work, {self._places(buffer)}, work, {self._places(1 - buffer)}"
                buffer = 1 - buffer
            extra = f", places, {step.places}" if form == "place" else ", window, 0" if form == "window" else ""
            name = f"fft_{step.radix}_{form}_{step.lanes}_{self.t}"
            self.kernel.line(f"{name}({source}, factors, factors{i}, s{i}, m{i}{extra})")
        return buffer

    def _places(self, buffer: int) -> str:
        """Where the real and the imaginary parts begin."""
        return f"{self._plane(buffer, 0)}, {self._plane(buffer, 1)}"

    def _plane(self, buffer: int, part: int) -> str:
        return f"{2 * buffer + self.planes[part]} * pitch"

    def _load(self) -> None:
        """The input in planes, real and imaginary parts exchanged for the inverse."""
        kernel, t = self.kernel, self.t
        if self.inverse:
            self.planes = (1, 0)
        real, imaginary = (self._plane(0, part) for part in (0, 1))
        if self.kind == "half":
            self._load_half(real, imaginary)
        else:
            parts = 2 if self.kind == "complex" or self.halved else 1
            with kernel.block("for i in range(count)"):
                for part, plane in enumerate((real, imaginary)):
                    if part < parts:
                        place = f"{parts} * i + {part}" if parts == 2 else "i"
                        value = f"load_{t}(x, x_at + {place})"
                        if self.window is not None:
                            own = "i" if self.kind == "complex" else place
                            value = f"mul_{t}({value}, load_{t}(window, {own}))"
                    else:
                        value = f"const_{t}(0.0)"
                    kernel.line(f"storerw_{t}(work, {plane} + i, {value})")
        self.planes = (0, 1)

    def _load_half(self, real: str, imaginary: str) -> None:
        kernel, t = self.kernel, self.t
        if self.halved:
            lanes = lanes_up_to(self.count - 1, self.dtype)
            scale = self._scale()
            kernel.line(f"fft_half_{lanes}_{t}(x, x_at, work, {real}, {imaginary}, half, 0, {scale}, count)")
            return
        kernel.line(f"storerw_{t}(work, {real}, load_{t}(x, x_at))")
        kernel.line(f"storerw_{t}(work, {imaginary}, const_{t}(0.0))")
        for place in ("i", "count - i"):
            with kernel.block("for i in range(1, count // 2 + 1)"):
                value = f"load_{t}(x, x_at + 2 * i + 1)"
                value = value if place == "i" else f"neg_{t}({value})"
                kernel.line(f"storerw_{t}(work, {real} + {place}, load_{t}(x, x_at + 2 * i))")
                kernel.line(f"storerw_{t}(work, {imaginary} + {place}, {value})")

    def _scale(self) -> str:
        return self.kernel.real("scale", 1.0 / self.length, self.t)

    def _times(self, factors: str, buffer: int, count: str) -> None:
        """The first numbers of a buffer times a table's."""
        kernel, t = self.kernel, self.t
        real, imaginary = (self._plane(buffer, part) for part in (0, 1))
        with kernel.block(f"for i in range({count})"):
            for name, plane in (("a", real), ("b", imaginary)):
                kernel.line(f"{name} = loadrw_{t}(work, {plane} + i)")
            kernel.line(f"c = load_{t}({factors}, i)")
            kernel.line(f"d = load_{t}({factors}, {count} + i)")
            kernel.line(f"storerw_{t}(work, {real} + i, sub_{t}(mul_{t}(a, c), mul_{t}(b, d)))")
            kernel.line(f"storerw_{t}(work, {imaginary} + i, add_{t}(mul_{t}(a, d), mul_{t}(b, c)))")

    def _clear(self, buffer: int) -> None:
        """Zeros behind the numbers that are convolved."""
        for part in (0, 1):
            with self.kernel.block("for i in range(count, size)"):
                self.kernel.line(f"storerw_{self.t}(work, {self._plane(buffer, part)} + i, const_{self.t}(0.0))")

    def _store(self, buffer: int) -> None:
        kernel, t = self.kernel, self.t
        self.planes = (1, 0) if self.inverse else (0, 1)
        places = self._places(buffer)
        columns = self.target.shape[-2]
        if self.kind == "real" and self.halved:
            lanes = lanes_up_to(self.count - 1, self.dtype)
            kernel.line(f"fft_real_{lanes}_{t}(work, {places}, y, y_at, half, 0, const_{t}(0.5), count)")
            if columns > self.count + 1:
                with kernel.block("for i in range(1, count)"):
                    kernel.line("at = y_at + 4 * count - 2 * i")
                    kernel.line(f"storerw_{t}(y, at, loadrw_{t}(y, y_at + 2 * i))")
                    kernel.line(f"storerw_{t}(y, at + 1, neg_{t}(loadrw_{t}(y, y_at + 2 * i + 1)))")
        elif self.kind == "half" and not self.halved:
            with kernel.block("for i in range(count)"):
                value = f"loadrw_{t}(work, {self._plane(buffer, 0)} + i)"
                kernel.line(f"store_{t}(y, y_at + i, mul_{t}({value}, {self._scale()}))")
        else:
            columns = self.count if self.kind == "half" else columns
            number = kernel.parameter("columns", columns)
            scaled = self.inverse and self.kind == "complex"
            scale = self._scale() if scaled else f"const_{t}(1.0)"
            kernel.line(f"fft_join_{lanes_up_to(columns, self.dtype)}_{t}(work, {places}, y, y_at, {scale}, {number})")
